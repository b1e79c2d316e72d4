"""The record of a control cycle: each quantity is declared once, for compiled code, log,
recorder, topics and page.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .record import JOINTS, Field, Record
from .types import Array

NONE = math.nan  # of a quantity that a cycle hasn't: no wrench, no reference of the tip
BASE = "base axes, about the tip's origin"
COMMAND = "N·m, rad or rad/s"
TERMS = 12  # parts that a law's command may have
SENSORS = 12  # numbers that a robot's further sensors may have
# of which `limited` is the sum
SATURATED = 1
RATE_LIMITED = 2
SOFT_LIMITED = 4

CYCLE = Record(
    "Cycle",
    (
        Field("number", (), "", "Number of the cycle, since the loop was made."),
        # --- the sample ---
        Field("time", (), "s", "Stamp of the joint states."),
        Field("age", (), "s", "How old the joint states were when they arrived."),
        Field("q", (JOINTS,), "rad", "Joint angles; joints without end are counted on."),
        Field("v", (JOINTS,), "rad/s", "Joint velocities."),
        Field("effort", (JOINTS,), "N·m", "Measured joint torques; NaN where there are none."),
        # --- what the model says of it ---
        Field("pose", (4, 4), "m, -", "Pose of the tip.", "in the base"),
        Field("twist", (6,), "m/s, rad/s", "Twist of the tip.", BASE),
        Field(
            "wrench",
            (6,),
            "N, N·m",
            "Wrench by the environment on the robot; NaN where there is none.",
            BASE,
            NONE,
        ),
        Field(
            "sensors",
            (SENSORS,),
            "as declared",
            "Numbers of the profile's `sensors`, in their order; NaN where there is none.",
            first=NONE,
        ),
        # --- where the robot should be; NaN where the reference doesn't say it ---
        Field("target_pose", (4, 4), "m, -", "Pose that the tip should have.", "in the base", NONE),
        Field("target_twist", (6,), "m/s, rad/s", "Twist that it should have.", BASE, NONE),
        Field(
            "target_acceleration",
            (6,),
            "m/s², rad/s²",
            "Acceleration that it should have.",
            BASE,
            NONE,
        ),
        Field("target_wrench", (6,), "N, N·m", "Wrench that the robot shall exert.", BASE, NONE),
        Field("target_q", (JOINTS,), "rad", "Joint angles that the robot should have.", first=NONE),
        Field("target_v", (JOINTS,), "rad/s", "Joint velocities that it should have.", first=NONE),
        Field(
            "target_a", (JOINTS,), "rad/s²", "Joint accelerations that it should have.", first=NONE
        ),
        # --- how chunks of a policy are followed; NaN where none are ---
        Field(
            "chunk_delay",
            (),
            "s",
            "Measured delay from the times of a chunk to the arm's motion; NaN before it has moved.",
            first=NONE,
        ),
        Field(
            "seam_step",
            (),
            "",
            "Largest step of the target's velocity at the last seam of two chunks, over its limit.",
            first=NONE,
        ),
        Field(
            "seam_jerk",
            (),
            "",
            "Largest jerk of the target at the last seam of two chunks, over its limit.",
            first=NONE,
        ),
        # --- what is decided ---
        Field("interval", (), "s", "Time that the law reckons with, since the cycle before."),
        Field(
            "setting",
            (),
            "",
            "Number of the law and the gains that the cycle had; they are recorded beside it.",
        ),
        Field(
            "payload",
            (10,),
            "kg, m, kg·m²",
            "Payload: mass, centre, inertia xx yy zz xy xz yz.",
            "in the tip",
        ),
        Field("begins", (), "", "1 where the law began anew."),
        Field(
            "softening",
            (),
            "",
            "Fraction of the stiffness that ringing and late samples leave.",
            first=1.0,
        ),
        # --- what is commanded ---
        Field(
            "asked",
            (JOINTS,),
            COMMAND,
            "What the law asks for; NaN where it wasn't asked.",
            first=NONE,
        ),
        Field(
            "asked_feedforward",
            (JOINTS,),
            "N·m",
            "Torque that it adds to positions; NaN for none.",
            first=NONE,
        ),
        Field(
            "asked_velocity",
            (JOINTS,),
            "rad/s",
            "Velocity that goes with positions; NaN for none.",
            first=NONE,
        ),
        Field("sent", (JOINTS,), COMMAND, "What the joints get."),
        Field(
            "sent_feedforward",
            (JOINTS,),
            "N·m",
            "Torque that is added to positions; NaN for none.",
            first=NONE,
        ),
        Field(
            "sent_velocity",
            (JOINTS,),
            "rad/s",
            "Velocity that goes with positions; NaN for none.",
            first=NONE,
        ),
        Field(
            "limited",
            (JOINTS,),
            "",
            "1 for a limit, 2 for a rate, 4 for a soft limit that changed it; their sum.",
        ),
        Field("fault", (), "", "1 where the safe output was sent."),
        Field("spring_load", (), "", "How near the law's spring is to its bound, 0 to 1."),
        # --- what model and law give again ---
        Field("jacobian", (6, JOINTS), "m, -", "Jacobian of the tip.", BASE, kept=False),
        Field("gravity", (JOINTS,), "N·m", "Torques that hold the arm at rest.", kept=False),
        Field(
            "terms",
            (TERMS, JOINTS),
            COMMAND,
            "Parts of the law's command, in the order of its names.",
            kept=False,
        ),
        Field(
            "followed_v",
            (JOINTS,),
            "rad/s",
            "Rates of the joint angles that the law follows, where it shifts its reference; else NaN.",
            first=NONE,
            kept=False,
        ),
    ),
)
cycle_at = CYCLE.views


class Cycles:
    """Records of cycles.

    Each field of :data:`CYCLE` is an attribute, (length, *shape): ``cycles.q[k]`` are the joint
    angles of cycle k.

    Args:
        n: Number of joints.
        length: Number of cycles.

    Attributes:
        rows: (length, width) memory of all fields, as compiled functions take it.
    """

    rows: Array

    def __init__(self, n: int, length: int = 1) -> None:
        self.rows, named = CYCLE.memory(length, n)
        for field in CYCLE.fields:
            setattr(self, field.name, named[field.name])

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Array: ...
