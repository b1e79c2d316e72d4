"""One configured controller: its topics, its control cycle, and what it does when something is missing."""

from __future__ import annotations

import time

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from sensor_msgs.msg import JointState

from ...control.controller import Controller, settings_of, zero_wrench
from ...control.wrench_supply import check_wrench_supply
from ...core.errors import ConfigError, RobotControlError
from ...laws.running_law import RunningLaw
from ..common.entities import Entities
from ..common.findings import Finding, Level, describe, errors
from ..common.qos import ACKNOWLEDGED_WITHIN, STATE_QOS
from ..common.refusals import KEY
from ..common.ros_params import TunedParameters
from ..common.system_check import check_conflicting_publishers, check_controllers, check_system, how_to_resume
from ..identify.identification_services import IdentificationServices
from .answers import INACTIVE, Answers
from .command_execution import CommandExecution
from .commands import CommandPublishers
from .diagnostics import LoopMonitor
from .effort_check import EffortCheck
from .gain_monitor import GainMonitor
from .intake import Intake
from .services.contact_services import ContactServices
from .services.payload_services import PayloadServices
from .state_input import StateInput
from .targets.follow_joint_trajectory import FollowJointTrajectory
from .targets.target_topics import Targets
from .targets.trajectory_goal import PATH_TOLERANCE_VIOLATED
from .telemetry import Telemetry

SHUTDOWN_COMMANDS, SHUTDOWN_GAP = 3, 0.02  # safe outputs at the end, and s between them
DIAGNOSTICS_PERIOD = 1.0  # s
FRESHNESS_PERIOD = 0.02  # s between two looks at the age of the last joint state; also of safe outputs


