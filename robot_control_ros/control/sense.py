"""The first stage of a cycle: a sample is written into the record, and the detectors look at it."""

from __future__ import annotations

from typing import Any

from ..core.compiled import compiled
from ..core.cycle import cycle_at
from ..core.types import Array
from ..laws.compiled_law import state_into
from ..sensing.contact_detector import NOTHING, detect
from ..sensing.ringing import find_ringing


@compiled
def sense(
    cycles: Array,
    time: float,
    age: float,
    q: Array,
    v: Array,
    effort: Array,
    wrench: Array,
    pose: Array,
    jacobian: Array,
    gravity: Array,
    contact_rows: Any,
    watched: int,
    gain_times_dt: float,
    weight: float,
    commanded: int,
    dt: float,
    ringing_rows: Array,
    n: int,
) -> tuple[int, int]:
    """Write a sample into the first record, and look for contacts and for ringing.

    Args:
        cycles: Records; the first one still has the command of the cycle before.
        time, age, q, v, effort, wrench: Sample, see :func:`~..laws.compiled_law.state_into`.
        pose, jacobian, gravity: Kinematics and gravity torques of the sample, see there.
        contact_rows: Memory of the detector of contacts, see
            :func:`~..sensing.contact_detector.detect`.
        watched, gain_times_dt, weight, commanded: Arguments of that detector, see there.
        dt: Time since the last sample [s].
        ringing_rows: Memory of the detector of ringing.
        n: Number of joints.

    Returns:
        Answers of `detect` and of :func:`~..sensing.ringing.find_ringing`.
    """
    state_into(cycles[0], time, age, q, v, effort, wrench, pose, jacobian, gravity, n)
    cycle = cycle_at(cycles[0], n)
    contact = NOTHING
    if watched != 0:
        contact = detect(cycle, contact_rows, watched, gain_times_dt, weight, commanded, dt, n)
    return contact, find_ringing(ringing_rows, cycle, n)
