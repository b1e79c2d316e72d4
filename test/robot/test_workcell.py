"""Several arms: prefixes and mounts of descriptions, work cells, one MuJoCo world; without ROS."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest
import yaml

from robot_control_ros.bringup import SETUPS, NodeSpec
from robot_control_ros.bringup.parameter_files import node_parameters, portable
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.errors import ConfigError, ModelError
from robot_control_ros.core.spatial import rotation_from_rpy
from robot_control_ros.core.types import Command, CommandMode
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.description import link_names, merge_descriptions, place_description
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.robot.workcell import load_workcell, workcell_names
from robot_control_ros.simulation.scene import load_scene

UR5E = load_robot("ur5e")
Q = np.array([0.3, -1.2, 1.1, -0.7, -1.5, 0.4])
V = np.array([0.1, -0.2, 0.3, -0.4, 0.5, -0.6])
MOUNT = (0.2, -0.5, 0.9, 0.4, -0.7, 2.1)


def cell(tmp_path, **arms):
    path = tmp_path / "cell.yaml"
    path.write_text(yaml.safe_dump({"arms": arms}), encoding="utf-8")
    return str(path)


# --- descriptions ---


def test_a_prefix_is_in_front_of_all_names_but_the_worlds():
    plain, placed = (
        ElementTree.fromstring(text)
        for text in (UR5E.urdf(), place_description(UR5E.urdf(), "l_", [0] * 6))
    )
    for tag in ("link", "joint"):
        names = [each.get("name") for each in plain.findall(tag)]
        assert [each.get("name") for each in placed.findall(tag)] == [
            n if n == "world" else f"l_{n}" for n in names
        ]
    links = {each.get("name") for each in placed.findall("link")}
    assert {each.get("link") for tag in ("parent", "child") for each in placed.iter(tag)} <= links


def test_a_prefix_changes_no_number():
    plain, placed = RobotModel.of(UR5E), RobotModel.of(load_robot("ur5e", prefix="l_"))
    assert placed.frames == tuple(f if f == "world" else f"l_{f}" for f in plain.frames)
    for model in (plain, placed):
        model.update(Q, V)
    np.testing.assert_array_equal(placed.frame_pose("l_tool0"), plain.frame_pose("tool0"))
    np.testing.assert_array_equal(placed.bias(Q, V), plain.bias(Q, V))


def test_a_mount_turns_gravity_and_leaves_the_pose_in_the_base():
    plain, mounted = RobotModel.of(UR5E), RobotModel.of(replace(UR5E, mount=MOUNT))
    np.testing.assert_allclose(
        mounted.gravity, rotation_from_rpy(*MOUNT[3:]).T @ [0.0, 0.0, -9.81], atol=1e-12
    )
    np.testing.assert_allclose(mounted.at(Q).pose, plain.at(Q).pose, atol=1e-12)


def test_a_description_without_a_world_is_mounted_on_one(arm_without_world):
    placed = place_description(arm_without_world, "l_", MOUNT)
    model = RobotModel(placed, ["l_hinge"], "world", "l_hand")
    expected = np.eye(4)
    expected[:3, :3], expected[:3, 3] = rotation_from_rpy(*MOUNT[3:]), MOUNT[:3]
    np.testing.assert_allclose(model.at(np.zeros(1)).pose, expected, atol=1e-12)


@pytest.fixture
def arm_without_world():
    inertia = '<mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    return f"""<robot name="r"><link name="foot"/><link name="hand"><inertial>{inertia}</inertial></link>
        <joint name="hinge" type="revolute"><parent link="foot"/><child link="hand"/><axis xyz="0 0 1"/>
        <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


def test_merged_descriptions_share_the_world():
    texts = [load_robot("ur5e", prefix=prefix).urdf() for prefix in ("l_", "r_")]
    links = [
        each.get("name")
        for each in ElementTree.fromstring(merge_descriptions(texts)).findall("link")
    ]
    assert len(links) == len(set(links))
    assert set(links) == {"world", *link_names(texts[0]), *link_names(texts[1])}


