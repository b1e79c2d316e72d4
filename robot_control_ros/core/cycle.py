"""The record of a control cycle: each quantity is declared once, for compiled code, log, recorder, topics and page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .record import JOINTS, Field, Record
from .types import Array

NONE = math.nan  # of a quantity that a cycle hasn't: no wrench, no reference of the tip
BASE = "base axes, about the tip's origin"
TERMS = 11  # parts that a law's command may have

CYCLE = Record(
    "Cycle",
    (
        # --- the sample ---
        Field("time", (), "s", "Stamp of the joint states."),
        Field("age", (), "s", "How old the joint states were when they arrived."),
        Field("q", (JOINTS,), "rad", "Joint angles; joints without end are counted on."),
        Field("v", (JOINTS,), "rad/s", "Joint velocities."),
        Field("effort", (JOINTS,), "N·m", "Measured joint torques."),
        # --- what the model says of it ---
        Field("pose", (4, 4), "m, -", "Pose of the tip.", "in the base"),
        Field("jacobian", (6, JOINTS), "m, -", "Jacobian of the tip.", BASE),
        Field("gravity", (JOINTS,), "N·m", "Torques that hold the arm at rest."),
        Field("wrench", (6,), "N, N·m", "Wrench by the environment on the robot; NaN where there is none.", BASE, NONE),
        # --- where the robot should be; NaN where the reference doesn't say it ---
        Field("target_pose", (4, 4), "m, -", "Pose that the tip should have.", "in the base", NONE),
        Field("target_twist", (6,), "m/s, rad/s", "Twist that it should have.", BASE, NONE),
        Field("target_acceleration", (6,), "m/s², rad/s²", "Acceleration that it should have.", BASE, NONE),
        Field("target_wrench", (6,), "N, N·m", "Wrench that the robot shall exert.", BASE, NONE),
        Field("target_q", (JOINTS,), "rad", "Joint angles that the robot should have.", first=NONE),
        Field("target_v", (JOINTS,), "rad/s", "Joint velocities that it should have.", first=NONE),
        Field("target_a", (JOINTS,), "rad/s²", "Joint accelerations that it should have.", first=NONE),
        # --- what is commanded ---
        Field("terms", (TERMS, JOINTS), "N·m, rad or rad/s", "Parts of the law's command, in the order of its names."),
        Field("asked", (JOINTS,), "N·m, rad or rad/s", "What the law asks for."),
    ),
)
cycle_at = CYCLE.views


class Cycles:
    """Records of cycles.

    Each field of :data:`CYCLE` is an attribute, (length, *shape): ``cycles.q[k]`` are the joint angles of cycle k.

    Args:
        n: number of joints.
        length: number of cycles.

    Attributes:
        rows: the same memory (length, width), for compiled functions.
    """

    rows: Array

    def __init__(self, n: int, length: int = 1) -> None:
        self.rows, named = CYCLE.memory(length, n)
        for field in CYCLE.fields:
            setattr(self, field.name, named[field.name])

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Array: ...
