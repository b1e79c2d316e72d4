"""The controller before forward controllers on mock hardware: drives the joints, or is
refused before they move.
"""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from geometry_msgs.msg import PoseStamped
from mock_hardware import RATE, WRENCH, MockHardware
from robot_trials import page_script
from ros_support import Controller, Inbox
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray

from robot_control_ros import Push, Robot
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.ros.messages import fill_pose, read_blocks

pytestmark = pytest.mark.ros

MODES = ("effort", "position", "velocity")
TOPICS = {mode: f"/forward_{mode}_controller/commands" for mode in MODES}
RUNNING = "io_and_status_controller/robot_program_running"


def make_controller(ros, robot, law, **parameters):
    shared = {"rate": RATE, "state_timeout": 10.0}
    return Controller(
        ros, WRENCH, robot=robot.name, profile=robot.profile_name, law=law, **shared, **parameters
    )


def listen(ros):
    """What is sent to the forward controllers of all modes."""
    return {mode: ros.subscribe(Float64MultiArray, topic) for mode, topic in TOPICS.items()}


def joint_target(ros, robot, q):
    """Sends a target of the joints (n,) each time it is called; the first ones may come
    before anybody listens.
    """
    publisher = ros.publisher(JointState, "/controller/target_joint")
    message = JointState(name=list(robot.joints), position=q.tolist())
    return lambda: publisher.publish(message)


def tip_target(ros, robot, pose):
    """The same with a pose (4, 4) of the tip."""
    publisher, message = ros.publisher(PoseStamped, "/controller/target_pose"), PoseStamped()
    message.header.frame_id = robot.base
    fill_pose(message.pose, pose)
    return lambda: publisher.publish(message)


def another_place(robot):
    """Joint angles (n,) away from home, and the tip's pose there."""
    q = np.array(robot.home) + 0.1 * np.cos(np.arange(robot.n))
    return q, RobotModel.of(robot).at(q).pose


def check_speeds(hardware):
    """Every joint kept its velocity limit."""
    speeds = np.abs(np.diff(hardware.path, axis=0)) * RATE
    assert (speeds <= RobotModel.of(hardware.robot).limits.velocity * (1.0 + 1e-6)).all()
    assert speeds.max() > 0.02


# --- position laws drive the joints ---


@pytest.mark.parametrize(
    ("name", "law", "mode"),
    [
        ("ur5", "admittance", "position"),
        ("ur5", "position_domain_pd", "position"),
        ("ur5", "joint_pid", "velocity"),
        pytest.param("gen3", "admittance", "position", marks=pytest.mark.long),
        pytest.param("gen3", "position_domain_pd", "position", marks=pytest.mark.long),
    ],
)
def test_a_law_of_position_or_velocity_drives_the_joints_to_the_target(ros, name, law, mode):
    robot = load_robot(name, "mock")
    hardware, sent = MockHardware(ros, robot, mode).start(), listen(ros)
    states = ros.subscribe(Float64MultiArray, "/controller/state")
    controller = make_controller(ros, robot, law)
    q, pose = another_place(robot)
    telemetry(ros, states, "wrench", lambda values: np.isfinite(values).all())
    ros.until(lambda: len(sent[mode]), "the first command")
    start = np.array(robot.home) if mode == "position" else np.zeros(robot.n)
    np.testing.assert_allclose(sent[mode].messages[0].data, start, rtol=0.0, atol=1e-6)

    send = tip_target(ros, robot, pose) if law == "admittance" else joint_target(ros, robot, q)
    model = RobotModel.of(robot)

    def arrived():
        if law == "admittance":  # the tip; a seventh joint may be anywhere
            return np.abs(model.at(hardware.q).pose - pose).max() < 1e-3
        return np.abs(hardware.q - q).max() < 1e-3

    ros.until(arrived, "the target", send)
    check_speeds(hardware)
    assert {other for other in MODES if len(sent[other])} == {mode}
    assert controller.state == "active"


# --- effort laws are refused ---


