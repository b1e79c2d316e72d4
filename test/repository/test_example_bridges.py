"""Examples for programs of MoveIt Servo and of aic_controller: their messages in, the
controller's targets out.
"""

from importlib import import_module, util
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from geometry_msgs.msg import Transform, Twist, TwistStamped, Wrench, WrenchStamped
from lockstep import LockstepRos
from managed_robot import STAND_IN, put_first, use_stand_in
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

pytestmark = pytest.mark.ros
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
AIC = "aic_control_interfaces"
MEASURED = {"shoulder": 0.3, "elbow": -1.0}


@pytest.fixture
def ros(tmp_path, monkeypatch):
    with LockstepRos(tmp_path) as made:
        use_stand_in(made, monkeypatch, "control_msgs")
        # so that its messages are made in one way
        put_first(made, monkeypatch, AIC, STAND_IN / AIC)
        yield made


def example(name):
    """A program of the examples as a module."""
    spec = util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def servo(ros):
    return example("servo_joint_jog")


@pytest.fixture
def aic(ros):
    return example("aic_motion_update")


# --- joint velocities, as for MoveIt Servo ---


def test_a_joint_moves_on_by_its_velocity_times_the_time_between_two_commands(servo):
    jogging = servo.JointJogging(0.5, 0.2)
    # the first one after a pause
    assert jogging.targets(7.0, MEASURED, ["elbow"], [0.4]) == MEASURED
    at = jogging.targets(7.1, MEASURED, ["elbow"], [0.4])
    assert at == pytest.approx({"shoulder": 0.3, "elbow": -1.0 + 0.1 * 0.5 * 0.4})
    # a velocity beyond 1 counts as 1
    at = jogging.targets(7.2, at, ["elbow", "shoulder"], [-3.0, 1.0])
    assert at == pytest.approx({"shoulder": 0.3 + 0.05, "elbow": -1.0 + 0.02 - 0.05})
    assert jogging.targets(9.0, MEASURED, ["elbow"], [1.0]) == MEASURED


def test_a_target_does_not_run_away_from_a_joint_that_is_blocked(servo):
    jogging = servo.JointJogging(1.0, 0.2)
    for now in np.arange(0.0, 3.0, 0.1):
        targets = jogging.targets(now, MEASURED, ["shoulder"], [1.0])
    assert targets["shoulder"] == pytest.approx(0.3 + servo.LEAD)
    back = jogging.targets(3.0, MEASURED, ["shoulder"], [-1.0])
    assert back["shoulder"] < targets["shoulder"] - 0.05


@pytest.mark.parametrize(
    ("names", "velocities", "wrong"),
    [
        (["elbow"], [], "velocities"),
        (["elbow"], [np.nan], "velocities"),
        (["wrist"], [1.0], "joint"),
        (["elbow", "elbow"], [1.0, 1.0], "joint"),
    ],
)
def test_a_joint_command_that_makes_no_sense_is_refused(servo, names, velocities, wrong):
    with refuses(wrong):
        servo.JointJogging(0.5, 0.2).targets(0.0, MEASURED, names, velocities)


def test_joint_commands_of_servo_move_the_joints_targets(ros, servo):
    topic = "/servo_node/delta_joint_cmds"
    child = ros.start(
        "servo_joint_jog", make_node=servo.ServoJointJog, remappings={"joint_jog": topic}
    )
    states, jogs = ros.publisher(JointState, "joint_states"), ros.publisher(servo.JointJog, topic)
    targets = ros.subscribe(JointState, "controller/target_joint")
    jog = servo.JointJog()
    jog.joint_names, jog.velocities = ["elbow"], [0.5]
    ros.until(
        lambda: "no joint_states" in child.err,
        "a refusal without joint states",
        lambda: jogs.publish(jog),
    )

    def send():
        states.publish(JointState(name=list(MEASURED), position=list(MEASURED.values())))
        jogs.publish(jog)

    ros.until(
        lambda: len(targets) and targets.last.position[1] > -1.0 + 0.01, "a target that moves", send
    )
    assert list(targets.last.name) == list(MEASURED)
    assert targets.last.position[0] == 0.3
    jog.joint_names = ["wrist"]
    ros.until(
        lambda: "'wrist'" in child.err,
        "a refusal of another robot's joint",
        lambda: jogs.publish(jog),
    )


