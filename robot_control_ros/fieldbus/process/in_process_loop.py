"""A ControlLoop within the bus's process, led by a controller in another one: sense, compute and
act in one cycle.

The controller has a proxy, :class:`~.remote_loop.RemoteLoop`, whose calls arrive here. They are
prepared in the thread beside the cycle, and take effect between two cycles.
"""

from __future__ import annotations

import math
import os
import select
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ...control.controller import LoopReport, settings_of
from ...control.loop import ControlLoop
from ...control.reactions.contact_monitor import ContactReport
from ...control.warm_up import check_warm, warm_up
from ...core.errors import ConfigError, RobotControlError, refused, unknown
from ...core.gains import ParameterSet
from ...core.types import Command, Reference, RobotState, Wrench
from ...laws import law_names
from ...laws.running_law import RunningLaw
from ...robot.configuration import RobotConfig, load_robot
from ...robot.model import RobotModel
from .protocol import CONTROLLER, read_command, read_state, read_wrench
from .rpc import BetweenCycles, RpcServer, decode, encode
from .shared_memory import Latest, SharedFile

TELEMETRY_RATE = 200.0  # Hz
NOT_ENABLED = "the drives are not enabled: call the service ~/enable of the bus's node"
MAX_SILENCE = 2.0  # s that a controller which lives may send nothing: the loop goes on without it
# for drives that run
_MOTION = (
    "hold",
    "move_to",
    "move_joints_to",
    "follow_joints",
    "follow_joint_chunk",
    "follow_tip",
    "set_posture",
    "go_home",
    "jog",
)


@dataclass(frozen=True)
class LoopTelemetry:
    """Telemetry that a controller gets of its loop.

    Attributes:
        report: Report of the loop; its reference is without the path.
        warning: Warning of the loop.
        command: Command that was sent.
        refusal: Error of a cycle since the last telemetry; empty where there was none.
        trajectory: Number of the trajectory that is followed; 0 for none.
        running: True where the drives do what is commanded.
        times: Durations of cycles by name, see :meth:`~...control.loop.ControlLoop.timing`.
    """

    report: LoopReport
    warning: str
    command: Command
    refusal: str
    trajectory: int
    running: bool
    times: dict[str, float]

    @classmethod
    def decode(cls, record: bytes) -> LoopTelemetry:
        """Telemetry of a record that :func:`.rpc.encode` made."""
        given = decode(record)
        report = given["report"]
        report |= {
            "state": read_state(report["state"]),
            "reference": Reference(**report["reference"]),
        }
        report["contact"] = ContactReport.of(report["contact"])
        given |= {"report": LoopReport(**report), "command": read_command(given["command"])}
        return cls(**given)


