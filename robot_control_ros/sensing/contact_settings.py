"""What counts as a contact, and what the arm does then: declared once, as parameters."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.gains import JOINT, choice, gain
from ..core.types import Array

REACTIONS = ("none", "hold", "brake", "soft", "retreat")


@dataclass(frozen=True, eq=False)
class ContactSettings:
    """Thresholds of :class:`~.contact_detector.ContactDetector`, and the reaction; a threshold of 0 is none."""

    reaction: str = choice(
        "none",
        REACTIONS,
        doc="What the arm does at a contact until ~/clear_contact: none reports it, hold stops the target, brake stops "
        "the arm, soft lets it float, retreat goes back for a moment.",
    )
    observer_gain: float = gain(
        50.0, unit="1/s", lower=1.0, upper=500.0, doc="Bandwidth of the momentum observer of the detection."
    )
    high_pass: float = gain(
        1.0, unit="Hz", lower=0.05, upper=20.0, doc="Slower changes count as payload or errors of the model."
    )
    collision_torque: Array = gain(
        0.0, size=JOINT, unit="N·m", upper=1e4, doc="External torque, high-passed, of a collision; 0 doesn't watch it."
    )
    collision_torque_velocity: Array = gain(
        0.0, size=JOINT, unit="N·m·s/rad", upper=1e4, doc="Added to it for each rad/s of the reference."
    )
    collision_torque_acceleration: Array = gain(
        0.0, size=JOINT, unit="N·m·s²/rad", upper=1e4, doc="Added to it for each rad/s² of the reference."
    )
    clamping_torque: Array = gain(
        0.0, size=JOINT, unit="N·m", upper=1e4, doc="External torque, as it is, of a clamping; 0 doesn't watch it."
    )
    collision_force: float = gain(
        0.0, unit="N", upper=1e4, doc="Force at the wrist sensor, high-passed, of a collision; 0 doesn't watch it."
    )
    clamping_force: float = gain(
        0.0, unit="N", upper=1e4, doc="Force at the wrist sensor, as it is, of a clamping; 0 doesn't watch it."
    )
    following_error: Array = gain(
        0.0,
        size=JOINT,
        unit="rad",
        upper=1.0,
        doc="How far a joint lags its position or velocity commands, high-passed, at a collision; 0 doesn't watch it.",
    )
    following_error_velocity: Array = gain(
        0.0, size=JOINT, unit="s", upper=1.0, doc="Added to it for each rad/s of the reference: the lag of the drive."
    )
    following_error_acceleration: Array = gain(
        0.0, size=JOINT, unit="s²", upper=1.0, doc="Added to it for each rad/s² of the reference."
    )