def test_a_description_that_is_no_xml_is_refused():
    with pytest.raises(ModelError, match="can't be read"):
        place_description("no xml", "l_", [0.0] * 6)


# --- robots and work cells ---


def test_joints_and_frames_of_a_robot_have_its_prefix():
    robot = load_robot("ur5e", "real", "l_")
    assert robot.joints == tuple(f"l_{joint}" for joint in UR5E.joints)
    assert (robot.base, robot.tip, robot.wrench_frame) == ("l_base_link", "l_tool0", "l_ft_frame")
    assert robot.profile.wrench_frames == {"l_tool0_controller": "l_tool0"}


@pytest.mark.parametrize("name", workcell_names())
def test_every_work_cell_has_a_description_and_arms_that_load(name):
    found = load_workcell(name)
    assert found.description
    robots = [load_robot(f"{name}#{arm}") for arm in found.arms]
    assert len({robot.prefix for robot in robots}) == len(robots) > 1


def test_an_arm_of_a_work_cell_is_a_robot_with_its_own_entries(tmp_path):
    path = cell(
        tmp_path,
        one={"extends": "ur5e", "mount": [1, 0, 0, 0, 0, 0], "tip": "flange"},
        two={"extends": "gen3", "prefix": ""},
    )
    one, two = load_robot(f"{path}#one"), load_robot(f"{path}#two")
    assert (one.prefix, one.mount[0], one.tip, one.file) == (
        "one_",
        1.0,
        "one_flange",
        f"{path}#one",
    )
    assert two.joints == load_robot("gen3").joints
    assert load_robot(f"{path}#one", prefix="x_").joints[0] == "x_shoulder_pan_joint"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("two_ur5e#up", "unknown arm 'up'; arms: left, right"),
        ("nowhere#left", "unknown workcell 'nowhere'; workcells: "),
        ("{}#Left", "Left: must be a small letter"),
    ],
)
def test_an_arm_that_is_none_is_refused(tmp_path, name, words):
    path = cell(tmp_path, Left={"extends": "ur5e"})
    with pytest.raises(ConfigError) as error:
        load_robot(name.format(path))
    assert words.split(":")[0] in str(error.value)


def test_topics_of_the_controllers_are_in_the_namespace_of_their_manager():
    profile = load_robot("ur5e", "real").profile
    topics = [
        replace(profile, controller_manager=manager).command_topic(CommandMode.EFFORT)
        for manager in ("controller_manager", "/controller_manager", "/cell/controller_manager")
    ]
    name = "forward_effort_controller/commands"
    assert topics == [name, f"/{name}", f"/cell/{name}"]


# --- one world ---


@pytest.fixture
def plant():
    pytest.importorskip("mujoco")
    from robot_control_ros.simulation import mujoco_plant

    return mujoco_plant


def reach(arms, turns, periods):
    """Turn the first joints; returns the largest number of contacts."""
    for arm, turn in zip(arms, turns, strict=True):
        arm.write(Command(CommandMode.POSITION, np.array(UR5E.home) + [turn, 0, 0, 0, 0, 0]))
    contacts = 0
    for _ in range(periods):
        arms[0].advance()
        contacts = max(contacts, arms[0].data.ncon)
    return contacts


def test_an_arm_of_a_work_cell_may_have_a_gripper(plant, tmp_path):
    path = cell(
        tmp_path, one={"extends": "ur5e", "gripper": "robotiq_2f85"}, two={"extends": "ur5e"}
    )
    one, two = plant.arms_in_one_world([load_robot(f"{path}#{arm}") for arm in ("one", "two")])
    config = one.gripper.config
    closed = config.positions[1]
    one.gripper.command(closed, 40.0)
    for _ in range(1000):
        one.advance()
    assert one.gripper.grip.width == pytest.approx(config.width(closed), abs=2e-3)
    assert two.gripper is None


