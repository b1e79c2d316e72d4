"""Robot descriptions (URDF) of several robots: names with prefixes, places in the world, one description of all."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence

import numpy as np

from ..core.errors import ModelError
from ..core.spatial import make_pose, rotation_from_rpy, rotation_to_rpy
from ..core.types import Array

WORLD = "world"  # the frame that all robots share: it gets no prefix
_NAMES = {"link": "name", "joint": "name", "parent": "link", "child": "link", "mimic": "joint", "gazebo": "reference"}


def prefixed(name: str, prefix: str) -> str:
    """A joint's or a frame's name with a prefix; the world's stays."""
    return name if name == WORLD else prefix + name


def place_description(urdf: str, prefix: str, mount: Sequence[float]) -> str:
    """A description whose joints and links have a prefix, and whose root stands elsewhere in the world.

    So have the joints of ros2_control's tags, and the frames that Gazebo's tags name. Sensors keep their names.

    Args:
        urdf: its text.
        prefix: in front of the names of joints and links, but the link `world`.
        mount: x, y, z [m], roll, pitch, yaw [rad] of the root in the world.

    Raises:
        ModelError: the text is no XML.
    """
    if not prefix and not any(mount):
        return urdf
    root = _parsed(urdf)
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
    for root in map(_parsed, urdfs):
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
    return tuple(name for each in _parsed(urdf).iter("link") if (name := each.get("name", "")) != WORLD)


def origin_pose(part: ElementTree.Element) -> Array:
    """Pose (4, 4) of the `origin` of a joint, an inertial, a visual or a collision; at the origin where it has none."""
    origin = part.find("origin")
    xyz, rpy = ("0 0 0", "0 0 0") if origin is None else (origin.get(key, "0 0 0") for key in ("xyz", "rpy"))
    return make_pose(np.array(xyz.split(), dtype=float), rotation_from_rpy(*map(float, rpy.split())))


def end_link(joint: ElementTree.Element, which: str) -> str:
    """Name of a joint's `parent` or `child`; empty where it names none."""
    element = joint.find(which)
    return "" if element is None else element.get("link", "")


def root_link(tree: ElementTree.Element) -> str:
    """The first link that no joint carries."""
    carried = {end_link(joint, "child") for joint in tree.findall("joint")}
    return next(name for link in tree.findall("link") if (name := link.get("name", "")) not in carried)


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
            placed, origin = pose @ origin_pose(joint), joint.find("origin")
            origin = ElementTree.SubElement(joint, "origin") if origin is None else origin
            origin.set("xyz", _text(placed[:3, 3]))
            origin.set("rpy", _text(rotation_to_rpy(placed[:3, :3])))


def _parsed(urdf: str) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(urdf)
    except ElementTree.ParseError as error:
        raise ModelError(f"the robot description can't be read: {error}") from error


def _text(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)
