"""Grippers: the description against the figures of the configuration, payload, grasps,
commands, refusals.
"""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from robot_control_ros import Robot
from robot_control_ros.core.errors import ConfigError, ModelError
from robot_control_ros.core.spatial import skew
from robot_control_ros.robot.configuration import equipped, load_robot, split_gripper
from robot_control_ros.robot.files import config_names
from robot_control_ros.robot.fingers import FingerModel
from robot_control_ros.robot.gripper import GripMonitor, load_gripper
from robot_control_ros.robot.model import RobotModel

NAME = "robotiq_2f85"
GRIPPER = load_gripper(NAME)
EQUIPPED, BARE = load_robot(f"ur5e+{NAME}"), load_robot("ur5e")
# m, x of the pads' inner faces in the links of the finger tips
PAD = {"left": -0.0253, "right": 0.0253}
GRAVITY = 9.81
OPEN, CLOSED = GRIPPER.positions


def pads(position):
    """The distance of the pads, and how much they turn, by the description's
    kinematics [m, rad].
    """
    poses = FingerModel(GRIPPER).poses(position)
    left, right = (poses[f"robotiq_85_{side}_finger_tip_link"] for side in PAD)
    gap = (left @ [PAD["left"], 0, 0, 1] - right @ [PAD["right"], 0, 0, 1])[0]
    return gap, max(np.abs(pose[:3, :3] - np.eye(3)).max() for pose in (left, right))


# --- configuration ---


@pytest.mark.parametrize("position", np.linspace(OPEN, CLOSED, 17))
def test_widths_are_those_of_the_description_and_the_pads_stay_parallel(position):
    gap, turn = pads(position)
    assert turn < 1e-12
    assert GRIPPER.width(position) == pytest.approx(gap, abs=3e-4)
    assert GRIPPER.position(GRIPPER.width(position)) == pytest.approx(position, abs=1e-12)


@pytest.mark.parametrize("position", [0.1, 0.35, 0.6])
def test_the_lever_turns_force_into_torque_without_loss(position):
    """Virtual work: the torque times the change of the position is the force times the
    change of the width.
    """
    change = (pads(position - 1e-4)[0] - pads(position + 1e-4)[0]) / 2e-4
    assert GRIPPER.lever(position) == pytest.approx(change, rel=0.03)


@pytest.mark.parametrize(
    ("ask", "name", "bound"),
    [
        (lambda: GRIPPER.position(0.086), "width", (0.0, 0.085)),
        (lambda: GRIPPER.position(math.nan), "width", (0.0, 0.085)),
        (lambda: GRIPPER.check_force(10.0), "force", (20.0, 235.0)),
        (lambda: GRIPPER.check_position(-0.1), GRIPPER.joint, (0.0, 0.8)),
        (lambda: replace(GRIPPER, tip="thumb"), "tip", ("robotiq_85_base_link",)),
    ],
)
def test_what_is_out_of_range_is_refused(ask, name, bound):
    with pytest.raises(ConfigError) as refused:
        ask()
    assert refused.value.name == name
    assert refused.value.bound[: len(bound)] == bound


def test_a_file_with_widths_that_do_not_fall_or_a_joint_that_follows_nothing_is_refused(tmp_path):
    text = (GRIPPER.urdf_path.parents[2] / "config/grippers/robotiq_2f85.yaml").read_text()
    path = tmp_path / "own.yaml"
    path.write_text(text.replace("0.076, 0.0663", "0.0663, 0.076"))
    with pytest.raises(ConfigError) as refused:
        load_gripper(str(path))
    assert refused.value.name == "widths"
    urdf = GRIPPER.text.replace('<mimic joint="robotiq_85_left_knuckle_joint" multiplier="1"/>', "")
    (tmp_path / "own.urdf").write_text(urdf)
    path.write_text(text.replace("robotiq_2f85/robotiq_2f85.urdf", "own.urdf"))
    with pytest.raises(ModelError) as refused:
        load_gripper(str(path))
    assert refused.value.name == "robotiq_85_right_finger_tip_joint"


