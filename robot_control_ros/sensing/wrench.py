"""The wrench at the tip, from a force-torque sensor's sample or from the joint torques.

Everything in this package speaks of the wrench exerted BY the environment ON the robot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..core.compiled import compiled
from ..core.errors import ConfigError, ModelError, RobotControlError, refused, unknown
from ..core.gains import ParameterSet, choice, gain
from ..core.record import Field, Record
from ..core.rotations import add_cross, wrench_at_into
from ..core.small_matrices import length, times
from ..core.types import LARGEST, Array, RobotState, Wrench, as_row, is_finite
from ..robot.model import RobotDynamics, RobotModel
from .momentum_observer import MomentumObserver, wrench_from_torque
from .sensor_drift import SensorDrift

SIGNS = {"on_robot": 1.0, "by_robot": -1.0}
# N, N·m that a sensor may have drifted by before it is told: from 1 N on a bias passes for a
# contact (contact_on)
DRIFTED = 1.0, 0.1
# rad/s, corner of the tip's acceleration: 20 Hz. Noise of 1 mm/s in velocities is one of some 0.1
# m/s² then
ACCELERATION_CORNER = 2.0 * math.pi * 20.0


@dataclass(frozen=True, eq=False)
class WrenchSettings:
    """Settings of the steps from a measured to a law's wrench; see :class:`WrenchPipeline`."""

    RENAMED: ClassVar[Mapping[str, str]] = {
        "payload_mass": "payload.mass",
        "payload_center": "payload.center",
    }

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
    range_torque: float = gain(
        0.0, unit="N·m", upper=1e4, doc="Range of the sensor for torques; 0 for none."
    )
    payload_in_wrench: float = gain(
        True,
        doc="Whether the sensor's wrench has the weight and the inertia of what it carries: the payload, and links "
        "beyond it. They are taken out then. Off where the robot or its driver does so.",
    )
    drift_force: float = gain(
        0.0,
        unit="N/s",
        upper=10.0,
        doc="How fast the sensor drifts, by its data sheet; 0 where unknown. What a rest of the arm shows counts more. "
        "It corrects nothing: a drift is told.",
    )
    drift_torque: float = gain(0.0, unit="N·m/s", upper=1.0, doc="The same of torques.")
    low_pass: float = gain(
        0.0, unit="Hz", upper=1000.0, doc="Corner frequency of a first-order low-pass; 0 for none."
    )
    dead_band_force: float = gain(
        0.0,
        unit="N",
        upper=100.0,
        doc="Forces up to this count as 0, and larger ones as so much less; 0 for none.",
    )
    dead_band_torque: float = gain(
        0.0,
        unit="N·m",
        upper=50.0,
        doc="Torques up to this count as 0, and larger ones as so much less; 0 for none.",
    )
    saturation_force: float = gain(
        1000.0, unit="N", lower=1.0, upper=1e5, doc="Larger forces are cut to this length."
    )
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


