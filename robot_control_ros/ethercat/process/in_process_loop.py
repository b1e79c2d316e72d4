"""A ControlLoop within the bus's process, led by a controller in another one: sense, compute and act in one cycle.

The controller has a proxy, :class:`~.remote_loop.RemoteLoop`, whose calls arrive here. They are unpickled and prepared
in the thread beside the cycle, and take effect between two cycles.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import select
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...control.controller import LoopReport
from ...control.loop import ControlLoop
from ...core.errors import ConfigError, RobotControlError
from ...core.types import Command, RobotState, Wrench
from ...laws import law_names
from ...laws.running_law import RunningLaw
from ...robot.configuration import load_robot
from ...robot.model import RobotModel
from .shared_memory import Latest, Messages, SharedFile

TELEMETRY_RATE = 200.0  # Hz
NOT_ENABLED = "the drives are not enabled: call the service ~/enable of the node ethercat"
MAX_SILENCE = 2.0  # s that a controller which lives may say nothing: the loop goes on without it
_MOTION = ("hold", "move_to", "move_joints_to", "follow_joints", "go_home", "jog")  # for drives that run


@dataclass(frozen=True)
class Attachment:
    """What a controller brings.

    Attributes:
        process: its process's number.
        robot, profile: of the robot's file.
        description: text of the robot description.
        law, gains: name of the law, and its gains.
        wrench, workspace: settings of the wrench pipeline, and of the box that targets stay in.
        gain_time_constant: [s] with which changed gains are taken over.
    """

    process: int
    robot: str
    profile: str
    description: str
    law: str
    gains: Any
    wrench: Any
    workspace: Any
    gain_time_constant: float


@dataclass(frozen=True)
class LoopTelemetry:
    """What a controller is told of its loop.

    Attributes:
        report: of the loop; its reference is without the path.
        command: that was sent.
        refusal: an error of a cycle since the last telemetry; empty where there was none.
        trajectory: number of the trajectory that is followed; 0 for none.
        running: whether the drives do what is commanded.
        times: how long cycles take.
    """

    report: LoopReport
    command: Command
    refusal: str
    trajectory: int
    running: bool
    times: dict[str, float]


@dataclass(frozen=True)
class Answer:
    """To a call.

    Attributes:
        number: of the call.
        result: what it returned; an error of this package, where it was refused.
        trajectory: see :class:`LoopTelemetry`.
    """

    number: int
    result: Any
    trajectory: int


def warm_up(robot: str, profile: str) -> None:
    """Run every law once, so that all they need is loaded: a first use would hold up the bus.

    Args:
        robot: name, or path of a YAML file.
        profile: of it.
    """
    config = load_robot(robot, profile)
    model, nothing = RobotModel.of(config), np.zeros(config.n)
    for name in law_names():
        with contextlib.suppress(ConfigError):  # laws that this robot can't have
            loop = ControlLoop(config, name, model=model)
            for k in range(3):
                loop.tick(RobotState(k * config.period, np.array(config.home), nothing, nothing))


class InProcessLoop:
    """The loop and its line to the controller.

    Args:
        memory: shared with the controller.
        period: of the cycle [s].

    Attributes:
        active: whether it commands the drives.
        loop: that the controller has attached; None before.
    """

    def __init__(self, memory: SharedFile, period: float) -> None:
        self.active = False
        self._calls, self._returns = Messages(memory.region("calls")), Messages(memory.region("returns"))
        self._telemetry, self._pulse = Latest(memory.region("telemetry")), Latest(memory.region("pulse"))
        self._rate = 1.0 / period
        self._every = max(1, round(self._rate / TELEMETRY_RATE))
        self.loop: ControlLoop | None = None
        self._laws: dict[str, RunningLaw] = {}
        self._time_constant = 0.0
        self._ready: deque[Callable[[], None]] = deque()
        self._controller: select.poll | None = None
        self._descriptor: int | None = None  # of the controller's process
        self._count = self._trajectory = self._heard_number = self._taken = 0
        self._running = False
        self._heard = math.inf
        self._followed: object = None
        self._refusal = ""
        self._wrench: Wrench | None = None
        self._command: Command | None = None
        self._times: dict[str, float] = {}

    # --- in the cycle ---

    @property
    def pending(self) -> bool:
        """Whether calls wait for :meth:`prepare`."""
        return self._calls.pending

    def tick(self, state: RobotState, running: bool) -> Command | None:
        """The command for a fresh state; None where there is none.

        Args:
            state: of this cycle.
            running: whether the drives do what is commanded; else the loop rests where the robot is.

        Raises:
            Exception: whatever a law raises; it is no longer active then.
        """
        loop = self.loop
        if loop is None or not self.active:
            return None
        state, self._running = replace(state, wrench=self._last_wrench()), running
        try:
            self._command = loop.tick(state) if running else loop.idle(state)
        except RobotControlError as error:
            self._refusal, self._command = str(error), loop.stop()
        except Exception:
            self.active = False
            raise
        self._count_trajectory(loop)
        return self._command

    def after(self) -> None:
        """What can wait until the outputs are ready: calls and telemetry.

        Raises:
            Exception: whatever a law raises; it is no longer active then.
        """
        while self._ready:
            self._ready.popleft()()
        loop = self.loop
        if loop is None or not self.active or loop.state is None:
            return
        try:
            self._count += 1
            if self._count % self._every == 0:
                self._tell(loop)
        except Exception:
            self.active = False
            raise

    def failure(self, now: float) -> str:
        """Why an active loop can't go on, in words; empty where it can."""
        if not self.active or self._controller is None:
            return ""
        if self._controller.poll(0):
            return "the controller's process has ended"
        if self._pulse.number != self._heard_number:
            self._heard_number, self._heard = self._pulse.number, now
        silence = now - self._heard
        return f"the controller hangs: silent for {silence:.2f} s" if silence > MAX_SILENCE else ""

    def drop(self) -> None:
        """Let the loop command no longer."""
        self.active = False

    def _last_wrench(self) -> Wrench | None:
        """The sensor's last sample, stamped by the controller with the joint states' clock."""
        if self._pulse.number != self._taken:
            self._taken, record = self._pulse.get()
            given: Wrench | None = pickle.loads(record) if record else None
            if given is not None and (given.time is None or self._wrench is None or given.time != self._wrench.time):
                self._wrench = given
        return self._wrench

    def _tell(self, loop: ControlLoop) -> None:
        if loop.state is None or self._command is None:
            return
        if self._count % round(self._rate) < self._every:
            self._times = loop.timing()
        report = loop.report()
        report = replace(report, reference=replace(report.reference, path=None))
        telemetry = LoopTelemetry(report, self._command, self._refusal, self._number(), self._running, self._times)
        self._refusal = ""
        self._telemetry.put(pickle.dumps(telemetry, pickle.HIGHEST_PROTOCOL))

    def _count_trajectory(self, loop: ControlLoop) -> None:
        if loop.motion.trajectory is not self._followed:
            self._followed = loop.motion.trajectory
            self._trajectory += 1

    def _number(self) -> int:
        return 0 if self.loop is None or self.loop.motion.trajectory is None else self._trajectory

    # --- beside the cycle ---

    def prepare(self) -> None:
        """Take the calls that wait, and have them done between two cycles."""
        while (message := self._calls.get()) is not None:
            number, name, arguments = pickle.loads(message)
            try:
                action = self._action(name, pickle.loads(arguments))
            except RobotControlError as error:
                action = _raiser(error)
            except Exception as error:  # whatever a user's class raises
                action = _raiser(ConfigError(f"{name}: {type(error).__name__}: {error}"))
            self._ready.append(partial(self._do, number, action))

    def _do(self, number: int, action: Callable[[], Any]) -> None:
        try:
            result = action()
        except RobotControlError as error:
            result = error
        except Exception as error:
            result = ConfigError(f"{type(error).__name__}: {error}")
        if self.loop is not None:
            self._count_trajectory(self.loop)
        self._returns.put(pickle.dumps(Answer(number, result, self._number()), pickle.HIGHEST_PROTOCOL))

    def _action(self, name: str, arguments: tuple[Any, ...]) -> Callable[[], Any]:
        if name == "attach":
            return self._attachment(*arguments)
        loop = self.loop
        if loop is None:
            raise ConfigError("the bus's process has no loop: configure the controller anew")
        if name in _MOTION:
            return lambda: self._move(loop, name, arguments)
        return self._indirect(loop, name, *arguments)

    def _move(self, loop: ControlLoop, name: str, arguments: tuple[Any, ...]) -> None:
        if not (self.active and self._running):
            raise ConfigError(NOT_ENABLED)
        getattr(loop.motion, name)(*arguments)

    def _indirect(self, loop: ControlLoop, name: str, *arguments: Any) -> Callable[[], Any]:
        direct: dict[str, Callable[[], Any]] = {
            "begin": lambda: self._begin(loop),
            "stop": lambda: self._end(loop),
            "set_feedforward_wrench": lambda: loop.motion.set_feedforward_wrench(*arguments),
            "zero_wrench": loop.wrench.zero,
            "set_tare": lambda: loop.wrench.set_tare(*arguments),
            "set_wrench": lambda: loop.wrench.settings.change(*arguments),
            "set_workspace": lambda: loop.workspace.settings.change(*arguments),
        }
        if name in direct:
            return direct[name]
        if name == "switch_law":
            law = self._law(*arguments)
            return lambda: loop.switch_law(law)
        if name == "set_gains":
            law = self._law(arguments[0])
            return lambda: law.gains.change(arguments[1])
        raise ConfigError(f"unknown call {name!r}")

    def _law(self, name: str, gains: Any = None) -> RunningLaw:
        loop = self.loop
        assert loop is not None
        if name not in self._laws:
            self._laws[name] = RunningLaw(loop.robot, name, time_constant=self._time_constant)
        law = self._laws[name]
        if gains is not None:
            law.gains.change(gains)
            if law is not loop.running:
                law.gains.finish()
        return law

    def _attachment(self, given: Attachment) -> Callable[[], None]:
        robot = load_robot(given.robot, given.profile).at_rate(self._rate)
        law = RunningLaw(robot, given.law, time_constant=given.gain_time_constant)
        law.gains.change(given.gains)
        law.gains.finish()
        loop = ControlLoop(
            robot,
            law,
            model=RobotModel.of(robot, given.description),
            gain_time_constant=given.gain_time_constant,
        )
        loop.wrench.settings.change(given.wrench)
        loop.workspace.settings.change(given.workspace)
        descriptor = os.pidfd_open(given.process)
        controller = select.poll()
        controller.register(descriptor, select.POLLIN)

        def attach() -> None:
            self.drop()
            if self._descriptor is not None:
                os.close(self._descriptor)
            self.loop, self._laws, self._time_constant = loop, {given.law: law}, given.gain_time_constant
            self._controller, self._descriptor, self._followed = controller, descriptor, None

        return attach

    def _begin(self, loop: ControlLoop) -> None:
        loop.reset()
        loop.safety.reset()
        loop.state = None
        self._refusal, self._wrench, self._command = "", None, None
        self._count = self._every - 1  # telemetry with the first cycle
        self._heard = time.monotonic()
        self.active = True

    def _end(self, loop: ControlLoop) -> None:
        loop.stop()
        self.active = False


def _raiser(error: RobotControlError) -> Callable[[], Any]:
    def action() -> Any:
        raise error

    return action
