"""The steps that identify a running arm: its controller moves it, and is left as it was."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.errors import ConfigError, HardwareFault, RobotControlError, refused
from ..core.types import Array, CommandMode
from ..robot.configuration import RobotConfig, load_robot
from ..robot.model import RobotModel
from .dialog import Dialog, IdentificationStep, StopRequested
from .estimate import Identification, identify
from .estimates import Estimate
from .motion_law import LAWS, motion_gains, motion_mode
from .motion_plan import MotionBounds, MotionPlan, plan_motion
from .recording import ArmRecording

FOUND = 10.0  # s until the controller is there, as long as `Robot` waits for one
READY = 20.0  # s until its joint states are there
REPLY = 10.0  # s until it replies
AGAIN = 1.0  # s until the same is requested again
SETTLE = 1.5  # s in which changed gains are taken over, and the arm comes to rest
# s from sending a motion first to its start: what is heard late on a busy machine is sent late
LEAD = 2.0
SILENCE = 0.5  # s without a command or a joint state that end the motion
# s of the system's clock, that the last command may be older than the last joint state
SILENT_CLOCK = 1.0
PERIOD = 0.005  # s between two looks
STARTED = 0.02  # rad that the arm may have moved since the bounds were shown
IN_BUS_PROCESS = "must be empty: commands in the bus process are on no topic; launch with in_process:=false to identify"
# periods of control between two messages of /clock, beyond which the time between is interpolated
COARSE = 1.5
# s between a joint state, its command and the clock before, beyond which one was lost on its way
# here
LOST = 0.05
MISSED = 0.1  # of the joint states that may be lost, or lack one of them
_SYSTEM = ("robot", "profile", "prefix", "rate", "bus", "use_sim_time")


class RunningIdentification:
    """The steps of an identification.

    Args:
        arm: Arm that is led and recorded, as :class:`~..ros.recorded_arm.RecordedArm`.
        wait: Lets some seconds pass; raises StopRequested where the person stops the
            identification.
        name: Name of the controller.
        dialog: Person who sees the steps.
        mode: Mode of the commands, effort or position; empty takes effort where the profile has it.

    Attributes:
        robot: Configuration of the robot, at the controller's rate.
        model: Model of the robot.

    Raises:
        ConfigError: There is no such controller, or it can't be identified.
    """

    def __init__(
        self, arm: Any, wait: Callable[[float], None], name: str, dialog: Dialog, mode: str
    ) -> None:
        self._arm = arm
        self._wait = wait
        self._dialog = dialog
        text = f"no controller {name!r} answers: must be started"
        self._until(lambda: arm.ready, FOUND, ConfigError(text, name="controller", value=name))
        system = self._get(_SYSTEM)
        if system["bus"]:
            raise refused("bus", system["bus"], IN_BUS_PROCESS, "")
        robot = load_robot(system["robot"], system["profile"], system["prefix"])
        self.robot: RobotConfig = robot.at_rate(system["rate"] or robot.profile.rate)
        self._mode = motion_mode(self.robot.profile, mode)
        self.model = RobotModel.of(self.robot)
        self._simulated_time = bool(system["use_sim_time"])
        arm.record(self.robot, self._mode, self._simulated_time)
        text = f"no joint states on {self.robot.profile.joint_states}"
        self._until(lambda: len(arm.states) > 1, READY, HardwareFault(text))

    def plan(self, bounds: MotionBounds) -> MotionPlan:
        """Plan the motion from where the arm is; see :func:`~.motion_plan.plan_motion`."""
        return plan_motion(self.robot, self.model, self._arm.state.q.copy(), bounds)

    def run(self, plan: MotionPlan) -> tuple[Identification, ArmRecording]:
        """Move, record and estimate.

        However it ends, the arm holds where it is, under the law and the gains of before.

        Raises:
            ConfigError: The controller refuses law, gains or motion; see
                :func:`~.estimate.identify`.
            HardwareFault: The arm left the bounds, or the controller was stopped.
            StopRequested: The person has stopped it.
        """
        self._arm.poll()
        if (moved := float(np.abs(self._arm.state.q - plan.q0).max())) > STARTED:
            rule = f"at most {STARTED:g} rad from where the bounds were shown: plan again"
            raise refused("posture", moved, rule, STARTED, unit="rad")
        with self._as_before(plan):
            self._pause(SETTLE)
            start = self._move(plan)
        recording = self._recording(start, plan)
        identification = identify(recording, plan, self.model, self.robot.profile)
        if self._clock_period > COARSE * self.robot.period:
            line = identification.line
            wider = Estimate(line.delay.value, line.delay.half_width + self._clock_period / 2.0)
            identification = replace(identification, line=replace(line, delay=wider))
        return identification, recording

    # --- the controller ---

    @contextlib.contextmanager
    def _as_before(self, plan: MotionPlan) -> Iterator[None]:
        """Under the law and the gains of the motion; those of before come back
        with an arm that holds.
        """
        law = LAWS[self._mode]
        gains = motion_gains(self.robot, self.model, self._mode, plan.q0)
        values = {f"{law}.{name}": value for name, value in gains.items()}
        before = self._get(["law", *values])
        typed = {name: type(before[name])(value) for name, value in values.items()}
        try:
            self._set(typed if before["law"] == law else {"law": law, **typed})
            yield
        finally:
            self._restore(before)

    def _restore(self, before: dict[str, Any]) -> None:
        """Hold the arm, then set the parameters of before; the person is warned where
        one of the two fails.
        """
        problems = []
        for step in (self._hold, lambda: self._set(before)):
            try:
                step()
            except (RobotControlError, StopRequested) as error:
                problems.append(str(error) or "stopped")
        if problems:
            law = LAWS[self._mode]
            self._dialog.warn(
                f"law {before['law']} and the gains of {law} may be changed: {'; '.join(problems)}"
            )
        else:
            self._dialog.report(
                IdentificationStep("restored", "the arm holds; law and gains are those of before")
            )

    def _hold(self) -> None:
        self._reply(self._arm.hold, "hold")

    def _get(self, names: Any) -> dict[str, Any]:
        reply = self._reply(lambda: self._arm.get(names), "parameters")
        values: dict[str, Any] = self._arm.values(names, reply)
        if len(values) < len(names):
            raise ConfigError(f"controller: no parameter {names[0]}; must be active", name=names[0])
        return values

    def _set(self, parameters: dict[str, Any]) -> None:
        reply = self._reply(lambda: self._arm.set(parameters), "change of parameters")
        self._arm.check_set(reply)

    # --- the motion ---

    def _move(self, plan: MotionPlan) -> float:
        """Let the arm move; returns the stamp of the start [s]."""
        arm = self._arm
        arm.poll()
        arm.forget()
        start = arm.state.time + LEAD
        checked = 0
        heard = time.monotonic()
        send_at = -np.inf
        shown = -1
        while arm.state.time < start + plan.duration:
            # the controller reads with best effort: one may be lost
            if send_at < arm.state.time < start:
                arm.send(self.robot.joints, start, plan.times, plan.positions, plan.velocities)
                send_at = arm.state.time + LEAD / 5.0
            self._wait(PERIOD)
            arm.poll()
            for sent in arm.states[checked:]:
                if left := plan.left(sent.values.q, sent.values.v):
                    raise HardwareFault(f"identification stopped: {left}")
                heard = time.monotonic()
            checked = len(arm.states)
            self._check_alive(heard)
            tenths = int(10.0 * max(arm.state.time - start, 0.0) / plan.duration)
            if tenths > shown:
                self._dialog.report(
                    IdentificationStep("moving", f"moving: {10 * tenths} %", progress=tenths / 10.0)
                )
                shown = tenths
        return float(start)

    def _check_alive(self, heard: float) -> None:
        arm = self._arm
        if time.monotonic() - heard > SILENCE:
            raise HardwareFault(
                f"identification stopped: no joint state for {SILENCE:g} s", bound=SILENCE
            )
        if not arm.commands or arm.states[-1].at - arm.commands[-1].at > SILENT_CLOCK:
            text = f"no command for {SILENT_CLOCK:g} s; was the controller stopped?"
            raise HardwareFault(f"identification stopped: {text}", bound=SILENT_CLOCK)

    def _recording(self, start: float, plan: MotionPlan) -> ArmRecording:
        """Each joint state with the command that was sent next, from the start of
        the motion to its end.
        """
        arm = self._arm
        states = arm.states
        sent, values = _arrays(arm.commands)
        at = np.array([each.at for each in states])
        stamp = np.array([each.values.time for each in states])
        index = np.minimum(np.searchsorted(sent, at, side="left"), len(sent) - 1)
        received = self._received(sent)[index]
        answered = sent[index] - at
        moving = (stamp >= start) & (stamp <= start + plan.duration)
        used = moving & (answered >= 0.0) & (answered < LOST) & np.isfinite(received)
        if (missed := 1.0 - used.sum() * self.robot.period / plan.duration) > MISSED:
            text = f"{missed:.0%} of the joint states, their commands or the clock were lost: end other programs"
            raise HardwareFault(text, name="missed", value=missed, bound=MISSED)
        index = index[used]
        q = np.array([each.values.q for each in states])[used]
        v = np.array([each.values.v for each in states])[used]
        effort = np.array([each.values.effort for each in states])[used]
        plan.check_followed(self.robot.joints, stamp[used] - start, q)
        command = values[index]
        if self._mode is CommandMode.EFFORT and self.robot.profile.gravity_by_robot:
            command = command + np.array([self.model.at(each).gravity for each in q])
        return ArmRecording(
            self._mode,
            start,
            stamp[used],
            received[used],
            q,
            v,
            effort,
            self._wrenches(at[used]),
            command,
        )

    def _received(self, sent: Array) -> Array:
        """When commands (k,) took effect, by the clock of the stamps [s]; NaN where
        the clock was lost.
        """
        if not self._simulated_time:
            return sent
        at, times = _arrays(self._arm.clocks)
        before = np.clip(np.searchsorted(at, sent, side="right") - 1, 0, None)
        coarse = self._clock_period > COARSE * self.robot.period
        received = np.interp(sent, at, times) if coarse else times[before]
        return np.where(sent - at[before] < LOST, received, np.nan)

    @property
    def _clock_period(self) -> float:
        """Period of /clock [s]; 0 where the stamps are of the system's clock."""
        return (
            float(np.median(np.diff(_arrays(self._arm.clocks)[1]))) if self._simulated_time else 0.0
        )

    def _wrenches(self, at: Array) -> Array:
        """(k, 6) the last wrench before each time; NaN where there was none."""
        if not self._arm.wrenches:
            return np.full((len(at), 6), np.nan)
        sent, values = _arrays(self._arm.wrenches)
        index = np.searchsorted(sent, at, side="right") - 1
        return np.where(index[:, None] >= 0, values[np.clip(index, 0, None)], np.nan)

    # --- waiting ---

    def _reply(self, request: Callable[[], Any], what: str) -> Any:
        """Request until there is a reply: one to who was only just discovered may be lost."""
        requests: list[Any] = []

        def reply() -> Any:
            if time.monotonic() >= began + AGAIN * len(requests):
                requests.append(request())
            return next((each for each in requests if each.done()), None)

        began = time.monotonic()
        return self._until(
            reply, REPLY, HardwareFault(f"the controller gives no reply within {REPLY:g} s: {what}")
        )

    def _until(self, condition: Callable[[], Any], limit: float, problem: RobotControlError) -> Any:
        end = time.monotonic() + limit
        while not (result := condition()):
            if time.monotonic() > end:
                raise problem
            self._wait(PERIOD)
            self._arm.poll()
        return result

    def _pause(self, seconds: float) -> None:
        """Let some time pass by the stamps."""
        end = self._arm.state.time + seconds
        text = f"joint states don't go on for {seconds:g} s"
        self._until(lambda: self._arm.state.time > end, 10.0 * seconds + READY, HardwareFault(text))


def _arrays(record: Any) -> tuple[Array, Array]:
    return np.array([each.at for each in record]), np.array([each.values for each in record])
