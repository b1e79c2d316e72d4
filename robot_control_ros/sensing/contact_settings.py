"""Settings of contacts: thresholds, the reaction, and the largest blow, declared as parameters."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.gains import JOINT, choice, gain
from ..core.types import Array

REACTIONS = ("none", "hold", "brake", "soft", "retreat")
LIMITED_REACTION = "retreat"  # in the place of none, where a blow is limited: it ends the pressing
# of `max_impact`, that the wrist sensor takes for a contact: what comes fast, and what stays
COLLISION_SHARE = 0.25
CLAMPING_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class ContactSettings:
    """Thresholds of :class:`~.contact_detector.ContactDetector`, and the reaction; a
    threshold of 0 is none.
    """

    reaction: str = choice(
        "none",
        REACTIONS,
        doc="What the arm does at a contact until ~/clear_contact: none reports it, hold stops the target, brake stops "
        "the arm, soft lets it float, retreat goes back for a moment. With max_impact none is retreat.",
    )
    max_impact: float = gain(
        0.0,
        unit="N",
        upper=1000.0,
        doc="Largest force of a blow of the tip: its speed is bounded, and a contact ends the pressing; 0 is no limit.",
    )
    body_stiffness: float = gain(
        75000.0,
        unit="N/m",
        lower=1000.0,
        upper=1e7,
        doc="Of what the tip may strike, or press on. A hand has 75,000 N/m: ISO/TS 15066:2016, table A.3.",
    )
    guard_force: float = gain(
        0.0,
        unit="N",
        upper=1e4,
        doc="Change of the tip's force that ends a motion, measured from its beginning; 0 guards none.",
    )
    guard_reaction: str = choice(
        "brake",
        REACTIONS,
        doc="What the arm does where a motion ends so, see reaction; with none it goes on, and tells the contact.",
    )
    observer_gain: float = gain(
        50.0,
        unit="1/s",
        lower=1.0,
        upper=500.0,
        doc="Bandwidth of the momentum observer of the detection.",
    )
    high_pass: float = gain(
        1.0,
        unit="Hz",
        lower=0.05,
        upper=20.0,
        doc="Slower changes count as payload or errors of the model.",
    )
    collision_torque: Array = gain(
        0.0,
        size=JOINT,
        unit="N·m",
        upper=1e4,
        doc="External torque, high-passed, of a collision; 0 doesn't watch it.",
    )
    collision_torque_velocity: Array = gain(
        0.0,
        size=JOINT,
        unit="N·m·s/rad",
        upper=1e4,
        doc="Added to it for each rad/s of the reference.",
    )
    collision_torque_acceleration: Array = gain(
        0.0,
        size=JOINT,
        unit="N·m·s²/rad",
        upper=1e4,
        doc="Added to it for each rad/s² of the reference.",
    )
    clamping_torque: Array = gain(
        0.0,
        size=JOINT,
        unit="N·m",
        upper=1e4,
        doc="External torque, as it is, of a clamping; 0 doesn't watch it.",
    )
    collision_force: float = gain(
        0.0,
        unit="N",
        upper=1e4,
        doc="Force at the wrist sensor, high-passed, of a collision; 0 doesn't watch it.",
    )
    clamping_force: float = gain(
        0.0,
        unit="N",
        upper=1e4,
        doc="Force at the wrist sensor, as it is, of a clamping; 0 doesn't watch it.",
    )
    following_error: Array = gain(
        0.0,
        size=JOINT,
        unit="rad",
        upper=1.0,
        doc="How far a joint lags its position or velocity commands, high-passed, at a collision; 0 doesn't watch it.",
    )
    following_error_velocity: Array = gain(
        0.0,
        size=JOINT,
        unit="s",
        upper=1.0,
        doc="Added to it for each rad/s of the reference: the lag of the drive.",
    )
    following_error_acceleration: Array = gain(
        0.0, size=JOINT, unit="s²", upper=1.0, doc="Added to it for each rad/s² of the reference."
    )

    @property
    def reaction_in_force(self) -> str:
        """The reaction: with `max_impact`, none would go on pressing, and
        retreat takes its place.
        """
        return (
            LIMITED_REACTION if self.max_impact > 0.0 and self.reaction == "none" else self.reaction
        )

    @property
    def forces(self) -> tuple[float, float]:
        """Force of a collision and of a clamping at the wrist sensor [N]; `max_impact`
        bounds both, 0 is none.
        """
        bounds = COLLISION_SHARE * self.max_impact, CLAMPING_SHARE * self.max_impact
        own = self.collision_force, self.clamping_force
        collision, clamping = (
            min(force, bound) if force > 0.0 and bound > 0.0 else max(force, bound)
            for force, bound in zip(own, bounds, strict=True)
        )
        return collision, clamping
