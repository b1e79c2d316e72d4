"""One configured controller: its topics, its control cycle, and what it does when something is missing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rclpy.duration import Duration
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool

from ..errors import ConfigError, RobotControlError
from ..findings import Finding, Level, errors, in_words
from ..loop import ControlLoop
from ..running_law import RunningLaw
from ..types import RobotState, Wrench
from ..wrench import check_wrench
from .commands import make_commands
from .diagnostics import LoopMonitor
from .entities import Entities
from .follow_joint_trajectory import FollowJointTrajectory
from .messages import JointStateReader, read_wrench
from .payload_services import PayloadServices
from .ros_params import TunedParameters
from .running import LATCHED_QOS, STATE_QOS
from .system_check import check_controllers, check_rivals, check_system
from .targets import Targets
from .telemetry import Telemetry
from .wire import WireReader

FAREWELLS, FAREWELL_GAP = 3, 0.02  # safe outputs at the end, and s between them
ACKNOWLEDGED_WITHIN = Duration(seconds=0.5)
DIAGNOSTICS_PERIOD = 1.0  # s
FRESHNESS_PERIOD = 0.02  # s between two looks at the age of the last joint state; also of safe outputs


class Session:
    """From configure to cleanup.

    Attributes:
        active: whether joint states are answered.

    Args:
        node: whose topics are used.
        loop: that controls.
        parameters: of the node.
        telemetry_rate: [Hz].
        state_timeout: age of the last joint state at which the safe output is sent [s].
        checked: whether laws are only taken where the system offers what they need.

    Raises:
        ConfigError, ParameterException: a parameter given for it is refused.
    """

    def __init__(
        self,
        node: Node,
        loop: ControlLoop,
        parameters: TunedParameters,
        telemetry_rate: float,
        state_timeout: float,
        checked: bool,
    ) -> None:
        self.active = False
        self._checked = checked
        self._node, self._loop, self._state_timeout = node, loop, state_timeout
        self._reader = WireReader(JointStateReader(loop.robot.joints))
        self._monitor = LoopMonitor(loop)
        self._payload = PayloadServices(node, loop)
        self._wrench: Wrench | None = None
        self._heard: float | None = None  # when the last good joint state came, by the steady clock
        self._stale = False
        self._content, self._changed = b"", 0.0  # of the last joint state, and since when it is so
        self._executing = True  # until the robot says that it doesn't
        self._effort_sign = loop.robot.profile.effort_sign
        self._entities = Entities(node)
        try:
            self._make_entities(parameters, telemetry_rate)
        except (RobotControlError, ParameterException):
            self._entities.close()
            raise

    def _make_entities(self, parameters: TunedParameters, telemetry_rate: float) -> None:
        loop, entities, payload = self._loop, self._entities, self._payload
        profile = loop.robot.profile
        entities.tuned(parameters, "wrench", loop.wrench.settings)
        entities.tuned(parameters, "workspace", loop.workspace.settings)
        self._goals = FollowJointTrajectory(entities, loop, parameters, lambda: self.active, self._refuse)
        self._commands = make_commands(entities, loop)
        self._diagnostics = entities.publisher(DiagnosticArray, "/diagnostics", 10)
        self._telemetry = Telemetry(entities, loop, telemetry_rate)
        entities.subscription(JointState, "joint_states", self._on_joint_state, STATE_QOS, raw=True)
        entities.subscription(WrenchStamped, "wrench", self._guarded(self._on_wrench))
        if profile.running_topic:
            entities.subscription(Bool, profile.running_topic, self._on_running, LATCHED_QOS)
        Targets(entities, loop, lambda callback: self._guarded(self._when_executing(callback)))
        for name, action in (
            ("zero_wrench", loop.zero_wrench),
            ("add_payload_sample", payload.add_sample),
            ("identify_payload", payload.identify),
            ("hold", loop.hold),
            ("go_home", loop.go_home),
        ):
            entities.trigger(f"~/{name}", self._when_active(self._when_executing(action)))
        entities.timer(DIAGNOSTICS_PERIOD, self._publish_diagnostics)
        entities.timer(FRESHNESS_PERIOD, self._check_freshness)

    def activate(self) -> None:
        """Answer joint states from the next one on, beginning with a command that holds the robot."""
        self._loop.reset()
        self._payload.reset()
        self._monitor.restart()
        self._heard, self._stale = None, False
        self.active = True

    def deactivate(self) -> None:
        """Send the safe output, see that it arrives, and stop answering."""
        if self.active:
            self._goals.abort("the controller was deactivated")
            for _ in range(FAREWELLS):  # best-effort readers may miss one
                self._send_safe()
                time.sleep(FAREWELL_GAP)
            self._commands.wait(ACKNOWLEDGED_WITHIN)
        self.active = False

    def check_system(self) -> list[str]:
        """See that the system offers what the law needs; returns warnings, in words.

        Raises:
            ConfigError: it doesn't; says what is missing and what to do.
        """
        if not self._checked:
            return []
        running, robot = self._loop.running, self._loop.robot
        self._check_graph(running)
        findings = check_controllers(self._node, robot, running.mode)
        _refuse_errors(findings)
        return [in_words([finding]) for finding in findings if finding.level is Level.WARNING]

    def told(self) -> list[str]:
        """What a user has to know of this robot under this profile."""
        robot, profile = self._loop.robot, self._loop.robot.profile
        own = f"{' and '.join(profile.own)} is the robot's own job here: the law's is off" if profile.own else ""
        name = f"{robot.description or robot.name} (profile {robot.profile_name})"
        return [f"{name}: {line}" for line in (own, *profile.notes) if line]

    def check_law(self, law: RunningLaw) -> None:
        """Refuse, by ConfigError, a law that couldn't go on now; at once, because the robot is controlled meanwhile."""
        if self.active and law is not self._loop.running:
            self._loop.check_switch(law)
            if self._checked:
                self._check_graph(law)

    def _check_graph(self, law: RunningLaw) -> None:
        topic = "wrench" if self._loop.wrench.settings.target.source == "sensor" else None
        _refuse_errors(check_system(self._node, self._loop.robot, law, topic))

    def switch_law(self, law: RunningLaw) -> None:
        """Go on with another law; see :meth:`ControlLoop.switch_law`."""
        if law is not self._loop.running:
            law.gains.finish()  # what was changed while it didn't run needs no fading
            self._loop.switch_law(law)

    def close(self) -> None:
        """Take the topics back."""
        self.deactivate()
        self._entities.close()
        self._loop.close()

    def _on_joint_state(self, message: bytes) -> None:
        if not self.active:
            return
        arrived = time.monotonic()
        try:
            state = self._reader.read(message)
            if state is None:
                return
            self._check_change(state, arrived)
            if self._effort_sign != 1.0:
                state.effort = self._effort_sign * state.effort
            state.wrench = self._wrench_at(state.time)
            command = self._loop.tick(state) if self._executing else self._loop.idle(state)
        except RobotControlError as error:
            self._stop(error)
            return
        self._commands.send(command, state.time)
        self._heard, self._stale = arrived, False
        self._monitor.cycle(time.monotonic() - arrived, time.time() - state.time)
        if self._loop.fault:
            self._refuse(ConfigError(self._loop.fault))
        self._loop.settle()
        self._goals.cycle(state)
        self._telemetry.cycle(state, command)

    def _check_change(self, state: RobotState, arrived: float) -> None:
        """Refuse, by ConfigError, joint states that are repeated without end under new stamps."""
        limit = self._loop.robot.profile.frozen_after
        if limit == 0.0:
            return
        content = np.concatenate((state.q, state.v, state.effort)).tobytes()
        if content != self._content:
            self._content, self._changed = content, arrived
        elif self._executing and (age := arrived - self._changed) > limit:
            raise ConfigError(
                f"joint states are the same to the last bit for {age:.3f} s: must change within {limit:g} s; "
                "has the driver lost the robot?"
            )

    def _on_running(self, message: Bool) -> None:
        """While the robot executes no commands the law rests; then it begins where the robot is."""
        if message.data != self._executing:
            text = "the robot executes commands again" if message.data else "the robot stands still: the law rests"
            self._node.get_logger().warning(text)
            self._executing, self._changed = message.data, time.monotonic()
            if self.active and not message.data:
                self._goals.abort(text)

    def _on_wrench(self, message: WrenchStamped) -> None:
        frames, frame = self._loop.robot.profile.wrench_frames, message.header.frame_id
        wrench = read_wrench(message.wrench, frames.get(frame, frame))
        check_wrench(wrench, self._loop.model)
        self._wrench = wrench

    def _wrench_at(self, time: float) -> Wrench | None:
        """The last wrench, as old as it is since the first joint state after it: the sensor's clock may be another."""
        wrench = self._wrench
        if wrench is not None and wrench.time is None:
            wrench = self._wrench = replace(wrench, time=time)
        return wrench

    def _stop(self, error: Exception) -> None:
        """Say why, and send the safe output."""
        self._refuse(error)
        self._goals.abort(str(error))
        self._send_safe()

    def _send_safe(self) -> None:
        """The safe output; the next good joint state makes a fresh start."""
        command, state = self._loop.stop(), self._loop.state
        if command is not None and state is not None:
            self._commands.send(command, state.time)

    def _check_freshness(self) -> None:
        """A robot whose joint states stop gets the safe output; while simulated time stands still nothing is stale."""
        if not self.active or self._heard is None:
            return
        age = self._age(self._heard)
        if age <= self._state_timeout:
            return
        if self._stale:
            self._send_safe()
            return
        self._stale = True
        limit = self._state_timeout
        self._stop(ConfigError(f"no joint state for {age:.3f} s: must be at most {limit:g} s; safe output"))

    def _age(self, heard: float) -> float:
        age = time.monotonic() - heard
        if self._node.get_parameter("use_sim_time").value and self._loop.state is not None:
            simulated = self._node.get_clock().now().nanoseconds * 1e-9 - self._loop.state.time
            age = min(age, abs(simulated))
        return age

    def _publish_diagnostics(self) -> None:
        """Others that command the robot, too, may have come later, or may not have been seen at activation yet."""
        if self.active and self._checked:
            rivals = check_rivals(self._node, self._loop.robot, self._loop.running.mode)
            if rivals:
                self._refuse(ConfigError(in_words(rivals)))
        self._diagnostics.publish(self._monitor.message(self._node))

    def _refuse(self, error: Exception) -> None:
        self._monitor.refused(error)
        self._node.get_logger().error(str(error), throttle_duration_sec=1.0)

    def _guarded(self, callback: Callable[[Any], None]) -> Callable[[Any], None]:
        """Refuse what can't be used, in words, and go on."""

        def guarded(message: Any) -> None:
            if not self.active:
                return
            try:
                callback(message)
            except RobotControlError as error:
                self._refuse(error)

        return guarded

    def _when_active(self, action: Callable[[], Any]) -> Callable[[], Any]:
        def checked() -> Any:
            if not self.active:
                raise ConfigError("the controller is not active: activate it first")
            return action()

        return checked

    def _when_executing(self, action: Callable[..., Any]) -> Callable[..., Any]:
        def checked(*arguments: Any) -> Any:
            if not self._executing:
                raise ConfigError(f"the robot executes no commands, as {self._loop.robot.profile.running_topic} says")
            return action(*arguments)

        return checked


def _refuse_errors(findings: list[Finding]) -> None:
    if bad := errors(findings):
        raise ConfigError(in_words(bad))
