"""The reaction to an arm that rings: a warning, softer gains, or the safe output."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.gains import ParameterSet, choice, gain
from ...core.types import Array, Command, CommandMode, RobotState
from ...laws.running_law import RunningLaw
from ...laws.softening import describe_softening
from ...robot.configuration import RobotConfig
from ...robot.model import RobotModel
from ...sensing.ringing import ARM, DRIVEN_ARM, FLOOR, PATH, Ringing, RingingDetector
from ..safety import Safety

STEP = 0.25  # of the stiffness, that is left at an alarm
SOFTEST = STEP**2  # of the stiffness; an arm that still rings gets the safe output
AGAIN = 0.5  # s between two alarms, and three periods, within which it goes on
SLOW = 8.0  # Hz: a slower oscillation under torques shows how late they are
PHASE = 1.2  # rad: of an oscillation at f Hz, they are late by this over 2 π f
GROWN = 1.5  # times the size of the alarm before: its energy has doubled
SHOWN = 1.0  # s for which a warning stays
QUIET = 0.5  # of the margin, that the commanded path has left at least where the law doesn't ring
FRICTION = "friction"  # name of the term that compensates it
RESTORED = 0.999  # of the gains, from where on they are the whole
WARN = "warn"
SOFTEN = "soften"
STOP = "stop"
REACTIONS = (WARN, SOFTEN, STOP)


@dataclass(frozen=True, eq=False)
class RingingSettings:
    """Settings of the reaction to an arm that rings; see :class:`RingingReaction`."""

    reaction: str = choice(
        SOFTEN,
        REACTIONS,
        doc="At an alarm: only warn, soften the gains in steps and then stop, or stop at once.",
    )
    floor: float = gain(
        FLOOR,
        unit="√J",
        lower=0.001,
        upper=1.0,
        doc="Smaller oscillations of a joint don't count; 0.05 where noisy.",
    )


def ringing_settings() -> ParameterSet:
    """New settings with their defaults."""
    return ParameterSet(RingingSettings, 0, {})  # none is per joint


class RingingReaction:
    """Softens the gains of a ringing arm by a factor beside them, in steps, or has the safe output
    sent.

    At an alarm of :class:`RingingDetector` the law gets a quarter of the stiffness and half of the
    damping at once, see :func:`~...laws.softening.softened`: a late law is stable up to K ~ Λ / τ².
    An admittance gets twice the damping. So it does at the next alarm, and then no more: an
    oscillation that doesn't grow is held, and reported. The safe output is sent

    - at an alarm while every torque is at a limit, of effort or of its rate. Then torques are late
      by more than the line, and the limit cycle outlives softer gains. Some torques are at their
      rate at nearly every alarm;
    - where nothing more can be softened, and the energy has doubled since an alarm shortly before.

    Under torques, an oscillation at f < 8 Hz shows that they act late by some 1.2 / (2 π f), which
    no stamp tells. That is the :attr:`lateness`. The loop adds it to the age of its samples, so
    that law, soft limits and safe output become as slow as it needs. An arm that leans on itself or
    its cell slides to and fro along the wall at such frequencies: that doesn't count.

    All that lasts until :meth:`reset`, or until another law runs. The gains that were set stay as
    they are. Energy: less stiffness and damping takes energy out at once. So softening is passive.
    Giving the stiffness back isn't: a person does it.

    Where positions or velocities are commanded, an alarm counts only where the commanded path
    oscillates, too: a drive whose commands come irregularly goes in steps, and no gain of the law
    changes that. The path is the law's ``path_velocity``, or else that of the commands that were
    sent.

    Args:
        robot: Configuration of the robot.
        model: Model of the robot, whose inertia at home weights the velocities.
        time_constant: Time constant with which the gains come back after a reset [s].

    Attributes:
        settings: Settings that may be changed at any time.
        scale: Fraction of the stiffness that is left; 1 where nothing is softened.
        fault: Reason why the safe output has to be sent; empty where it hasn't.
        lateness: Delay of torques beyond the age of the samples [s]; 0 where nothing shows it.
    """

    def __init__(self, robot: RobotConfig, model: RobotModel, time_constant: float) -> None:
        self.settings = ringing_settings()
        self._joints = robot.joints
        self._time_constant = time_constant
        inertia = model.mass(np.array(robot.home))
        self._detector = RingingDetector(inertia)
        self._path_detector = RingingDetector(inertia)
        self._path_detector.watch(PATH, False)
        self._measured = robot.profile.measures_torque
        self._adopted: Any = None  # settings that the detectors have
        self._path = _CommandedPath()
        self._last: Ringing | None = None
        self.scale = 1.0
        self.fault = ""
        self.lateness = 0.0
        self._message = ""
        self._returns = False
        self._running: RunningLaw | None = None
        self._by_torque: bool | None = None  # what the detector knows of its commands

    def reset(self) -> None:
        """End the reaction: the gains come back within some time constants, and the law may run."""
        self.fault = ""
        self._message = ""
        self.lateness = 0.0
        self._returns = True
        self._last = None

    def restart(self) -> None:
        """End the reaction at once: for a law that begins anew."""
        self.reset()
        self.scale = 1.0
        self._returns = False

    def margin(self, time: float) -> float:
        """Margin to an alarm: 1 far from it, 0 at one; see :class:`RingingDetector`.

        Where the commanded path is quiet, its margin counts where it is larger.
        """
        margin = self._detector.margin(time)
        return (
            max(margin, self._path_detector.margin(time)) if self._path_is_quiet(time) else margin
        )

    @property
    def rows(self) -> Array:
        """Memory of the detector, for :func:`~...sensing.ringing.find_ringing`."""
        return self._detector.rows

    def observe(
        self,
        running: RunningLaw,
        found: int,
        state: RobotState,
        sent: Command | None,
        safety: Safety,
        dt: float,
    ) -> float:
        """The fraction of the stiffness that the law may have at a sample: :attr:`scale`.

        Args:
            running: Law that runs.
            found: Answer of :func:`~...sensing.ringing.find_ringing` at the sample.
            state: State of the sample.
            sent: Command of the last sample; None where the law starts anew.
            safety: Safety, which knows the limits that the last command met.
            dt: Time since the last sample [s].
        """
        if running is not self._running:
            self._running = running
            self.restart()
            self._by_torque = None
        if sent is not None and (sent.mode is CommandMode.EFFORT) is not self._by_torque:
            self._by_torque = sent.mode is CommandMode.EFFORT
            if self._by_torque:
                self._path = _CommandedPath()
            names: tuple[str, ...] = getattr(running.law, "term_names", ())
            friction = names.index(FRICTION) if FRICTION in names else -1
            kind = ARM if self._by_torque else DRIVEN_ARM
            self._detector.watch(kind, self._measured, friction)
        if self.settings.current is not self._adopted:
            self._adopted = self.settings.current
            self._detector.floor = self._adopted.floor
            self._path_detector.floor = self._adopted.floor
        if running.makes_path or not self._by_torque:
            path = running.path_velocity
            if path is None:
                path = self._path.velocity(sent, dt)
            if path is not None:
                self._path_detector.update(state.time, path - self._detector.reference_velocity)
        if found >= 0:
            ringing = self._detector.ringing(found, state.time)
            if ringing is not None and not self._path_is_quiet(state.time):
                self._react(ringing, running, safety)
        if self._returns and self.scale != 1.0:
            self._restore(dt)
        return self.scale

    def warning(self, time: float) -> str:
        """Words on what rings, or has rung, and what to change; empty where nothing does.

        `time` [s] is that of the sample.
        """
        last = self._last
        lasts = (
            self.scale < 1.0
            or self.fault
            or (last is not None and 0.0 <= time - last.time <= SHOWN)
        )
        return self._message if lasts else ""

    def _path_is_quiet(self, time: float) -> bool:
        """Return True where a path is commanded that doesn't oscillate.

        That is a path of positions or velocities, or one that the law makes.
        """
        running = self._running
        if running is None or (
            running.mode is CommandMode.EFFORT and running.path_velocity is None
        ):
            return False
        return self._path_detector.margin(time) > QUIET

    def _react(self, found: Ringing, running: RunningLaw, safety: Safety) -> None:
        slow = running.mode is CommandMode.EFFORT and found.frequency < SLOW
        if slow and safety.leans(found.time):
            return
        last = self._last
        self._last = found
        if self.fault:
            return
        name = running.name
        gains = running.gains.target
        rings = f"{self._joints[found.joint]} rings at {found.frequency:.0f} Hz"
        change = f"Change {name}: {describe_softening(gains, STEP) or 'its gains'}"
        can_soften = self.scale * STEP >= SOFTEST and bool(describe_softening(gains, STEP))
        stops = self._reason_to_stop(last, found, running, safety, can_soften)
        if self.settings.current.reaction == WARN:
            self._message = f"{rings}. {change}"
            return
        if slow:
            self.lateness = max(self.lateness, PHASE / (2.0 * math.pi * found.frequency))
        if stops:
            self._message = f"{rings}{stops}: safe output. {change}; then reset_ringing"
            self.fault = self._message
        elif can_soften:
            self.scale = self.scale * STEP
            self._returns = False
            now = describe_softening(gains, self.scale)
            self._message = f"{rings}: {name} is softened, {now}. {change}; then reset_ringing"
        else:
            self._message = f"{rings}, and doesn't grow. {change}; then reset_ringing"

    def _reason_to_stop(
        self,
        last: Ringing | None,
        found: Ringing,
        running: RunningLaw,
        safety: Safety,
        can_soften: bool,
    ) -> str:
        """Reason why the safe output is sent; empty where it isn't."""
        if self.settings.current.reaction == STOP:
            return " (ringing.reaction = stop)"
        if running.mode is CommandMode.EFFORT and (safety.rate_limited | safety.saturated).all():
            return ", and every torque is at a limit"
        if can_soften or last is None:
            return ""
        goes_on = found.time - last.time <= AGAIN + 3.0 / found.frequency
        if not goes_on or found.size <= GROWN * last.size:
            return ""
        return (
            f" and grows, with the stiffness × {self.scale:.2g}"
            if self.scale < 1.0
            else " and grows"
        )

    def _restore(self, dt: float) -> None:
        """Lead the stiffness back towards the whole."""
        left = math.exp(-dt / self._time_constant) if self._time_constant > 0.0 else 0.0
        self.scale = 1.0 - left * (1.0 - self.scale)
        if self.scale > RESTORED:
            self.scale = 1.0
            self._returns = False


class _CommandedPath:
    """The velocities of the path that position or velocity commands make."""

    def __init__(self) -> None:
        self._positions: Array | None = None  # the last ones, where positions are commanded
        self._interval = 0.0  # s, from the command before to these

    def velocity(self, sent: Command | None, dt: float) -> Array | None:
        """Velocities (n,) [rad/s] with which the last command was approached; None where that isn't
        known.

        Args:
            sent: The last command; None where there is none.
            dt: Time since it was sent [s].
        """
        if sent is None or sent.mode is not CommandMode.POSITION:
            self._positions = None
            return sent.values if sent is not None and sent.mode is CommandMode.VELOCITY else None
        before = self._positions
        interval = self._interval
        self._positions = sent.values
        self._interval = dt
        return None if before is None else (sent.values - before) / interval