def test_a_robot_has_a_gripper_by_its_name_or_by_its_file(tmp_path):
    assert split_gripper("ur5+x") == ("ur5", "x")
    assert split_gripper("my+arm.yaml") == ("my+arm.yaml", "")
    assert split_gripper("my+arm.yaml+x") == ("my+arm.yaml", "x")
    assert equipped("ur5", "") == "ur5"
    path = tmp_path / "own.yaml"
    path.write_text(f"extends: ur5e\nname: own\ngripper: {NAME}\n")
    assert load_robot(str(path)).gripper == GRIPPER
    (tmp_path / "claw.yaml").write_text(
        (GRIPPER.urdf_path.parents[2] / "config/grippers/robotiq_2f85.yaml").read_text()
    )
    path.write_text("extends: ur5e\nname: own\ngripper: claw.yaml\n")  # beside the robot's file
    assert load_robot(str(path)).gripper.joint == GRIPPER.joint
    path.write_text(f"extends: ur5e\nname: own\ngripper: {'x' * 5000}.yaml\n")
    with pytest.raises(ConfigError) as refused:
        load_robot(str(path))
    assert refused.value.name == "gripper"
    with pytest.raises(ConfigError) as refused:
        load_robot("ur5+claw")
    assert (refused.value.name, refused.value.bound) == ("gripper", tuple(config_names("grippers")))


def test_an_arm_of_a_work_cell_has_a_gripper_by_its_name_or_in_its_file(tmp_path):
    assert split_gripper("two_ur5e#left+x") == ("two_ur5e#left", "x")
    path = tmp_path / "cell.yaml"
    path.write_text(
        f"arms:\n  one: {{ extends: ur5e, gripper: {NAME} }}\n  two: {{ extends: gen3 }}\n"
    )
    one = load_robot(f"{path}#one")
    assert (one.gripper.joint, one.tip, one.flange) == (
        f"one_{GRIPPER.joint}",
        f"one_{GRIPPER.tip}",
        "one_tool0",
    )
    # that has no prefix: it is in the arm's namespace
    assert one.gripper.controller == GRIPPER.controller
    assert load_robot(f"{path}#two").gripper is None
    assert load_robot(f"{path}#two+{NAME}").gripper.joint == f"two_{GRIPPER.joint}"


# --- mass ---


def test_the_model_has_the_weight_of_the_gripper_and_the_tip_is_between_the_fingers():
    q = np.array(BARE.home) + [0.1, 0.2, -0.1, 0.3, 0.2, 0.4]
    heavy, bare = RobotModel.of(EQUIPPED).at(q), RobotModel.of(BARE).at(q)
    masses = {"base": 0.6632, "knuckle": 2 * 0.0861, "tip": 2 * 0.0427}
    heights = {"base": 0.0323, "knuckle": 0.0549 + 0.0174, "tip": 0.0549 + 0.0434 + 0.0165}
    mass = sum(masses.values())
    height = sum(masses[part] * heights[part] for part in masses) / mass
    lever = bare.pose[:3, :3] @ [0.0, 0.0, height]
    point = bare.jacobian[:3] - skew(lever) @ bare.jacobian[3:]
    np.testing.assert_allclose(
        heavy.gravity - bare.gravity, point.T @ [0.0, 0.0, mass * GRAVITY], atol=1e-9
    )
    np.testing.assert_allclose(
        heavy.pose[:3, 3], bare.pose[:3, 3] + bare.pose[:3, :3] @ [0, 0, 0.135], atol=1e-12
    )
    carried = RobotModel.of(EQUIPPED).body_beyond(EQUIPPED.wrench_frame)
    assert carried.mass == pytest.approx(mass)
    in_base = RobotModel.of(BARE)
    in_base.update(q, np.zeros(6))
    sensor = in_base.frame_pose(BARE.wrench_frame)
    np.testing.assert_allclose(
        (sensor @ [*carried.center, 1.0])[:3], bare.pose[:3, 3] + lever, atol=1e-12
    )


def test_a_prefix_of_a_gripper_changes_no_number():
    other = load_robot(f"ur5e+{NAME}", prefix="l_")
    q, v = np.array(BARE.home) + 0.2, np.full(6, 0.1)
    one, two = RobotModel.of(EQUIPPED), RobotModel.of(other)
    np.testing.assert_array_equal(one.bias(q, v), two.bias(q, v))
    np.testing.assert_array_equal(one.at(q).pose, two.at(q).pose)
    assert other.profile.wrench == EQUIPPED.profile.wrench
    assert [each.name for each in other.gripper.joints] == [
        f"l_{each.name}" for each in GRIPPER.joints
    ]
    poses, moved = FingerModel(GRIPPER).poses(0.3), FingerModel(other.gripper).poses(0.3)
    for link, pose in poses.items():
        np.testing.assert_array_equal(moved[link if link == "world" else f"l_{link}"], pose)


