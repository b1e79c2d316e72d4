"""The part of a description that counts for an arm: its joints move, all others are fixed.

Makers' descriptions hold more than an arm: fingers whose joints mimic others, antennas, wheels.
Only the joints that a configuration names move here. A physics engine is also stricter than a model
of rigid bodies: it wants a possible inertia of each link. Links that are fixed to each other are
one body, so the inertia of a link may be counted with that of the link that it is fixed to.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from functools import lru_cache

import numpy as np

from ..core.errors import ModelError
from ..core.spatial import skew
from ..core.types import Array
from .description import (
    ELEMENTS,
    LinkMass,
    chain_above,
    end_link,
    link_masses,
    origin_pose,
    parse_description,
)

LEAST = 1e-12  # kg and kg·m² of a moving body: a physics engine divides by them
ROUNDING = 1e-9  # relative, of moments of inertia
NOTHING_LEFT = 1e-15  # kg·m²: what rounding leaves of a moment of 0
NOTHING = LinkMass(0.0, np.zeros(3), np.zeros((3, 3)))


@lru_cache(maxsize=32)
def arm_description(urdf: str, joints: tuple[str, ...]) -> str:
    """Fix all joints of a description but some, each where its position is 0.

    No joint follows another one afterwards: each ``<mimic>`` is left out.

    Args:
        urdf: Text of the description.
        joints: Names of the joints that move.

    Raises:
        ModelError: the text is no XML.
    """
    root = parse_description(urdf)
    for joint in root.findall("joint"):
        for mimic in joint.findall("mimic"):
            joint.remove(mimic)
        if joint.get("name", "") not in joints:
            joint.set("type", "fixed")
    return ElementTree.tostring(root, encoding="unicode")


@lru_cache(maxsize=32)
def physical_description(urdf: str, joints: tuple[str, ...]) -> str:
    """Make of a description one that a physics engine takes: :func:`arm_description` with possible
    inertias.

    Links that no joint moves lose their inertia: it acts on nothing. A link with an impossible
    inertia gives it to the link that it is fixed to, as one rigid body. A moving body without mass
    gets 1e-12 kg and 1e-12 kg·m².

    Args:
        urdf: Text of the description.
        joints: Names of the joints that move.

    Raises:
        ModelError: the text is no XML; a body that moves has an inertia that no body has.
    """
    root = parse_description(arm_description(urdf, joints))
    masses = dict(link_masses(urdf))
    above = {end_link(joint, "child"): joint for joint in root.findall("joint")}
    links = {link.get("name", ""): link for link in root.findall("link")}
    chains = {name: chain_above(above, name, "") for name in links}
    carriers = carriers_of(urdf, joints)
    changed = {name for name, link in links.items() if lacks_inertia(link)}

    def merge_up(name: str) -> None:
        """Count a link's mass and inertia with those of the link that it is fixed to."""
        upper = end_link(above[name], "parent")
        masses[upper] = _sum(masses[upper], masses[name], origin_pose(above[name]))
        masses[name] = NOTHING
        changed.update((name, upper))

    leaves_first = sorted(links, key=lambda name: -len(chains[name]))
    for name in leaves_first:
        if carriers[name] == "":
            masses[name] = NOTHING
            changed.add(name)
        elif carriers[name] != name and not is_possible(masses[name]):
            merge_up(name)
    for carrier in sorted(set(carriers.values()) - {""}):
        if not is_possible(masses[carrier]):
            for name in leaves_first:
                if carriers[name] == carrier and name != carrier:
                    merge_up(name)
        if (problem := inertia_problem(masses[carrier])) != "":
            raise ModelError(
                f"link {carrier}: {problem}; correct its <inertial> in the description",
                name=carrier,
                value=masses[carrier].mass,
            )
    for name, carrier in carriers.items():
        if carrier == name or masses[name].inertia.any():
            body = _strictly_possible(masses[name])
            if body is not masses[name]:
                masses[name] = body
                changed.add(name)
    for name in changed:
        _set_inertial(links[name], masses[name])
    return ElementTree.tostring(root, encoding="unicode")


@lru_cache(maxsize=32)
def carriers_of(urdf: str, joints: tuple[str, ...]) -> dict[str, str]:
    """The link that a joint moves and that a link is fixed to, by the name of the link.

    It is empty for a link that no joint moves.

    Args:
        urdf: Text of the description.
        joints: Names of the joints that move.

    Raises:
        ModelError: the text is no XML, or a link carries itself.
    """
    root = parse_description(arm_description(urdf, joints))
    above = {end_link(joint, "child"): joint for joint in root.findall("joint")}
    names = [link.get("name", "") for link in root.findall("link")]
    return {name: _carrier(chain_above(above, name, "")) for name in names}


@lru_cache(maxsize=32)
def moving_bodies(urdf: str, joints: tuple[str, ...]) -> dict[str, LinkMass]:
    """The rigid body of each link that a joint moves: that link, with all that is fixed to it.

    Args:
        urdf: Text of the description.
        joints: Names of the joints that move.

    Returns:
        Mass, centre of gravity and inertia in the frame of the link, by its name.

    Raises:
        ModelError: the text is no XML, or a link carries itself.
    """
    root = parse_description(arm_description(urdf, joints))
    above = {end_link(joint, "child"): joint for joint in root.findall("joint")}
    masses = link_masses(urdf)
    bodies: dict[str, LinkMass] = {}
    for name, carrier in carriers_of(urdf, joints).items():
        if carrier == "":
            continue
        placement = np.eye(4)
        for joint in chain_above(above, name, carrier):
            placement = placement @ origin_pose(joint)
        bodies[carrier] = _sum(bodies.get(carrier, NOTHING), masses[name], placement)
    return bodies


