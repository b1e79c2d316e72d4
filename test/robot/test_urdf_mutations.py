"""Robot descriptions, changed in thousands of ways: each is read, or refused
by an error of ours.
"""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robot_control_ros.cli.init_robot import write_robot
from robot_control_ros.core.errors import ModelError, RobotControlError
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.description import link_names, merge_descriptions, place_description
from robot_control_ros.robot.gripper import load_gripper
from robot_control_ros.robot.model import RobotModel

FEW, ALL = 25, 10_000
PLANAR = load_robot("planar_two_link")
TEXT = PLANAR.urdf()
ODD = [
    "",
    "x",
    "nan",
    "inf",
    "-1",
    "0",
    "1e308",
    "1e999",
    "1 2",
    "0 0 0 0",
    "a b c",
    "world",
    "Ж",
    "../..",
    " 1 ",
]
QUIET = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "database": None,
    "derandomize": True,
}


@st.composite
def changed_elements(draw):
    """A description of which elements are dropped, doubled, renamed, moved, or
    have other attributes.
    """
    root = ElementTree.fromstring(TEXT)
    for _ in range(draw(st.integers(1, 3))):
        parents = [each for each in root.iter() if len(each)]
        if not parents:
            break
        parent = draw(st.sampled_from(parents))
        element = draw(st.sampled_from(list(parent)))
        how = draw(st.sampled_from(["drop", "double", "tag", "move", "attribute", "lack", "link"]))
        if how == "drop":
            parent.remove(element)
        elif how == "double":
            parent.append(element)
        elif how == "tag":
            element.tag = draw(st.sampled_from(["link", "joint", "origin", "mimic", "x"]))
        elif how == "move" and parent is not root:
            root.append(element)
        elif element.attrib:
            name = draw(st.sampled_from(sorted(element.attrib)))
            names = [each.get("name", "") for each in root.iter("link")]
            if how == "lack":
                del element.attrib[name]
            else:
                element.set(name, draw(st.sampled_from(names if how == "link" and names else ODD)))
    return ElementTree.tostring(root, encoding="unicode").encode()


@st.composite
def changed_bytes(draw):
    """A description of which some bytes are others, or its end is cut off."""
    content = bytearray(TEXT.encode())
    for _ in range(draw(st.integers(0, 5))):
        content[draw(st.integers(0, len(content) - 1))] = draw(st.integers(0, 255))
    return bytes(
        content[: draw(st.sampled_from([len(content), draw(st.integers(0, len(content)))]))]
    )


def use(content, folder, *, init_robot=True):
    """Read a description in each way that the package does; `init-robot` takes the longest."""
    path = folder / "arm.urdf"
    path.write_bytes(content)
    text = content.decode("utf-8", "replace")
    for read in (
        lambda: RobotModel(text, PLANAR.joints, PLANAR.base, PLANAR.tip).at(np.array(PLANAR.home)),
        lambda: place_description(text, "left_", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)),
        lambda: merge_descriptions([text, TEXT]),
        lambda: link_names(text),
        lambda: load_gripper("robotiq_2f85").mounted(text, "tip"),
        lambda: init_robot and write_robot(path, folder / "arm.yaml"),
    ):
        try:
            read()
        except RobotControlError:
            continue
        finally:
            (folder / "arm.yaml").unlink(missing_ok=True)


@settings(max_examples=FEW, **QUIET)
@given(content=changed_elements() | changed_bytes())
def test_a_changed_description_is_read_or_refused_by_us(content, tmp_path_factory):
    use(content, tmp_path_factory.getbasetemp())


@pytest.mark.long
@settings(max_examples=ALL, **QUIET)
@given(content=changed_elements() | changed_bytes(), number=st.integers(0, 9))
def test_ten_thousand_changed_descriptions_are_read_or_refused_by_us(
    content, number, tmp_path_factory
):
    use(content, tmp_path_factory.getbasetemp(), init_robot=number == 0)


def chain(links):
    """A description of links that hang one on the other."""
    joints = (
        f"<joint name='j{k}' type='fixed'><parent link='l{k}'/><child link='l{k + 1}'/></joint>"
        for k in range(links - 1)
    )
    names = (f"<link name='l{k}'/>" for k in range(links))
    return f"<robot name='r'>{''.join(names)}{''.join(joints)}</robot>"


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "text",
    [
        chain(30_000),  # urdfdom's recursion would end the process
        f"<robot>{'<x>' * 100_000}{'</x>' * 100_000}</robot>",
    ],
    ids=["chain", "depth"],
)
def test_a_description_that_no_parser_bears_is_refused(text):
    with pytest.raises(ModelError) as caught:
        RobotModel(text, PLANAR.joints, PLANAR.base, PLANAR.tip)
    assert caught.value.name == "urdf"


def test_a_link_that_carries_itself_is_refused(tmp_path):
    joints = "".join(
        f"<joint name='{a}{b}' type='revolute'><parent link='{a}'/><child link='{b}'/></joint>"
        for a, b in ("ab", "ba")
    )
    path = Path(tmp_path / "ring.urdf")
    path.write_text(f"<robot name='r'><link name='a'/><link name='b'/>{joints}</robot>")
    with pytest.raises(ModelError):
        write_robot(path, tmp_path / "ring.yaml")
