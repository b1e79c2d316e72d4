"""The controller's side of a loop that runs in the bus's process: the same methods, done over there."""

from __future__ import annotations

import json
import math
import os
import pickle
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ...errors import ConfigError, HardwareFault, RobotControlError, StaleStateError
from ...loop import ControlLoop, LoopReport
from ...model import Kinematics, RobotModel
from ...robots import RobotConfig
from ...running_law import RunningLaw
from ...types import Array, Command, Reference, RobotState
from .hosted import NOT_ENABLED, Answer, Attachment, Telemetry
from .protocol import open_memory
from .shared import Latest, Messages, lock

PATIENCE = 5.0  # s for an answer: a law that is used for the first time has to be made
FIRST_CYCLE = 2.0  # s until the first cycle of a loop has been told
LONGEST_SILENCE = 0.1  # s without telemetry
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

    def telemetry(self) -> Telemetry | None:
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


@dataclass(frozen=True)
class RemoteTrajectory:
    """What the loop over there follows, by number; here it is known by what it was last."""

    number: int
    last: Reference

    def sample(self, time: float) -> Reference:
        """The last reference that was told."""
        return self.last


class RemoteLoop(ControlLoop):
    """A ControlLoop whose cycles happen in the bus's process, at the bus's rate.

    :meth:`tick` tells what happened there last; what is asked for here is done there.

    Args:
        robot, law, gain_time_constant: see :class:`ControlLoop`; the rate is that of the joint states here.
        description: text of the robot description, where it isn't the configuration's.
        name: of the robot, or its file.
        path: of the memory shared with the bus's process.

    Raises:
        ConfigError: no such process, or it refuses; also what :class:`ControlLoop` raises.
        HardwareFault: it doesn't answer.
    """

    acts: ClassVar[bool] = False

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
        model = RobotModel.of(robot, description)
        super().__init__(robot, law, model=model, gain_time_constant=gain_time_constant)
        self._line = Line(path)
        self._told: Telemetry | None = None
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
        if self._told is None or now - self._heard > LONGEST_SILENCE:
            raise StaleStateError(f"the loop in the bus's process has told nothing for {now - self._heard:.2f} s")
        return self._told.command

    def _take(self, told: Telemetry) -> None:
        self._told, state = told, told.report.state
        self.state, self.kin = state, self.model.update(state.q, state.v)
        self.reference = told.report.reference
        self._follow(told.trajectory)

    def _follow(self, number: int) -> None:
        """Another number is another trajectory."""
        if number == 0:
            self.trajectory = None
        elif not isinstance(self.trajectory, RemoteTrajectory) or self.trajectory.number != number:
            self.trajectory = RemoteTrajectory(number, self.reference)

    @property
    def fault(self) -> str:
        return "" if self._told is None else self._told.report.fault or self._told.refusal

    @property
    def wrench_reason(self) -> str:
        return "" if self._told is None else self._told.report.wrench_reason

    def report(self) -> LoopReport:
        if self._told is None:
            raise ConfigError("there has been no cycle yet")
        return self._told.report

    def timing(self) -> dict[str, float]:
        return {} if self._told is None else self._told.times

    def _known(self) -> tuple[RobotState, Kinematics]:
        if self._told is not None and not self._told.running:
            raise ConfigError(NOT_ENABLED)
        return super()._known()

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
        self.trajectory, self._told = None, None
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
        self.trajectory, self._begun = None, False
        self._line.call("stop")
        return None

    def switch_law(self, running: RunningLaw) -> None:
        self.check_switch(running)
        self._line.call("switch_law", running.name, running.gains.target)
        self.running, self._sent_gains = running, running.gains.target

    def _lead(self, name: str, *arguments: Any) -> None:
        self._line.call(name, *arguments)
        self._follow(self._line.trajectory)

    def hold(self) -> None:
        self._lead("hold")

    def move_to(self, pose: Array) -> None:
        self._lead("move_to", pose)

    def move_joints_to(self, goal: Array) -> None:
        self._lead("move_joints_to", goal)

    def follow_joints(self, times: Array, positions: Array, velocities: Array | None) -> None:
        self._lead("follow_joints", times, positions, velocities)

    def jog(self, twist: Array, lasting: float) -> None:
        self._lead("jog", twist, lasting)

    def exert(self, wrench: Array | None, lasting: float = math.inf) -> None:
        self._line.call("exert", wrench, lasting)

    def zero_wrench(self) -> None:
        self._line.call("zero_wrench")

    def set_tare(self, tare: Array) -> None:
        self._line.call("set_tare", tare)

    def settle(self) -> None:
        """That is done there, too."""
