"""Our controller beside ros2_control's: whoever is activated, and in which order, the joints never
jump.

A look-alike of the controller manager has a simulated arm; see managed_robot.py.
"""

import itertools

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from lockstep import LockstepRos
from managed_robot import FORWARD, TRAJECTORY, ManagedRobot, managed_robot, use_stand_in
from rclpy.logging import LoggingSeverity
from ros_support import Controller
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_control_ros.core.types import CommandMode
from robot_control_ros.robot.model import RobotModel

pytestmark = [pytest.mark.ros, pytest.mark.sim]

RATE = 250.0  # Hz
DT = 1.0 / RATE
LAWS = {
    CommandMode.EFFORT: "impedance",
    CommandMode.POSITION: "position_domain_pd",
    CommandMode.VELOCITY: "joint_pid",
}
JUMP = np.array([0.3, 0.0, 0.0, 0.0, 0.0, 0.0])  # rad, of targets


class Setup:
    """A managed arm under its trajectory controller, and our controller, which waits for its
    forward controller.
    """

    def __init__(self, ros, folder, mode):
        path, self.robot = managed_robot(folder, RATE, mode)
        self.ros, self.mode, self.forward = ros, mode, FORWARD[mode]
        self.limits = RobotModel.of(self.robot).limits
        self.arm = ManagedRobot(ros, self.robot)
        self.sent = ros.subscribe(Float64MultiArray, f"/{self.forward}/commands")
        self.arm.switch([TRAJECTORY])
        self.ours = Controller(
            ros, robot=path, profile="managed", law=LAWS[mode], state_timeout=10.0
        )
        self.target = ros.publisher(JointState, "/controller/target_joint")
        ros.until(lambda: self.ours.state == "active", "an active controller")
        ros.until(lambda: len(self.sent), "a command")

    def passed(self, seconds):
        """Let simulated time pass."""
        until = len(self.arm.q) + round(seconds * RATE)
        self.ros.until(lambda: len(self.arm.q) >= until, f"{seconds} s of the arm")

    def send_target(self, offset):
        self.target.publish(
            JointState(name=list(self.robot.joints), position=(self.arm.q[-1] + offset).tolist())
        )

    def give_to(self, name, strict=True):
        """Let one controller have the joints, by one switch."""
        active = [
            each for each, state in self.arm.states.items() if state == "active" and each != name
        ]
        if self.arm.states[name] != "active":
            assert self.arm.switch([name], active, strict)

    def check(self, begin):
        """No step of our commands, and no joint, was faster than the limits since an update."""
        ours = [
            command
            for name, command in self.arm.commands[begin:]
            if name == self.forward and command is not None
        ]
        values = np.array([command.values for command in ours])
        first = next(
            k
            for k, (name, command) in enumerate(self.arm.commands)
            if k >= begin and command is ours[0]
        )
        steps = np.abs(np.diff(values, axis=0)).max(axis=0)
        if self.mode is CommandMode.POSITION:
            begun = np.abs(values[0] - self.arm.q[first])
            allowed = self.limits.velocity * DT
        elif self.mode is CommandMode.VELOCITY:
            begun = np.abs(values[0] - self.arm.v[first])
            # a quarter of a second from rest to the limit
            allowed = 4.0 * self.limits.velocity * DT
        else:
            begun = np.abs(values[0] - RobotModel.of(self.robot).at(self.arm.q[first]).gravity)
            allowed = np.array(self.robot.effort_rate) * DT
        assert (steps <= 3.0 * allowed * (1.0 + 1e-6)).all()  # an update may miss two of them
        assert (begun <= 3.0 * allowed).all()
        assert (np.abs(self.arm.v[begin:]) <= self.limits.velocity).all()


MODES = [
    pytest.param(mode, marks=pytest.mark.long if mode is CommandMode.VELOCITY else ())
    for mode in CommandMode
]


