"""Robot descriptions (URDF) of several robots: names with prefixes, places in the world, one
description of all.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..core.errors import ModelError
from ..core.spatial import make_pose, rotation_from_rpy, rotation_to_rpy
from ..core.types import Array

MAX_DEPTH = 100  # of elements
MAX_LINKS = 1000  # urdfdom follows a chain by recursion
WORLD = "world"  # the frame that all robots share: it gets no prefix
ELEMENTS = (
    ("ixx", 0, 0),
    ("iyy", 1, 1),
    ("izz", 2, 2),
    ("ixy", 0, 1),
    ("ixz", 0, 2),
    ("iyz", 1, 2),
)
_NAMES = {
    "link": "name",
    "joint": "name",
    "parent": "link",
    "child": "link",
    "mimic": "joint",
    "gazebo": "reference",
}


def prefixed(name: str, prefix: str) -> str:
    """A joint's or a frame's name with a prefix; the world's stays."""
    return name if name == WORLD else prefix + name


def parse_description(urdf: str) -> ElementTree.Element:
    """The elements of a description.

    Raises:
        ModelError: the text is no XML, or has more links or nests deeper than parsers of URDF bear.
    """
    try:
        root = ElementTree.fromstring(urdf)
    except (
        ElementTree.ParseError,
        ValueError,
        LookupError,
    ) as error:  # the last ones for its encoding
        raise ModelError(f"the robot description can't be read: {error}", name="urdf") from error
    level = [root]
    depth = 1
    while level := [inner for each in level for inner in each]:
        depth += 1
        if depth > MAX_DEPTH:
            message = f"the robot description nests elements more than {MAX_DEPTH} times"
            raise ModelError(message, name="urdf", bound=MAX_DEPTH)
    links = len(root.findall("link"))
    if links > MAX_LINKS:
        message = f"the robot description has {links} links: must have at most {MAX_LINKS}"
        raise ModelError(message, name="urdf", value=links, bound=MAX_LINKS)
    return root


def place_description(urdf: str, prefix: str, mount: Sequence[float]) -> str:
    """A description whose joints and links have a prefix, and whose root stands elsewhere in the
    world.

    The joints of ros2_control's tags, and the frames that Gazebo's tags name, get the prefix, too.
    Sensors keep their names.

    Args:
        urdf: Text of the description.
        prefix: Prefix in front of the names of joints and links, but the link `world`.
        mount: Place of the root in the world: x, y, z [m], roll, pitch, yaw [rad].

    Raises:
        ModelError: the text is no XML.
    """
    if not prefix and not any(mount):
        return urdf
    root = parse_description(urdf)
    for tag, attribute in _NAMES.items():
        for element in root.iter(tag):
            if attribute in element.attrib:
                element.set(attribute, prefixed(element.get(attribute, ""), prefix))
    for frame in root.iter("gz_frame_id"):
        frame.text = prefixed((frame.text or "").strip(), prefix)
    if any(mount):
        _mount(root, prefix, make_pose(np.array(mount[:3]), rotation_from_rpy(*mount[3:])))
    return ElementTree.tostring(root, encoding="unicode")


def merge_descriptions(urdfs: Sequence[str]) -> str:
    """One description of all: their links and joints, with the world in common."""
    if len(urdfs) == 1:
        return urdfs[0]
    merged = ElementTree.Element("robot", name="robots")
    ElementTree.SubElement(merged, "link", name=WORLD)
    known = {("link", WORLD)}
    for root in map(parse_description, urdfs):
        for element in root:
            key = element.tag, element.get("name", "")
            if element.tag in ("link", "joint", "material") and key not in known:
                known.add(key)
                merged.append(element)
    return ElementTree.tostring(merged, encoding="unicode")


def link_names(urdf: str) -> tuple[str, ...]:
    """The links of a description, but the world.

    Raises:
        ModelError: the text is no XML.
    """
    return tuple(
        name
        for each in parse_description(urdf).iter("link")
        if (name := each.get("name", "")) != WORLD
    )


def origin_pose(part: ElementTree.Element) -> Array:
    """Pose (4, 4) of the `origin` of a joint, an inertial, a visual or a collision; at the origin
    where it has none.

    Raises:
        ModelError: its entries aren't three finite numbers.
    """
    origin = part.find("origin")
    if origin is None:
        return np.eye(4)
    xyz, rpy = (numbers_of(origin, key, "0 0 0") for key in ("xyz", "rpy"))
    if (len(xyz), len(rpy)) != (3, 3):
        raise ModelError(
            f"origin: xyz and rpy must be three numbers, not {xyz.tolist()} and {rpy.tolist()}",
            name="origin",
        )
    return make_pose(xyz, rotation_from_rpy(*rpy))


def numbers_of(element: ElementTree.Element, attribute: str, default: str) -> Array:
    """The finite numbers (any count) in an attribute.

    Raises:
        ModelError: there is another text in it.
    """
    text = element.get(attribute, default)
    try:
        numbers = np.array(text.split(), dtype=float)
    except ValueError:
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all():
        message = f"{element.tag}: {attribute} = {text!r:.60}: must be finite numbers"
        raise ModelError(message, name=attribute, value=text)
    return numbers