@pytest.mark.parametrize("name", ["ur5", pytest.param("gen3", marks=pytest.mark.long)])
def test_effort_laws_are_refused_before_anything_moves(ros, name):
    robot = load_robot(name, "mock")
    hardware, sent = MockHardware(ros, robot).start(), listen(ros)
    ros.until(lambda: len(hardware.path) > 1, "joint states")
    controller = make_controller(ros, robot, "admittance", autostart=False)
    for law in ("impedance", "joint_impedance"):
        assert ros.set("controller", law=law)[0].successful  # a choice, for the next configuration
        assert not controller.change("configure")
        refusal = f"law {law} commands effort, but {robot.description} (profile mock) takes only: position, velocity. "
        words = f"not configured: {refusal}{robot.profile.remedy}"
        ros.until(lambda words=words: words in controller.child.err, "the refusal and the way out")
        assert controller.state == "unconfigured"
        assert not controller.change("activate")
        assert not any(ros.node.get_publishers_info_by_topic(topic) for topic in TOPICS.values())

    count = len(hardware.path)
    ros.until(lambda: len(hardware.path) > count + 5, "more joint states")
    assert [len(sent[mode]) for mode in MODES] == [0, 0, 0]
    assert (np.array(hardware.path) == np.array(robot.home)).all()


def test_a_controller_that_was_to_start_by_itself_then_ends(ros):
    robot = load_robot("ur5", "mock")
    sent = listen(ros)
    MockHardware(ros, robot).start()
    child = make_controller(ros, robot, "impedance").child
    assert child.end() == 1
    assert robot.profile.remedy in child.err
    ros.spin()
    assert [len(sent[mode]) for mode in MODES] == [0, 0, 0]


@pytest.mark.long
def test_a_switch_to_an_effort_law_is_refused_and_the_arm_goes_on(ros):
    robot = load_robot("ur5", "mock")
    hardware, sent = MockHardware(ros, robot).start(), listen(ros)
    make_controller(ros, robot, "position_domain_pd")
    q, _ = another_place(robot)
    ros.until(lambda: len(sent["position"]), "the first command")
    ros.until(lambda: np.abs(hardware.v).max() > 0.05, "motion", joint_target(ros, robot, q))
    for values, words in (
        ({"law": "impedance"}, "law impedance commands effort"),
        ({"position_domain_pd__output": "effort"}, "law position_domain_pd commands effort"),
    ):
        (result,) = ros.set("controller", **values)
        assert not result.successful
        assert words in result.reason
        assert robot.profile.remedy in result.reason
    assert ros.get("controller", "law") == "position_domain_pd"
    assert np.abs(hardware.q - q).max() > 0.01  # still under way
    ros.until(lambda: np.abs(hardware.q - q).max() < 1e-3, "the target")
    check_speeds(hardware)
    assert len(sent["effort"]) == 0


def test_a_switch_to_a_mode_whose_commands_nobody_takes_is_refused_and_the_arm_goes_on(ros):
    robot = load_robot("ur5")
    hardware, sent = (
        MockHardware(ros, robot).start(),
        ros.subscribe(Float64MultiArray, "/controller/state"),
    )
    make_controller(ros, robot, "position_domain_pd", **{"position_domain_pd.output": "position"})
    ros.until(lambda: len(sent), "telemetry")
    (result,) = ros.set("controller", law="impedance")
    assert not result.successful
    assert "nobody takes effort commands on /forward_effort_controller/commands" in result.reason
    assert ros.get("controller", "law") == "position_domain_pd"
    count = len(hardware.path)
    ros.until(lambda: len(hardware.path) > count + 10, "more joint states")
    assert len(ros.node.get_publishers_info_by_topic("/controller/state")) == 1


# --- activation ---


