"""The laws of the planar arm in words: the equation with its present numbers, and how
the two laws differ.
"""

from __future__ import annotations

import math

from ...core.types import Array
from ...dashboard.markup import block, note, table
from ..planar_arm import PlanarArm

NONE = "No law is in force: you move the joints by hand."
IMPEDANCE = "T = Jᵀ [M (a_d - a) + Kd (v_d - v) + Kp (x_d - x)] + G"
JOINT_PD = "T = Kq (q_d - q) - Dq q̇ + G"
PARTS = {  # of each law's torque, by the law's own names
    False: {
        "inertia": "Jᵀ M (a_d - a)",
        "damping": "Jᵀ Kd (v_d - v)",
        "stiffness": "Jᵀ Kp (x_d - x)",
        "gravity": "G",
    },
    True: {"stiffness": "Kq (q_d - q)", "damping": "-Dq q̇", "gravity": "G"},
}
COMPARISON = (
    "Impedance: a spring and a damper hold the tip. It is equally stiff in all directions.",
    "Joint PD: a spring and a damper hold each joint. The tip's stiffness depends on direction and posture.",
    "At the wall, impedance gives way straight. Under joint PD the tip also slides aside.",
    "Stretch the arm, and put the target on its line. Impedance has no torque then, joint PD has.",
    "To see it, show the trajectory and the wall. Then switch the mode.",
)


def equation(arm: PlanarArm) -> str:
    """The law in force, its gains, and each part of its torque now, as HTML."""
    if not arm.driven:
        return note(NONE)
    settings = arm.settings
    if settings.joint_pd:
        law = JOINT_PD
        gains = f"Kq {settings.joint_stiffness:g} N·m/rad, Dq {settings.joint_damping:g} N·m·s/rad"
    else:
        law = IMPEDANCE
        gains = f"Kp {settings.stiffness:g} N/m, Kd {settings.damping:g} N·s/m, M {settings.inertia:g} kg"
    terms = arm.terms
    rows = [("In force now", "T1, T2 [N·m]")]
    rows += [
        (text, pair(terms[name]))
        for name, text in PARTS[settings.joint_pd].items()
        if name in terms
    ]
    return block(f"{law}<br>{gains}") + block(table([*rows, ("T", pair(arm.torque))]))


def comparison(arm: PlanarArm) -> str:
    """Least and largest stiffness of the tip now, as HTML."""
    if not arm.driven:
        return note(NONE)
    least, largest = (
        f"{value:.0f} N/m" if math.isfinite(value) else "no limit" for value in arm.tip_stiffness
    )
    return block(
        table([("Least stiffness of the tip", least), ("Largest stiffness of the tip", largest)])
    )


def pair(values: Array) -> str:
    """Two numbers with two decimals."""
    return ", ".join(f"{round(float(value), 2) + 0.0:.2f}" for value in values)  # no -0.00
