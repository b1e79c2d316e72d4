"""A proxy of the loop in the bus's process: the :class:`~..control.controller.Controller` of the controller node."""

from __future__ import annotations

import json
import math
import os
import pickle
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...control.controller import LoopReport, check_takeover, known_state, tip_error
from ...core.errors import ConfigError, HardwareFault, RobotControlError, StaleStateError
from ...core.types import Array, Command, Reference, RobotState
from ...laws.running_law import RunningLaw
from ...references.workspace import Workspace
from ...robot.configuration import RobotConfig
from ...robot.model import RobotDynamics, RobotModel
from ...sensing.wrench import WrenchPipeline
from .in_process_loop import NOT_ENABLED, Answer, Attachment, LoopTelemetry
from .protocol import open_memory
from .shared_memory import Latest, Messages, lock

PATIENCE = 5.0  # s for an answer: a law that is used for the first time has to be made
FIRST_CYCLE = 2.0  # s until the first cycle of a loop has been told
MAX_SILENCE = 0.1  # s without telemetry
POLL = 0.0005  # s between two looks for one


class Line:
    """Calls to the loop in the bus's process.

    Args:
        path: of the memory shared with it.

    Raises:
        ConfigError: there is none, or another controller has it.
    """

    def __init__(self, path: Path) -> None:
        self._memory = open_memory(path)
        number, words = Latest(self._memory.region("report")).get()
        if number and not json.loads(words).get("in_process", True):
            self._memory.close()
            raise ConfigError("the bus's process takes no loop: start the node ethercat with in_process:=true")
        try:
            self._lock = lock(f"{path}.controller", "a controller's loop runs in the bus's process already")
        except ConfigError:
            self._memory.close()
            raise
        self._calls, self._returns = (Messages(self._memory.region(name)) for name in ("calls", "returns"))
        self._telemetry, self._pulse = (Latest(self._memory.region(name)) for name in ("telemetry", "pulse"))
        self._number = time.monotonic_ns()  # unlike those of a controller before
        self._taken, self._newest = 0, None
        self._said = b""
        self.trajectory = 0

    def close(self) -> None:
        """Leave it to another controller."""
        self._memory.close()
        os.close(self._lock)

    def call(self, name: str, *arguments: Any) -> Any:
        """Have it done between two cycles; returns the result.

        Raises:
            RobotControlError: as it was raised there.
            HardwareFault: no answer.
        """
        self._number += 1
        given = pickle.dumps(arguments, pickle.HIGHEST_PROTOCOL)  # by itself: the other side may not know what it is
        self._calls.put(pickle.dumps((self._number, name, given), pickle.HIGHEST_PROTOCOL))
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            message = self._returns.get()
            if message is None:
                if self._said:  # who waits lives
                    self._pulse.put(self._said)
                time.sleep(POLL)
                continue
            answer: Answer = pickle.loads(message)
            if answer.number == self._number:
                self.trajectory = answer.trajectory
                if isinstance(answer.result, RobotControlError):
                    raise answer.result
                return answer.result
        raise HardwareFault(f"{name}: the bus's process gave no answer within {PATIENCE:g} s")

    def telemetry(self) -> LoopTelemetry | None:
        """The newest; None where there is none."""
        if self._telemetry.number != self._taken:
            self._taken, record = self._telemetry.get()
            if record:
                self._newest = pickle.loads(record)
        return self._newest

    def forget(self) -> None:
        """Forget the newest telemetry."""
        self._taken, self._newest = self._telemetry.number, None

    def pulse(self, wrench: object) -> None:
        """Say that the controller lives, and what its sensor has measured."""
        self._said = pickle.dumps(wrench, pickle.HIGHEST_PROTOCOL)
        self._pulse.put(self._said)


@dataclass(frozen=True, eq=False)
class RemoteTrajectory:
    """A trajectory that the loop over there follows, by its number."""

    number: int


