"""The record of a control cycle: each quantity is declared once, for compiled code, log, recorder, topics and page."""

from __future__ import annotations

import math

from .record import JOINTS, Field, Record

NONE = math.nan  # of a quantity that a cycle hasn't: no wrench, no reference of the tip
BASE = "base axes, about the tip's origin"

CYCLE = Record(
    "Cycle",
    (
        # --- the sample ---
        Field("time", (), "s", "Stamp of the joint states."),
        Field("dt", (), "s", "Time since the cycle before."),
        Field("age", (), "s", "How old the joint states were when they arrived."),
        Field("q", (JOINTS,), "rad", "Joint angles; joints without end are counted on."),
        Field("v", (JOINTS,), "rad/s", "Joint velocities."),
        Field("effort", (JOINTS,), "N·m", "Measured joint torques."),
        # --- what the model says of it ---
        Field("pose", (4, 4), "m, -", "Pose of the tip.", "in the base"),
        Field("jacobian", (6, JOINTS), "m, -", "Jacobian of the tip.", BASE),
        Field("gravity", (JOINTS,), "N·m", "Torques that hold the arm at rest."),
        Field("twist", (6,), "m/s, rad/s", "Twist of the tip.", BASE),
        # --- what is sensed ---
        Field("wrench", (6,), "N, N·m", "Wrench by the environment on the robot; NaN where there is none.", BASE, NONE),
        Field("external_torque", (JOINTS,), "N·m", "External joint torques of the momentum observer."),
        Field("contact_load", (JOINTS,), "", "What acts on each joint, over the threshold of a contact."),
        Field("ringing_margin", (), "", "1 far from an alarm of ringing, 0 at one.", first=1.0),
        # --- where the robot should be; NaN where the reference doesn't say it ---
        Field("target_pose", (4, 4), "m, -", "Pose that the tip should have.", "in the base", NONE),
        Field("target_twist", (6,), "m/s, rad/s", "Twist that it should have.", BASE, NONE),
        Field("target_acceleration", (6,), "m/s², rad/s²", "Acceleration that it should have.", BASE, NONE),
        Field("target_wrench", (6,), "N, N·m", "Wrench that the robot shall exert.", BASE),
        Field("target_q", (JOINTS,), "rad", "Joint angles that the robot should have.", first=NONE),
        Field("target_v", (JOINTS,), "rad/s", "Joint velocities that it should have.", first=NONE),
        Field("target_a", (JOINTS,), "rad/s²", "Joint accelerations that it should have.", first=NONE),
        Field("pose_error", (6,), "m, rad", "Target less pose; zeros where there is no target.", BASE),
        Field("moving", (), "", "1 where the reference moves."),
        # --- what is decided ---
        Field("softening", (), "", "Fraction of the stiffness that ringing and lateness leave.", first=1.0),
        Field("reason", (), "", "Number of the reason for the safe output; 0 for none."),
        # --- what is commanded ---
        Field("mode", (), "", "What the command is: 0 efforts, 1 positions, 2 velocities."),
        Field("spring_load", (), "", "How near the law's spring is to its bound."),
        Field("asked", (JOINTS,), "N·m, rad or rad/s", "What the law asks for."),
        Field("bounded", (JOINTS,), "N·m, rad or rad/s", "The same within the limits."),
        Field("sent", (JOINTS,), "N·m, rad or rad/s", "The same within the rates."),
        Field("soft_limits", (JOINTS,), "N·m", "Torques that keep the joints off their limits."),
        Field("singular_damping", (JOINTS,), "N·m", "Torques that damp motion in singular directions."),
        Field("command", (JOINTS,), "N·m, rad or rad/s", "What the robot gets."),
    ),
)
cycle_at = CYCLE.views
