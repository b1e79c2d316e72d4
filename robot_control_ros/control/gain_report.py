"""The bounds of a law's gains at a posture, and a warning of gains that are beyond, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..core.gains import AXES, gain_specs
from ..core.types import Array
from ..laws.running_law import RunningLaw
from ..robot.model import RobotDynamics
from ..stability.contact_bound import contact_bound
from ..stability.stiffness_bound import StiffnessBound, running_delay, stiffness_bound
from ..stability.wall_contact import WALL
from .impact import tip_inertia


@dataclass(frozen=True)
class GainReport:
    """The bounds of a law's gains at a posture.

    Attributes:
        bounds: Bound of each gain in words, by the gain's name; empty for a law without any.
        warning: The gain that is beyond its bound, in words; empty where none is.
    """

    bounds: Mapping[str, str]
    warning: str


def gain_report(
    running: RunningLaw,
    kin: RobotDynamics,
    load: float = 0.0,
    friction: Array | None = None,
    wall: float = WALL,
) -> GainReport:
    """The bounds of the gains that a law goes to. It takes milliseconds: not for a control cycle.

    Args:
        running: Law on its robot.
        kin: Dynamics at the posture, of which the mass matrix is read.
        load: Mass beyond the sensor [kg].
        friction: (n,) viscous friction of the joints [N·m·s/rad], see
            :func:`~..stability.stiffness_bound.stiffness_bound`; None for its default.
        wall: Stiffness of what a virtual body may press on [N/m].
    """
    stiffness = stiffness_bound(running, kin, friction=friction)
    if stiffness is not None:
        return _of_stiffness(running, stiffness)
    return _of_contact(running, kin, load, wall)


def _of_stiffness(running: RunningLaw, bound: StiffnessBound) -> GainReport:
    (spec,) = (each for each in gain_specs(type(bound.gains)) if each.name == "stiffness")
    units = spec.unit.split(", ")  # one, or that of translations and that of rotations
    parts = np.split(bound.values, len(units)) if bound.values.size > 1 else [bound.values]
    highest = " and ".join(
        f"{_numbers(part)} {unit}" for part, unit in zip(parts, units, strict=True)
    )
    bounds = {"stiffness": f"at most {highest}, if only one changes"}
    if bound.null_space is not None:
        highest = f"{_numbers(bound.null_space_values)} {bound.null_space.unit}"
        bounds[bound.null_space.name] = f"at most {highest}, if only one changes"
    if bound.factor >= 1.0:
        return GainReport(bounds, "")
    return GainReport(
        bounds,
        f"{running.name}: unstable at this posture, {_describe_timing(running)}: {_rule(bound)}",
    )


def _rule(bound: StiffnessBound) -> str:
    """The change that makes unstable gains stable, in words."""
    if bound.factor > 0.0:
        return f"its stiffness must be at most {bound.factor:.2g} times as high"
    if bound.null_space is not None and bound.null_space_factor > 0.0:
        name = bound.null_space.name
        return f"its {name} must be at most {bound.null_space_factor:.2g} times as high"
    return "its damping is too high"


def _of_contact(running: RunningLaw, kin: RobotDynamics, load: float, wall: float) -> GainReport:
    walled = contact_bound(running, kin, wall=wall, load=load)
    free = contact_bound(running, kin, wall=0.0, load=load)
    if walled is None or free is None:
        return GainReport({}, "")
    gains = running.gains.target
    bounds = {
        "mass": f"at least {_numbers(walled.mass)} kg against {wall:g} N/m, {_numbers(free.mass)} kg free; "
        f"the arm's own is {_numbers(tip_inertia(kin).diagonal())} kg",
        "damping": f"with the ratio's, at least {_numbers(walled.damping)} N·s/m against {wall:g} N/m, "
        f"{_numbers(free.damping)} N·s/m free",
    }
    for bound, where in ((free, "free"), (walled, f"against {wall:g} N/m")):
        mass, damping = (each.diagonal()[:3] for each in (gains.mass, gains.virtual_damping))
        light = (gains.moved_axes[:3] > 0.0) & (mass < bound.mass) & (damping < bound.damping)
        if light.any():
            axes = ", ".join(axis for axis, each in zip(AXES, light, strict=False) if each)
            least = f"{_numbers(bound.mass)} kg, or damping {_numbers(bound.damping)} N·s/m"
            rule = f"along {axes}; mass must be at least {least}"
            return GainReport(
                bounds, f"{running.name}: unstable {where}, {_describe_timing(running)}, {rule}"
            )
    return GainReport(bounds, "")


def _describe_timing(running: RunningLaw) -> str:
    return f"with commands {1e3 * running_delay(running):.3g} ms late at {running.robot.profile.rate:g} Hz"


def _numbers(values: Array) -> str:
    """Each number in two digits; a single one where all are alike."""
    texts = [
        f"{value:.2g}" if value < 100.0 else f"{float(f'{value:.2g}'):.0f}"
        for value in values.tolist()
    ]
    return texts[0] if len(set(texts)) == 1 else ", ".join(texts)