MEMORY = Record(
    "WrenchMemory",
    (
        Field(
            "sign",
            (),
            "",
            "1 where the sensor gives what is exerted on the robot, -1 where it is the other way.",
        ),
        Field("mass", (), "kg", "Mass beyond the sensor, whose weight and inertia are taken out."),
        Field("center", (3,), "m", "Its centre of gravity, in the sensor's frame."),
        Field("inertia", (3, 3), "kg·m²", "Its inertia about that, in the sensor's frame."),
        Field("inert", (), "", "1 where the sensor feels the inertia of what it carries."),
        Field(
            "moved_at", (), "s", "Time of the last twist; NaN where there was none.", first=math.nan
        ),
        Field(
            "twist", (6,), "m/s, rad/s", "The low-passed twist.", "base axes, of the tip's origin"
        ),
        Field(
            "acceleration",
            (6,),
            "m/s², rad/s²",
            "Its derivative.",
            "base axes, of the tip's origin",
        ),
        Field("saturation", (2,), "N, N·m", "Largest lengths of force and torque."),
        Field(
            "range", (2,), "N, N·m", "Of the sensor, for lengths of force and torque; 0 is none."
        ),
        Field("low_pass", (), "rad/s", "Rate of the low-pass; 0 is none."),
        Field(
            "dead_band", (2,), "N, N·m", "By which the lengths of force and torque are shortened."
        ),
        Field("tare", (6,), "N, N·m", "What is taken off, in the sensor's frame."),
        Field("residual", (6,), "N, N·m", "What is left before that, in the sensor's frame."),
        Field("time", (), "s", "Of the last wrench; NaN where the filter begins.", first=math.nan),
        Field(
            "filtered",
            (6,),
            "N, N·m",
            "The low-passed wrench.",
            "base axes, about the tip's origin",
        ),
        Field(
            "result",
            (6,),
            "N, N·m",
            "The same after the dead-band.",
            "base axes, about the tip's origin",
        ),
    ),
)
_memory_at = MEMORY.views


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
    """Makes a measured wrench the wrench that a law sees. In this order:

    1. convention: the sign, so that the wrench is exerted on the robot;
    2. tare, and the weight and inertia of the body beyond the sensor, in the sensor's frame: they
          stay right when the arm turns and moves. That body is the robot's payload, with the links
          that the description has beyond the sensor. Its acceleration comes from the joints'
          velocities, low-passed at 20 Hz;
    3. frame change with lever arm: base axes, tip origin;
    4. saturation of the lengths of force and torque, before the filter, so that a spike doesn't
       linger in it;
    5. low-pass, exact for samples held between ticks. It averages, and so keeps within the
      saturation;
    6. dead-band last, so that 0 is exactly 0: lengths shrink by it, continuously, and directions
      stay.

    With source joint_effort a momentum observer takes the place of 1 to 3, and the tare is taken
    off at the tip. Weight and convention don't apply there, because the robot's model has the
    mounted body.

    A sample that can't be used, or is beyond the sensor's range, is refused, and the last good one
    stays. A sample that is too old is no wrench: None, never zero. When samples come back, the
    filter begins with the first.

    Args:
        settings: Settings that differ from the defaults of WrenchSettings, by name.
        joint_torques: True where the joint states' efforts are torques; else source joint_effort is
            refused.

    Attributes:
        settings: Settings that may be changed at any time. They act from the next sample on, and
            the filter goes on. Another source begins anew, without a tare.
        reason: Reason why there is no wrench, or why the last sample was refused; empty where all
            is well.
        tare: Wrench (6,) that is taken off, as exerted on the robot. It is in the sensor's frame;
            with source joint_effort in base axes, at the tip. Another tare is another array.

    Raises:
        ConfigError: a setting is refused.
    """

    def __init__(
        self, settings: Mapping[str, Any] | None = None, joint_torques: bool = True
    ) -> None:
        self._joint_torques = joint_torques
        # payload and frame that mass and centre are of
        self._weighed: tuple[object, str] | None = None
        # no setting is per joint
        self.settings = ParameterSet(WrenchSettings, 0, settings or {}, self._validate)
        self.settings.check({})
        self.reason = "no wrench has arrived"
        self._observer = MomentumObserver()
        self._drift = SensorDrift()
        self._first_at = math.nan  # time of the first wrench [s]
        self._zeroed_at = math.nan  # and of the last one that was made zero; NaN where none was
        self._row, self._filter = MEMORY.single(0)
        self._result: Array = self._filter["result"]
        self._residual: Array = self._filter["residual"]
        self._force = np.zeros(3)  # of the last good sample [N], as its torque [N·m]
        self._torque = np.zeros(3)
        self._take_off(np.zeros(6))
        self._take(self.settings.current)
        self.reset()

    def _validate(self, settings: WrenchSettings) -> None:
        if settings.source == "joint_effort" and not self._joint_torques:
            text = "source = joint_effort: this robot's joint states have no torques (motor currents, or nothing); "
            raise ConfigError(
                text + "choices: sensor", name="source", value=settings.source, bound=("sensor",)
            )

    def reset(self) -> None:
        """Forget all samples; settings and tare stay."""
        self._sample: Wrench | None = None
        self._stamp = math.nan
        self._is_sensed = False  # whether the last sample had a wrench
        self._filter["time"] = math.nan
        self._filter["moved_at"] = math.nan
        self._observer.reset()

    def on_tip(self, state: RobotState, kin: RobotDynamics) -> Array | None:
        """Wrench (6,) in base axes about the tip origin; None without a fresh one, see `reason`."""
        settings = self.settings.current
        if settings is not self._adopted:
            self._adopt(settings)
        self.reason = ""
        was_sensed = self._is_sensed
        self._is_sensed = (
            self._sense(state, kin) if self._from_sensor else self._estimate(state, kin)
        )
        if self._is_sensed:
            return self._result.copy()
        if was_sensed:
            self._filter["time"] = math.nan
        return None

    def zero(self) -> Array:
        """Make the present wrench the tare, and return it (6,).

        Raises:
            ConfigError: there is no fresh wrench.
        """
        if not self._is_sensed:
            raise ConfigError(f"{self.reason}: nothing to zero", name="wrench")
        self.set_tare(self._residual.copy())
        self._filter["time"] = math.nan
        return self.tare

    def set_tare(self, tare: Array) -> None:
        """Take off another tare (6,): the wrench counts as zeroed now."""
        self._zeroed_at = float(self._filter["time"])
        self._take_off(tare)

    def time_since_zero(self, time: float) -> float:
        """Time from the last zero or tare to a time [s]; NaN where there was none."""
        since = time - self._zeroed_at
        return since if since >= 0.0 else math.nan  # the clock may have been set back

    def watch_drift(self, state: RobotState, regulated: bool) -> None:
        """Look for a drift in the sample that :meth:`on_tip` had last; call it twenty times a
        second or so.

        Args:
            state: Sample.
            regulated: True where a law controls the force, which hides the drift.
        """
        if not (self._from_sensor and self._is_sensed):
            return
        if not self._first_at <= state.time:
            self._first_at = state.time
        if regulated:
            self._drift.interrupt()
        else:
            self._drift.add(state.time, state.q, state.v, self._residual)

    def drift_warning(self, time: float) -> str:
        """Warning that the sensor may have drifted since it was zeroed; empty where it may not.

        It may have drifted by more than 1 N or 0.1 N·m.

        Args:
            time: Time of the last sample [s].
        """
        age = self.time_since_zero(time)
        zeroed = "was zeroed"
        if math.isnan(age):
            age = time - self._first_at
            zeroed = "was not zeroed since its first wrench,"
        if not (self._from_sensor and age > 0.0):
            return ""
        settings = self._adopted
        rates = settings.drift_force, settings.drift_torque
        drifts = "may drift"
        if self._drift.rate is not None:
            rates = length(self._drift.rate[:3]), length(self._drift.rate[3:])
            drifts = "drifts at rest"
        for rate, bound, name, unit in zip(
            rates, DRIFTED, ("force", "torque"), ("N", "N·m"), strict=True
        ):
            if rate * age > bound:
                speed = f"{60.0 * rate:.2g} {unit}/min"
                wrong = f"{rate * age:.2g} {unit}"
                return (
                    f"the sensor {drifts} by {speed}, and {zeroed} {_ago(age)}: its {name} may be wrong by {wrong}. "
                    "Zero it in free air (zero_wrench)"
                )
        return ""

    def _take_off(self, tare: Array) -> None:
        self.tare = tare
        self._filter["tare"] = tare

    def _adopt(self, settings: WrenchSettings) -> None:
        old = self._adopted
        if settings.source != old.source:
            self._take_off(np.zeros(6))
            self._zeroed_at = math.nan
            self._first_at = math.nan
            self._drift = SensorDrift()
            self.reset()
        elif settings.convention != old.convention and self._from_sensor:
            self._take_off(-self.tare)
            self._drift = SensorDrift()
        self._take(settings)

    def _take(self, settings: WrenchSettings) -> None:
        """Take over the settings: write all that depends on them alone."""
        self._adopted = settings
        self._from_sensor = settings.source == "sensor"
        self._sign = SIGNS[settings.convention]
        memory = self._filter
        memory["sign"] = self._sign
        self._weighed = None
        memory["low_pass"] = 2.0 * math.pi * settings.low_pass
        memory["saturation"] = settings.saturation_force, settings.saturation_torque
        memory["range"] = settings.range_force, settings.range_torque
        memory["dead_band"] = settings.dead_band_force, settings.dead_band_torque

    def _sense(self, state: RobotState, kin: RobotDynamics) -> bool:
        """Take up the sensor's sample; return True where there is a fresh one."""
        if state.wrench is None:
            self.reason = "no wrench has arrived"
            return False
        if state.wrench is self._sample or self._is_usable(state.wrench, kin.model):
            self._sample = state.wrench
            self._stamp = state.time if state.wrench.time is None else state.wrench.time
        sample = self._sample
        if sample is None or not self._is_fresh(state.time - self._stamp):
            return False
        weighed = kin.model.payload, sample.frame
        if weighed != self._weighed:
            self._weigh(kin.model, sample.frame)
            self._weighed = weighed
        sense_wrench(
            self._row,
            self._force,
            self._torque,
            kin.model.frame_pose(sample.frame),
            kin.pose,
            kin.jacobian,
            as_row(kin.v),
            kin.model.gravity,
            float(state.time),
        )
        return True

    def _weigh(self, model: RobotModel, frame: str) -> None:
        """Remember mass, centre and inertia of the body beyond a sensor at a frame."""
        mass, center, inertia = model.body_beyond(frame)
        taken_out = self._adopted.payload_in_wrench
        self._filter["mass"] = mass if taken_out else 0.0
        self._filter["center"] = center
        self._filter["inertia"] = inertia
        self._filter["inert"] = bool(taken_out) and mass > 0.0 and model.moves_with_tip(frame)
        self._filter["moved_at"] = math.nan

    def _is_usable(self, sample: Wrench, model: RobotModel) -> bool:
        """Remember the numbers of a sample that can be used; else `reason` says why not.

        Returns:
            True where it can be used.
        """
        sized = sample.force.shape == sample.torque.shape == (3,) and sample.frame in model.frames
        timed = sample.time is None or math.isfinite(sample.time)
        if sized and timed:
            force = as_row(sample.force)
            torque = as_row(sample.torque)
            if is_in_range(self._row, force, torque):  # the usual case, without words
                self._force = force
                self._torque = torque
                return True
        try:
            check_wrench(sample, model)
            self._check_range(sample)
        except RobotControlError as error:
            self.reason = str(error)
            return False
        self._force = as_row(sample.force)
        self._torque = as_row(sample.torque)
        return True

    def _check_range(self, sample: Wrench) -> None:
        settings = self._adopted
        for name, values, bound, unit in (
            ("force", sample.force, settings.range_force, "N"),
            ("torque", sample.torque, settings.range_torque, "N·m"),
        ):
            if bound > 0.0 and (size := math.hypot(*values.tolist())) > bound:
                rule = f"must be at most {bound:g} {unit}, the sensor's range (wrench.range_{name})"
                raise refused(name, round(size, 3), rule, bound, where="wrench: ", unit=unit)

    def _estimate(self, state: RobotState, kin: RobotDynamics) -> bool:
        """Take up the joint torques; return True where there are fresh ones."""
        observer = self._observer
        effort = state.effort
        if effort.shape == state.v.shape and is_finite(effort):
            if (
                observer.time is not None
                and not 0.0 <= state.time - observer.time <= self._adopted.max_age
            ):
                observer.reset()
            observer.update(state, kin, self._adopted.observer_gain)
        else:
            self.reason = f"joint effort {effort.tolist()}: must be {kin.model.n} finite numbers"
        if observer.time is None or not self._is_fresh(state.time - observer.time):
            return False
        self._residual[:] = wrench_from_torque(kin.jacobian, observer.torque)
        filter_wrench(self._row, self._residual - self.tare, float(state.time))
        return True

    def _is_fresh(self, age: float) -> bool:
        bound = self._adopted.max_age
        if -bound <= age <= bound:  # a stamp ahead of the robot's clock is of another clock
            return True
        if math.isfinite(age):
            late = f"the last wrench is {age:.3f} s old: must be at most max_age = {bound:g} s"
            self.reason = f"{self.reason}; {late}" if self.reason else late
        return False