class ControllerRuntime:
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
        loop: Controller,
        parameters: TunedParameters,
        telemetry_rate: float,
        state_timeout: float,
        checked: bool,
    ) -> None:
        self.active = False
        self._checked = checked
        self._node, self._loop, self._state_timeout = node, loop, state_timeout
        self._simulated = bool(node.get_parameter("use_sim_time").value)
        self._clock = (lambda: node.get_clock().now().nanoseconds * 1e-9) if self._simulated else time.time
        self._input = StateInput(loop.robot, loop.model, self._clock)
        self._monitor = LoopMonitor(node, loop, self._simulated)
        self._payload = PayloadServices(node, loop)
        self._effort_check = EffortCheck(loop.robot, loop.model)
        self._gains = GainMonitor(loop)
        self._state_at: float | None = None  # when the last good joint state came, by the steady clock
        self._stale = self._looked = False
        self._entities = Entities(node)
        try:
            self._make_entities(parameters, telemetry_rate)
            self.check_law(loop.running)
        except (RobotControlError, ParameterException):
            self._entities.close()
            raise

    def _make_entities(self, parameters: TunedParameters, telemetry_rate: float) -> None:
        loop, entities = self._loop, self._entities
        self._answers = Answers(entities, loop)
        self._intake = intake = Intake(lambda: self.active, lambda: self._execution.rest, self._monitor.refuse)
        for prefix, settings in settings_of(loop).items():
            entities.tuned(parameters, prefix, settings, loop.robot.joints)
        self._goals = FollowJointTrajectory(entities, loop, parameters, lambda: self.active, self._monitor.refuse)
        self._commands = CommandPublishers(entities, loop)
        self._diagnostics = entities.publisher(DiagnosticArray, "/diagnostics", 10)
        self._telemetry = Telemetry(entities, loop, telemetry_rate)
        self._contacts = ContactServices(self._node, entities, loop)
        entities.subscription(JointState, "joint_states", self._on_joint_state, STATE_QOS, raw=True)
        entities.subscription(WrenchStamped, "wrench", intake.messages(self._input.on_wrench))
        self._execution = CommandExecution(entities, loop, self._on_execution)
        self._targets = Targets(
            entities,
            loop,
            lambda callback: intake.messages(intake.when_ready(callback), self._answers.reply),
            self._monitor.refuse,
        )
        for name, action, done in (
            ("zero_wrench", lambda: zero_wrench(loop), ""),
            ("add_payload_sample", self._payload.add_sample, ""),
            ("identify_payload", self._payload.identify, ""),
            ("go_home", loop.motion.go_home, "moving home"),
            ("learn_contact_thresholds", self._contacts.learn, ""),
        ):
            entities.trigger(f"~/{name}", intake.when_ready(action), done)
        entities.trigger("~/hold", self._hold, "holding")
        IdentificationServices(entities, loop.robot, intake.when_ready)
        entities.trigger("~/reset_ringing", loop.ringing.reset, "the gains count again as they are")
        entities.timer(0.5 * DIAGNOSTICS_PERIOD, self._diagnose)
        entities.timer(FRESHNESS_PERIOD, self._check_freshness)

    def activate(self) -> None:
        """Answer joint states from the next one on, beginning with a command that holds the robot."""
        self._loop.reset()
        self._targets.forget()
        self._payload.reset()
        self._monitor.restart()
        self._state_at, self._stale = None, False
        self.active = True
        self._monitor.rests(self._execution.reason, True)

    def deactivate(self) -> None:
        """Send the safe output, see that it arrives, and stop answering."""
        if self.active:
            self._goals.abort("the controller was deactivated")
            self.leave()
            self._commands.wait(ACKNOWLEDGED_WITHIN)
        self._answers.fault(INACTIVE)

    def leave(self) -> None:
        """Send the safe output, and stop answering."""
        if self.active:
            for _ in range(SHUTDOWN_COMMANDS):  # best-effort readers may miss one
                self._send_safe()
                time.sleep(SHUTDOWN_GAP)
        self.active = False

    def check_system(self, forward_follows: bool = False) -> list[str]:
        """See that the system offers what the law needs; returns warnings, none of a forward controller that follows.

        Raises:
            ConfigError: it doesn't; says what is missing and what to do.
        """
        if not self._checked:
            return []
        running, robot = self._loop.running, self._loop.robot
        self._check_graph(running)
        findings = check_controllers(self._node, robot, running.mode, forward_follows)
        _raise_errors(findings)
        return [describe([finding]) for finding in findings if finding.level is Level.WARNING]

    def notes(self) -> list[str]:
        """What runs, and what a user has to know of this robot under this profile."""
        robot, notes = self._loop.robot, self._loop.robot.profile.all_notes
        if compensated := " and ".join(robot.profile.compensated_by_robot):
            notes.insert(0, f"{compensated} is the robot's own job here: the law's is off")
        mode, name = self._loop.running.mode, robot.description or robot.name
        topic = self._node.resolve_topic_name(robot.profile.command_topic(mode))
        runs = f"law {self._loop.running.name}: {mode.value} commands on {topic}, {robot.profile.rate:g} Hz nominal"
        return [runs, *(f"{name} (profile {robot.profile_name}): {note}" for note in notes)]

    def check_law(self, law: RunningLaw) -> None:
        """Refuse, by ConfigError, a law that couldn't go on now; at once, because the robot is controlled meanwhile."""
        topic = self._node.resolve_topic_name("wrench")
        remapped = topic != self._node.resolve_topic_name("wrench", only_expand=True)
        check_wrench_supply(law, self._loop.wrench.settings.target.source, topic if remapped else "")
        if self.active and law is not self._loop.running:
            self._loop.check_switch(law)
            if self._checked:
                self._check_graph(law)

    def _check_graph(self, law: RunningLaw) -> None:
        sensed = self._loop.wrench.settings.target.source == "sensor"
        _raise_errors(check_system(self._node, self._loop.robot, law, "wrench" if sensed else None))

    def switch_law(self, law: RunningLaw) -> None:
        """Go on with another law; see :meth:`Controller.switch_law`."""
        if law is not self._loop.running:
            law.gains.finish()  # what was changed while it didn't run needs no fading
            self._loop.switch_law(law)
            self._execution.update()

    def close(self) -> None:
        """Take the topics back."""
        self.deactivate()
        self._entities.close()
        self._gains.close()
        self._loop.close()

    def _on_joint_state(self, message: bytes) -> None:
        if not self.active:
            return
        arrived = time.monotonic()
        try:
            state = self._input.read(message, arrived, not self._execution.reason)
            if state is None:
                return
            command = self._loop.idle(state) if self._execution.reason else self._loop.tick(state)
        except RobotControlError as error:
            self._stop(error)
            return
        self._commands.send(command, state.time)
        self._state_at, self._stale = arrived, False
        self._answers.fault(self._execution.rest or self._loop.fault or self._contacts.message)
        self._monitor.cycle(arrived, state.time)
        if self._loop.repeats == 0:
            self._goals.cycle()
            self._telemetry.cycle(command)
            self._targets.cycle(state.time)
            self._contacts.cycle(state.time)

    def _on_execution(self, reason: str) -> None:
        """While nobody executes its commands the law rests; then it begins where the robot is."""
        self._input.allow_rest(time.monotonic())
        self._monitor.rests(reason, self.active)
        if reason and self.active:
            self._goals.abort(reason, PATH_TOLERANCE_VIOLATED)

    def _hold(self) -> str | None:
        self._intake.check_active()
        if reason := self._execution.rest:
            return f"{reason}; it begins where the robot is"
        self._targets.forget()
        self._loop.motion.hold()
        return None

    def _stop(self, error: Exception) -> None:
        """Say why, and send the safe output."""
        self._monitor.refuse(error)
        self._answers.fault(str(error))
        self._goals.abort(str(error), PATH_TOLERANCE_VIOLATED)
        self._send_safe()

    def _send_safe(self) -> None:
        """The safe output; the next good joint state makes a fresh start."""
        command, state = self._loop.stop(), self._loop.state
        if command is not None and state is not None:
            self._commands.send(command, state.time)

    def _check_freshness(self) -> None:
        """A robot whose joint states stop gets the safe output; while simulated time stands still nothing is stale."""
        if not self.active or self._state_at is None:
            return
        age = time.monotonic() - self._state_at
        if self._simulated and self._loop.state is not None:
            age = min(age, abs(self._clock() - self._loop.state.time))
        if age <= self._state_timeout:
            return
        if self._stale:
            self._send_safe()
            return
        self._stale = True
        message = f"no joint state for {age:.3f} s: must be at most {self._state_timeout:g} s; safe output"
        resume = how_to_resume(self._loop.robot)
        self._stop(ConfigError(f"{message}. {resume}", name="state_timeout", value=age, bound=self._state_timeout))

    def _diagnose(self) -> None:
        """Look for trouble and publish, by turns: both at once make a sample late at 500 Hz."""
        self._looked = not self._looked
        if self._looked:
            self._look()
        else:
            self._publish_diagnostics()

    def _look(self) -> None:
        """Others that command the robot, too, may have come later, or may not have been seen at activation yet."""
        if self.active and self._checked:
            conflicting = check_conflicting_publishers(self._node, self._loop.robot, self._loop.running.mode)
            if conflicting:
                self._monitor.refuse(ConfigError(describe(conflicting)))
        if self.active:
            looks = (self._effort_check.look(self._input.sent), self._gains.look(), self._input.look())
            for warning in filter(None, looks):
                self._node.get_logger().warning(warning)
            if learnt := self._contacts.look():
                self._node.get_logger().info(learnt)

    def _publish_diagnostics(self) -> None:
        values = {"effort": self._effort_check.text} | self._gains.values() | self._contacts.values()
        values[KEY] = self._entities.refusals.text
        self._diagnostics.publish(self._monitor.message(values, self._gains.report.warning))


def _raise_errors(findings: list[Finding]) -> None:
    if found := errors(findings):
        raise ConfigError(describe(found))