def test_a_robot_that_compensates_gravity_itself_is_told_the_payload_elsewhere():
    assert not load_robot(f"ur5e+{NAME}", "real").profile.wrench_settings["payload_in_wrench"]


# --- what the fingers do ---


def moved(monitor, *, since, position, effort, seconds=0.4):
    for time in np.arange(since, since + seconds, 0.02):
        grip = monitor.update(float(time), position, effort)
    return grip


def test_fingers_hold_what_keeps_them_from_their_target_or_what_they_press():
    monitor = GripMonitor(GRIPPER)
    # nobody knows why they are there
    assert not moved(monitor, since=0.0, position=0.4, effort=math.nan).holding
    monitor.command(CLOSED)
    assert monitor.grip is None
    for time in np.arange(1.0, 1.4, 0.02):  # closing; the driver reports no velocity
        assert not monitor.update(float(time), 0.4 + 0.5 * (time - 1.0), math.nan).rests
    assert moved(monitor, since=1.4, position=0.6, effort=math.nan).holding
    assert not moved(monitor, since=2.0, position=CLOSED, effort=math.nan).holding  # it slipped out
    pressing = 40.0 * GRIPPER.lever(0.5)
    grip = moved(GripMonitor(GRIPPER), since=0.0, position=0.5, effort=pressing)
    assert grip.holding
    assert grip.force == pytest.approx(40.0)
    assert not moved(GripMonitor(GRIPPER), since=0.0, position=0.5, effort=-pressing).holding
    assert not GripMonitor(GRIPPER).update(0.0, 0.5, pressing).rests


def test_a_command_has_a_second_to_take_effect():
    """Fingers that haven't begun yet aren't at rest; those that are at their target,
    or can't move, are.
    """
    monitor = GripMonitor(GRIPPER)
    moved(monitor, since=0.0, position=0.4, effort=math.nan)
    monitor.command(CLOSED)
    assert not moved(monitor, since=1.0, position=0.4, effort=math.nan, seconds=0.9).rests
    assert moved(monitor, since=1.9, position=0.4, effort=math.nan, seconds=0.2).rests
    monitor.command(0.4)
    assert moved(monitor, since=3.0, position=0.4, effort=math.nan).rests


# --- messages of control_msgs, as far as their fields go ---


def message(**fields):
    return SimpleNamespace(command=SimpleNamespace(**fields))


def test_goals_and_results_have_the_fields_of_both_actions():
    pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
    from robot_control_ros.ros.gripper_commands import fill_goal, fill_result, read_goal

    old = replace(GRIPPER, action="GripperCommand")
    parallel = fill_goal(message(name=[], position=[], velocity=[], effort=[]), GRIPPER, 0.3, 40.0)
    assert vars(parallel.command) == {
        "name": [GRIPPER.joint],
        "position": [0.3],
        "velocity": [],
        "effort": [40.0],
    }
    assert read_goal(GRIPPER, parallel) == (0.3, 40.0)
    assert read_goal(GRIPPER, message(position=[0.3], effort=[])) == (0.3, GRIPPER.default_force)
    single = fill_goal(message(position=0.0, max_effort=0.0), old, 0.3, 40.0)
    assert vars(single.command) == {"position": 0.3, "max_effort": 40.0}
    assert read_goal(old, single) == (0.3, 40.0)
    for positions in ([], [0.1, 0.2], [math.nan]):
        with pytest.raises(ConfigError):
            read_goal(GRIPPER, message(position=positions, effort=[]))
    reached = fill_result(SimpleNamespace(), GRIPPER, 0.3, 0.3, 1.0)
    assert (reached.reached_goal, reached.stalled) == (True, False)
    assert (list(reached.state.name), list(reached.state.position)) == ([GRIPPER.joint], [0.3])
    stalled = fill_result(SimpleNamespace(), old, 0.8, 0.3, 4.0)
    assert vars(stalled) == {"reached_goal": False, "stalled": True, "position": 0.3, "effort": 4.0}


# --- in the simulation ---


