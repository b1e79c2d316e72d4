"""Scenes as files: what is read, and what is refused in which words."""

import math

import numpy as np
import pytest
from refusals import refuses
from scipy.spatial.transform import Rotation

from robot_control_ros.robot.solids import SHAPES
from robot_control_ros.simulation.scene import load_scene, scene_names

OBJECT_ENTRIES = (
    "shape",
    "size",
    "position",
    "rotation",
    "motion",
    "mass",
    "stiffness",
    "damping",
    "surface",
)
SURFACE_ENTRIES = ("time_constant", "damping_ratio", "friction")
WHOLE = """
description: everything
start: { position: [0.4, 0.1, 0.3], rotation: [0, 1.5, 0] }
tool: { shape: capsule, size: [0.01, 0.1], position: [0, 0, 0.05], rotation: [0.1, 0.2, 0.3], link: hand }
joints: { damping: 0.1, friction: 0.2, rotor_inertia: 0.3 }
objects:
  floor: { shape: plane, position: [0, 0, -0.5] }
  ball:
    shape: sphere
    size: 0.025
    position: [1, 2, 3]
    motion: slides
    mass: 0.5
    stiffness: 1000
    damping: 10
    surface: { time_constant: 0.004, damping_ratio: 2, friction: 0.3 }
  brick: { shape: box, size: [0.1, 0.2, 0.3], rotation: [0, 0, 0.7], motion: free, mass: 2.0 }
"""


@pytest.fixture
def load(tmp_path):
    def load(text):
        path = tmp_path / "mine.yaml"
        path.write_text(text, encoding="utf-8")
        return load_scene(str(path))

    return load


def pose(position, rotation=(0, 0, 0)):
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = Rotation.from_rotvec(rotation).as_matrix(), position
    return found


def test_everything_in_a_file_is_read(load):
    scene = load(WHOLE)
    assert (scene.name, scene.description) == ("mine", "everything")
    np.testing.assert_allclose(scene.start, pose([0.4, 0.1, 0.3], [0, 1.5, 0]), rtol=0, atol=1e-12)
    assert (scene.tool.kind, scene.tool.size, scene.tool_link) == ("capsule", (0.01, 0.1), "hand")
    np.testing.assert_allclose(
        scene.tool.pose, pose([0, 0, 0.05], [0.1, 0.2, 0.3]), rtol=0, atol=1e-12
    )
    assert (scene.joints.damping, scene.joints.friction, scene.joints.rotor_inertia) == (
        0.1,
        0.2,
        0.3,
    )
    assert list(scene.objects) == ["floor", "ball", "brick"]
    ball, brick = scene.objects["ball"], scene.objects["brick"]
    assert (ball.name, ball.motion, ball.mass, ball.stiffness, ball.damping) == (
        "ball",
        "slides",
        0.5,
        1000.0,
        10.0,
    )
    assert (ball.shape.kind, ball.shape.size) == ("sphere", (0.025,))
    np.testing.assert_array_equal(ball.shape.pose, pose([1, 2, 3]))
    assert (ball.surface.time_constant, ball.surface.damping_ratio, ball.surface.friction) == (
        0.004,
        2.0,
        0.3,
    )
    assert (brick.motion, brick.mass, brick.shape.size) == ("free", 2.0, (0.1, 0.2, 0.3))
    np.testing.assert_allclose(brick.shape.pose, pose([0, 0, 0], [0, 0, 0.7]), rtol=0, atol=1e-12)


def test_what_is_left_out_is_nothing_fixed_and_at_the_origin(load):
    scene = load("objects: { pole: { shape: cylinder, size: [0.05, 1.0] } }")
    pole = scene.objects["pole"]
    assert (scene.tool, scene.tool_link, scene.start) == (None, None, None)
    assert (scene.joints.damping, scene.joints.friction, scene.joints.rotor_inertia) == (
        0.0,
        0.0,
        0.0,
    )
    assert pole.motion == "fixed"
    np.testing.assert_array_equal(pole.shape.pose, np.eye(4))
    assert (pole.surface.time_constant, pole.surface.damping_ratio, pole.surface.friction) == (
        0.02,
        1.0,
        1.0,
    )


def test_the_scenes_of_the_package_can_be_read_and_say_what_they_are():
    assert scene_names() == ["ball", "block", "edge", "hole", "pick", "surface", "table", "wall"]
    for name in scene_names():
        scene = load_scene(name)
        assert scene.name == name
        assert scene.description
        assert (scene.tool is None) == (name == "pick")  # the gripper is the tool


def test_the_ball_of_the_package_would_overlap_the_tool_by_10_mm_at_its_reference_place():
    """The base is 1 m above the floor; the tool's far end is at (0.8, 0, 1.1), the
    ball's place x = 0.815.
    """
    scene = load_scene("ball")
    ball = scene.objects["ball"]
    np.testing.assert_allclose(
        ball.shape.pose[:3, 3] + [0, 0, 1], [0.9, 0, 1.1], rtol=0, atol=1e-12
    )
    far_end = scene.start @ [0, 0, 0.05, 1]
    np.testing.assert_allclose(far_end[:3] + [0, 0, 1], [0.8, 0, 1.1], rtol=0, atol=1e-12)
    centre = (scene.start @ scene.tool.pose)[:3, 3]
    assert np.linalg.norm(centre - far_end[:3]) == pytest.approx(scene.tool.size[0])
    distance = np.linalg.norm(np.array([0.815, 0, 0.1]) - centre)
    assert scene.tool.size[0] + ball.shape.size[0] - distance == pytest.approx(0.010)
    assert (ball.stiffness, ball.damping) == (1000.0, 10.0)


