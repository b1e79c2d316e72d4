"""The driver against a robot in lockstep: what it starts, sends, limits, refuses and tells."""

import math

import numpy as np
import pytest
from fake_franka import HOME, INERTIA, LOST, NOTHING, FakeFranka

from robot_control_ros.core.errors import ConfigError, HardwareFault
from robot_control_ros.core.types import Command, CommandMode
from robot_control_ros.fieldbus.driver_class import driver_class
from robot_control_ros.fieldbus.franka.franka_connection import FlangeBody
from robot_control_ros.fieldbus.franka.franka_driver import FrankaDriver
from robot_control_ros.fieldbus.franka.limits import velocity_limits
from robot_control_ros.fieldbus.process.pacing import Timing
from robot_control_ros.fieldbus.supervisor import Action, SupervisorLimits
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

FR3 = load_robot("fr3", "franka")
LIMITS = SupervisorLimits(bad_cycles=2, stale_after=0.04)
EFFORT, POSITION = CommandMode.EFFORT, CommandMode.POSITION


class AtOnce:
    """What is asked for between two cycles is done at once: there is one thread."""

    def add(self, action):
        action()

    def call(self, action):
        return action()


class Session:
    """A driver and its robot; the driver's cycles as the bus process runs them.

    Args:
        law: Function of a state that returns the command, or None.
    """

    def __init__(self, law=None, robot=FR3, options=None, prepare=True):
        self.robot = FakeFranka()
        self.timing = Timing()
        self.law = law or (lambda state: Command(EFFORT, np.zeros(7)))
        self.refused = ""
        self.driver = FrankaDriver(
            robot,
            "192.0.2.1",
            options or {},
            LIMITS,
            self.timing,
            AtOnce(),
            connection=self.robot,
            clock=self.robot.clock,
        )
        if prepare:
            self.driver.prepare()
            self.driver.operate()

    def cycles(self, count=1):
        for _ in range(count):
            if self.driver.sense():
                state = self.driver.state(self.robot.time)
                try:
                    self.driver.command(self.law(state), self.robot.time)
                except ConfigError as error:
                    self.refused = str(error)
            self.driver.act()

    def ask(self, name):
        return self.driver.requests[name]()

    def enabled(self):
        self.cycles(LIMITS.good_cycles + 1)
        self.ask("enable")
        self.cycles(4)
        assert self.driver.action is Action.RUN
        return self

    @property
    def report(self):
        return self.driver.describe()


def spring(goal, stiffness=20.0, damping=8.0):
    """A law that draws each joint to its goal."""
    scale = INERTIA
    return lambda state: Command(EFFORT, scale * (stiffness * (goal - state.q) - damping * state.v))


# --- start ---


def test_it_is_the_driver_of_the_bus_franka():
    assert driver_class("franka") is FrankaDriver


def test_connecting_moves_nothing():
    session = Session()
    session.cycles(100)
    assert session.robot.commands == []
    assert session.driver.action is Action.DISABLE
    assert session.report["stopped"] is False


def test_the_thresholds_of_the_reflex_are_set():
    session = Session(options={"collision_torque": [30.0], "collision_force": [50.0, 12.0]})
    torque, force = session.robot.collisions
    np.testing.assert_array_equal(torque, [30.0] * 7)
    np.testing.assert_array_equal(force, [50.0] * 3 + [12.0] * 3)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"collision_torque": [1.0, 2.0]}, "collision_torque"),
        ({"collision_torque": [-1.0]}, "collision_torque"),
        ({"collision_force": [1.0]}, "collision_force"),
        ({"colision_force": [1.0]}, "option"),
        ({"wrench_from": "sensor"}, "wrench_from"),
    ],
)
def test_an_option_that_cant_be_is_refused(options, name):
    with pytest.raises(ConfigError) as error:
        Session(options=options, prepare=False)
    assert error.value.name == name


def test_a_robot_of_six_joints_is_refused():
    with pytest.raises(ConfigError) as error:
        Session(robot=load_robot("ur5e"), prepare=False)
    assert error.value.name == "joints"


def test_nothing_is_enabled_without_a_controller():
    session = Session()
    for _ in range(40):
        session.driver.sense()
        session.driver.act()
    with pytest.raises(ConfigError, match="no fresh command"):
        session.ask("enable")
    assert "start effort" not in session.robot.log