class InProcessLoop:
    """The loop and its line to the controller, by the memory that both share.

    All laws are made ready here: a first use would hold up the bus.

    Args:
        period: Time between two cycles [s].
        robot: Robot that the bus moves.
        measures_wrench: True where the bus measures the wrench: it comes with the state, or there
            is none. False where a sensor's wrench comes from the controller.

    Attributes:
        active: True where the loop commands the drives.
        loop: Loop that the controller has attached; None before.
        server: Server of the controller's calls; it answers beside the cycle.
    """

    def __init__(
        self,
        memory: SharedFile,
        period: float,
        between: BetweenCycles,
        robot: RobotConfig,
        measures_wrench: bool = False,
    ) -> None:
        self.active = False
        self.loop: ControlLoop | None = None
        self.server = RpcServer(memory, CONTROLLER, self.call)
        self._between = between
        self._robot = robot
        self._measures_wrench = measures_wrench
        warm_up(robot, law_names())
        self._telemetry = Latest(memory.region("telemetry"))
        self._pulse = Latest(memory.region("pulse"))
        self._rate = 1.0 / period
        self._every = max(1, round(self._rate / TELEMETRY_RATE))
        self._laws: dict[str, RunningLaw] = {}
        self._time_constant = 0.0
        self._controller: select.poll | None = None
        self._descriptor: int | None = None  # of the controller's process
        self._count = 0
        self._trajectory = 0
        self._last_pulse = 0
        self._taken = 0
        self._running = False
        self._pulse_time = math.inf
        self._followed: object = None
        self._refusal = ""
        self._wrench: Wrench | None = None
        self._command: Command | None = None
        self._times: dict[str, float] = {}

    # --- in the cycle ---

    def tick(self, state: RobotState, running: bool) -> Command | None:
        """The command for a fresh state; None where there is none.

        Where the drives aren't running, they don't do what is commanded: the loop rests where the
        robot is.

        Raises:
            Exception: whatever a law raises; it is no longer active then.
        """
        loop = self.loop
        if loop is None or not self.active:
            return None
        if not self._measures_wrench:
            state = replace(state, wrench=self._last_wrench())
        self._running = running
        try:
            self._command = loop.tick(state) if running else loop.idle(state)
        except RobotControlError as error:
            self._refusal = str(error)
            self._command = loop.brake_or_stop(state)
        except Exception:
            self.active = False
            raise
        self._trajectory_number(loop)
        return self._command

    def send_telemetry(self) -> None:
        """Report to the controller, where it is time to, after the outputs are ready;
        raises as :meth:`tick`.
        """
        loop = self.loop
        if loop is None or not self.active or loop.state is None:
            return
        self._count += 1
        if self._count % self._every or self._command is None:
            return
        try:
            if self._count % round(self._rate) < self._every:
                self._times = loop.timing()
            report = loop.report()
            report = replace(report, reference=replace(report.reference, path=None))
            number = self._trajectory_number(loop)
            telemetry = LoopTelemetry(
                report,
                loop.warning,
                self._command,
                self._refusal,
                number,
                self._running,
                self._times,
            )
            self._telemetry.put(encode(telemetry))
        except Exception:
            self.active = False
            raise
        self._refusal = ""

    def failure(self, now: float) -> str:
        """Reason why an active loop can't go on; empty where it can."""
        if not self.active or self._controller is None:
            return ""
        if self._controller.poll(0):
            return "the controller's process has ended"
        if self._pulse.number != self._last_pulse:
            self._last_pulse = self._pulse.number
            self._pulse_time = now
        silence = now - self._pulse_time
        return f"the controller hangs: silent for {silence:.2f} s" if silence > MAX_SILENCE else ""

    def _last_wrench(self) -> Wrench | None:
        """The sensor's last sample, stamped by the controller with the joint states' clock."""
        if self._pulse.number != self._taken:
            self._taken, record = self._pulse.get()
            given = read_wrench(decode(record)) if record else None
            if given is not None and (
                given.time is None or self._wrench is None or given.time != self._wrench.time
            ):
                self._wrench = given
        return self._wrench

    def _trajectory_number(self, loop: ControlLoop) -> int:
        """Number of the trajectory that is followed; 0 for none."""
        if loop.motion.trajectory is not self._followed:
            self._followed = loop.motion.trajectory
            self._trajectory += 1
        return 0 if loop.motion.trajectory is None else self._trajectory

    # --- beside the cycle ---

    def call(self, name: str, *arguments: Any, **options: Any) -> Any:
        """Do what the controller asks for: prepared here, and done between two cycles.

        Raises:
            ConfigError: there is no such call, or no loop; also what the loop raises.
        """
        if name == "attach":
            return self._between.call(self._attachment(**options))
        loop = self.loop
        if loop is None:
            raise ConfigError("the bus's process has no loop: configure the controller anew")
        if name == "learned":
            return loop.contact.learned()  # here, because a cycle has no time for it
        if name in _MOTION:
            return self._between.call(lambda: self._move(loop, name, arguments))
        return self._between.call(self._action(loop, name, *arguments))

    def _move(self, loop: ControlLoop, name: str, arguments: tuple[Any, ...]) -> int:
        """Do a command that moves the reference; returns the number of its trajectory."""
        if not (self.active and self._running):
            raise ConfigError(NOT_ENABLED)
        getattr(loop.motion, name)(*arguments)
        return self._trajectory_number(loop)

    def _action(self, loop: ControlLoop, name: str, *arguments: Any) -> Callable[[], Any]:
        if name == "switch_law":
            return self._switch(loop, *arguments)
        tuned: dict[str, ParameterSet] = {
            "set_gains": loop.running.gains,
            **{f"set_{name}": settings for name, settings in settings_of(loop).items()},
        }
        if name in tuned:
            return partial(tuned[name].change, tuned[name].check(*arguments))
        direct: dict[str, Callable[..., Any]] = {
            "begin": partial(self._begin, loop),
            "stop": partial(self._end, loop),
            "set_feedforward_wrench": loop.motion.set_feedforward_wrench,
            "zero_wrench": loop.wrench.zero,
            "set_tare": loop.wrench.set_tare,
            "clear_contact": loop.contact.clear,
            "begin_learning": loop.contact.begin_learning,
            "reset_ringing": loop.ringing.reset,
        }
        if name not in direct:
            raise unknown(
                "call", name, ("attach", *_MOTION, "learned", "switch_law", *tuned, *direct)
            )
        return partial(direct[name], *arguments)

    def _switch(self, loop: ControlLoop, name: str, values: dict[str, Any]) -> Callable[[], None]:
        """Prepare another law, made here where it is new.

        Returns the action that lets it take over.
        """
        if name not in self._laws:
            self._laws[name] = RunningLaw(loop.robot, name, time_constant=self._time_constant)
        law = self._laws[name]
        if self.active:
            check_warm(law)
        else:
            warm_up(law.robot, [name])
        gains = law.gains.check(values)

        def switch() -> None:
            law.gains.change(gains)
            if law is not loop.running:
                law.gains.finish()
            loop.switch_law(law)

        return switch

    def _attachment(
        self,
        process: int,
        robot: str,
        profile: str,
        description: str,
        law: str,
        gains: dict[str, Any],
        settings: dict[str, dict[str, Any]],
        gain_time_constant: float,
    ) -> Callable[[], None]:
        """Prepare a loop; returns the action that puts it in this one's place.

        The arguments come from :class:`~.remote_loop.RemoteLoop`.
        """
        config = load_robot(robot, profile).at_rate(self._rate)
        if (config.name, config.joints) != (self._robot.name, self._robot.joints):
            rule = f"this bus moves the robot {self._robot.name!r}: start both with the same robot"
            raise refused("robot", config.name, rule, self._robot.name)
        running = RunningLaw(config, law, gains, gain_time_constant)
        warm_up(config, [law, *law_names()])
        model = RobotModel.of(config, description)
        loop = ControlLoop(config, running, model=model, gain_time_constant=gain_time_constant)
        for name, tuned in settings_of(loop).items():
            tuned.set(settings[name])
        descriptor = os.pidfd_open(process)
        controller = select.poll()
        controller.register(descriptor, select.POLLIN)

        def attach() -> None:
            self.active = False
            if self._descriptor is not None:
                os.close(self._descriptor)
            self.loop = loop
            self._laws = {law: running}
            self._time_constant = gain_time_constant
            self._controller = controller
            self._descriptor = descriptor
            self._followed = None

        return attach

    def _begin(self, loop: ControlLoop) -> None:
        loop.reset()
        loop.safety.reset()
        loop.state = None
        self._refusal = ""
        self._wrench = None
        self._command = None
        self._count = self._every - 1  # telemetry with the first cycle
        self._pulse_time = time.monotonic()
        self.active = True

    def _end(self, loop: ControlLoop) -> None:
        loop.stop()
        self.active = False
