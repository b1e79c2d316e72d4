"""The delay of an arm that takes positions: how far joints are behind their commands, by the
speed of the strokes.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import t as student

from ..core.errors import refused
from ..core.types import Array
from .estimates import Estimate
from .motion_plan import MotionPlan
from .recording import ArmRecording

SETTLE = 0.35  # s of a stroke until the joint's speed is constant
PER_JOINT = 2  # unknowns besides the delay
MAX_LAG = 0.3  # s
CONFIDENCE = 0.995  # on each side of an interval of 99 %


def position_lag(recording: ArmRecording, plan: MotionPlan) -> Estimate:
    """Mean time L from a position command to the joint's arrival there [s], the lag of the servo
    included.

    On strokes of constant speed v: q_c(t) - q(t) = L v + c sign(v) + o, per joint. The constant c
    is what friction costs a servo without integrator, o an offset of the sensor. A command holds
    until the next, so that on average it is half a period late.

    Raises:
        ConfigError: joints that don't follow their commands within 0.3 s.
    """
    rows = []
    errors = []
    since = recording.stamp - recording.start
    n = recording.q.shape[1]
    sent = recording.received + np.median(np.diff(recording.stamp)) / 2.0
    for stroke in plan.strokes:
        used = (since > stroke.start + SETTLE) & (since < stroke.end)
        j = stroke.joint
        if used.any():
            ahead = (
                np.interp(recording.stamp[used], sent, recording.command[:, j])
                - recording.q[used, j]
            )
            row = np.zeros(1 + PER_JOINT * n)
            row[0] = stroke.velocity
            row[1 + j] = np.sign(stroke.velocity)
            row[1 + n + j] = 1.0
            rows.append(row)
            errors.append(ahead.mean())
    x = np.array(rows)
    y = np.array(errors)
    x = x[:, x.any(axis=0)]
    inverse = np.linalg.pinv(x.T @ x)
    best = inverse @ (x.T @ y)
    free = len(y) - x.shape[1]
    variance = ((y - x @ best) ** 2).sum() / free * inverse[0, 0]
    if not 0.0 <= best[0] <= MAX_LAG:
        raise refused(
            "delay", best[0], f"joints must follow commands within {MAX_LAG:g} s", MAX_LAG, unit="s"
        )
    return Estimate(np.array(best[0]), np.array(student.ppf(CONFIDENCE, free) * np.sqrt(variance)))


def delayed_positions(recording: ArmRecording, delay: float) -> Array:
    """(k, n) the commands a delay [s] before each stamp, to lay over the positions [rad]."""
    sent = recording.received + delay + np.median(np.diff(recording.stamp)) / 2.0
    return np.stack(
        [np.interp(recording.stamp, sent, each) for each in recording.command.T], axis=1
    )