class RemoteMotion:
    """The commands that move the reference over there; see :class:`~...control.motion_commands.MotionCommands`.

    Attributes:
        trajectory: what is followed there; None for nothing.
    """

    def __init__(self, line: Line) -> None:
        self._line = line
        self.trajectory: RemoteTrajectory | None = None

    def follow(self, number: int) -> None:
        """Another number is another trajectory; 0 is none."""
        if number == 0:
            self.trajectory = None
        elif self.trajectory is None or self.trajectory.number != number:
            self.trajectory = RemoteTrajectory(number)

    def _call(self, name: str, *arguments: Any) -> None:
        self._line.call(name, *arguments)
        self.follow(self._line.trajectory)

    def hold(self) -> None:
        self._call("hold")

    def move_to(self, pose: Array) -> None:
        self._call("move_to", pose)

    def move_joints_to(self, goal: Array) -> None:
        self._call("move_joints_to", goal)

    def follow_joints(self, times: Array, positions: Array, velocities: Array | None) -> None:
        self._call("follow_joints", times, positions, velocities)

    def go_home(self) -> None:
        self._call("go_home")

    def jog(self, twist: Array, lasting: float) -> None:
        self._call("jog", twist, lasting)

    def set_feedforward_wrench(self, wrench: Array | None, lasting: float = math.inf) -> None:
        self._line.call("set_feedforward_wrench", wrench, lasting)


class RemoteWrench:
    """The wrench of the loop over there; see :class:`~...sensing.wrench.WrenchPipeline`.

    Attributes:
        settings: are sent with the next tick.
        reason: as it was last reported.
    """

    def __init__(self, line: Line, robot: RobotConfig) -> None:
        self._line = line
        self.settings = WrenchPipeline(robot.profile.wrench, not math.isnan(robot.profile.effort_sign)).settings
        self.reason = ""

    def zero(self) -> object:
        return self._line.call("zero_wrench")

    def set_tare(self, tare: Array) -> None:
        self._line.call("set_tare", tare)


