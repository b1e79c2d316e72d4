"""While a controller is active nothing is compiled, nor loaded from the cache of what was.

The nodes run in lockstep. It stands here because each test here has a process of its own, in which
nothing is compiled yet.
"""

from dataclasses import replace

import numba
import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from lockstep import LockstepRos
from numba.core import event
from ros_support import Controller, FakeRobot
from std_msgs.msg import Float64MultiArray

from robot_control_ros.control.command_watchdog import CommandWatchdog
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import Command, CommandMode, RobotState
from robot_control_ros.laws import law_names
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.ros.messages import fill_pose, fill_wrench, to_stamp

pytestmark = pytest.mark.ros

ROBOT = load_robot("ur5")
HOME = np.array(ROBOT.home)
LOCK = "numba:compiler_lock"  # Numba takes it to compile a function, and to load one


class Arm:
    """A controller, and what it gets."""

    def __init__(self, ros):
        self.ros = ros
        self.robot = FakeRobot(ros, ROBOT)
        self.robot.noise = np.random.default_rng(1)
        for mode in ("position", "velocity"):
            ros.subscribe(Float64MultiArray, f"/forward_{mode}_controller/commands")
        self.sensor = ros.publisher(WrenchStamped, "/sensor/wrench")
        self.targets = ros.publisher(PoseStamped, "/controller/target_pose")
        self.twists = ros.publisher(TwistStamped, "/controller/target_twist")
        self.controller = Controller(ros, state_timeout=10.0)
        ros.until(
            lambda: len(self.robot.commands) and self.sensor.get_subscription_count(),
            "a command",
            self.send,
        )

    def send(self, force=1.0):
        """A joint state, with a wrench of the same time."""
        wrench = WrenchStamped()
        wrench.header.frame_id = ROBOT.wrench_frame
        fill_wrench(wrench.wrench, np.array([force, 0.0, 0.0, 0.0, 0.0, 0.0]))
        message = self.robot.message()
        wrench.header.stamp = to_stamp(self.robot.time)
        self.sensor.publish(wrench)
        self.robot.send(message)

    def cycles(self, count=30, **sample):
        for _ in range(count):
            self.send(**sample)
            self.ros.spin(0.002)

    def move(self):
        """Targets of the tip, twists, and home."""
        pose = RobotModel.of(ROBOT).at(HOME + 0.02).pose
        target = PoseStamped()
        target.header.frame_id = ROBOT.base
        fill_pose(target.pose, pose)
        self.targets.publish(target)
        self.cycles()
        twist = TwistStamped()
        twist.header.frame_id = ROBOT.base
        twist.twist.linear.x = 0.02
        self.twists.publish(twist)
        self.cycles()
        self.ros.trigger("/controller/go_home")
        self.cycles()
        self.ros.trigger("/controller/hold")
        self.cycles()


@pytest.fixture
def ros(tmp_path):
    with LockstepRos(tmp_path) as ros:
        yield ros


def laws():
    for law in law_names(plugins=False):
        try:
            yield law, RunningLaw(ROBOT, law)
        except ConfigError:  # a law that this robot can't have
            continue


def test_nothing_is_compiled_over_laws_gains_targets_contacts_and_faults(ros):
    arm = Arm(ros)
    with event.install_recorder(LOCK) as heard:
        assert numba.njit(lambda number: number)(1.0) == 1.0
    assert heard.buffer != []
    with event.install_recorder(LOCK) as meanwhile:
        for law, running in laws():
            assert ros.set("controller", law=law)[0].successful, law
            arm.cycles()
            arm.move()
            for spec in running.gains.specs:
                value = getattr(running.gains.target, spec.name)
                if isinstance(value, float) and not spec.switch:
                    ros.set("controller", **{f"{law}__{spec.name}": 0.9 * value})
                for word in () if spec.links else spec.choices:
                    ros.set("controller", **{f"{law}__{spec.name}": word})
                    arm.cycles(5)
            arm.cycles()
        assert ros.set("controller", law="impedance")[0].successful
        arm.cycles()
        contacts = {
            "contact__collision_torque": 1.0,
            "contact__collision_force": 5.0,
            "contact__reaction": "brake",
        }
        assert ros.set_atomically("controller", **contacts).successful
        arm.cycles(500)
        arm.cycles(force=80.0)
        ros.trigger("/controller/clear_contact")
        arm.cycles()
        arm.robot.v = np.full(ROBOT.n, np.nan)
        arm.cycles()
        arm.robot.v = np.zeros(ROBOT.n)
        arm.cycles()
        for k in range(200):
            arm.robot.v = np.full(ROBOT.n, 0.3 * np.cos(2.0 * np.pi * 20.0 * 0.002 * k))
            arm.cycles(1)
        arm.robot.v = np.full(ROBOT.n, 2.0)  # soft limits brake it
        arm.cycles()
        arm.robot.v = np.zeros(ROBOT.n)
        arm.robot.time += 10.0
        arm.cycles()
        assert arm.controller.state == "active"
        assert len(arm.robot.commands) > 500
        assert arm.controller.change("deactivate")
    assert meanwhile.buffer == []


@pytest.mark.parametrize("mode", CommandMode)
def test_nothing_is_compiled_where_a_watchdog_takes_the_robot_over(mode):
    model = RobotModel.of(ROBOT)
    watchdog = CommandWatchdog(ROBOT, model, timeout=0.05, state_timeout=0.1, simulated=False)
    values = HOME if mode is CommandMode.POSITION else np.zeros(ROBOT.n)
    state = RobotState(0.0, HOME, np.zeros(ROBOT.n), np.zeros(ROBOT.n))
    with event.install_recorder(LOCK) as meanwhile:
        assert watchdog.on_state(state, 0.0) is None
        assert watchdog.on_command(Command(mode, values), 0.0)
        sent = [
            watchdog.on_state(replace(state, time=time), time)
            for time in np.arange(0.01, 0.3, 0.01)
        ]
        assert sent[-1] is not None
        assert watchdog.poll(1.0) is not None
    assert meanwhile.buffer == []