def test_arms_that_do_not_touch_move_as_alone(plant):
    pair = plant.arms_in_one_world([load_robot(f"two_ur5e#{arm}") for arm in ("left", "right")])
    single = plant.MujocoPlant(UR5E)
    assert reach(pair, (0.3, -0.2), 100) == reach([single], (-0.2,), 100) == 0
    np.testing.assert_allclose(pair[1].sample().q, single.sample().q, atol=1e-9)
    np.testing.assert_allclose(pair[1].sample().effort, single.sample().effort, atol=1e-6)
    pair[0].reset()
    assert pair[1].time == 0.0
    np.testing.assert_allclose(pair[1].sample().q, UR5E.home, atol=1e-12)


def test_arms_touch_each_other_and_the_sensor_feels_it(plant):
    robots = [load_robot(f"two_ur5e#{arm}") for arm in ("left", "right")]
    # its tool is a ball on the first arm's tip
    pair = plant.arms_in_one_world(robots, scene=load_scene("wall"))
    assert reach(pair, (-1.5, 1.5), 600) > 0
    blocked = abs(pair[0].sample().q[0] + 1.5) + abs(pair[1].sample().q[0] - 1.5)
    assert blocked > 0.05
    bodies = {
        pair[0].model.body(pair[0].model.geom_bodyid[g]).name[:5]
        for c in pair[0].data.contact
        for g in c.geom
    }
    assert {"left_", "right"} <= bodies


def test_a_pose_in_the_world_is_that_of_the_mount(plant):
    robot = replace(load_robot("two_ur5e#left"), mount=MOUNT)
    other = load_robot("two_ur5e#right")
    arm, _ = plant.arms_in_one_world([robot, other])
    base = arm.data.body("left_base_link")
    np.testing.assert_allclose(base.xpos, MOUNT[:3], atol=1e-12)
    np.testing.assert_allclose(base.xmat.reshape(3, 3), rotation_from_rpy(*MOUNT[3:]), atol=1e-12)


@pytest.mark.parametrize(
    ("changes", "name"),
    [({"prefix": "left_"}, "prefix"), ({"profile": replace(UR5E.profile, rate=250.0)}, "rate")],
)
def test_arms_that_can_not_share_a_world_are_refused(plant, changes, name):
    left, right = (load_robot(f"two_ur5e#{arm}") for arm in ("left", "right"))
    with pytest.raises(ConfigError) as error:
        plant.arms_in_one_world([left, replace(right, **changes)])
    assert error.value.name == name


def commands_of_right(plant, left_until):
    """Torques of the right arm's law while it moves; the left arm's commands end
    after so many periods.
    """
    robots = [load_robot(f"two_ur5e#{arm}") for arm in ("left", "right")]
    arms, loops = (
        plant.arms_in_one_world(robots, command_timeout=0.02),
        [ControlLoop(each, "impedance") for each in robots],
    )
    found = []
    for period in range(150):
        commands = [loop.tick(arm.sample()) for loop, arm in zip(loops, arms, strict=True)]
        if period == 10:
            for loop in loops:
                loop.motion.move_joints_to(np.array(UR5E.home) + 0.2)
        if period < left_until:
            arms[0].write(commands[0])
        arms[1].write(commands[1])
        found.append(commands[1].values)
        arms[0].advance()
    return np.array(found)


def test_an_arm_whose_controller_ends_changes_no_bit_of_the_others_commands(plant):
    np.testing.assert_array_equal(commands_of_right(plant, 1000), commands_of_right(plant, 60))


# --- bringup ---


def test_a_node_in_a_namespace_says_so_on_its_command_line():
    spec = NodeSpec("controller", "controller", namespace="left")
    assert spec.ros_arguments() == ["--ros-args", "-r", "__node:=controller", "-r", "__ns:=/left"]
    assert spec.full_name == "left/controller"