def test_activation_says_what_is_missing_until_all_is_there(ros):
    robot = load_robot("ur5", "mock")
    hardware = MockHardware(ros, robot)
    controller = make_controller(ros, robot, "admittance", autostart=False, check_system=False)
    # unchecked it needs nothing
    for transition in ("configure", "activate", "deactivate", "cleanup"):
        assert controller.change(transition)
    assert ros.set("controller", check_system=True)[0].successful
    assert controller.change("configure")

    def refused(*words):
        """Try until the refusal has these words; it must not succeed."""
        before = len(controller.child.err)

        def attempt():
            assert not controller.change("activate")
            text = controller.child.err[before:]
            return "not activated: " in text and all(word in text for word in words)

        ros.until(attempt, f"a refusal with {words}")
        assert controller.state == "inactive"

    start = (
        "Start ros2_control mock hardware: ros2 launch robot_control_ros mock.launch.py robot:=ur5"
    )
    refused(
        "nobody publishes joint states on /joint_states", "nobody takes position commands", start
    )
    hardware.publish_states()
    refused(
        "not activated: nobody takes position commands on /forward_position_controller/commands",
        "ros2 run controller_manager spawner forward_position_controller --inactive",
    )
    hardware.take_commands()
    refused(
        f"not activated: law admittance needs a wrench, and nobody publishes one on {WRENCH}",
        "broadcaster",
    )
    rival = ros.publisher(Float64MultiArray, "/forward_position_controller/commands")
    refused(
        "needs a wrench",
        "/test publishes commands on /forward_position_controller/commands, too",
        "Stop it",
    )
    hardware.publish_wrenches()
    refused(
        "not activated: /test publishes commands on /forward_position_controller/commands, too",
        "Stop it",
    )
    ros.node.destroy_publisher(rival)
    controller.activate()
    ros.until(lambda: len(hardware.path) > 10, "joint states and commands")


@pytest.mark.long
def test_a_controller_waits_in_words_for_its_robot_and_then_starts(ros):
    robot = load_robot("ur5", "mock")
    controller = make_controller(ros, robot, "admittance")
    ros.until(lambda: "waiting: nobody publishes joint states" in controller.child.err, "words")
    assert robot.profile.start in controller.child.err
    assert controller.state == "inactive"
    hardware = MockHardware(ros, robot).start()
    ros.until(lambda: controller.state == "active", "activation")
    place = hardware.q
    ros.until(lambda: len(hardware.path) > 50, "joint states and commands")
    np.testing.assert_allclose(hardware.q, place, rtol=0.0, atol=1e-6)


# --- what a real robot's profile says ---


def test_while_the_robot_executes_no_commands_the_law_rests_and_then_starts_anew(ros):
    robot = load_robot("ur5", "real")
    assert robot.profile.running_topic == RUNNING
    hardware, sent = MockHardware(ros, robot).start(), listen(ros)["position"]
    hardware.effort = None
    running = ros.publisher(Bool, RUNNING, latched=True)
    running.publish(Bool(data=True))
    controller = make_controller(ros, robot, "position_domain_pd")
    ros.until(lambda: len(sent), "the first command")
    q, _ = another_place(robot)
    ros.until(lambda: np.abs(hardware.v).max() > 0.05, "motion", joint_target(ros, robot, q))

    hardware.taking = False
    running.publish(Bool(data=False))
    ros.until(lambda: "law position_domain_pd rests" in controller.child.err, "words")
    hardware.q = hardware.q - 0.2  # moved on the pendant
    ros.until(
        lambda: np.abs(np.array(sent.last.data) - hardware.q).max() < 1e-6,
        "commands where the robot is",
    )
    answer = ros.trigger("/controller/go_home")
    assert not answer.success
    assert f"executes no commands, as /{RUNNING} says" in answer.message
    controller.says("executes no commands", again=joint_target(ros, robot, q))

    place, count = hardware.q, len(sent)
    hardware.taking = True
    running.publish(Bool(data=True))
    ros.until(lambda: "its commands are executed" in controller.child.err, "words")
    ros.until(lambda: len(sent) > count + 50, "commands")
    for message in sent.messages[count:]:
        np.testing.assert_allclose(message.data, place, rtol=0.0, atol=1e-6)
    assert ros.trigger("/controller/go_home").success
    ros.until(lambda: np.abs(hardware.q - np.array(robot.home)).max() < 1e-3, "home")


