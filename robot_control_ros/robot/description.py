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
    if any(mount):
        _mount(root, prefix, _pose(mount[:3], mount[3:]))
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


def _mount(root: ElementTree.Element, prefix: str, pose: Array) -> None:
    """Put a pose (4, 4) between the world and what hangs on it."""
    links = [each.get("name", "") for each in root.findall("link")]
    if WORLD not in links:
        children = {each.get("link", "") for each in root.iter("child")}
        top = next(name for name in links if name not in children)
        ElementTree.SubElement(root, "link", name=WORLD)
        joint = ElementTree.SubElement(root, "joint", name=f"{prefix}{WORLD}_joint", type="fixed")
        ElementTree.SubElement(joint, "parent", link=WORLD)
        ElementTree.SubElement(joint, "child", link=top)
    for joint in root.findall("joint"):
        if _element(joint, "parent").get("link") == WORLD:
            origin = _element(joint, "origin")
            placed = pose @ _pose(_numbers(origin, "xyz"), _numbers(origin, "rpy"))
            origin.set("xyz", _text(placed[:3, 3]))
            origin.set("rpy", _text(rotation_to_rpy(placed[:3, :3])))


def _parsed(urdf: str) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(urdf)
    except ElementTree.ParseError as error:
        raise ModelError(f"the robot description can't be read: {error}") from error


def _element(parent: ElementTree.Element, tag: str) -> ElementTree.Element:
    """The first child with a tag, made where there is none."""
    found = parent.find(tag)
    return ElementTree.SubElement(parent, tag) if found is None else found


def _numbers(origin: ElementTree.Element, name: str) -> list[float]:
    return [float(each) for each in origin.get(name, "0 0 0").split()]


def _pose(xyz: Sequence[float], rpy: Sequence[float]) -> Array:
    return make_pose(np.array(xyz), rotation_from_rpy(*rpy))


def _text(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)