def _ago(seconds: float) -> str:
    """A time in words."""
    return f"{seconds:.0f} s ago" if seconds < 120.0 else f"{seconds / 60.0:.0f} min ago"


@compiled
def is_in_range(row: Array, force: Array, torque: Array) -> bool:
    """Return True where force and torque (3,) of a sensor are finite numbers within its range."""
    memory = _memory_at(row, 0)
    sizes = length(force), length(torque)
    for half in range(2):
        if not sizes[half] < LARGEST or (
            memory.range[half] > 0.0 and sizes[half] > memory.range[half]
        ):
            return False
    return True


@compiled
def sense_wrench(
    row: Array,
    force: Array,
    torque: Array,
    sensor: Array,
    tip: Array,
    jacobian: Array,
    v: Array,
    gravity: Array,
    time: float,
) -> None:
    """Do all steps of :class:`WrenchPipeline` for a sensor's sample; the result is in the memory.

    A body of mass m, with its centre c and its inertia I about that, takes m (g - a) of the force.
    It takes c x m (g - a) - I alpha - omega x I omega of the torque about the sensor's origin. a is
    the acceleration of c.

    Args:
        row: Memory of the filter, with the convention, the body beyond the sensor and the tare.
        force, torque: (3,) force and torque of the sensor, in its frame [N, N·m].
        sensor, tip: Poses (4, 4) of sensor and tip in the base.
        jacobian: (6, n) Jacobian of the tip, base axes.
        v: (n,) joint velocities [rad/s].
        gravity: (3,) acceleration of gravity, base axes [m/s²].
        time: Time of the sample [s].
    """
    memory = _memory_at(row, 0)
    from_tip = sensor.copy()
    for i in range(3):
        from_tip[i, 3] -= tip[i, 3]
    load = np.zeros(6)
    if memory.mass[0] > 0.0:
        twist = np.zeros(6)
        if memory.inert[0] == 1.0:
            times(jacobian, v, twist)
        accelerate(row, twist, time)
        add_load(row, from_tip, twist[3:], gravity, load)
    for i in range(3):
        memory.residual[i] = memory.sign[0] * force[i] - load[i]
        memory.residual[3 + i] = memory.sign[0] * torque[i] - load[3 + i]
    wrench = np.empty(6)
    wrench_at_into(memory.residual - memory.tare, from_tip, wrench)
    filter_wrench(row, wrench, time)