def test_a_robot_that_already_stands_still_is_not_commanded_elsewhere(ros):
    robot = load_robot("ur5", "real")
    hardware, sent = MockHardware(ros, robot).start(), listen(ros)["position"]
    hardware.effort, hardware.taking = None, False
    ros.publisher(Bool, RUNNING, latched=True).publish(Bool(data=False))
    controller = make_controller(ros, robot, "position_domain_pd")
    ros.until(
        lambda: "rests: the robot executes no commands" in controller.child.err and len(sent),
        "words and commands",
    )
    hardware.q = hardware.q + 0.3
    ros.until(
        lambda: np.abs(np.array(sent.last.data) - hardware.q).max() < 1e-6,
        "commands where the robot is",
    )


def telemetry(ros, states: Inbox, name, condition):
    """A block of ~/state that fulfils a condition."""

    def found():
        return len(states) and condition(read_blocks(states.last)[name])

    ros.until(found, f"telemetry of {name}")
    return read_blocks(states.last)[name]


def test_a_wrench_in_a_frame_that_the_profile_translates_is_taken_and_motor_currents_are_no_torques(
    ros,
):
    robot = load_robot("ur5", "real")
    hardware = MockHardware(ros, robot).start()
    hardware.effort, hardware.frame, hardware.force = (
        None,
        "tool0_controller",
        np.array([0.0, 0.0, -2.0]),
    )
    states = ros.subscribe(Float64MultiArray, "/controller/state")
    make_controller(ros, robot, "position_domain_pd")
    wrench = telemetry(ros, states, "wrench", lambda values: np.isfinite(values).all())
    axes = RobotModel.of(robot).at(np.array(robot.home)).pose[:3, :3]  # of tool0 in the base
    np.testing.assert_allclose(wrench[:3], axes @ hardware.force, rtol=0.0, atol=1e-3)
    assert np.isnan(read_blocks(states.last)["effort"]).all()
    (result,) = ros.set("controller", wrench__source="joint_effort")
    assert not result.successful
    assert "joint states have no torques" in result.reason


def test_reversed_torques_are_turned(ros):
    robot = load_robot("gen3", "real")
    hardware = MockHardware(ros, robot).start()
    hardware.effort = None
    sent = ros.subscribe(JointState, "/joint_states")
    states = ros.subscribe(Float64MultiArray, "/controller/state")
    make_controller(ros, robot, "position_domain_pd")
    telemetry(ros, states, "effort", lambda values: np.isfinite(values).all())
    blocks = read_blocks(states.last)
    stamped = {
        round(m.header.stamp.sec + m.header.stamp.nanosec * 1e-9, 6): m for m in sent.messages
    }
    message = stamped[round(blocks["time"][0], 6)]
    measured = dict(zip(message.name, message.effort, strict=True))
    np.testing.assert_allclose(
        blocks["effort"], [-measured[joint] for joint in robot.joints], rtol=0.0, atol=1e-12
    )


# --- the script of docs/robot.md ---


@pytest.mark.long
@pytest.mark.sim
def test_the_script_of_the_page_ends_where_it_ends_in_the_simulation(ros, tmp_path, monkeypatch):
    """On joints that are where they are sent, with a sensor that is pushed with 20 N once the
    script has softened.
    """
    pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)
    hardware = MockHardware(ros, load_robot("ur5", "mock")).start()
    make_controller(ros, hardware.robot, "admittance")
    demonstrate, pushed = page_script(), np.inf
    with Robot("ur5", timeout=60.0, lost_after=60.0) as robot:

        def push():
            nonlocal pushed
            if pushed == np.inf and robot.gains["stiffness"][0] == 300.0:
                pushed = hardware.time + 0.5
            hardware.force = np.array([20.0 * (pushed <= hardware.time < pushed + 1.0), 0.0, 0.0])

        ros.node.create_timer(0.01, push)
        end = demonstrate(robot)
    with Robot.simulated(
        "ur5", "admittance", push=Push((20.0, 0.0, 0.0), start=4.0, duration=1.0)
    ) as simulated:
        in_process = demonstrate(simulated)
    assert np.linalg.norm(end.pose[:3, 3] - in_process.pose[:3, 3]) < 1e-3
    assert np.abs(end.pose[:3, :3] - in_process.pose[:3, :3]).max() < 1e-3