# --- torques ---


def test_an_enabled_arm_follows_the_law():
    goal = HOME + np.array([0.1, -0.05, 0.1, 0.05, 0.1, -0.1, 0.2])
    session = Session(spring(goal)).enabled()
    session.cycles(4000)
    np.testing.assert_allclose(session.robot.q, goal, rtol=0, atol=1e-4)
    assert session.robot.mode == "Move"
    assert not session.report["causes"]


def test_the_first_torque_is_none_and_no_step_is_larger_than_the_robot_takes():
    session = Session(lambda state: Command(EFFORT, np.full(7, 10.0))).enabled()
    session.cycles(3)
    sent = np.array(session.robot.commands)
    assert not sent[0].any()
    assert np.abs(np.diff(sent, axis=0)).max() <= 1.0


def test_random_commands_and_lost_states_never_break_the_torque_rate(rng):
    session = Session(lambda state: Command(EFFORT, rng.normal(scale=5.0, size=7))).enabled()
    session.robot.drops.extend(bool(each) for each in rng.random(3000) > 0.05)
    session.robot.skips.extend(int(each) for each in rng.integers(0, 4, 3000))
    session.cycles(1500)
    assert "controller_torque_discontinuity" not in session.robot.motion_errors
    assert session.driver.counters()["limited commands"] > 0


def test_a_joint_that_is_pushed_hard_stays_below_its_velocity_limit():
    push = np.array([20.0, 0, 0, 0, 0, 0, 0])
    session = Session(lambda state: Command(EFFORT, push)).enabled()
    session.cycles(600)
    assert session.robot.motion_errors == ()
    _, highest = velocity_limits(session.robot.q)
    assert 0.8 * highest[0] < session.robot.v[0] < highest[0]
    assert session.driver.counters()["braked before a velocity limit"] > 0


def test_states_that_the_process_missed_are_counted():
    session = Session().enabled()
    before = session.driver.overruns
    session.robot.skips.extend([3, 0, 2])
    session.cycles(3)
    assert session.driver.overruns - before == 5
    assert session.driver.action is Action.RUN


# --- positions ---


def test_a_position_law_moves_the_arm_within_the_robots_limits():
    goal = HOME + 0.1

    def law(state):
        law.time += 0.001
        share = min(1.0, law.time / 2.0)
        return Command(POSITION, HOME + (goal - HOME) * (3 * share**2 - 2 * share**3))

    law.time = -0.03
    session = Session(lambda state: Command(POSITION, HOME))
    session.enabled()
    session.law = law
    session.cycles(3000)
    assert session.robot.motion_errors == ()
    np.testing.assert_allclose(session.robot.q, goal, rtol=0, atol=1e-5)


def test_a_position_that_jumps_stops_the_arm():
    session = Session(lambda state: Command(POSITION, HOME)).enabled()
    session.law = lambda state: Command(POSITION, HOME + 0.2)
    session.cycles(200)
    assert session.report["stopped"]
    assert "jumps" in session.report["causes"][0]
    assert np.abs(session.robot.q - HOME).max() < 0.05


def test_a_resting_arm_changes_from_torques_to_positions():
    session = Session(spring(HOME)).enabled()
    session.cycles(50)
    session.law = lambda state: Command(POSITION, session.robot.taken[0])
    session.cycles(100)
    assert session.robot.log[-2:] == ["finish", "start position"]
    assert session.driver.action is Action.RUN


def test_a_moving_arm_doesnt_change_from_torques_to_positions():
    session = Session(spring(HOME + 0.5)).enabled()
    session.cycles(300)
    assert np.abs(session.robot.v).max() > 0.1
    session.law = lambda state: Command(POSITION, state.q)
    session.cycles(5)
    assert "only at rest" in session.refused
    assert "start position" not in session.robot.log


def test_velocities_are_refused():
    session = Session()
    with pytest.raises(ConfigError) as error:
        session.driver.command(Command(CommandMode.VELOCITY, np.zeros(7)), 0.0)
    assert error.value.bound == ("effort", "position")