class RemoteLoop:
    """The proxy of a ControlLoop whose cycles happen in the bus's process, at the bus's rate.

    :meth:`tick` gives what happened there last; what is asked for here is done there.

    Args:
        robot, law, gain_time_constant: see :class:`~...control.loop.ControlLoop`; the rate is that of the joint states
            here.
        description: text of the robot description, where it isn't the configuration's.
        name: of the robot, or its file.
        path: of the memory shared with the bus's process.

    Attributes: see :class:`~...control.controller.Controller`.

    Raises:
        ConfigError: no such process, or it refuses; also what ControlLoop raises.
        HardwareFault: it doesn't answer.
    """

    publishes_commands = False

    def __init__(
        self,
        robot: RobotConfig,
        law: RunningLaw,
        description: str | None,
        gain_time_constant: float,
        *,
        name: str,
        path: Path,
    ) -> None:
        self.robot, self.running, self.model = robot, law, RobotModel.of(robot, description)
        self.workspace = Workspace(robot.profile.workspace)
        self.state: RobotState | None = None
        self.kin: RobotDynamics | None = None
        self.reference = Reference()
        self.repeats = self.restarts = 0
        self.restart_reason = ""
        self._line = Line(path)
        self.motion, self.wrench = RemoteMotion(self._line), RemoteWrench(self._line, robot)
        self._told: LoopTelemetry | None = None
        self._begun, self._heard = False, 0.0
        self._sent_gains = law.gains.target
        self._sent_wrench, self._sent_workspace = self.wrench.settings.target, self.workspace.settings.target
        attachment = Attachment(
            *(os.getpid(), name, robot.profile_name, robot.urdf() if description is None else description, law.name),
            *(self._sent_gains, self._sent_wrench, self._sent_workspace, gain_time_constant),
        )
        try:
            self._line.call("attach", attachment)
        except RobotControlError:
            self._line.close()
            raise

    def close(self) -> None:
        """Leave the loop to another controller."""
        self._line.close()

    # --- what happened there ---

    def tick(self, state: RobotState) -> Command:
        """What was commanded last; `state` is the joint state that came over ROS, with the sensor's wrench.

        Raises:
            StaleStateError: the bus's process tells nothing new.
        """
        if not self._begun:
            self.reset()
        self._send_changes()
        self._line.pulse(state.wrench)
        now, told = time.monotonic(), self._line.telemetry()
        if told is not None and told is not self._told:
            self._heard = now
            self._take(told)
        if self._told is None or now - self._heard > MAX_SILENCE:
            raise StaleStateError(f"the loop in the bus's process has told nothing for {now - self._heard:.2f} s")
        return self._told.command

    def idle(self, state: RobotState) -> Command:
        """As :meth:`tick`: the loop over there rests by itself while the drives don't run."""
        return self.tick(state)

    def _take(self, told: LoopTelemetry) -> None:
        self._told, report = told, told.report
        self.state, self.reference = report.state, report.reference
        self.kin = self.model.update(report.state.q, report.state.v)
        self.restarts, self.restart_reason = report.restarts, report.restart_reason
        self.wrench.reason = report.wrench_reason
        self.motion.follow(told.trajectory)

    @property
    def fault(self) -> str:
        """Why the safe output is sent there, or what was refused; empty where all is well."""
        return "" if self._told is None else self._told.report.fault or self._told.refusal

    def report(self) -> LoopReport:
        """The last cycle that was reported.

        Raises:
            ConfigError: there was none.
        """
        if self._told is None:
            raise ConfigError("there has been no cycle yet")
        return self._told.report

    def timing(self) -> dict[str, float]:
        """How long the cycles over there take."""
        return {} if self._told is None else self._told.times

    def tip(self) -> Array:
        """Pose (4, 4) of the tip in the base, as it was last reported.

        Raises:
            ConfigError: there is no fresh state, or the drives are not enabled.
        """
        if self._told is not None and not self._told.running:
            raise ConfigError(NOT_ENABLED)
        return known_state(self.fault, self.state, self.kin, self.motion.trajectory)[1].pose

    def pose_error(self) -> Array:
        """Reference minus pose (6,), as last reported; zeros where the reference has no pose."""
        return tip_error(self.reference, self.kin)

    # --- what shall happen there ---

    def _send_changes(self) -> None:
        """Gains and settings that were set here."""
        gains, wrench, workspace = self.running.gains, self.wrench.settings, self.workspace.settings
        if gains.target is not self._sent_gains:
            gains.finish()
            self._line.call("set_gains", self.running.name, gains.target)
            self._sent_gains = gains.target
        if wrench.target is not self._sent_wrench:
            wrench.finish()
            self._line.call("set_wrench", wrench.target)
            self._sent_wrench = wrench.target
        if workspace.target is not self._sent_workspace:
            workspace.finish()
            self._line.call("set_workspace", workspace.target)
            self._sent_workspace = workspace.target

    def reset(self) -> None:
        """Let the loop command from the next cycle on.

        Raises:
            HardwareFault: nothing is heard of that cycle.
        """
        self.motion.trajectory, self._told, self.wrench.reason = None, None, ""
        self._send_changes()
        self._line.forget()
        self._line.pulse(None)
        self._line.call("begin")
        until = time.monotonic() + FIRST_CYCLE
        while self._line.telemetry() is None:
            if time.monotonic() > until:
                raise HardwareFault(f"the bus brings no samples: none within {FIRST_CYCLE:g} s")
            time.sleep(POLL)
        self._begun, self._heard = True, time.monotonic()

    def stop(self) -> Command | None:
        """Let it command no longer: the bus's process then stops the drives."""
        self.motion.trajectory, self._begun = None, False
        self._line.call("stop")
        return None

    def check_switch(self, running: RunningLaw) -> None:
        """Refuse a law that couldn't take over now; see :meth:`switch_law`."""
        check_takeover(running, self.state, self.wrench.reason)

    def switch_law(self, running: RunningLaw) -> None:
        """Let another law take over there; see :meth:`~...control.loop.ControlLoop.switch_law`."""
        self.check_switch(running)
        self._line.call("switch_law", running.name, running.gains.target)
        self.running, self._sent_gains = running, running.gains.target
