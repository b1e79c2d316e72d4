"""What a recorded motion says of an arm: its line, its sensors, its friction, its load."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.errors import refused
from ..core.types import Array, CommandMode
from ..robot.model import RobotModel
from ..robot.profile import HardwareProfile
from ..sensing.base_tilt import tilt_jacobian, tilted_gravity
from ..sensing.joint_effort import effort_kind, judge_effort
from .alignment import Alignment, align
from .estimates import Estimate, Z
from .motion_plan import REST, MotionPlan, Stroke
from .position_lag import delayed_positions, position_lag
from .recording import ArmRecording

SETTLE = 0.35  # s of a stroke until its speed is constant
BLOCK = 0.1  # s that are averaged, so that residuals are independent
FULL = 0.5  # of a block's samples that must be there
STEADY = 0.25  # fraction of a stroke's speed by which the joint's own may differ
MAX_CORRELATION = 0.9  # of neighbouring blocks that is reckoned with
USUAL = (0.5, 99.5)  # percentiles of the states' delay: a machine that stalls once makes no jitter
OUTSIDE = 0.01  # of a uniform distribution, beyond them
# N·m, standard deviation of what efforts of an arm under positions are off by; that of a UR5e at
# rest
OFFSET = 3.0
REACH = 0.5  # m, how far from the tip a payload's centre is expected
# N·m, N·m·s/rad, kg and rad: what friction, payload and tilt may be where the motion doesn't show them
UNKNOWN = 1e3
TILT_STEPS = 8  # of the search for the base's tilt
_TORQUES = {"torque": 1.0, "reversed_torque": -1.0}  # signs of the efforts


@dataclass(frozen=True, eq=False)
class Identification:
    """An arm with n joints, as measured.

    Attributes:
        mode: Mode of the commands.
        rate: Rate of the states [Hz].
        lost: Fraction of the states that never arrived.
        state_delay, state_jitter: Least time from a state's stamp to its arrival, and its spread
            [s].
        line: Alignment of commands and efforts. Under positions, `delay` includes the servo's lag,
            `predicted` are positions [rad], and jitter, scale and offset are NaN.
        effort_kind: Meaning of the efforts, a value of the profile's `joint_effort`; empty where it
            is unknown.
        position_noise, velocity_noise: (n,) Standard deviations [rad, rad/s].
        wrench_noise: (2,) Standard deviations of each force and torque [N, N·m]; NaN where none was
            measured.
        coulomb, viscous: (n,) Friction [N·m, N·m·s/rad]; NaN for joints that didn't move, and where
            no torque is measured.
        payload_mass: Mass on the tip that the model doesn't have [kg].
        payload_moment: (3,) Mass times centre of this payload, in the tip [kg·m].
        base_tilt: (2,) Roll and pitch of the base in the world beyond its mount [rad].
    """

    mode: CommandMode
    rate: float
    lost: float
    state_delay: float
    state_jitter: Estimate
    line: Alignment
    effort_kind: str
    position_noise: Estimate
    velocity_noise: Estimate
    wrench_noise: Estimate
    coulomb: Estimate
    viscous: Estimate
    payload_mass: Estimate
    payload_moment: Estimate
    base_tilt: Estimate


def identify(
    recording: ArmRecording, plan: MotionPlan, model: RobotModel, profile: HardwareProfile
) -> Identification:
    """Estimate everything from one motion.

    Args:
        recording: Recording of the motion, under a law that commands torques with gravity, or
            positions.
        plan: Plan of the motion.
        model: Model of the arm without errors.
        profile: Hardware profile that says what the efforts are; needed under positions alone.

    Raises:
        ConfigError: Velocities were commanded; see :func:`align` and
            :func:`~.position_lag.position_lag`.
    """
    if recording.mode is CommandMode.VELOCITY:
        raise refused(
            "mode",
            recording.mode.value,
            "must be effort or position",
            (CommandMode.EFFORT, "position"),
        )
    since = recording.stamp - recording.start
    still = (since > REST / 2.0) & (since < REST)
    align_efforts = _under_torques if recording.mode is CommandMode.EFFORT else _under_positions
    line, kind, torque, offset = align_efforts(recording, plan, model, profile, still)
    late = recording.received - recording.stamp
    gaps = np.diff(recording.stamp)
    period = float(np.median(gaps))
    earliest, latest = np.percentile(late, USUAL)
    width = float(latest - earliest)
    lost = 1.0 - len(gaps) * period / float(gaps.sum())
    held = _friction(recording, plan, model, torque, since, offset)
    jitter = Estimate(np.array(width), np.array((3.0 / len(late) + OUTSIDE) * width))
    return Identification(
        mode=recording.mode,
        rate=1.0 / period,
        lost=max(lost, 0.0),
        state_delay=float(earliest),
        state_jitter=jitter,
        line=line,
        effort_kind=kind,
        position_noise=_noise(recording.q[still]),
        velocity_noise=_noise(recording.v[still]),
        wrench_noise=_wrench_noise(recording.wrench[still]),
        coulomb=held.coulomb,
        viscous=held.viscous,
        payload_mass=held.payload_mass,
        payload_moment=held.payload_moment,
        base_tilt=held.base_tilt,
    )


def _noise(samples: Array) -> Estimate:
    """Standard deviations (n,) of white noise in samples (k, n): by differences, which slow
    drift doesn't change.
    """
    value = np.diff(samples, axis=0).std(axis=0) / np.sqrt(2.0)
    return Estimate(value, Z * np.sqrt(0.75 / len(samples)) * value)


def _wrench_noise(samples: Array) -> Estimate:
    """Standard deviations (2,) of each force and each torque, from wrenches (k, 6)."""
    each = _noise(samples)
    return Estimate(
        np.sqrt((each.value.reshape(2, 3) ** 2).mean(axis=1)),
        each.half_width.reshape(2, 3).mean(axis=1) / 3**0.5,
    )


def _under_torques(
    recording: ArmRecording,
    plan: MotionPlan,
    model: RobotModel,
    profile: HardwareProfile,
    still: Any,
) -> tuple[Alignment, str, Array, Array]:
    """The line, what efforts are, torques (k, n) of the motors [N·m], the standard deviations (n,)
    of their offsets.

    Torques are as measured where efforts say them, else as commanded.
    """
    kind = effort_kind(recording.effort[still].mean(axis=0), recording.command[still].mean(axis=0))
    if kind in _TORQUES:
        line = align(recording, None)
        torque = np.asarray(_TORQUES[kind] * (recording.effort - line.offset.value))
    else:
        line = align(recording, _gravity(model, recording))
        torque = line.predicted
    return line, kind, torque, line.offset.half_width / Z


def _under_positions(
    recording: ArmRecording,
    plan: MotionPlan,
    model: RobotModel,
    profile: HardwareProfile,
    still: Any,
) -> tuple[Alignment, str, Array, Array]:
    """The line, what efforts are, torques (k, n) [N·m], the standard deviations (n,) of their
    offsets.

    Torques are NaN where efforts aren't those that the profile says, or give none.
    """
    n = model.n
    effort = recording.effort
    unknown = Estimate(np.full(n, np.nan), np.full(n, np.nan))
    rest = effort[still].mean(axis=0)
    finding = judge_effort(profile, rest, model.at(recording.q[still].mean(axis=0)).gravity)
    torque = np.full_like(effort, np.nan)
    if profile.measures_torque and (finding is None or finding.expected):
        torque = np.asarray(profile.effort_factor * effort)
        if profile.joint_effort == "torque_without_gravity":
            torque = torque + _gravity(model, recording)
    delay = position_lag(recording, plan)
    predicted = delayed_positions(recording, float(delay.value))
    jitter = Estimate(np.array(np.nan), np.array(np.nan))
    line = Alignment(delay, jitter, _noise(effort[still]), unknown, unknown, predicted)
    return (
        line,
        profile.joint_effort if finding is None else finding.kind,
        torque,
        np.full(n, OFFSET),
    )


def _gravity(model: RobotModel, recording: ArmRecording) -> Array:
    """(k, n) g(q) of the model [N·m]."""
    return np.array([model.at(q).gravity for q in recording.q])


class _HeldTorque(NamedTuple):
    """Estimates of what the motors hold beyond the model; see :class:`Identification`."""

    coulomb: Estimate
    viscous: Estimate
    payload_mass: Estimate
    payload_moment: Estimate
    base_tilt: Estimate


class _Blocks(NamedTuple):
    """Blocks of all strokes.

    Attributes:
        regressor: (k, 4n + 4) factors of all coefficients but the tilt.
        gravity: (k, 3) torque per m/s² of gravity along each base axis.
        carried: (k, 4, 3) the same per kg and kg·m of a payload.
        torque: (k,) torque beyond the model's [N·m].
        joint: (k,) joint that moved.
    """

    regressor: Array
    gravity: Array
    carried: Array
    torque: Array
    joint: NDArray[np.int64]


def _friction(
    recording: ArmRecording,
    plan: MotionPlan,
    model: RobotModel,
    torque: Array,
    since: Array,
    offset: Array,
) -> _HeldTorque:
    """Coulomb and viscous friction, payload's mass and moment, and the base's tilt: one weighted
    regression over all strokes.

    While one joint alone moves: tau - ID(q, v, a) = Fc sign(v) + Fv v + J a + Y(q) (m, m c). ID is
    the model's inverse dynamics, a the slope of the measured speed; J takes what the model's
    inertia lacks. A constant per joint takes what is uncertain of the efforts' `offset` (n,), by
    its standard deviation. What the motion doesn't show has an interval of about ±2.6 UNKNOWN: one
    vertical joint alone shows no payload. All is NaN where torques are.

    The torque of gravity that turns with the base is added to that, of the arm and of the payload.
    It is linear in gravity, and is linearised about the tilt of the step before. Where the tilt is
    within its interval around 0, the other figures are those without it.
    """
    n = model.n
    value, width = np.full((2, 4 * n + 4), np.nan)
    tilt = np.full(2, np.nan)
    tilt_width = np.full(2, np.nan)
    if np.isfinite(torque).all():
        rows = [
            row
            for stroke in plan.strokes
            for row in _blocks(stroke, recording, model, torque, since)
        ]
        blocks = _Blocks(*(np.array(column) for column in zip(*rows, strict=True)))
        moved = np.unique(blocks.joint)
        columns = np.concatenate(
            (moved, n + moved, 2 * n + np.arange(4), 2 * n + 4 + moved, 3 * n + 4 + moved)
        )
        inertia = model.mass(plan.q0).diagonal()
        unknown = np.full(2 * len(moved) + 1, UNKNOWN)
        deviation = np.concatenate(
            (unknown, np.full(3, REACH), inertia[moved], np.maximum(offset[moved], 1e-6))
        )
        best, half = _regression(
            blocks.regressor[:, columns], blocks.torque, blocks.joint, deviation
        )
        regressor = blocks.regressor[:, columns]
        carried = slice(2 * len(moved), 2 * len(moved) + 4)  # columns of the payload
        payload = best[carried]
        tilt = np.zeros(2)
        for _ in range(TILT_STEPS):
            gravity = tilted_gravity(model, tilt)
            regressor[:, carried] = blocks.carried @ gravity
            per_gravity = blocks.gravity + np.einsum("i,kij->kj", payload, blocks.carried)
            with_tilt, with_tilt_half = _regression(
                np.column_stack((regressor, per_gravity @ tilt_jacobian(model, tilt))),
                blocks.torque - blocks.gravity @ (gravity - model.gravity),
                blocks.joint,
                np.concatenate((deviation, np.full(2, UNKNOWN))),
            )
            tilt_width = with_tilt_half[-2:]
            if tilt_width.max() > math.pi:  # the motion doesn't show it
                break
            tilt = tilt + with_tilt[-2:]
            payload = with_tilt[carried]
        if (np.abs(tilt) > tilt_width).any():
            best = with_tilt[:-2]
            half = with_tilt_half[:-2]
        value[columns] = best
        width[columns] = half
    parts = (slice(0, n), slice(n, 2 * n), 2 * n, slice(2 * n + 1, 2 * n + 4))
    coulomb, viscous, mass, moment = (
        Estimate(np.asarray(value[part]), np.asarray(width[part])) for part in parts
    )
    return _HeldTorque(coulomb, viscous, mass, moment, Estimate(tilt, tilt_width))


def _regression(
    x: Array, y: Array, joint: NDArray[np.int64], deviation: Array
) -> tuple[Array, Array]:
    """Coefficients (m,) and half of their 99 % intervals (m,), weighted by each joint's residuals.

    Args:
        x: Regressors (k, m).
        y: Torques (k,) [N·m].
        joint: (k,) joint of each row.
        deviation: (m,) standard deviations of what is known of the coefficients before.
    """
    prior = np.diag(1.0 / deviation)
    noise = np.ones(int(joint.max()) + 1)
    for _ in range(4):
        weight = 1.0 / noise[joint]
        a = np.vstack((weight[:, None] * x, prior))
        inverse = np.linalg.inv(a.T @ a)
        best = inverse @ (a.T @ np.concatenate((weight * y, np.zeros(len(prior)))))
        rest = y - x @ best
        for each in np.unique(joint):
            residual = rest[joint == each]
            square = residual @ residual
            alike = float(np.clip(residual[1:] @ residual[:-1] / square, 0.0, MAX_CORRELATION))
            fewer = (1.0 - alike) / (1.0 + alike)  # what neighbouring blocks are worth
            noise[each] = max(np.sqrt(square / (fewer * max(len(residual) - 5, 1))), 1e-6)
    return best, Z * np.sqrt(inverse.diagonal())


def _blocks(
    stroke: Stroke, recording: ArmRecording, model: RobotModel, torque: Array, since: Array
) -> list[tuple[Array, Array, Array, float, int]]:
    """One row of :class:`_Blocks` per block of a stroke."""
    rows = []
    n = model.n
    j = stroke.joint
    # period: an effort is the mean of the one before its stamp
    half = np.median(np.diff(since)) / 2.0
    for begin in np.arange(stroke.start + SETTLE, stroke.end - BLOCK, BLOCK):
        part = (since >= begin) & (since < begin + BLOCK)
        if part.sum() < FULL * BLOCK / (2.0 * half):
            continue
        ends = [recording.v[each, j] for each in np.array_split(np.flatnonzero(part), 3)]
        if any(abs(v.mean() / stroke.velocity - 1.0) > STEADY for v in (ends[0], ends[-1])):
            continue
        v = recording.v[part]
        t = since[part] - since[part].mean()
        q = recording.q[part].mean(axis=0) - half * v.mean(axis=0)
        a = t @ v / (t @ t)
        kin = model.at(q)
        row = np.zeros(4 * n + 4)
        row[j] = np.sign(stroke.velocity)
        row[n + j] = v[:, j].mean()
        row[2 * n + 4 + j] = a[j]
        row[3 * n + 4 + j] = 1.0
        modelled = model.inverse_dynamics(q, v.mean(axis=0), a)
        beyond = float(torque[part, j].mean() - modelled[j])
        axes = np.cross(kin.jacobian[3:, j], kin.pose[:3, :3].T)
        carried = -np.vstack((kin.jacobian[:3, j], axes))
        row[2 * n : 2 * n + 4] = carried @ model.gravity
        rows.append((row, kin.gravity_regressor[j], carried, beyond, j))
    return rows