@pytest.mark.parametrize("values", [np.zeros(6), np.full(7, np.nan)])
def test_a_command_that_is_no_command_is_refused_and_the_last_one_stays(values):
    session = Session(spring(HOME)).enabled()
    with pytest.raises(ConfigError):
        session.driver.command(Command(EFFORT, values), session.robot.time)
    session.cycles(10)
    assert session.driver.action is Action.RUN


# --- stops and recovery ---


def test_disabling_ends_the_motion_in_order():
    session = Session(spring(HOME)).enabled()
    session.ask("disable")
    session.cycles(5)
    assert session.robot.log[-1] == "finish"
    assert session.robot.mode == "Idle"


def test_a_quick_stop_brakes_the_arm_and_then_lets_go():
    session = Session(spring(HOME + 0.5)).enabled()
    session.cycles(300)
    assert np.abs(session.robot.v).max() > 0.1
    session.ask("quick_stop")
    session.cycles(800)
    assert session.robot.log[-1] == "finish"
    assert session.driver.action is Action.DISABLE


def test_a_law_that_is_silent_stops_the_arm():
    session = Session(spring(HOME)).enabled()
    for _ in range(100):
        session.driver.sense()
        session.driver.act()
    assert session.report["stopped"]
    assert "last command" in session.report["causes"][0]
    assert session.robot.mode == "Idle"


@pytest.mark.parametrize(
    "name",
    ["joint_reflex", "cartesian_reflex", "power_limit_violation", "joint_velocity_violation"],
)
def test_each_reflex_of_the_robot_is_told_and_recovered_only_on_request(name):
    session = Session(spring(HOME)).enabled()
    session.robot.end_by(name)
    session.cycles(50)
    assert session.report["stopped"]
    assert name in session.report["causes"][0]
    assert "~/reset_fault" in session.report["drives"][0]["failure"]
    with pytest.raises(ConfigError, match=name):
        session.ask("enable")
    assert "recover" not in session.robot.log
    session.ask("reset_fault")
    session.cycles(30)
    session.ask("enable")
    session.cycles(4)
    assert session.driver.action is Action.RUN


def test_a_stall_ends_in_the_robots_own_stop_and_is_told():
    session = Session(spring(HOME)).enabled()
    session.robot.skips.append(LOST + 5)
    session.cycles(3)
    assert session.robot.mode == "Reflex"
    assert "communication_constraints_violation" in session.report["causes"][0]
    assert "real-time" in session.report["causes"][0]