# --- motion updates, as for aic_controller ---


def test_a_motion_update_becomes_a_pose_a_twist_gains_and_a_wrench(ros, aic):
    make = import_module(f"{AIC}.msg").make
    topic = "/aic/pose_commands"
    parameters = {"tip": "tool0"}
    ros.start(
        "aic_motion_update",
        parameters,
        make_node=aic.AicMotionUpdate,
        remappings={"pose_commands": topic},
    )
    updates = ros.publisher(aic.MotionUpdate, topic)
    poses = ros.subscribe(MultiDOFJointTrajectory, "controller/tip_trajectory")
    twists = ros.subscribe(TwistStamped, "controller/target_twist")
    gains = ros.subscribe(JointTrajectory, "controller/target_impedance")
    wrenches = ros.subscribe(WrenchStamped, "controller/target_wrench")
    place, velocity, push = Transform(), Twist(), Wrench()
    place.translation.x, velocity.linear.y, push.force.z = 0.4, 0.1, -5.0
    stiffness, damping = np.diag([85.0] * 6).ravel().tolist(), np.diag([75.0] * 6).ravel().tolist()
    given = {
        "pose": place,
        "velocity": velocity,
        "target_stiffness": stiffness,
        "target_damping": damping,
    }
    given["wrench_feedback_gains_at_tip"] = [0.0] * 6
    pose = make("base_link", 2, wrench=push, **given)
    found = ros.next(poses, "a pose", lambda: updates.publish(pose))
    assert (found.header.frame_id, found.joint_names) == ("base_link", ["tool0"])
    assert found.points[0].transforms[0].translation.x == 0.4
    ros.until(
        lambda: len(gains) and len(wrenches), "gains and a wrench", lambda: updates.publish(pose)
    )
    assert gains.last.joint_names == ["stiffness", "damping"]
    assert list(gains.last.points[0].positions) == stiffness + damping
    assert (wrenches.last.header.frame_id, wrenches.last.wrench.force.z) == ("tool0", -5.0)
    sent = len(gains)
    twist = make("gripper/tcp", 1, wrench=Wrench(), **given)
    moved = ros.next(twists, "a twist", lambda: updates.publish(twist))
    assert (moved.header.frame_id, moved.twist.linear.y) == ("tool0", 0.1)
    ros.until(
        lambda: wrenches.last.wrench.force.z == 0.0,
        "the end of the wrench",
        lambda: updates.publish(twist),
    )
    assert len(gains) == sent  # they did not change


@pytest.mark.parametrize(
    ("mode", "feedback", "word"),
    [(0, 0.0, "mode"), (1, 0.96, "wrench_feedback_gains_at_tip"), (1, 0.5, "not used")],
)
def test_what_a_motion_update_may_not_have_is_told(ros, aic, mode, feedback, word):
    make = import_module(f"{AIC}.msg").make
    child = ros.start("aic_motion_update", {"tip": "tool0"}, make_node=aic.AicMotionUpdate)
    updates = ros.publisher(aic.MotionUpdate, "pose_commands")
    numbers = {"target_stiffness": [0.0] * 36, "target_damping": [0.0] * 36}
    numbers["wrench_feedback_gains_at_tip"] = [feedback] * 6
    update = make("base_link", mode, pose=Transform(), velocity=Twist(), wrench=Wrench(), **numbers)
    twists = ros.subscribe(TwistStamped, "controller/target_twist")
    ros.until(lambda: word in child.err, "words", lambda: updates.publish(update))
    ros.wait(0.5)
    assert bool(len(twists)) == (word == "not used")


def test_a_tip_without_a_name_is_refused_at_the_start(ros, aic):
    child = ros.start("aic_motion_update", make_node=aic.AicMotionUpdate)
    assert child.end() == 1
    assert "tool0" in child.err


# --- where they were before ---


@pytest.mark.parametrize(
    ("name", "program"), [("joint_jog", "servo_joint_jog"), ("motion_update", "aic_motion_update")]
)
def test_teleop_names_the_program_that_has_taken_over_an_input(ros, name, program):
    child = ros.start("teleop", {"input": name})
    assert child.end() == 1
    assert f"examples/{program}.py" in child.err
    assert (EXAMPLES / f"{program}.py").is_file()