def link_poses(tree: ElementTree.Element) -> dict[str, Array]:
    """Pose (4, 4) of each link of a description in its root, all joints at 0.

    Raises:
        ModelError: a link carries itself, or an origin is no pose.
    """
    above = {end_link(joint, "child"): joint for joint in tree.iter("joint")}
    poses: dict[str, Array] = {}
    for link in tree.iter("link"):
        name = link.get("name", "")
        chain = chain_above(above, name, "")
        pose = np.eye(4)
        for joint in chain:
            pose = pose @ origin_pose(joint)
        poses[name] = pose
    return poses


class LinkMass(NamedTuple):
    """Mass [kg] of a link, its centre of gravity (3,) [m] and its inertia (3, 3) about that
    [kg·m²], in its frame.
    """

    mass: float
    center: Array
    inertia: Array


@lru_cache(maxsize=16)
def link_masses(urdf: str) -> dict[str, LinkMass]:
    """The mass of each link of a description (its text); 0 where it has none.

    Raises:
        ModelError: a mass or an element of an inertia isn't one finite number, or an origin is no
            pose.
    """
    return {
        link.get("name", ""): _link_mass(link) for link in parse_description(urdf).findall("link")
    }


def _link_mass(link: ElementTree.Element) -> LinkMass:
    inertial = link.find("inertial")
    element = None if inertial is None else inertial.find("mass")
    if inertial is None or element is None:
        return LinkMass(0.0, np.zeros(3), np.zeros((3, 3)))
    pose = origin_pose(inertial)
    inertia = np.zeros((3, 3))
    tensor = inertial.find("inertia")
    # urdfdom leaves the inertia out where one of its elements is missing
    if tensor is not None and all(name in tensor.attrib for name, _, _ in ELEMENTS):
        for name, i, j in ELEMENTS:
            element_of_tensor = _number(tensor, name)
            inertia[i, j] = element_of_tensor
            inertia[j, i] = element_of_tensor
    turned = pose[:3, :3] @ inertia @ pose[:3, :3].T
    return LinkMass(_number(element, "value"), pose[:3, 3], turned)


def _number(element: ElementTree.Element, attribute: str) -> float:
    """One number of an element; 0 where it isn't there."""
    numbers = numbers_of(element, attribute, "0")
    if numbers.size != 1:
        tag = element.tag
        raise ModelError(f"{tag}: {attribute} must be one number, not {numbers.tolist()}", name=tag)
    return float(numbers[0])


@lru_cache(maxsize=64)
def links_beyond(urdf: str, frame: str, tip: str) -> tuple[str, ...]:
    """The links of a description (its text) that hang on a frame's link, and that link.

    Where the frame's link doesn't lead to the tip, they are those on the way to the tip, from where
    it branches off.

    Raises:
        ModelError: a link carries itself.
    """
    tree = parse_description(urdf)
    above = {end_link(joint, "child"): joint for joint in tree.findall("joint")}
    to_frame = _links_to(above, frame)
    to_tip = _links_to(above, tip)
    shared = sum(first == second for first, second in zip(to_frame, to_tip, strict=False))
    branches = shared < min(len(to_frame), len(to_tip))
    start = to_tip[shared] if branches else frame
    names = (link.get("name", "") for link in tree.findall("link"))
    return tuple(name for name in names if start in _links_to(above, name))


def _links_to(above: Mapping[str, ElementTree.Element], link: str) -> list[str]:
    """The links from the root to a link, and that link."""
    return [*(end_link(joint, "parent") for joint in chain_above(above, link, "")), link]


def chain_above(
    above: Mapping[str, ElementTree.Element], link: str, base: str
) -> list[ElementTree.Element]:
    """The joints from a base to a link, or from the root where the base isn't below the link.

    Args:
        above: Joint that carries each link, by the link's name.
        link, base: Names of links.

    Raises:
        ModelError: a link carries itself.
    """
    joints: list[ElementTree.Element] = []
    while link != base and link in above:
        joint = above[link]
        if len(joints) > len(above):
            raise ModelError(f"link {link} carries itself", name=link)
        joints.append(joint)
        link = end_link(joint, "parent")
    return joints[::-1]


def end_link(joint: ElementTree.Element, which: str) -> str:
    """Name of a joint's `parent` or `child`; empty where it names none."""
    element = joint.find(which)
    return "" if element is None else element.get("link", "")


def root_link(tree: ElementTree.Element) -> str:
    """The first link that no joint carries.

    Raises:
        ModelError: there is none.
    """
    carried = {end_link(joint, "child") for joint in tree.findall("joint")}
    for link in tree.findall("link"):
        name = link.get("name", "")
        if name not in carried:
            return name
    raise ModelError("the robot description has no link that no joint carries", name="link")


def _mount(root: ElementTree.Element, prefix: str, pose: Array) -> None:
    """Put a pose (4, 4) between the world and what hangs on it."""
    if WORLD not in (each.get("name", "") for each in root.findall("link")):
        top = root_link(root)
        ElementTree.SubElement(root, "link", name=WORLD)
        joint = ElementTree.SubElement(root, "joint", name=f"{prefix}{WORLD}_joint", type="fixed")
        ElementTree.SubElement(joint, "parent", link=WORLD)
        ElementTree.SubElement(joint, "child", link=top)
    for joint in root.findall("joint"):
        if end_link(joint, "parent") == WORLD:
            placed = pose @ origin_pose(joint)
            origin = joint.find("origin")
            origin = ElementTree.SubElement(joint, "origin") if origin is None else origin
            origin.set("xyz", _text(placed[:3, 3]))
            origin.set("rpy", _text(rotation_to_rpy(placed[:3, :3])))


def _text(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)
