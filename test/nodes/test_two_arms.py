"""Two arms below namespaces, in lockstep: client, verbs, page, diagnostics."""

import re
import signal
import time

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco")

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from lockstep import LockstepRos
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_control_ros import ConfigError, Robot, StaleStateError
from robot_control_ros.bringup import SETUPS
from robot_control_ros.cli.main import main
from robot_control_ros.nodes.dashboard.robot_link import RosLink
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.ros.messages import seconds, to_duration, to_stamp

pytestmark = [pytest.mark.ros, pytest.mark.sim]
SLOW = 60.0  # s, for a machine under load
ARMS = ("left", "right")
HOME = np.array(load_robot("ur5e").home)
EFFORTS = "forward_effort_controller/commands"


def start(ros, *, only="", **given):
    """The processes of the launch file by their names, without pages; of one executable
    where `only` names it.
    """
    found = {}
    for spec in SETUPS["two_arms"].make(**given).nodes():
        if only in ("", spec.executable):
            more = {
                "parameter_files": spec.parameter_files,
                "remappings": spec.remappings,
                "namespace": spec.namespace,
            }
            found[spec.full_name] = ros.start(spec.executable, dict(spec.parameters), **more)
    return found


@pytest.fixture(scope="module")
def ros(tmp_path_factory):
    with LockstepRos(tmp_path_factory.mktemp("arms")) as ros:
        start(ros, rate="100", watchdog="false")
        yield ros


@pytest.fixture(scope="module")
def robots(ros):
    with (
        Robot("two_ur5e#left", timeout=SLOW, lost_after=SLOW) as left,
        Robot("ur5e", namespace="/right", timeout=SLOW, lost_after=SLOW) as right,
    ):
        yield left, right


@pytest.fixture
def links(ros):
    """What the pages of both arms know."""
    made, nodes = {}, []
    for arm in ARMS:
        node = rclpy.create_node(
            f"page_of_{arm}", namespace=f"/{arm}", context=ros.context, use_global_arguments=False
        )
        ros.executor.add_node(node)
        nodes.append(node)
        robot = load_robot(f"two_ur5e#{arm}")
        made[arm] = RosLink(node, robot, robot.urdf())
    ros.until(lambda: all(link.health().commands for link in made.values()), "active controllers")
    ros.until(lambda: all(link.others() for link in made.values()), "the other arms")
    yield made
    for link in made.values():
        ros.until(lambda link=link: activated(ros, link), "active controllers again")
        link.close()
    for node in nodes:
        ros.executor.remove_node(node)
        node.destroy_node()


def activated(ros, link):
    answers = []
    if not link.health().commands:
        link.change_state("activate", answers.append)
        ros.until(lambda: answers, "an answer")
    return link.health().commands


def test_a_page_names_its_arm_and_the_others(links):
    assert {arm: (link.arm, link.others()) for arm, link in links.items()} == {
        "left": ("left", ("right",)),
        "right": ("right", ("left",)),
    }


def test_stop_all_stops_every_arm_and_stop_its_own(ros, links):
    left, right = links["left"], links["right"]
    left.stop(lambda answer: None)
    ros.until(lambda: left.health().stopped, "STOP of the left arm")
    ros.wait(0.5)
    assert right.health().commands
    assert activated(ros, left)
    answers = []
    left.stop_all(answers.append)
    ros.until(lambda: left.health().stopped and right.health().stopped, "STOP of both arms")
    ros.until(
        lambda: {each.health().lifecycle for each in links.values()} == {"inactive"},
        "no active controller",
    )
    assert [answer.accepted for answer in answers] == [True, True]


def test_an_arm_whose_page_alone_is_there_is_no_other_arm(ros, links):
    node = rclpy.create_node(
        "page_of_none", namespace="/none", context=ros.context, use_global_arguments=False
    )
    ros.executor.add_node(node)
    robot = load_robot("ur5e")
    link = RosLink(node, robot, robot.urdf())
    ros.wait(3.0)
    assert links["left"].others() == ("right",)
    assert set(link.others()) == {"left", "right"}
    link.close()
    ros.executor.remove_node(node)
    node.destroy_node()


def test_a_robot_below_a_namespace_is_led_and_the_other_one_stays(robots):
    left, right = robots
    before = right.q
    goal = left.q + 0.05
    np.testing.assert_allclose(left.move_to(q=goal, timeout=SLOW).q, goal, atol=0.01)
    left.set_gains(stiffness=400.0)
    assert left.gains["stiffness"][0] == 400.0 != right.gains["stiffness"][0]
    np.testing.assert_allclose(right.q, before, atol=1e-3)
    assert (left.config.joints[0], right.config.base) == (
        "left_shoulder_pan_joint",
        "right_base_link",
    )
    with pytest.raises(ConfigError):
        left.set_gains(stiffness=-1.0)


def test_a_controller_that_is_not_there_is_refused_with_the_names_of_those_that_are(robots):
    with pytest.raises(StaleStateError) as error:
        Robot(namespace="middle", timeout=1.0)
    assert set(error.value.bound) == {"/left/controller", "/right/controller"}


