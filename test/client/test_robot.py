"""Robot on a simulation in this process: what it measures, does, waits for,
refuses, and how it ends.
"""

import signal
from contextlib import suppress

import numpy as np
import pytest
from robot_trials import PRINTED, SCRIPT, run_notebook

from robot_control_ros import (
    ConfigError,
    HardwareFault,
    NotReached,
    Push,
    Robot,
    RobotControlError,
    load_imperfections,
    load_robot,
)
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.imperfect.imperfections import Imperfections, ModelErrors

pytestmark = pytest.mark.sim
pytest.importorskip("mujoco")


@pytest.fixture(scope="module")
def shared():
    with Robot.simulated("ur5") as robot:
        yield robot


@pytest.fixture
def robot(shared):
    """At home and at rest, under impedance with its default gains."""
    defaults = {"stiffness": [1000.0] * 3 + [100.0] * 3, "damping_ratio": 1.0}
    shared.set_law("impedance")
    shared.set_gains(defaults)
    shared.go_home()
    return shared


def above(robot, height):
    pose = robot.state.reference_pose
    pose[2, 3] += height
    return pose


def test_the_script_of_the_page_prints_what_stands_there_each_time(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(SCRIPT, {})
    assert capsys.readouterr().out == PRINTED
    assert (tmp_path / "robot.csv").read_text().startswith("t,q.shoulder_pan_joint")


def test_the_cells_of_the_notebook_run_in_order(capsys):
    names = run_notebook(running=False)
    assert "stiffness[0] 30000.0 (0.0, 10000.0)" in capsys.readouterr().out
    assert np.linalg.norm(names["state"].pose_error[:3]) < 5e-3
    with pytest.raises(HardwareFault, match="closed"):
        names["robot"].wait(1.0)


def test_a_state_is_of_one_sample(robot):
    robot.move_to(above(robot, 0.05), wait=False)
    state = robot.wait(0.3)
    kin = RobotModel.of(robot.config).at(state.q, state.v)
    np.testing.assert_allclose(state.pose, kin.pose, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(state.twist, kin.jacobian @ state.v, rtol=0.0, atol=1e-12)
    assert state.moving
    assert np.linalg.norm(state.twist[:3]) > 0.01
    assert robot.time == state.time
    np.testing.assert_array_equal(robot.effort, state.effort)


def test_a_move_returns_at_rest_at_its_goal(robot):
    goal = above(robot, 0.04)
    state = robot.move_to(goal)
    assert not state.moving
    np.testing.assert_allclose(state.reference_pose, goal, rtol=0.0, atol=1e-9)
    assert np.abs(state.v).max() < 0.01
    assert np.abs(state.pose - goal).max() < 2e-3
    joints = state.q + 0.1
    assert np.abs(robot.move_to(q=joints).blocks["reference_position"] - joints).max() < 1e-9


def test_joints_follow_a_path_and_rest_at_its_end(robot):
    start = robot.state.blocks["reference_position"]
    turn = np.zeros(6)
    turn[0] = 0.2
    began = robot.time
    state = robot.follow_joints([0.5, 1.5, 2.5], [start, start + turn, start + 0.5 * turn])
    np.testing.assert_allclose(
        state.blocks["reference_position"], start + 0.5 * turn, rtol=0.0, atol=1e-9
    )
    assert np.abs(state.q - (start + 0.5 * turn)).max() < 0.01
    assert state.time - began >= 2.5
    for times, positions in (
        ([], []),
        ([1.0, 0.5], [start, start]),
        ([1.0], [start[:5]]),
        ([1.0], [start + 99.0]),
    ):
        with pytest.raises(ConfigError):
            robot.follow_joints(times, positions)


def test_chunks_of_a_policy_are_followed_and_a_bad_one_changes_nothing(robot):
    robot.set_law("joint_impedance")
    start = robot.state.blocks["reference_position"].copy()
    turn = np.zeros(6)
    turn[0] = 0.3
    for _ in range(10):
        seen = robot.state
        robot.wait(0.05)  # the policy computes
        ahead = min((seen.time - robot.time) / 2.0 + 0.1, 0.5) + 0.05 * np.arange(16)
        chunk = start + np.minimum(ahead, 1.0)[:, None] * turn
        assert robot.follow_chunk(chunk, 0.05, seen.time).time >= seen.time
        robot.wait(0.05)
    before = robot.state
    for bad, dt, stamp in (
        (chunk * np.nan, 0.05, None),
        (chunk + 99.0, 0.05, None),
        (chunk[:, :5], 0.05, None),
        (chunk, 0.0, None),
        (chunk, 0.05, before.time - 5.0),
        ([], 0.05, None),
        (None, 0.05, None),
    ):
        with pytest.raises(ConfigError):
            robot.follow_chunk(bad, dt, stamp)
    end = robot.wait(3.0)
    assert not end.moving
    np.testing.assert_allclose(end.blocks["reference_position"], chunk[-1], rtol=0.0, atol=1e-6)


def test_chunks_of_poses_are_followed(robot):
    start = robot.state.reference_pose
    poses = np.repeat(start[None], 11, axis=0)
    poses[:, 2, 3] += 0.005 * np.arange(11)
    robot.follow_chunk(dt=0.1, poses=poses)
    moving = robot.wait(0.7)
    assert moving.moving
    end = robot.wait(2.0)
    np.testing.assert_allclose(end.reference_pose, poses[-1], rtol=0.0, atol=1e-6)


def test_the_elbow_of_an_arm_with_six_joints_is_refused(robot):
    with pytest.raises(ConfigError):
        robot.set_posture(robot.config.home)


def test_a_push_displaces_a_soft_arm_and_ends_by_itself(robot):
    robot.set_gains(stiffness=[500.0] * 3 + [50.0] * 3)
    rest = robot.wait(0.5)
    robot.push([0.0, 0.0, 10.0], 1.5)
    pushed = robot.state
    assert pushed.pose[2, 3] - rest.pose[2, 3] == pytest.approx(0.02, abs=1e-3)  # 10 N at 500 N/m
    assert pushed.wrench[2] - rest.wrench[2] == pytest.approx(10.0, abs=0.2)
    after = robot.wait(2.0)
    assert abs(after.pose[2, 3] - rest.pose[2, 3]) < 1e-3
    with pytest.raises(ConfigError):
        robot.push([0.0, np.nan, 0.0])


def test_nobody_offers_services_or_diagnoses_a_simulation_in_this_process(robot):
    with pytest.raises(ConfigError):
        robot.request("ethercat/enable")
    assert robot.diagnostics == {}


LONG = [
    pytest.param(law, marks=pytest.mark.long)
    for law in ("joint_impedance", "admittance", "task_space_pd")
]


@pytest.mark.parametrize("law", ["joint_pid", *LONG])
def test_moves_end_under_each_kind_of_law(robot, law):
    robot.set_law(law)
    assert robot.law == law
    assert not robot.move_to(above(robot, 0.03)).moving
    assert not robot.go_home().moving


def test_what_is_refused_changes_nothing_and_says_why_in_fields(robot):
    before = robot.gains
    with pytest.raises(ConfigError) as refused:
        robot.set_gains(damping_ratio=0.5, stiffness=[1.0, -2.0, 3.0, 4.0, 5.0, 6.0])
    assert (refused.value.name, refused.value.value, refused.value.bound) == (
        "stiffness[1]",
        -2.0,
        (0.0, 10000.0),
    )
    with pytest.raises(ConfigError, match="stiffness") as refused:
        robot.set_gains(stifness=1.0)
    assert refused.value.value == "stifness"
    for name, value in robot.gains.items():
        np.testing.assert_array_equal(value, before[name])
    beyond = robot.pose
    beyond[0, 3] = 3.0
    mirrored = robot.pose
    mirrored[:, 0] *= -1.0
    for target in (
        beyond,
        mirrored,
        np.full(3, np.nan),
        [1.0, 2.0],
        "there",
        np.full((4, 4), np.inf),
    ):
        with pytest.raises(ConfigError) as refused:
            robot.move_to(target)
        assert "shape" not in str(refused.value)
    with pytest.raises(ConfigError) as refused:
        robot.move_to(q=[0.0, 0.0])
    assert (refused.value.name, refused.value.bound) == ("q", (6,))
    with pytest.raises(ConfigError):
        robot.move_to()
    with pytest.raises(ConfigError):
        robot.set_law("nonsense")
    assert robot.law == "impedance"
    assert not robot.state.moving


def test_settings_are_set_with_gains_all_or_none(robot):
    robot.set_gains({"workspace.upper": [0.8, 0.8, 1.1], "damping_ratio": 0.9})
    np.testing.assert_array_equal(robot.settings["workspace.upper"], [0.8, 0.8, 1.1])
    with pytest.raises(ConfigError):
        robot.set_gains({"workspace.upper": [0.7, 0.7, 0.7], "damping_ratio": -1.0})
    np.testing.assert_array_equal(robot.settings["workspace.upper"], [0.8, 0.8, 1.1])
    np.testing.assert_array_equal(robot.gains["damping_ratio"], np.full(6, 0.9))


def test_a_gain_is_set_by_the_name_of_its_ros_parameter_too(robot):
    robot.set_gains({"impedance.damping_ratio": 0.8, "workspace.upper": [0.8, 0.8, 1.1]})
    np.testing.assert_array_equal(robot.gains["damping_ratio"], np.full(6, 0.8))
    with pytest.raises(ConfigError) as refused:
        robot.set_gains({"impedance.damping_ratio": 0.7}, damping_ratio=0.6)
    assert (refused.value.name, refused.value.value) == ("damping_ratio", 0.6)
    with pytest.raises(ConfigError) as refused:
        robot.set_gains({"admittance.virtual_mass": 5.0})
    assert (refused.value.name, refused.value.value) == ("gain", "admittance.virtual_mass")
    np.testing.assert_array_equal(robot.gains["damping_ratio"], np.full(6, 0.8))


def test_a_grasped_payload_is_told_and_put_down(robot):
    said = robot.set_payload(1.5, (0.0, 0.0, 0.04), 0.002)
    assert said == ""  # the simulation compensates nothing itself
    np.testing.assert_allclose(
        robot.payload.row, [1.5, 0.0, 0.0, 0.04, 0.002, 0.002, 0.002, 0.0, 0.0, 0.0]
    )
    robot.wait(0.1)
    assert robot.model.payload.mass == 1.5
    for figures in (
        {"mass": -1.0},
        {"mass": 1.0, "center": (0.0, 0.0, 2.0)},
        {"mass": 1.0, "inertia": (1, 1, 3, 0, 0, 0)},
    ):
        with pytest.raises(ConfigError):
            robot.set_payload(**figures)
    with pytest.raises(ConfigError) as refused:
        robot.set_payload(100.0)
    assert refused.value.name in robot.config.joints
    assert robot.payload.mass == 1.5
    robot.set_payload(0.0)
    robot.wait(0.1)
    assert robot.model.payload.mass == 0.0


def test_an_arm_that_sags_under_what_it_has_grasped_comes_back_once_it_is_told():
    heavy = Imperfections(
        name="grasped", model=ModelErrors(payload_mass=2.0, payload_centre=(0.0, 0.0, 0.05))
    )
    with Robot.simulated(
        "ur5e", gains={"stiffness": [500.0] * 3 + [50.0] * 3}, imperfections=heavy
    ) as robot:
        target = robot.state.reference_pose[2, 3]
        robot.wait(3.0)
        assert target - robot.pose[2, 3] > 0.03
        robot.set_payload(2.0, (0.0, 0.0, 0.05))
        robot.wait(4.0)
        assert abs(target - robot.pose[2, 3]) < 0.5e-3


def test_a_stream_follows_and_softens_with_its_targets(robot):
    center = robot.state.reference_pose
    for k in range(30):
        target = center.copy()
        target[1, 3] += 0.002 * k
        robot.set_target(target, stiffness=500.0 + 10.0 * (k // 10))
        robot.wait(0.02)
    np.testing.assert_array_equal(robot.gains["stiffness"], np.full(6, 520.0))
    assert robot.pose[1, 3] > center[1, 3] + 0.03


def test_a_stiffness_that_goes_with_a_target_may_have_the_shape_of_a_matrix(robot):
    robot.set_target(robot.pose, stiffness=np.diag(np.full(6, 400.0)))
    np.testing.assert_array_equal(robot.gains["stiffness"], np.full(6, 400.0))


def test_a_stiffness_of_a_wrong_size_is_refused_with_its_target(robot):
    target = robot.pose
    target[2, 3] += 0.01
    before = robot.gains["stiffness"]
    with pytest.raises(ConfigError) as refusal:
        robot.set_target(target, stiffness=[300.0, 300.0])
    assert refusal.value.name == "stiffness"
    np.testing.assert_array_equal(robot.gains["stiffness"], before)
    assert not robot.wait(0.1).moving


def test_jog_moves_for_its_duration_then_rests(robot):
    start = robot.state.reference_pose
    robot.jog([0.0, 0.0, 0.05, 0.0, 0.0, 0.0], 0.4)
    robot.wait_until(lambda state: not state.moving, timeout=1.0)
    moved = robot.state.reference_pose[:3, 3] - start[:3, 3]
    assert 0.4 * 0.05 < moved[2] < 0.6 * 0.05 + 0.4 * 0.05
    assert np.abs(moved[:2]).max() < 1e-9


def test_a_move_that_takes_too_long_is_held(robot):
    with pytest.raises(NotReached, match=r"within 0\.3 s"):
        robot.move_to(above(robot, 0.2), timeout=0.3)
    robot.wait_until(lambda state: not state.moving, timeout=2.0)


BEYOND = (0.85, 0.3, 0.4)  # m, within the workspace of ur5, and beyond its reach
BOUND = {"max_force": 20.0, "max_torque": 10.0}  # of a spring


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("law", "gains"),
    [
        pytest.param("impedance", {}, marks=pytest.mark.long),
        ("impedance", BOUND),
        pytest.param("task_space_pd", BOUND, marks=pytest.mark.long),
        ("joint_impedance", {}),
        pytest.param("position_domain_pd", {}, marks=pytest.mark.long),
        ("admittance", {}),
    ],
)
def test_a_pose_beyond_reach_ends_the_call_when_the_arm_stands_and_holds_it(law, gains):
    with Robot.simulated("ur5", law, gains) as robot:
        with pytest.raises(NotReached, match="reach") as ended:
            robot.move_to(BEYOND)
        assert robot.time < 10.0
        assert ended.value.name == "the goal"
        assert 0.03 < ended.value.value < 0.2
        held = robot.wait(2.0)
        assert not held.moving
        assert np.linalg.norm(held.reference_pose[:3, 3] - BEYOND) > 0.01


def test_an_arm_whose_elbow_has_turned_is_not_home_until_a_law_of_its_joints_moves_it_there():
    with Robot.simulated("ur5", "impedance") as robot:
        with pytest.raises(NotReached):
            robot.move_to(BEYOND)  # which stretches the arm
        with pytest.raises(NotReached) as ended:
            robot.go_home()
        assert ended.value.name == "elbow_joint"
        assert abs(ended.value.value) > ended.value.bound
        assert np.linalg.norm(robot.state.pose_error[:3]) < 0.005
        robot.set_law("joint_impedance")
        state = robot.go_home()
        assert np.abs(state.q - robot.config.home).max() < 0.01


def test_a_redundant_arm_whose_joints_creep_at_a_pose_beyond_reach_ends_the_call_too():
    with Robot.simulated("gen3", "joint_impedance") as robot:
        with pytest.raises(NotReached, match="reach"):
            robot.move_to(BEYOND)
        assert robot.time < 10.0


@pytest.mark.parametrize("gains", [{}, BOUND])
def test_a_move_into_a_wall_ends_when_the_arm_stands_there(gains):
    with Robot.simulated("ur5", "impedance", gains, scene="wall") as robot:
        goal = robot.state.reference_pose[:3, 3] + (0.2, 0.0, 0.0)
        with pytest.raises(NotReached) as ended:
            robot.move_to(goal)
        assert robot.time < 10.0
        assert ended.value.value > 0.05
        assert "reach:" not in str(ended.value)


def test_a_soft_arm_that_a_load_pulls_down_a_little_is_there():
    with Robot.simulated("ur5", push=Push((0.0, 0.0, -15.0))) as robot:
        state = robot.move_to(above(robot, 0.05))
        assert 0.005 < np.linalg.norm(state.pose_error[:3]) < 0.05


def test_a_move_that_a_hold_on_contact_ends_is_not_reached():
    with Robot.simulated("ur5", push=Push((0.0, 15.0, 0.0), start=0.5, duration=0.5)) as robot:
        robot.on_contact(lambda state: robot.hold(), force=10.0)
        with pytest.raises(NotReached) as ended:
            robot.move_to(above(robot, 0.25))
        assert 0.5 < robot.time < 1.0
        assert ended.value.value > 0.01


def test_a_contact_that_the_controller_finds_is_called_and_its_reaction_ends_with_clear_contact():
    """A blow of 60 N."""
    contacts = []
    with Robot.simulated("ur5", push=Push((0.0, 60.0, 0.0), start=0.5, duration=0.1)) as robot:
        robot.set_gains({"contact.reaction": "hold"})
        robot.on_contact(contacts.append)
        assert robot.contact is None
        with pytest.raises(HardwareFault, match="clear_contact"):
            robot.wait(1.0)
        assert robot.contact.start == pytest.approx(0.5, abs=0.05)
        assert robot.contact.size > robot.contact.limit
        assert [state.time for state in contacts] == pytest.approx([0.5], abs=0.05)
        while robot.time < 1.5:  # it is pushed for some time yet, and let go
            with suppress(HardwareFault):
                robot.clear_contact()
                robot.wait(0.1)
        assert robot.contact is None
        robot.move_to(above(robot, 0.02))


def test_callbacks_come_once_for_each_contact_and_stop():
    with Robot.simulated("ur5", push=Push((15.0, 0.0, 0.0), start=0.5, duration=0.5)) as robot:
        contacts, stops = [], []
        robot.on_contact(contacts.append, force=10.0)
        robot.on_stop(stops.append)
        robot.wait(1.5)
        assert [round(state.time, 1) for state in contacts] == [0.5]
        assert stops == []
        state = robot.move_to(above(robot, 0.02))
        assert len(stops) == 1
        assert stops[0].time <= state.time


def test_a_trip_ends_a_waiting_call_with_that_fault():
    faults = []
    with Robot.simulated(
        "ur5e", imperfections="like_ur5e", push=Push((2000.0, 0.0, 0.0), start=0.3)
    ) as robot:
        robot.on_fault(faults.append)
        with pytest.raises(HardwareFault, match="trip") as ended:
            robot.wait(5.0)
        assert robot.fault == str(ended.value)
        assert faults == [ended.value]
        with pytest.raises(HardwareFault, match="trip"):
            robot.go_home()
    assert load_imperfections("like_ur5e") is not None


def test_the_log_has_each_state_since_record(robot):
    with pytest.raises(ConfigError, match="empty"), Robot.simulated("ur5") as other:
        other.log()
    robot.record()
    robot.wait(0.5)
    log = robot.log()
    assert len(log) == 25
    np.testing.assert_allclose(np.diff(log.t), 0.02, rtol=0.0, atol=1e-9)
    assert log.joints == load_robot("ur5").joints


def test_ctrl_c_ends_a_waiting_call_at_once_and_holds():
    with Robot.simulated("ur5") as robot:
        robot.move_to(above(robot, 0.3), wait=False)
        begun, seen = robot.time, []

        def interrupted(state):
            seen.append(state.time)
            if state.time > begun + 0.2:
                signal.raise_signal(signal.SIGINT)

        with pytest.raises(KeyboardInterrupt):
            robot.wait_until(interrupted, timeout=600.0)
        assert seen[-1] < begun + 0.3
        robot.wait_until(lambda state: not state.moving, timeout=2.0)


def test_all_its_errors_are_of_the_package():
    for error in (NotReached, HardwareFault, ConfigError):
        assert issubclass(error, RobotControlError)
    assert issubclass(NotReached, TimeoutError)
