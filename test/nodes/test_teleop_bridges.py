"""Programs written for MoveIt Servo and Intrinsic's aic_controller: their messages in, the controller's targets out."""

import numpy as np
import pytest
from refusals import refuses

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from geometry_msgs.msg import Transform, Twist, TwistStamped, Wrench, WrenchStamped
from lockstep import LockstepRos
from managed_robot import STAND_IN, put_first, use_stand_in
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from robot_control_ros.nodes.teleop.joint_jog import LEAD, JointJogging
from robot_control_ros.nodes.teleop.node import message_type

AIC = "aic_control_interfaces"
MEASURED = {"shoulder": 0.3, "elbow": -1.0}


def test_a_joint_moves_on_by_its_velocity_times_the_time_between_two_commands():
    jogging, at = JointJogging(0.5, 0.2), dict(MEASURED)
    assert jogging.targets(7.0, at, ["elbow"], [0.4]) == MEASURED  # the first one after a pause
    at = jogging.targets(7.1, at, ["elbow"], [0.4])
    assert at == pytest.approx({"shoulder": 0.3, "elbow": -1.0 + 0.1 * 0.5 * 0.4})
    at = jogging.targets(7.2, at, ["elbow", "shoulder"], [-3.0, 1.0])  # a velocity beyond 1 counts as 1
    assert at == pytest.approx({"shoulder": 0.3 + 0.05, "elbow": -1.0 + 0.02 - 0.05})
    assert jogging.targets(9.0, MEASURED, ["elbow"], [1.0]) == MEASURED


def test_a_target_does_not_run_away_from_a_joint_that_is_blocked():
    jogging = JointJogging(1.0, 0.2)
    for now in np.arange(0.0, 3.0, 0.1):
        targets = jogging.targets(now, MEASURED, ["shoulder"], [1.0])
    assert targets["shoulder"] == pytest.approx(0.3 + LEAD)
    back = jogging.targets(3.0, MEASURED, ["shoulder"], [-1.0])
    assert back["shoulder"] < targets["shoulder"] - 0.05


@pytest.mark.parametrize(
    ("names", "velocities", "wrong"),
    [(["elbow"], [], "velocities"), (["elbow"], [np.nan], "velocities"), (["wrist"], [1.0], "joint")],
)
def test_a_joint_command_that_makes_no_sense_is_refused(names, velocities, wrong):
    with refuses(wrong):
        JointJogging(0.5, 0.2).targets(0.0, MEASURED, names, velocities)


@pytest.fixture
def ros(tmp_path, monkeypatch):
    with LockstepRos(tmp_path) as made:
        use_stand_in(made, monkeypatch, "control_msgs")
        put_first(made, monkeypatch, AIC, STAND_IN / AIC)  # so that its messages are made in one way
        yield made


@pytest.mark.ros
@pytest.mark.long
def test_joint_commands_of_servo_move_the_joints_targets(ros):
    JointJog = message_type("control_msgs", "JointJog")
    ros.start("teleop", {"input": "joint_jog"}, remappings={"joint_jog": "/servo_node/delta_joint_cmds"})
    states, jogs = ros.publisher(JointState, "joint_states"), ros.publisher(JointJog, "/servo_node/delta_joint_cmds")
    targets = ros.subscribe(JointState, "controller/target_joint")
    jog = JointJog()
    jog.joint_names, jog.velocities = ["elbow"], [0.5]

    def send():
        states.publish(JointState(name=list(MEASURED), position=list(MEASURED.values())))
        jogs.publish(jog)

    ros.until(lambda: len(targets) and targets.last.position[1] > -1.0 + 0.01, "a target that moves", send)
    assert list(targets.last.name) == list(MEASURED)
    assert targets.last.position[0] == 0.3


@pytest.mark.ros
@pytest.mark.long
def test_a_motion_update_becomes_a_pose_a_twist_gains_and_a_wrench(ros):
    MotionUpdate, make = (message_type(AIC, name) for name in ("MotionUpdate", "make"))
    ros.start(
        "teleop", {"input": "motion_update", "frame": "tool0"}, remappings={"pose_commands": "/aic/pose_commands"}
    )
    updates = ros.publisher(MotionUpdate, "/aic/pose_commands")
    poses = ros.subscribe(MultiDOFJointTrajectory, "controller/tip_trajectory")
    twists = ros.subscribe(TwistStamped, "controller/target_twist")
    gains = ros.subscribe(JointTrajectory, "controller/target_impedance")
    wrenches = ros.subscribe(WrenchStamped, "controller/target_wrench")
    place, velocity, push = Transform(), Twist(), Wrench()
    place.translation.x, velocity.linear.y, push.force.z = 0.4, 0.1, -5.0
    stiffness, damping = np.diag([85.0] * 6).ravel().tolist(), np.diag([75.0] * 6).ravel().tolist()
    given = {"pose": place, "velocity": velocity, "target_stiffness": stiffness, "target_damping": damping}
    given["wrench_feedback_gains_at_tip"] = [0.0] * 6
    pose = make("base_link", 2, wrench=push, **given)
    found = ros.next(poses, "a pose", lambda: updates.publish(pose))
    assert (found.header.frame_id, found.joint_names) == ("base_link", ["tool0"])
    assert found.points[0].transforms[0].translation.x == 0.4
    ros.until(lambda: len(gains) and len(wrenches), "gains and a wrench", lambda: updates.publish(pose))
    assert gains.last.joint_names == ["stiffness", "damping"]
    assert list(gains.last.points[0].positions) == stiffness + damping
    assert (wrenches.last.header.frame_id, wrenches.last.wrench.force.z) == ("tool0", -5.0)
    sent = len(gains)
    twist = make("gripper/tcp", 1, wrench=Wrench(), **given)
    moved = ros.next(twists, "a twist", lambda: updates.publish(twist))
    assert (moved.header.frame_id, moved.twist.linear.y) == ("tool0", 0.1)
    ros.until(lambda: wrenches.last.wrench.force.z == 0.0, "the end of the wrench", lambda: updates.publish(twist))
    assert len(gains) == sent  # they did not change


@pytest.mark.ros
@pytest.mark.long
@pytest.mark.parametrize(
    ("parameters", "words"),
    [({"input": "motion_update"}, "tool0"), ({"input": "motion_update", "frame": "tool0"}, AIC)],
)
def test_what_it_lacks_is_named_at_the_start(tmp_path, monkeypatch, parameters, words):
    (tmp_path / f"{AIC}.py").write_text('raise ImportError("as where it is not installed")')
    with LockstepRos(tmp_path) as made:
        put_first(made, monkeypatch, AIC, tmp_path)
        child = made.start("teleop", parameters)
        assert child.end() == 1
        assert words in child.err