def massless_description(urdf: str, joints: tuple[str, ...]) -> str:
    """A description whose links that a joint moves have no inertia: for its kinematics alone.

    Args:
        urdf: Text of the description.
        joints: Names of the joints that move.

    Raises:
        ModelError: the text is no XML, or a link carries itself.
    """
    root = parse_description(urdf)
    carriers = carriers_of(urdf, joints)
    for link in root.findall("link"):
        if carriers[link.get("name", "")] != "":
            _set_inertial(link, NOTHING)
    return ElementTree.tostring(root, encoding="unicode")


def _carrier(chain: list[ElementTree.Element]) -> str:
    """The link that a joint moves and that a link is fixed to; empty where no joint moves it.

    Args:
        chain: Joints from the root to the link.
    """
    moving = [joint for joint in chain if joint.get("type") != "fixed"]
    return end_link(moving[-1], "child") if moving else ""


def _sum(first: LinkMass, second: LinkMass, placement: Array) -> LinkMass:
    """Two bodies as one, in the frame of the first; `placement` (4, 4) is the frame
    of the second in it.
    """
    mass = first.mass + second.mass
    rotation = placement[:3, :3]
    center = rotation @ second.center + placement[:3, 3]
    turned = rotation @ second.inertia @ rotation.T
    if mass == 0.0:
        return LinkMass(0.0, first.center, first.inertia + turned)
    common = (first.mass * first.center + second.mass * center) / mass
    inertia = first.inertia + turned
    for part, place in ((first.mass, first.center), (second.mass, center)):
        lever = skew(place - common)
        inertia = inertia - part * lever @ lever
    return LinkMass(mass, common, inertia)


def lacks_inertia(link: ElementTree.Element) -> bool:
    """True where a link has an ``<inertial>`` of which urdfdom leaves the inertia out, as
    elements are missing.
    """
    inertial = link.find("inertial")
    if inertial is None:
        return False
    mass = inertial.find("mass")
    tensor = inertial.find("inertia")
    if mass is None or "value" not in mass.attrib or tensor is None:
        return True
    return not all(name in tensor.attrib for name, _, _ in ELEMENTS)


def is_possible(body: LinkMass) -> bool:
    """True where a body can have this mass and this inertia, or has neither."""
    return inertia_problem(body) == ""


def inertia_problem(body: LinkMass) -> str:
    """What is impossible about a mass and an inertia, with the rule; empty where they are possible.

    A body's principal moments of inertia are positive, and each is at most the sum of the others. A
    point has none, and a rod one less. See J. Wittenburg, Dynamics of Multibody Systems, chapter 3.
    """
    if not (np.isfinite(body.mass) and np.isfinite(body.inertia).all()):
        return "its mass and inertia must be finite"
    if body.mass < 0.0:
        return f"its mass is {body.mass:g} kg: must be 0 or more"
    moments = np.linalg.eigvalsh(body.inertia)
    shown = ", ".join(f"{moment:.4g}" for moment in moments)
    rounding = max(ROUNDING * abs(float(moments[2])), NOTHING_LEFT)
    if moments[0] < -rounding:
        return f"its principal moments of inertia are {shown} kg·m²: must all be 0 or more"
    if moments[0] + moments[1] < moments[2] - rounding:
        rule = "the largest must be at most the sum of the others"
        return f"its principal moments of inertia are {shown} kg·m²: {rule}"
    return ""


def _strictly_possible(body: LinkMass) -> LinkMass:
    """A body that is possible without a tolerance: with a mass, and with three
    moments of inertia.
    """
    moments = np.linalg.eigvalsh(body.inertia)
    difference = float(moments[0] + moments[1] - moments[2])
    lacking = max(LEAST - float(moments[0]), -difference, 0.0)
    if body.mass >= LEAST and lacking == 0.0:
        return body
    inertia = body.inertia + 2.0 * lacking * np.eye(3)
    return LinkMass(max(body.mass, LEAST), body.center, inertia)


def _set_inertial(link: ElementTree.Element, body: LinkMass) -> None:
    """Write a body's mass and inertia into the element of a link; a body without mass has none."""
    for inertial in link.findall("inertial"):
        link.remove(inertial)
    if body.mass == 0.0 and not body.inertia.any():
        return
    inertial = ElementTree.SubElement(link, "inertial")
    center = " ".join(repr(float(value)) for value in body.center)
    ElementTree.SubElement(inertial, "origin", xyz=center, rpy="0 0 0")
    ElementTree.SubElement(inertial, "mass", value=repr(float(body.mass)))
    elements = {name: repr(float(body.inertia[row, column])) for name, row, column in ELEMENTS}
    ElementTree.SubElement(inertial, "inertia", elements)


def independent_joints(root: ElementTree.Element) -> list[str]:
    """Names of a description's joints that neither follow another joint nor are followed by one."""
    followed: set[str] = set()
    for joint in root.findall("joint"):
        mimic = joint.find("mimic")
        if mimic is not None:
            followed |= {joint.get("name", ""), mimic.get("joint", "")}
    return [
        name for joint in root.findall("joint") if (name := joint.get("name", "")) not in followed
    ]
