"""From a force-torque sensor's sample, or from the joint torques, to the wrench at the tip.

Everything in this package speaks of the wrench exerted BY the environment ON the robot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.errors import ConfigError, ModelError, RobotControlError, refused, unknown
from ..core.gains import VECTOR, ParameterSet, choice, gain
from ..core.spatial import skew, wrench_at
from ..core.types import Array, RobotState, Wrench, is_finite
from ..robot.model import RobotDynamics, RobotModel
from .momentum_observer import MomentumObserver, wrench_from_torque

SIGNS = {"on_robot": 1.0, "by_robot": -1.0}


@dataclass(frozen=True, eq=False)
class WrenchSettings:
    """What happens to the wrench before a law sees it; see :class:`WrenchPipeline`."""

    source: str = choice(
        "sensor",
        ("sensor", "joint_effort"),
        doc="Where the wrench comes from: a force-torque sensor, or the measured joint torques by a momentum observer.",
    )
    convention: str = choice(
        "on_robot",
        tuple(SIGNS),
        doc="What the sensor reports: the wrench exerted on the robot by the environment, or by the robot on it.",
    )
    range_force: float = gain(
        0.0,
        unit="N",
        upper=1e5,
        doc="Range of the sensor: a larger force is no wrench, and a law that needs one stops; 0 for none.",
    )
    range_torque: float = gain(0.0, unit="N·m", upper=1e4, doc="Range of the sensor for torques; 0 for none.")
    payload_mass: float = gain(
        0.0,
        unit="kg",
        upper=100.0,
        doc="Mass of what hangs on the sensor, whose weight is taken out; 0 leaves the weight in.",
    )
    payload_center: Array = gain(
        0.0, size=VECTOR, unit="m", lower=-2.0, upper=2.0, doc="Centre of that mass in the sensor's frame."
    )
    low_pass: float = gain(0.0, unit="Hz", upper=1000.0, doc="Corner frequency of a first-order low-pass; 0 for none.")
    dead_band_force: float = gain(
        0.0, unit="N", upper=100.0, doc="Forces up to this count as 0, and larger ones as so much less; 0 for none."
    )
    dead_band_torque: float = gain(
        0.0, unit="N·m", upper=50.0, doc="Torques up to this count as 0, and larger ones as so much less; 0 for none."
    )
    saturation_force: float = gain(1000.0, unit="N", lower=1.0, upper=1e5, doc="Larger forces are cut to this length.")
    saturation_torque: float = gain(
        300.0, unit="N·m", lower=0.1, upper=1e4, doc="Larger torques are cut to this length."
    )
    max_age: float = gain(
        0.08,
        unit="s",
        lower=0.001,
        upper=10.0,
        doc="A sample older than this is no wrench; a law that needs one stops.",
    )
    observer_gain: float = gain(
        50.0,
        unit="1/s",
        lower=0.1,
        upper=1000.0,
        doc="Bandwidth of the momentum observer: its time constant is the inverse of this.",
    )


def check_wrench(wrench: Wrench, model: RobotModel) -> None:
    """Refuse a sample that can't be used.

    Raises:
        ConfigError: not finite, or not of 3 + 3 numbers.
        ModelError: its frame is not one of the robot description's; lists them.
    """
    for name, values in (("force", wrench.force), ("torque", wrench.torque)):
        if values.shape != (3,) or not is_finite(values):
            raise refused(name, values, "must be 3 finite numbers", where="wrench: ")
    if wrench.time is not None and not math.isfinite(wrench.time):
        raise refused("time", wrench.time, "must be finite", where="wrench: ")
    if wrench.frame not in model.frames:
        raise unknown("frame", wrench.frame, model.frames, ModelError)


class WrenchPipeline:
    """What is measured, made the wrench that a law sees. In this order:

    1. convention: the sign, so that it is exerted on the robot;
    2. tare and payload, in the sensor's frame, so that both stay right when the arm turns;
    3. frame change with lever arm: base axes, tip origin;
    4. saturation of the lengths of force and torque, before the filter, so that a spike doesn't linger in it;
    5. low-pass, exact for samples held between ticks. It averages, and so keeps within the saturation;
    6. dead-band last, so that 0 is exactly 0: lengths shrink by it, continuously, and directions stay.

    With source joint_effort a momentum observer takes the place of 1 to 3, and the tare is taken off at the tip;
    payload and convention don't apply, because the robot description holds what is mounted.

    A sample that can't be used, or is beyond the sensor's range, is refused, and the last good one stays. One that is
    too old is no wrench: None, never zero. When samples come back, the filter begins with the first.

    Args:
        settings: what differs from the defaults of WrenchSettings, by name.
        joint_torques: whether the joint states' efforts are torques; source joint_effort is refused where they aren't.

    Attributes:
        settings: may be changed at any time, and act from the next sample on; the filter goes on. Another source begins
            anew, without a tare.
        tare: (6,) taken off, in the sensor's frame as exerted on the robot (joint_effort: in base axes at the tip).
        reason: why there is no wrench, or why the last sample was refused; empty where all is well.

    Raises:
        ConfigError: a setting is refused.
    """

    def __init__(self, settings: Mapping[str, Any] | None = None, joint_torques: bool = True) -> None:
        self._joint_torques = joint_torques
        self.settings = ParameterSet(WrenchSettings, 0, settings or {}, self._validate)  # no setting is per joint
        self.settings.check({})
        self.tare = np.zeros(6)
        self.reason = "no wrench has arrived"
        self._observer = MomentumObserver()
        self._take(self.settings.current)
        self.reset()

    def _validate(self, settings: WrenchSettings) -> None:
        if settings.source == "joint_effort" and not self._joint_torques:
            text = "source = joint_effort: this robot's joint states have no torques (motor currents, or nothing); "
            raise ConfigError(text + "choices: sensor", name="source", value=settings.source, bound=("sensor",))

    def reset(self) -> None:
        """Forget all samples; settings and tare stay."""
        self._sample: Wrench | None = None
        self._stamp = self._time = math.nan
        self._residual: Array | None = None
        self._filtered: Array | None = None
        self._observer.reset()

    def on_tip(self, state: RobotState, kin: RobotDynamics) -> Array | None:
        """The wrench (6,) in base axes about the tip origin; None where there is no fresh one: see `reason`."""
        settings = self.settings.current
        if settings is not self._adopted:
            self._adopt(settings)
        self.reason = ""
        wrench = self._sensed(state, kin) if self._from_sensor else self._estimated(state, kin)
        if wrench is None:
            self._filtered = self._residual = None
            return None
        wrench = _cut(wrench, settings.saturation_force, settings.saturation_torque)
        if self._low_pass > 0.0:
            wrench = self._smooth(wrench, state.time)
        self._filtered, self._time = wrench, state.time
        return _shrink(wrench, settings.dead_band_force, settings.dead_band_torque) if self._dead_band else wrench

    def zero(self) -> Array:
        """Make the present wrench the tare; returns it (6,).

        Raises:
            ConfigError: there is no fresh wrench.
        """
        if self._residual is None:
            raise ConfigError(f"{self.reason}: nothing to zero", name="wrench")
        self.tare = self._residual.copy()
        self._filtered = None
        return self.tare

    def set_tare(self, tare: Array) -> None:
        """Take off another tare (6,)."""
        self.tare = tare

    def _adopt(self, settings: WrenchSettings) -> None:
        old = self._adopted
        if settings.source != old.source:
            self.tare = np.zeros(6)
            self.reset()
        elif settings.convention != old.convention and self._from_sensor:
            self.tare = -self.tare
        self._take(settings)

    def _take(self, settings: WrenchSettings) -> None:
        """What depends on the settings alone."""
        self._adopted = settings
        self._from_sensor = settings.source == "sensor"
        self._sign = SIGNS[settings.convention]
        mass = settings.payload_mass
        self._payload = np.vstack((mass * np.eye(3), mass * skew(settings.payload_center)))  # its wrench for a gravity
        self._low_pass = 2.0 * math.pi * settings.low_pass
        self._dead_band = settings.dead_band_force > 0.0 or settings.dead_band_torque > 0.0

    def _sensed(self, state: RobotState, kin: RobotDynamics) -> Array | None:
        sample = self._fresh_sample(state, kin.model)
        if sample is None:
            return None
        sensor = kin.model.frame_pose(sample.frame)
        residual = np.concatenate((sample.force, sample.torque))
        if self._sign < 0.0:
            residual = -residual
        if self._adopted.payload_mass > 0.0:
            residual -= self._payload.dot(kin.model.gravity.dot(sensor[:3, :3]))
        self._residual = residual
        sensor[:3, 3] -= kin.pose[:3, 3]  # now: axes of the base, origin of the tip
        return wrench_at(residual - self.tare, sensor)

    def _fresh_sample(self, state: RobotState, model: RobotModel) -> Wrench | None:
        sample = state.wrench
        if sample is None:
            self.reason = "no wrench has arrived"
            return None
        try:
            if sample is not self._sample:
                check_wrench(sample, model)
                self._check_range(sample)
            self._sample = sample
            self._stamp = state.time if sample.time is None else sample.time
        except RobotControlError as error:
            self.reason = str(error)
        return self._sample if self._is_fresh(state.time - self._stamp) else None

    def _check_range(self, sample: Wrench) -> None:
        settings = self._adopted
        for name, values, bound, unit in (
            ("force", sample.force, settings.range_force, "N"),
            ("torque", sample.torque, settings.range_torque, "N·m"),
        ):
            if (size := math.hypot(*values.tolist())) > bound > 0.0:
                rule = f"must be at most {bound:g} {unit}, the sensor's range (wrench.range_{name})"
                raise refused(name, round(size, 3), rule, bound, where="wrench: ", unit=unit)

    def _estimated(self, state: RobotState, kin: RobotDynamics) -> Array | None:
        observer, effort = self._observer, state.effort
        if effort.shape == state.v.shape and is_finite(effort):
            if observer.time is not None and not 0.0 <= state.time - observer.time <= self._adopted.max_age:
                observer.reset()
            observer.update(state, kin, self._adopted.observer_gain)
        else:
            self.reason = f"joint effort {effort.tolist()}: must be {kin.model.n} finite numbers"
        if observer.time is None or not self._is_fresh(state.time - observer.time):
            return None
        self._residual = wrench_from_torque(kin.jacobian, observer.torque)
        return self._residual - self.tare

    def _is_fresh(self, age: float) -> bool:
        bound = self._adopted.max_age
        if -bound <= age <= bound:  # a stamp ahead of the robot's clock is of another clock
            return True
        if math.isfinite(age):
            late = f"the last wrench is {age:.3f} s old: must be at most max_age = {bound:g} s"
            self.reason = f"{self.reason}; {late}" if self.reason else late
        return False

    def _smooth(self, wrench: Array, time: float) -> Array:
        last, dt = self._filtered, time - self._time
        if last is None or dt < 0.0:
            return wrench
        return last - math.expm1(-self._low_pass * dt) * (wrench - last)


def _cut(wrench: Array, force: float, torque: float) -> Array:
    """With force and torque cut to a length."""
    f, t = _lengths(wrench)
    if f <= force and t <= torque:
        return wrench
    return _scaled(wrench, force / max(f, force), torque / max(t, torque))


def _shrink(wrench: Array, force: float, torque: float) -> Array:
    """With force and torque shorter by a length, at least 0."""
    f, t = _lengths(wrench)
    return _scaled(wrench, 1.0 - force / f if f > force else 0.0, 1.0 - torque / t if t > torque else 0.0)


def _lengths(wrench: Array) -> tuple[float, float]:
    fx, fy, fz, tx, ty, tz = wrench.tolist()
    return math.sqrt(fx * fx + fy * fy + fz * fz), math.sqrt(tx * tx + ty * ty + tz * tz)


def _scaled(wrench: Array, force: float, torque: float) -> Array:
    return np.asarray(wrench * np.array((force, force, force, torque, torque, torque)))