@compiled
def accelerate(row: Array, twist: Array, time: float) -> None:
    """Find the tip's acceleration from its twist (6,) at a time [s]; the
    result is in the memory.
    """
    memory = _memory_at(row, 0)
    dt = time - memory.moved_at[0]
    if dt == 0.0:
        return
    if dt > 0.0:
        share = -math.expm1(-ACCELERATION_CORNER * dt)
        for i in range(6):
            change = share * (twist[i] - memory.twist[i])
            memory.twist[i] += change
            memory.acceleration[i] = change / dt
    else:  # it begins, or the clock was set back
        memory.twist[:] = twist
        memory.acceleration[:] = 0.0
    memory.moved_at[0] = time


@compiled
def add_load(row: Array, sensor: Array, omega: Array, gravity: Array, load: Array) -> None:
    """Add the wrench that a sensor measures of the body that it carries; see :func:`sense_wrench`.

    Args:
        row: Memory with the body and the tip's acceleration.
        sensor: (4, 4) pose of the sensor, base axes, from the tip's origin.
        omega: (3,) angular velocity, base axes [rad/s].
        gravity: (3,) acceleration of gravity, base axes [m/s²].
        load: (6,) wrench in the sensor's frame [N, N·m], to which it is added.
    """
    memory = _memory_at(row, 0)
    alpha = memory.acceleration[3:]
    lever = sensor[:3, 3].copy()
    for i in range(3):
        for j in range(3):
            lever[i] += sensor[i, j] * memory.center[j]
    around = np.zeros(3)
    add_cross(omega, lever, around)
    turning = np.zeros(3)
    add_cross(alpha, lever, turning)
    add_cross(omega, around, turning)
    weight = np.zeros(3)
    omega_here = np.zeros(3)
    alpha_here = np.zeros(3)
    for i in range(3):
        for j in range(3):
            pull = gravity[j] - memory.acceleration[j] - turning[j]
            weight[i] += memory.mass[0] * sensor[j, i] * pull
            omega_here[i] += sensor[j, i] * omega[j]
            alpha_here[i] += sensor[j, i] * alpha[j]
    momentum = np.zeros(3)
    moment = np.zeros(3)
    add_cross(memory.center, weight, moment)
    for i in range(3):
        for j in range(3):
            momentum[i] += memory.inertia[i, j] * omega_here[j]
            moment[i] -= memory.inertia[i, j] * alpha_here[j]
    add_cross(momentum, omega_here, moment)
    for i in range(3):
        load[i] += weight[i]
        load[3 + i] += moment[i]


@compiled
def filter_wrench(row: Array, wrench: Array, time: float) -> None:
    """Do steps 4 to 6 of :class:`WrenchPipeline`, for a wrench (6,) at a time [s].

    The result is in the memory.
    """
    memory = _memory_at(row, 0)
    dt = time - memory.time[0]
    begins = not dt >= 0.0  # also where the memory has no time
    share = (
        -math.expm1(-memory.low_pass[0] * dt) if memory.low_pass[0] > 0.0 and not begins else 1.0
    )
    for half in range(2):
        first = 3 * half
        size = length(wrench[first : first + 3])
        scale = memory.saturation[half] / size if size > memory.saturation[half] else 1.0
        for i in range(first, first + 3):
            cut = scale * wrench[i]
            memory.filtered[i] = (
                cut if share == 1.0 else memory.filtered[i] + share * (cut - memory.filtered[i])
            )
        size = length(memory.filtered[first : first + 3])
        band = memory.dead_band[half]
        scale = 1.0
        if band > 0.0:
            scale = 1.0 - band / size if size > band else 0.0
        for i in range(first, first + 3):
            memory.result[i] = scale * memory.filtered[i]
    memory.time[0] = time