@pytest.fixture(params=MODES, ids=lambda mode: mode.value, scope="module")
def setup(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("managed")
    with pytest.MonkeyPatch.context() as patch, LockstepRos(folder) as ros:
        use_stand_in(ros, patch, "controller_manager_msgs")
        yield Setup(ros, folder, request.param)


EVERY = list(
    itertools.product(("before", "after", "none"), (False, True), (True, False), (False, True))
)
USUAL = [("before", False, True, False), EVERY[-1]]


@pytest.mark.parametrize(
    ("target", "hold", "strict", "restart"),
    [case if case in USUAL else pytest.param(*case, marks=pytest.mark.long) for case in EVERY],
)
def test_the_joints_never_jump(setup, target, hold, strict, restart):
    """Whatever comes before the forward controller is activated: a target, hold, our
    controller's activation.
    """
    setup.give_to(TRAJECTORY)
    setup.ours.change("deactivate") if restart else None
    begin = len(setup.arm.q)
    if restart and target == "none":
        setup.give_to(setup.forward, strict)
        setup.ours.activate()
    else:
        if restart:
            setup.ours.activate()
        if target == "before":
            for _ in range(5):
                setup.send_target(JUMP)
                setup.passed(0.05)
        if hold:
            assert setup.ros.trigger("/controller/hold").success
        setup.give_to(setup.forward, strict)
    place = setup.arm.q[-1]
    setup.passed(0.3)
    if target == "after":
        setup.ros.until(
            lambda: np.abs(setup.arm.v[-1]).max() > 0.05, "motion", lambda: setup.send_target(JUMP)
        )
        setup.passed(0.5)
    else:
        assert np.abs(setup.arm.q[-1] - place).max() < 0.01
    setup.check(begin)


def severities(ros, words):
    """Of the controller's lines in the log with these words, in their order."""
    return [
        severity
        for name, severity, text in ros.graph.lines
        if name == "controller" and words in text
    ]


def test_a_law_that_waits_for_its_forward_controller_at_the_start_is_no_warning_and_one_that_lost_it_is(
    setup,
):
    rests = f"rests: {setup.forward}"
    setup.ros.until(lambda: severities(setup.ros, rests), "the word at the start")
    assert severities(setup.ros, rests)[0] == LoggingSeverity.INFO
    setup.give_to(setup.forward)
    setup.passed(1.0)
    count = len(severities(setup.ros, rests))
    setup.give_to(TRAJECTORY)
    setup.ros.until(lambda: len(severities(setup.ros, rests)) > count, "the word that it was lost")
    assert severities(setup.ros, rests)[-1] == LoggingSeverity.WARN


def test_targets_are_refused_while_another_controller_has_the_joints(setup):
    setup.give_to(TRAJECTORY)
    setup.ours.says(setup.forward, again=lambda: setup.send_target(JUMP))
    assert not setup.ros.trigger("/controller/go_home").success


@pytest.mark.few(1)
def test_while_it_rests_its_commands_follow_an_arm_that_others_move(setup):
    setup.give_to(TRAJECTORY)
    setup.arm.move(setup.arm.q[-1] + 0.3, 1.0)
    setup.passed(1.2)
    setup.sent.messages.clear()
    setup.ros.until(lambda: len(setup.sent) > 3, "commands")
    q = setup.arm.q[-1]
    hold = {
        CommandMode.POSITION: q,
        CommandMode.VELOCITY: np.zeros(6),
        CommandMode.EFFORT: RobotModel.of(setup.robot).at(q).gravity,
    }[setup.mode]
    np.testing.assert_allclose(setup.sent.last.data, hold, atol=0.05)
    begin = len(setup.arm.q)
    setup.give_to(setup.forward)
    setup.passed(0.3)
    assert np.abs(setup.arm.q[-1] - q).max() < 0.01
    setup.check(begin)


def test_a_manager_that_is_started_again_finds_a_law_that_rests(setup):
    setup.give_to(setup.forward)
    setup.passed(0.1)
    setup.arm.kill()
    setup.arm.start()
    begin = len(setup.arm.q)
    setup.ours.says(setup.forward, again=lambda: setup.send_target(JUMP))
    place = setup.arm.q[-1]
    setup.give_to(setup.forward)
    setup.passed(0.3)
    assert np.abs(setup.arm.q[-1] - place).max() < 0.01
    setup.check(begin)


@pytest.mark.long
def test_a_killed_controller_gives_the_robot_to_the_fallback_controller_and_the_watchdog_says_so(
    tmp_path, monkeypatch
):
    with LockstepRos(tmp_path) as ros:
        use_stand_in(ros, monkeypatch, "controller_manager_msgs")
        setup = Setup(ros, tmp_path, CommandMode.POSITION)
        watchdog = ros.start(
            "watchdog", {"robot": str(tmp_path / "managed.yaml"), "profile": "managed"}
        )
        setup.give_to(setup.forward)

        def says(text):
            statuses = [
                status for message in setup.ours.diagnostics.messages for status in message.status
            ]
            return any(
                status.name.startswith("watchdog") and text in status.message for status in statuses
            )

        ros.until(lambda: says("watching"), "a watchdog that watches")
        begin = len(setup.arm.q)
        setup.ours.child.process.kill()
        ros.until(lambda: setup.arm.states[TRAJECTORY] == "active", "the fallback controller")
        setup.ours.diagnostics.messages.clear()
        ros.until(lambda: says(TRAJECTORY), "a watchdog that says who has the robot")
        assert not says("nobody")
        assert watchdog.err.count("is active") == 1
        setup.check(begin)
