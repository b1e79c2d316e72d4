"""The bodies of links are the shapes of their description; what stands for a mesh encloses
it, and hardly more.
"""

import math
from pathlib import Path

import numpy as np
import pytest

from robot_control_ros.core.spatial import make_pose
from robot_control_ros.robot.configuration import load_robot, robot_names
from robot_control_ros.robot.link_bodies import described_bodies, enclosing_solid, solid_of
from robot_control_ros.robot.solids import Shape

NOWHERE = Path("/nowhere")
CORNERS = np.array(np.meshgrid(*((-0.5, 0.5),) * 3)).reshape(3, -1).T


def outside(points, solid):
    """How far each point is outside of a solid."""
    inside = (points - solid.pose[:3, 3]) @ solid.pose[:3, :3]
    if solid.is_box:
        return np.linalg.norm(np.maximum(np.abs(inside) - solid.half, 0.0), axis=1) - solid.rounding
    across = np.maximum(np.linalg.norm(inside[:, :2], axis=1) - solid.half[0], 0.0)
    along = np.maximum(np.abs(inside[:, 2]) - solid.half[2], 0.0)
    return np.hypot(across, along) - solid.rounding


def described(geometry, origin=""):
    shape = f"<collision>{origin}<geometry>{geometry}</geometry></collision>"
    return f'<robot name="r"><link name="a">{shape}</link></robot>'


@pytest.mark.parametrize("name", [*robot_names(), "ur5e+robotiq_2f85"])
def test_all_shapes_of_the_package_can_be_read(name):
    found = described_bodies(load_robot(name).urdf(), NOWHERE)
    assert found.problems == ()
    assert len(found.solids) >= load_robot(name).n


@pytest.mark.parametrize(
    ("geometry", "volume"),
    [
        ('<sphere radius="0.1"/>', 4.0 / 3.0 * math.pi * 1e-3),
        ('<cylinder radius="0.1" length="0.5"/>', math.pi * 0.01 * 0.5),
        ('<capsule radius="0.1" length="0.5"/>', math.pi * 0.01 * 0.5 + 4.0 / 3.0 * math.pi * 1e-3),
        ('<box size="0.1 0.2 0.3"/>', 0.006),
    ],
)
def test_a_simple_shape_is_taken_as_it_is_at_its_origin(geometry, volume):
    (solid,) = described_bodies(
        described(geometry, '<origin xyz="1 2 3" rpy="0 0 1"/>'), NOWHERE
    ).solids["a"]
    assert solid.volume == pytest.approx(volume)
    np.testing.assert_allclose(solid.pose[:3, 3], (1.0, 2.0, 3.0))
    assert solid.pose[0, 0] == pytest.approx(math.cos(1.0))


@pytest.mark.parametrize(
    ("kind", "size", "volume"),
    [
        ("sphere", (0.1,), 4.0 / 3.0 * math.pi * 1e-3),
        ("cylinder", (0.1, 0.5), math.pi * 0.01 * 0.5),
        ("capsule", (0.1, 0.5), math.pi * 0.01 * 0.5 + 4.0 / 3.0 * math.pi * 1e-3),
        ("box", (0.1, 0.2, 0.3), 0.006),
    ],
)
def test_a_shape_of_a_file_is_the_same_solid(kind, size, volume):
    solid = solid_of(Shape(kind, size, make_pose(np.array((1.0, 2.0, 3.0)))))
    assert solid.volume == pytest.approx(volume)
    np.testing.assert_allclose(solid.pose[:3, 3], (1.0, 2.0, 3.0))


@pytest.mark.parametrize("seed", range(20))
def test_what_encloses_points_has_all_of_them_within(seed):
    random = np.random.default_rng(seed)
    points = random.normal(size=(200, 3)) * (0.5 + random.random(3)) + random.normal(size=3)
    solid = enclosing_solid(points)
    assert outside(points, solid).max() < 1e-9
    assert solid.volume <= np.ptp(points, axis=0).prod() + 1e-12


def on_cylinder(random, radius, length):
    angle = random.uniform(0.0, 2.0 * math.pi, 400)
    return np.column_stack(
        (radius * np.cos(angle), radius * np.sin(angle), random.choice((-0.5, 0.5), 400) * length)
    )


def test_a_box_a_cylinder_and_a_ball_are_enclosed_by_what_they_are():
    random = np.random.default_rng(0)
    assert enclosing_solid(CORNERS * (0.1, 0.2, 0.3)).volume == pytest.approx(0.006)
    cylinder = enclosing_solid(on_cylinder(random, 0.1, 0.5))
    assert not cylinder.is_box
    assert cylinder.volume == pytest.approx(math.pi * 0.01 * 0.5, rel=0.02)
    around = random.normal(size=(2000, 3))
    ball = enclosing_solid(0.1 * around / np.linalg.norm(around, axis=1)[:, None])
    assert ball.rounding == pytest.approx(0.1, rel=0.01)


@pytest.mark.parametrize(
    "geometry",
    [
        '<mesh filename="package://nobody/has/it.stl"/>',
        '<sphere radius="-1"/>',
        '<cylinder radius="1"/>',
        '<box size="1 1"/>',
        '<torus radius="1"/>',
    ],
)
def test_a_shape_that_cannot_be_read_is_told_and_its_link_left_out(geometry):
    found = described_bodies(described(geometry), NOWHERE)
    assert found.solids == {}
    assert len(found.problems) == 1


def test_a_visual_stands_in_where_there_is_no_collision_shape():
    visual = described('<sphere radius="0.1"/>').replace("collision", "visual")
    (solid,) = described_bodies(visual, NOWHERE).solids["a"]
    assert solid.rounding == pytest.approx(0.1)


def test_a_mesh_is_enclosed(tmp_path):
    corners = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 2))
    facets = [[corners[i] for i in range(4) if i != left] for left in range(4)]
    text = "".join(
        "facet normal 0 0 0 outer loop "
        + " ".join(f"vertex {x} {y} {z}" for x, y, z in facet)
        + " endloop endfacet\n"
        for facet in facets
    )
    (tmp_path / "wedge.stl").write_text(f"solid wedge\n{text}endsolid wedge\n")
    found = described_bodies(
        described('<mesh filename="wedge.stl" scale="0.1 0.1 0.1"/>'), tmp_path
    )
    assert found.problems == ()
    (solid,) = found.solids["a"]
    assert outside(0.1 * np.array(corners), solid).max() < 1e-9
    assert solid.volume <= 0.1 * 0.1 * 0.2 + 1e-12


def test_a_file_that_is_no_mesh_is_told(tmp_path):
    (tmp_path / "text.stl").write_text("no mesh")
    assert len(described_bodies(described('<mesh filename="text.stl"/>'), tmp_path).problems) == 1
