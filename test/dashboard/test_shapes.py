"""What is drawn of a robot description."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("trimesh", reason="shapes need trimesh")

from robot_control_ros.dashboard.view.shapes import HOUSING, SHELL, Description, along
from robot_control_ros.robot.configuration import load_robot, robot_names

ARM = """<robot name="arm">
  <link name="base"/>
  <joint name="a" type="revolute"><parent link="base"/><child link="upper"/>
    <origin xyz="0 0 0.1"/><axis xyz="0 2 0"/></joint>
  <link name="upper">{upper}</link>
  <joint name="b" type="continuous"><parent link="upper"/><child link="lower"/>
    <origin xyz="0.4 0 0"/><axis xyz="0 1 0"/></joint>
  <link name="lower"/>
  <joint name="end" type="fixed"><parent link="lower"/><child link="tip"/><origin xyz="0.3 0 0"/></joint>
  <link name="tip"/>
</robot>"""


STL = """solid part
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 1 0
endloop
endfacet
endsolid part
"""


def described(upper="", folder=Path("/nowhere")):
    return Description(ARM.format(upper=upper), folder)


@pytest.mark.parametrize("name", robot_names())
def test_the_robots_of_the_package_have_shapes_on_links_that_move(name):
    robot = load_robot(name)
    description = Description(robot.urdf(), robot.urdf_path.parent)
    assert set(robot.joints) <= set(description.joints)
    drawn = {joint.link for joint in description.joints.values()} & set(description.shapes)
    assert len(drawn) >= robot.n - 1


def test_visuals_come_before_collision_shapes_and_take_named_colours():
    upper = """<visual><origin xyz="0.1 0 0" rpy="0 1.5707963267948966 0"/>
      <geometry><cylinder radius="0.05" length="0.3"/></geometry>
      <material name="red"><color rgba="1 0 0 1"/></material></visual>
      <visual><geometry><sphere radius="0.02"/></geometry><material name="red"/></visual>
      <collision><geometry><box size="1 1 1"/></geometry></collision>"""
    cylinder, sphere = described(upper).shapes["upper"]
    assert (cylinder.kind, cylinder.size, cylinder.colour) == (
        "cylinder",
        (0.05, 0.3),
        (1.0, 0.0, 0.0),
    )
    assert (sphere.kind, sphere.size, sphere.colour) == ("sphere", (0.02,), (1.0, 0.0, 0.0))
    np.testing.assert_allclose(cylinder.pose[:3, 2], [1.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(cylinder.pose[:3, 3], [0.1, 0.0, 0.0])


@pytest.mark.parametrize("found", ["ament", "beside", "nowhere"])
def test_meshes_are_found_in_the_ament_index_or_beside_the_file(tmp_path, monkeypatch, found):
    prefix, folder = tmp_path / "prefix", tmp_path / "my_arm" / "urdf"
    places = {
        "ament": prefix / "share/my_arm/meshes/a.stl",
        "beside": tmp_path / "my_arm/meshes/a.stl",
    }
    if found in places:
        places[found].parent.mkdir(parents=True)
        places[found].write_text(STL)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(prefix))
    upper = """<visual><geometry><mesh filename="package://my_arm/meshes/a.stl" scale="2 2 2"/></geometry></visual>
      <collision><geometry><box size="1 2 3"/></geometry></collision>"""
    (shape,) = described(upper, folder).shapes["upper"]
    if found in places:
        assert (shape.kind, len(shape.mesh.faces), shape.size) == ("mesh", 1, (2.0, 2.0, 2.0))
    else:
        assert (shape.kind, shape.size) == ("box", (1.0, 2.0, 3.0))


@pytest.mark.parametrize("text", ["nothing", "solid empty\nendsolid empty\n"])
def test_a_mesh_that_cant_be_read_is_named_and_the_rest_is_drawn(tmp_path, text):
    (tmp_path / "bad.stl").write_text(text)
    upper = """<visual><geometry><mesh filename="bad.stl"/></geometry></visual>
      <collision><geometry><box size="1 2 3"/></geometry></collision>"""
    description = described(upper, tmp_path)
    assert [shape.kind for shape in description.shapes["upper"]] == ["box"]
    (problem,) = description.problems
    assert f"the mesh {tmp_path / 'bad.stl'} can't be read" in problem


def test_links_that_are_fixed_are_carried_by_the_last_that_moves():
    description = described()
    carriers = {
        link: description.carrier(link, ("a", "b")) for link in ("base", "upper", "lower", "tip")
    }
    assert carriers == {"base": "base", "upper": "upper", "lower": "lower", "tip": "lower"}
    # a joint that isn't the robot's stands still
    assert description.carrier("tip", ("a",)) == "upper"


def test_an_arm_that_nobody_has_drawn_gets_housings_and_bars_that_join_its_joints():
    description = described()
    housing, bar, ball = description.shapes["upper"]
    assert (housing.colour, bar.colour) == (HOUSING, SHELL)
    np.testing.assert_allclose(housing.pose[:3, 2], [0.0, 1.0, 0.0])
    np.testing.assert_allclose(ball.pose[:3, 3], [0.4, 0.0, 0.0])
    half = 0.5 * bar.size[1] * bar.pose[:3, 2]
    np.testing.assert_allclose(
        [bar.pose[:3, 3] - half, bar.pose[:3, 3] + half], [[0, 0, 0], [0.4, 0, 0]], atol=1e-12
    )
    assert description.shapes["lower"][0].size[0] < housing.size[0]  # thinner towards the tip


def test_along_is_a_rotation_whose_z_is_the_axis(rng):
    for axis in rng.normal(size=(50, 3)):
        turn = along(axis / np.linalg.norm(axis))[:3, :3]
        np.testing.assert_allclose(turn.T @ turn, np.eye(3), atol=1e-12)
        assert np.linalg.det(turn) > 0.0
        np.testing.assert_allclose(turn[:, 2], axis / np.linalg.norm(axis))