def test_a_shorter_stall_goes_on():
    session = Session(spring(HOME)).enabled()
    session.robot.skips.append(LOST // 2)
    session.cycles(10)
    assert session.driver.action is Action.RUN


def test_a_stop_button_is_told_and_not_recovered_by_software():
    session = Session(spring(HOME)).enabled()
    session.robot.press_stop()
    session.cycles(30)
    assert "User Stop" in session.report["causes"][0]
    with pytest.raises(ConfigError, match="enabling switch"):
        session.ask("enable")


def test_states_that_dont_come_stop_the_arm():
    session = Session(spring(HOME)).enabled()
    session.robot.drops.extend([False] * 2)
    session.cycles(3)
    assert "no state from the robot" in session.report["causes"][0]


def test_a_lost_connection_is_told():
    session = Session(spring(HOME)).enabled()
    session.robot.lost_connection = "the connection to the robot is lost: see the cable"
    session.cycles(5)
    assert session.report["stopped"]
    with pytest.raises((ConfigError, HardwareFault)):
        session.ask("enable")


def test_recovery_of_a_running_arm_is_refused():
    session = Session(spring(HOME)).enabled()
    with pytest.raises(ConfigError):
        session.ask("reset_fault")
    assert "recover" not in session.robot.log


def test_closing_a_moving_arm_stops_it_first():
    session = Session(spring(HOME + 0.5)).enabled()
    session.cycles(300)
    session.driver.close()
    assert session.robot.log[-2:] == ["finish", "close"]


# --- payload ---


def test_the_payload_of_the_robots_file_is_sent_before_the_arm_is_enabled():
    carrying = FR3.with_payload(1.0, (0.0, 0.0, 0.05))
    session = Session(robot=carrying).enabled()
    assert session.robot.load.mass == pytest.approx(1.0)
    np.testing.assert_allclose(session.robot.load.center, (0, 0, 0.05), rtol=0, atol=1e-12)


def test_a_robot_that_carries_something_else_isnt_enabled_under_torques():
    carrying = FR3.with_payload(1.0, (0.0, 0.0, 0.05))
    session = Session(robot=carrying, options={"set_load": False})
    session.cycles(30)
    with pytest.raises(ConfigError) as error:
        session.ask("enable")
    assert error.value.name in FR3.joints
    assert abs(error.value.value) > 4.0
    assert session.driver.action is Action.DISABLE


def test_a_load_that_the_robot_didnt_take_is_noticed():
    session = Session(robot=FR3.with_payload(1.0, 0.0))
    session.robot.load = NOTHING
    session.robot.deaf_to_load = True
    session.cycles(30)
    with pytest.raises(ConfigError, match="torque error"):
        session.ask("enable")


def test_positions_need_no_payload():
    carrying = FR3.with_payload(1.0, (0.0, 0.0, 0.05))
    session = Session(lambda state: Command(POSITION, HOME), carrying, {"set_load": False})
    session.enabled()


def test_an_end_effector_in_desk_that_the_model_lacks_is_a_warning_then_a_refusal():
    session = Session(prepare=False)
    session.robot.end_effector = FlangeBody(0.73, np.array([0.0, 0.0, 0.03]), 0.001 * np.eye(3))
    session.driver.prepare()
    session.driver.operate()
    assert "0.730 kg" in session.driver.warnings[0]
    session.cycles(30)
    with pytest.raises(ConfigError) as error:
        session.ask("enable")
    assert error.value.name == "end_effector"


# --- wrench, report ---


def test_the_wrench_is_exerted_on_the_robot_at_the_flange():
    session = Session(prepare=False)
    frame = np.eye(4)
    frame[:3, :3] = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    frame[:3, 3] = 0.0, 0.0, 0.1
    session.robot.stiffness_frame = frame
    session.driver.prepare()
    session.driver.operate()
    session.robot.wrench = np.array([2.0, 0.0, 0.0, 0.0, 0.0, 0.5])  # by the robot, in K
    session.cycles()
    wrench = session.driver.state(1.0).wrench
    assert wrench.frame == "fr3_link8"
    np.testing.assert_allclose(wrench.force, (0.0, -2.0, 0.0), rtol=0, atol=1e-12)
    # a force along -y at 0.1 m along z turns about +x
    np.testing.assert_allclose(wrench.torque, (0.2, 0.0, -0.5), rtol=0, atol=1e-12)


def test_where_the_robot_estimates_no_wrench_there_is_none():
    session = Session()
    session.cycles()
    assert session.driver.state(1.0).wrench is None


def test_a_wrench_of_the_external_torques_is_the_one_that_acts_on_the_tip():
    session = Session(options={"wrench_from": "torques"})
    model = RobotModel.of(FR3)
    kin = model.update(HOME, 0 * HOME)
    acting = np.array([5.0, -3.0, 8.0, 0.4, 0.2, -0.3])  # base axes
    session.robot.push = -kin.jacobian.T @ acting  # the robot tells what it exerts
    session.cycles()
    wrench = session.driver.state(1.0).wrench
    assert wrench.frame == FR3.tip
    rotation = kin.pose[:3, :3]
    np.testing.assert_allclose(rotation @ wrench.force, acting[:3], rtol=0, atol=1e-6)
    np.testing.assert_allclose(rotation @ wrench.torque, acting[3:], rtol=0, atol=1e-6)


def test_the_report_has_each_joint_in_order_and_plain_data():
    session = Session().enabled()
    report = session.report
    assert [drive["joint"] for drive in report["drives"]] == list(FR3.joints)
    for drive in report["drives"]:
        assert {"joint", "state", "error", "failure", "values"} <= set(drive)
    assert report["facts"]["mode of the robot"] == "Move"
    assert all(
        isinstance(number, (int, float)) and math.isfinite(number)
        for number in session.driver.counters().values()
    )


def test_cycles_are_timed_from_the_arrival_of_the_states():
    session = Session().enabled()
    session.cycles(100)
    assert session.timing.count > 100
    assert session.timing.on_time == pytest.approx(1.0)