def test_the_verbs_reach_an_arm_by_its_namespace(robots, capsys):
    robots[0].set_gains(stiffness=400.0)
    assert main(["get", "stiffness", "--namespace", "left", "--within", "60"]) == 0
    assert main(["status", "--namespace", "/right", "--within", "60"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("stiffness = 400,400,400")
    assert re.search(r"law impedance(.|\n)*fault +none", shown)


def test_diagnostics_tell_the_arms_apart(ros, robots):
    inbox = ros.subscribe(DiagnosticArray, "/diagnostics")
    wanted = {"left/controller: control loop", "right/controller: control loop"}
    ros.until(
        lambda: wanted <= {s.name for m in inbox.messages for s in m.status}, "both diagnoses"
    )


def test_the_page_of_an_arm_shows_that_arm(ros, robots):
    import rclpy

    from robot_control_ros.nodes.dashboard.robot_link import RosLink

    robot = load_robot("two_ur5e#left")
    node = rclpy.create_node("dashboard", namespace="left", context=ros.context)
    ros.executor.add_node(node)
    link = RosLink(node, robot, robot.urdf())
    try:
        ros.until(
            lambda: link.law() and link.telemetry().samples and link.health().diagnosis, "telemetry"
        )
        ros.until(
            lambda: {"controller/hold", "simulator/reset", "simulator/push"} <= link.requests(),
            "services",
        )
        np.testing.assert_allclose(link.telemetry().q, robots[0].q, atol=0.01)
        replies = []
        link.set_gains({"damping_ratio": 0.9}, replies.append)
        ros.until(lambda: replies, "a reply")
        assert replies[0].accepted
        assert robots[1].gains["damping_ratio"][0] != 0.9
        ros.until(lambda: robots[0].gains["damping_ratio"][0] == 0.9, "the gain of one arm")
        link.change_state("configure", replies.append)
        ros.until(lambda: len(replies) == 2, "a refusal with the words of the log of /rosout")
        assert not replies[1].accepted
    finally:
        link.close()
        ros.executor.remove_node(node)
        node.destroy_node()


# --- one arm's end, and the other one ---


def trajectory(arm, start_at):
    """For the joints of an arm: 0.2 rad within 4 s, at a time of the simulation [s]."""
    message = JointTrajectory(joint_names=list(load_robot(f"two_ur5e#{arm}").joints))
    message.header.stamp = to_stamp(start_at)
    for after, q in ((0.0, HOME), (4.0, HOME + 0.2)):
        point = JointTrajectoryPoint(positions=q.tolist(), velocities=[0.0] * 6)
        point.time_from_start = to_duration(after)
        message.points.append(point)
    return message


def commands_of_right(folder, kill_at, until):
    """The right arm's commands in lockstep up to a time; the left arm's controller is killed
    at another one [s].
    """
    with LockstepRos(folder) as ros:
        children = start(ros, only="simulator", pacing="lockstep") | start(
            ros, only="controller", pacing="lockstep"
        )
        ros.call(SetBool, "/simulator/pause", data=True)
        children |= start(ros, only="watchdog", pacing="lockstep")
        states = {arm: ros.subscribe(JointState, f"/{arm}/joint_states") for arm in ARMS}
        # a busy machine reads them late
        commands = ros.subscribe(Float64MultiArray, f"/right/{EFFORTS}", depth=10_000)
        watchdogs = ros.subscribe(DiagnosticArray, "/diagnostics")
        targets = {
            arm: ros.publisher(JointTrajectory, f"/{arm}/controller/joint_trajectory")
            for arm in ARMS
        }
        ros.until(lambda: active(ros, "left") and active(ros, "right"), "active controllers")
        ros.until(
            lambda: {f"{arm}/watchdog: commands" for arm in ARMS} <= names(watchdogs), "watchdogs"
        )
        assert ros.trigger("/simulator/reset").success
        ros.until(lambda: quiet(ros, states, commands), "no message under way")
        for inbox in (*states.values(), commands):
            inbox.messages.clear()
        assert ros.trigger("/simulator/step").success
        ros.until(lambda: len(commands) > 0, "the command of the first step")
        for arm in ARMS:
            ros.until(
                lambda arm=arm: targets[arm].get_subscription_count() == 1,
                "a controller that listens",
            )
            targets[arm].publish(trajectory(arm, 0.2))
        ros.until(lambda: quiet(ros, states, commands), "no message under way")
        ros.call(SetBool, "/simulator/pause", data=False)

        def passed(moment):
            return (
                bool(len(states["right"])) and seconds(states["right"].last.header.stamp) >= moment
            )

        if kill_at is not None:
            ros.until(lambda: passed(kill_at), "the time to kill")
            child = children["left/controller"]
            child.process.send_signal(signal.SIGKILL)
            child.process.wait(SLOW)
        ros.until(lambda: passed(until), "the end")
        stamps = [seconds(message.header.stamp) for message in states["right"].messages]
        assert len(stamps) == len(set(stamps)), "no sample was repeated"
        moved = [np.array(inbox.last.position) for inbox in states.values()]
        return np.array([message.data for message in commands.messages]), moved


def active(ros, arm):
    from lifecycle_msgs.srv import GetState

    return ros.call(GetState, f"/{arm}/controller/get_state").current_state.label == "active"


def names(diagnostics):
    return {status.name for message in diagnostics.messages for status in message.status}


def quiet(ros, states, commands):
    """Whether half a second brings nothing."""
    count = len(commands) + sum(map(len, states.values()))
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        ros.spin()
    return count == len(commands) + sum(map(len, states.values()))


@pytest.mark.long
def test_killing_one_controller_changes_no_bit_of_the_others_commands(tmp_path):
    (tmp_path / "both").mkdir()
    (tmp_path / "killed").mkdir()
    both, moved = commands_of_right(tmp_path / "both", None, 4.5)
    alone, left_behind = commands_of_right(tmp_path / "killed", 0.6, 4.5)
    assert np.abs(moved[0] - left_behind[0]).max() > 0.05, "the left arm stopped half way"
    np.testing.assert_allclose(moved[1], HOME + 0.2, atol=0.02)
    count = min(len(both), len(alone))
    assert count > 2200
    np.testing.assert_array_equal(both[:count], alone[:count])
    print(f"{count} commands of the right arm are the same to the bit")