@pytest.mark.parametrize(
    ("text", "name", "value", "bound"),
    [
        ("- ball", "", ["ball"], None),
        ("a: [", "file", None, None),
        (
            "object: {}",
            "object",
            None,
            ("description", "objects", "tool", "start", "without", "joints"),
        ),
        ("objects: [ball]", "objects", ["ball"], None),
        ("objects: { 2 balls: { shape: plane } }", "name", "2 balls", None),
        ("objects: { a: }", "", None, None),
        (
            "objects: { a: { size: 1 } }",
            "shape",
            None,
            (
                "shape",
                "size",
                "position",
                "rotation",
                "motion",
                "mass",
                "stiffness",
                "damping",
                "surface",
            ),
        ),
        (
            "objects: { a: { shape: sphere, colour: red } }",
            "colour",
            None,
            (
                "shape",
                "size",
                "position",
                "rotation",
                "motion",
                "mass",
                "stiffness",
                "damping",
                "surface",
            ),
        ),
        ("objects: { a: { shape: cube } }", "shape", "cube", tuple(SHAPES)),
        ("objects: { a: { shape: sphere } }", "size", None, None),
        ("objects: { a: { shape: sphere, size: -1 } }", "size", -1, (0.0, math.inf)),
        ("objects: { a: { shape: box, size: 1 } }", "size", [1.0], 3),
        ("objects: { a: { shape: plane, size: 1 } }", "size", None, None),
        (
            "objects: { a: { shape: plane, position: [0, .nan, 0] } }",
            "position",
            math.nan,
            (-math.inf, math.inf),
        ),
        (
            "objects: { a: { shape: plane, rotation: [0, true, 0] } }",
            "rotation",
            True,
            (-math.inf, math.inf),
        ),
        (
            "objects: { a: { shape: sphere, size: 1, motion: round } }",
            "motion",
            "round",
            ("fixed", "free", "slides"),
        ),
        ("objects: { a: { shape: sphere, size: 1, motion: free } }", "mass", None, None),
        ("objects: { a: { shape: sphere, size: 1, mass: 1 } }", "mass", None, None),
        (
            "objects: { a: { shape: sphere, size: 1, motion: free, mass: 0 } }",
            "mass",
            0,
            (0.0, math.inf),
        ),
        (
            "objects: { a: { shape: sphere, size: 1, motion: free, mass: 1, stiffness: 1 } }",
            "stiffness",
            None,
            None,
        ),
        (
            "objects: { a: { shape: sphere, size: 1, motion: slides, mass: 1 } }",
            "stiffness",
            None,
            None,
        ),
        (
            "objects: { a: { shape: plane, motion: free, mass: 1 } }",
            "shape",
            "plane",
            ("sphere", "box", "capsule", "cylinder"),
        ),
        (
            "objects: { a: { shape: plane, surface: { bounce: 1 } } }",
            "bounce",
            None,
            ("time_constant", "damping_ratio", "friction", "layer"),
        ),
        (
            "objects: { a: { shape: plane, surface: { friction: -1 } } }",
            "friction",
            -1,
            (0.0, math.inf),
        ),
        ("tool: { shape: plane }", "shape", "plane", ("sphere", "box", "capsule", "cylinder")),
        (
            "tool: { shape: waves, size: [1, 1, 1, 0.1, 0.1] }",
            "shape",
            "waves",
            ("sphere", "box", "capsule", "cylinder"),
        ),
        ("start: { rotation: [0, 0, 0] }", "position", None, ("position", "rotation")),
        ("joints: { damping: .inf }", "damping", math.inf, (0.0, math.inf)),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_name(load, text, name, value, bound):
    with refuses(name, value, bound):
        load(text)


def test_an_unknown_scene_is_refused_with_the_scenes_listed():
    with refuses(
        "scene", "moon", ("ball", "block", "edge", "hole", "pick", "surface", "table", "wall")
    ):
        load_scene("moon")
    with refuses("scene", "moon.yaml"):
        load_scene("moon.yaml")


def test_waves_are_as_high_and_as_long_as_the_scene_says():
    """Seen from above by rays: trough to crest is 2 mm about the top, the length 50 mm."""
    mujoco = pytest.importorskip("mujoco")
    from robot_control_ros.robot.configuration import load_robot
    from robot_control_ros.simulation.mujoco_plant import MujocoPlant

    scene = load_scene("surface")
    plant = MujocoPlant(load_robot("ur5e"), scene=scene)
    plant.read()
    x, y, z = scene.objects["surface"].shape.pose[:3, 3]
    base = plant.data.body("base_link").xpos
    for along in np.linspace(-0.2, 0.2, 41):
        hit = np.zeros(1, dtype=np.int32)
        above = base + (x + 0.1, y + along, z + 0.2)
        below = mujoco.mj_ray(
            plant.model, plant.data, above, np.array([0.0, 0.0, -1.0]), None, 1, -1, hit
        )
        expected = 0.05 + 0.001 * np.sin(2.0 * np.pi * along / 0.05)
        assert 0.2 - below == pytest.approx(expected, abs=5e-5)
