"""Numbers of a description that can't be, or that are hardly meant: what strangers' files hold.

Each finding names the link or the joint, the number, the rule and the way out. Some numbers no body
can have: there the arm's dynamics are unknown, and torque laws are refused. The others may be right.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..core.types import Array
from .arm_description import carriers_of, inertia_problem, lacks_inertia, moving_bodies
from .configuration import RobotConfig
from .description import LinkMass, link_masses, parse_description
from .joint_units import JointUnits
from .model import RobotModel

DENSEST = 22_600.0  # kg/m³: osmium
SMALLEST_ARM = 1.0  # m: a body of a shorter arm may be as large as that
TURNS = 4.0  # beyond which a limit of a joint with ends is hardly one in radians
LONGEST_SLIDE = 20.0  # m
FASTEST = {"rad": 60.0, "m": 20.0}  # rad/s and m/s: no arm's joint is faster
SOONEST = 1e-3  # s in which a motor may take its joint to the velocity limit
AT_LIMIT = 0.005  # rad or m from a limit: there the soft limits of the joints act
MASS_IN_GRAMS = "is its mass in grams, or its inertia in other units than kg·m²?"


@dataclass(frozen=True)
class Implausible:
    """A number of a description that can't be, or that is hardly meant.

    Attributes:
        part: Name of the link or joint.
        quantity: Name of the number.
        value: The number; NaN where it isn't told.
        text: Sentence that names part, number and rule.
        remedy: What to do.
        forbids_torques: True where torques can't be computed with it.
    """

    part: str
    quantity: str
    value: float
    text: str
    remedy: str
    forbids_torques: bool = False

    def __str__(self) -> str:
        return f"{self.text}; {self.remedy}"


def implausible_numbers(
    model: RobotModel, home: Sequence[float], described_rotors: Sequence[float] = ()
) -> tuple[Implausible, ...]:
    """List the numbers of an arm that can't be, or that are hardly meant.

    Args:
        model: Model of the arm, with the limits of its profile.
        home: (n,) joint angles where it begins [rad].
        described_rotors: (n,) inertia of the rotors that the published description holds and this
            one doesn't [kg·m²]; empty for none.

    Raises:
        ModelError: the description holds a text where a number must be.
    """
    findings = [*_of_links(model), *_of_bodies(model)]
    problem = model.dynamics_problem
    if problem and not any(each.forbids_torques for each in findings):
        part = problem.partition(":")[0].partition(" ")[2]
        remedy = "until then only laws of position and velocity run"
        findings.append(Implausible(part, "inertia", 0.0, problem, remedy, forbids_torques=True))
    q = np.array(home, dtype=float)
    findings += _of_joints(model, q)
    if not problem:
        findings += _of_weight(model, q)
        rotors = np.array(described_rotors or (0.0,) * model.n)
        findings += _of_motors(model, model.mass(q).diagonal() + rotors)
    return tuple(findings)


def doubts_of(robot: RobotConfig, model: RobotModel) -> tuple[Implausible, ...]:
    """The numbers of a configured robot that can't be, by its model; see
    :func:`implausible_numbers`.
    """
    return implausible_numbers(model, robot.home, robot.described_rotor_inertia)


def torque_problem(model: RobotModel) -> str:
    """Reason why no law of torques can run on an arm, in words; empty where one can."""
    if model.dynamics_problem:
        return model.dynamics_problem
    for joint, limit in enumerate(model.limits.effort.tolist()):
        if not is_usable(limit):
            return _untold(model.joints[joint], "effort", limit)
    return ""


def is_usable(limit: float) -> bool:
    """True for a limit of effort or velocity that is told: above 0 and finite."""
    return math.isfinite(limit) and limit > 0.0


def _untold(joint: str, kind: str, limit: float) -> str:
    return f"joint {joint}: its {kind} limit is {limit:g}: must be above 0 and finite"


def _of_links(model: RobotModel) -> Iterator[Implausible]:
    """Inertias of links that the joints move, as the description has them."""
    root = parse_description(model.description)
    masses = link_masses(model.description)
    bodies = moving_bodies(model.description, model.joints)
    carriers = carriers_of(model.description, model.joints)
    for link in root.findall("link"):
        name = link.get("name", "")
        carrier = carriers.get(name, "")
        if carrier == "":
            continue
        mass = masses[name].mass
        if lacks_inertia(link):
            text = f"link {name}: its <inertial> lacks a mass or an element of its inertia"
            remedy = "parsers of URDF leave such an inertia out: write mass, ixx, iyy, izz, ixy, ixz and iyz"
            yield Implausible(name, "inertia", math.nan, text, remedy)
        problem = inertia_problem(masses[name])
        if problem == "":
            continue
        quantity = "mass" if mass < 0.0 else "inertia"
        value = mass if mass < 0.0 else float(np.linalg.eigvalsh(masses[name].inertia)[2])
        forbids = inertia_problem(bodies[carrier]) != ""
        remedy = "correct its <inertial> in the description"
        if not forbids:
            others = "the links that are fixed to it" if carrier == name else f"link {carrier}"
            remedy += f"; until then it counts with {others}, as one body"
        yield Implausible(name, quantity, value, f"link {name}: {problem}", remedy, forbids)


def _of_bodies(model: RobotModel) -> Iterator[Implausible]:
    """Bodies that are too large or too dense: links, with all that is fixed to them."""
    largest = max(model.reach, SMALLEST_ARM)
    for name, body in moving_bodies(model.description, model.joints).items():
        if body.mass <= 0.0 or not body.inertia.any() or inertia_problem(body):
            continue
        radius = math.sqrt(float(np.linalg.eigvalsh(body.inertia)[2]) / body.mass)
        if radius > largest:
            moment = radius * radius * body.mass
            text = (
                f"link {name}: its inertia is {moment:.4g} kg·m² for {body.mass:.4g} kg, that of a ring of "
                f"{radius:.3g} m radius: must be that of a body within the arm's {largest:.3g} m"
            )
            remedy = "give it in kg·m², about the centre of gravity; is it in kg·mm² or g·mm²?"
            yield Implausible(name, "inertia", moment, text, remedy)
        elif (density := least_density(body)) > DENSEST:
            text = (
                f"link {name}: its mass of {body.mass:.4g} kg with this inertia has {density:.3g} kg/m³ or more: "
                f"must be at most {DENSEST:g} kg/m³, the densest metal's"
            )
            yield Implausible(name, "mass", body.mass, text, MASS_IN_GRAMS)


def least_density(body: LinkMass) -> float:
    """Density [kg/m³] that a body has at least, by its mass and its moments of inertia.

    Half of the trace of the inertia is the sum of m r² about the centre. Of all bodies with one
    density and one mass it is least for a sphere: 3/5 m R². So the body is as dense as that sphere,
    or denser.
    """
    square = 5.0 / 3.0 * float(np.trace(body.inertia)) / 2.0 / body.mass
    return float(body.mass / (4.0 / 3.0 * math.pi * square**1.5))


def _of_joints(model: RobotModel, home: Array) -> Iterator[Implausible]:
    """Limits of the joints, and a home that stands at one."""
    limits = model.limits
    for joint, name in enumerate(model.joints):
        unit = limits.unit(joint)
        lower = float(limits.lower[joint])
        upper = float(limits.upper[joint])
        yield from _of_range(name, lower, upper, unit)
        velocity = float(limits.velocity[joint])
        fastest = FASTEST[unit.position]
        if velocity > fastest and math.isfinite(velocity):
            others = "degrees" if unit.position == "rad" else "millimetres"
            speed = f"{velocity:g} {unit.velocity}"
            text = f"joint {name}: its velocity limit is {speed}: must be at most {fastest:g}"
            remedy = f"is it in {others} per second? Give it in {unit.velocity}"
            yield Implausible(name, "velocity", velocity, text, remedy)
        for kind in ("effort", "velocity"):
            limit = float(getattr(limits, kind)[joint])
            if not is_usable(limit):
                text = _untold(name, kind, limit)
                remedy = f"give it in the description, or in `limits` of the profile, as {kind}"
                yield Implausible(name, kind, limit, text, remedy, kind == "effort")
        distance = min(float(home[joint]) - lower, upper - float(home[joint]))
        if distance < AT_LIMIT:
            text = (
                f"joint {name}: home is {home[joint]:.4g} {unit.position}, {distance:.2g} from a limit: must be "
                f"{AT_LIMIT:g} {unit.position} or more"
            )
            remedy = f"choose a home well within {lower:.4g} and {upper:.4g} {unit.position}"
            yield Implausible(name, "home", float(home[joint]), text, remedy)


def _of_range(name: str, lower: float, upper: float, unit: JointUnits) -> Iterator[Implausible]:
    """The position limits of a joint, in rad or m."""
    if math.isinf(lower) and math.isinf(upper):
        return
    largest = max(lower, upper, key=abs)
    turns = unit.position == "rad"
    bound = 2.0 * math.pi * TURNS if turns else LONGEST_SLIDE
    if abs(largest) <= bound:
        return
    text = f"joint {name}: its position limit is {largest:g} {unit.position}: must be within ±{bound:.4g}"
    remedy = "is it in millimetres? Give it in m"
    if turns:
        remedy = "is it in degrees? Give it in rad; a joint that turns without end has the type continuous"
    yield Implausible(name, "position", largest, text, remedy)


def _of_motors(model: RobotModel, inertia: Array) -> Iterator[Implausible]:
    """The joint that its motor could bring to its velocity limit soonest, as a rotor's inertia is
    missing.

    Args:
        model: Model of the arm.
        inertia: (n,) inertia of each joint at home [kg·m²].
    """
    limits = model.limits
    usable = np.isfinite(limits.effort * limits.velocity) & (limits.effort > 0.0)
    momentum = inertia * limits.velocity
    times = np.where(usable, momentum / np.where(usable, limits.effort, 1.0), np.inf)
    joint = int(times.argmin())
    if not 0.0 < times[joint] < SOONEST:
        return
    name = model.joints[joint]
    others = int((times < SOONEST).sum()) - 1
    alike = f" (and {others} more)" if others else ""
    text = (
        f"joint {name}{alike}: its effort limit takes it to its velocity limit in {times[joint]:.2g} s: must be "
        f"{SOONEST:g} s or more"
    )
    remedy = "give the inertia of the motor behind its gear as rotor_inertia: without it the joint is too light"
    yield Implausible(name, "rotor_inertia", float(times[joint]), text, remedy)


def _of_weight(model: RobotModel, home: Array) -> Iterator[Implausible]:
    """The joint that can't hold the arm at home by the largest factor."""
    limits = model.limits
    weight = np.abs(model.at(home).gravity)
    usable = np.isfinite(limits.effort) & (limits.effort > 0.0)
    shares = np.where(usable, weight / np.where(usable, limits.effort, 1.0), 0.0)
    joint = int(shares.argmax())
    if shares[joint] <= 1.0:
        return
    unit = limits.unit(joint).effort
    name = model.joints[joint]
    text = (
        f"joint {name}: the arm's weight takes {weight[joint]:.4g} {unit} at home: its effort limit is "
        f"{limits.effort[joint]:g} {unit}"
    )
    remedy = "are masses in grams, or is the limit too small? Or choose a home with less leverage"
    yield Implausible(name, "effort", float(weight[joint]), text, remedy)