def test_each_arm_has_its_nodes_and_one_simulator_has_all_arms():
    system = SETUPS["two_arms"].make(dashboard="true")
    own = ("watchdog", "controller", "dashboard")
    assert [node.full_name for node in system.nodes()] == [
        "simulator",
        *(f"{a}/{n}" for a in ("left", "right") for n in own),
    ]
    assert {system.node(f"right/{name}").parameters["robot"] for name in own} == {"two_ur5e#right"}
    ports = [system.node(f"{arm}/dashboard").parameters["port"] for arm in ("left", "right")]
    assert len(set(ports)) == 2


def test_in_front_of_drivers_there_is_no_simulator():
    nodes = SETUPS["two_arms"].make(profile="real", law="admittance").nodes()
    assert {node.executable for node in nodes} == {"controller", "watchdog"}
    assert {node.parameters["profile"] for node in nodes} == {"real"}


def test_one_simulated_arm_may_have_namespace_and_prefix():
    nodes = SETUPS["sim"].make(namespace="left", prefix="l_").nodes()
    assert {(node.namespace, node.parameters["prefix"]) for node in nodes} == {("left", "l_")}


def test_the_driver_and_our_nodes_get_the_same_tf_prefix():
    system = SETUPS["ur"].make(ur_type="ur5e", robot_ip="192.168.56.101", tf_prefix="l_")
    assert system.parts[0].arguments["tf_prefix"] == "l_"
    assert {system.node(name).parameters["prefix"] for name in ("controller", "watchdog")} == {"l_"}


def test_gains_of_a_file_go_to_the_nodes_that_ros_gives_them_to(tmp_path):
    path = tmp_path / "gains.yaml"
    sections = {"/**": 1, "/**/controller": 2, "controller": 3, "/left/controller": 4}
    text = {name: {"ros__parameters": {f"p{value}": value}} for name, value in sections.items()}
    path.write_text(yaml.safe_dump(text), encoding="utf-8")
    assert set(node_parameters("gains", path, "controller")) == {"p1", "p2", "p3"}
    assert set(node_parameters("gains", path, "controller", "left")) == {"p1", "p2", "p4"}


def test_the_path_of_a_work_cell_is_made_absolute_in_front_of_its_arm(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert portable("mine.yaml#left") == f"{tmp_path}/mine.yaml#left"
    assert portable("two_ur5e#left") == "two_ur5e#left"


def test_each_arm_has_the_work_cells_solids_and_may_take_one_of_its_own_away(tmp_path):
    path = tmp_path / "cell.yaml"
    path.write_text(
        "arms:\n"
        "  left: { extends: ur5e, mount: [0, 0.4, 0, 0, 0, 0] }\n"
        "  right: { extends: ur5e, cell: { floor: null, post: { shape: sphere, size: 0.1, margin: 0.05 } } }\n"
        "cell:\n"
        "  table: { shape: box, size: [1, 1, 0.1], position: [0.8, 0, 0.2] }\n"
    )
    left, right = (load_robot(f"{path}#{arm}") for arm in ("left", "right"))
    assert set(left.cell) == {"floor", "table"}
    assert set(right.cell) == {"table", "post"}
    assert right.cell["post"].margin == 0.05
    assert left.cell["table"].name == "table"
    np.testing.assert_allclose(left.cell["table"].shape.pose[:3, 3], (0.8, 0.0, 0.2))


@pytest.mark.parametrize(
    "cell", ["{ pool: { shape: waves, size: [1, 1, 1, 0.1, 0.1] } }", "{ 1st: { shape: plane } }"]
)
def test_a_cell_that_cannot_be_is_refused(tmp_path, cell):
    path = tmp_path / "robot.yaml"
    path.write_text(f"extends: ur5e\nname: mine\ncell: {cell}\n")
    with pytest.raises(ConfigError):
        load_robot(str(path))