@pytest.fixture(scope="module")
def robot():
    pytest.importorskip("mujoco")
    with Robot.simulated("ur5e", gripper=NAME) as robot:
        yield robot


@pytest.mark.sim
def test_the_wrench_is_without_the_gripper_and_the_fingers_go_where_they_are_sent(robot):
    wrench = robot.wait(0.1).wrench
    assert np.abs(wrench[:3]).max() < 0.05  # N, of 9 N
    assert np.abs(wrench[3:]).max() < 0.005  # N·m, of 0.4
    grip = robot.gripper.move(0.03)
    assert grip.width == pytest.approx(0.03, abs=5e-4)
    assert grip.rests
    assert not grip.holding
    assert not robot.gripper.close().holding
    began = robot.time
    assert robot.gripper.open().width == pytest.approx(0.085, abs=5e-4)
    assert 0.085 / GRIPPER.speed < robot.time - began < 0.085 / GRIPPER.speed + 0.6
    with pytest.raises(ConfigError):
        robot.gripper.close(force=300.0)
    with pytest.raises(ConfigError):
        robot.gripper.move(0.2)


@pytest.mark.sim
def test_the_grippers_of_two_arms_in_one_world_move_each_by_its_own_commands():
    pytest.importorskip("mujoco")
    from robot_control_ros.simulation import mujoco_plant

    left, right = mujoco_plant.arms_in_one_world(
        [load_robot(f"two_ur5e#{arm}+{NAME}") for arm in ("left", "right")]
    )
    single = mujoco_plant.MujocoPlant(EQUIPPED)
    for gripper in (left.gripper, single.gripper):
        gripper.command(gripper.config.position(0.03), 40.0)
    for _ in range(200):
        left.advance()
        single.advance()
    assert right.gripper.grip.width == pytest.approx(0.085, abs=1e-4)
    assert left.gripper.grip.width == pytest.approx(single.gripper.grip.width, abs=1e-6)
    assert single.gripper.grip.width == pytest.approx(0.03, abs=5e-4)


@pytest.mark.sim
def test_a_robot_without_a_gripper_says_which_there_are():
    pytest.importorskip("mujoco")
    with Robot.simulated("ur5e") as robot, pytest.raises(ConfigError) as refused:
        robot.gripper.open()
    assert refused.value.bound == tuple(config_names("grippers"))


@pytest.mark.sim
@pytest.mark.long
@pytest.mark.parametrize("shape", ["ball", "box"])
@pytest.mark.parametrize("arm", ["ur5e", "gen3"])
def test_an_object_is_picked_up_under_impedance_and_its_weight_is_felt(shape, arm, tmp_path):
    pytest.importorskip("mujoco")
    scene = load_robot(arm).urdf_path.parents[2] / "config/scenes/pick.yaml"
    path = tmp_path / "pick.yaml"
    text = scene.read_text()
    if shape == "box":
        text = text.replace(
            "shape: sphere\n    size: 0.025", "shape: box\n    size: [0.05, 0.05, 0.05]"
        )
    path.write_text(text)
    with Robot.simulated(arm, gripper=NAME, scene=str(path)) as robot:
        above = robot.pose
        below = above.copy()
        below[2, 3] = 0.148
        robot.move_to(below)
        grip = robot.gripper.close(force=40.0)
        assert grip.holding
        assert grip.width == pytest.approx(0.05, abs=2e-3)
        assert grip.force == pytest.approx(40.0, abs=0.5)
        robot.move_to(above)
        robot.wait(1.0)
        assert robot.gripper.state.holding
        np.testing.assert_allclose(robot.wrench[:3], [0.0, 0.0, -0.2 * GRAVITY], atol=0.05)
        robot.wait(3.0)
        assert robot.gripper.state.holding
        robot.gripper.open()
        robot.wait(0.5)
        assert not robot.gripper.state.holding
        np.testing.assert_allclose(robot.wrench[:3], 0.0, atol=0.05)


@pytest.mark.sim
@pytest.mark.long
def test_the_script_of_the_page_prints_what_stands_there(capsys):
    pytest.importorskip("mujoco")
    page = (GRIPPER.urdf_path.parents[2] / "docs/gripper.md").read_text(encoding="utf-8")
    script, printed = (page.split(f"```{kind}\n")[1].split("```")[0] for kind in ("python", "text"))
    exec(script, {})
    assert capsys.readouterr().out == printed
