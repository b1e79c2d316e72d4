"""The controller's laws over DDS: switched while it runs, their words and matrices, the wrench
and what hangs on it.
"""

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from geometry_msgs.msg import PoseStamped, WrenchStamped
from lockstep import LockstepRos
from ros_support import PERIOD, STEP, Controller, FakeRobot, Inbox, Ros
from std_msgs.msg import Float64MultiArray

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import Command, CommandMode
from robot_control_ros.laws.impedance import Impedance
from robot_control_ros.nodes.controller.law_cache import LawCache
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.ros.messages import fill_pose, fill_wrench, read_blocks, to_stamp

pytestmark = pytest.mark.ros

ROBOT = load_robot("ur5")
HOME = np.array(ROBOT.home)
OFFSET = np.array([0.02, -0.03, 0.04, 0.02, -0.03, 0.05])  # rad, away from the reference
FRAME = "ft_frame"
MODES = ("effort", "position", "velocity")
TARGET = "/controller/target_pose"
NAN = float("nan")


@pytest.fixture(scope="module")
def model():
    return RobotModel.of(ROBOT)


@dataclass
class Arm:
    """A fake robot, its wrench sensor and its controller, with the commands of all modes."""

    ros: Ros
    controller: Controller
    robot: FakeRobot
    model: RobotModel
    commands: dict[str, Inbox]
    states: Inbox
    sensor: Any

    def begin(self, q=HOME):
        """Start anew at rest at q (n,), and nothing older is under way; law and gains stay."""
        self.robot.q, self.robot.v = np.array(q), np.zeros(ROBOT.n)
        self.robot.time += 10.0
        self.robot.send()
        self.ros.until(self.told, "telemetry")
        assert self.controller.state == "active"  # a round trip

    def told(self):
        """Whether there is telemetry of the last joint state."""
        return (
            len(self.states)
            and abs(read_blocks(self.states.last)["time"][0] - self.robot.time) < 1e-6
        )

    def feel(self, wrench=(0.0,) * 6, stamp=None):
        """The sensor's sample; its stamp is that of the last joint state."""
        message = WrenchStamped()
        message.header.frame_id = FRAME
        message.header.stamp = to_stamp(self.robot.time if stamp is None else stamp)
        fill_wrench(message.wrench, np.array(wrench, dtype=float))
        self.sensor.publish(message)

    def move(self, q):
        """Bring the joints elsewhere, no faster than they can."""
        start = self.robot.q
        count = int(np.ceil(np.abs(q - start).max() / STEP))
        for k in range(1, count + 1):
            self.robot.q = start + k / count * (q - start)
            self.cycle()

    def cycle(self):
        """One joint state, answered on whichever topic: (mode, command, telemetry)."""
        counts = {mode: len(inbox) for mode, inbox in self.commands.items()}
        self.robot.send()

        def answered():
            return [mode for mode, inbox in self.commands.items() if len(inbox) > counts[mode]]

        self.ros.until(lambda: self.told() and answered(), "a command and its telemetry")
        (mode,) = answered()
        (command,) = self.commands[mode].messages[counts[mode] :]
        return mode, np.array(command.data), read_blocks(self.states.last)

    def cycles(self, count, wrench=None):
        """The last of so many."""
        for _ in range(count):
            if wrench is not None:
                self.feel(wrench)
            found = self.cycle()
        return found

    def until(self, condition, what, wrench=None):
        """Cycles until a condition on mode, command and telemetry holds; returns them."""
        for _ in range(2000):
            found = self.cycles(1, wrench)
            if condition(*found):
                return found
        pytest.fail(f"waited for: {what}")

    def law(self, name):
        """Set it; returns the result."""
        (result,) = self.ros.set("controller", law=name)
        return result


def make_arm(ros, model, **parameters):
    controller = Controller(ros, telemetry_rate=500.0, state_timeout=10.0, **parameters)
    sensor = ros.publisher(WrenchStamped, "/sensor/wrench")
    states = ros.subscribe(Float64MultiArray, "/controller/state")
    commands = {
        mode: ros.subscribe(Float64MultiArray, f"/forward_{mode}_controller/commands")
        for mode in MODES
    }
    arm = Arm(ros, controller, FakeRobot(ros, ROBOT), model, commands, states, sensor)
    ros.until(lambda: len(states) and sensor.get_subscription_count(), "telemetry", arm.robot.send)
    arm.begin()
    return arm


@pytest.fixture
def new_arm(new_ros, model):
    return make_arm(new_ros, model)


@pytest.fixture
def arm(new_arm):
    """At home, under impedance, without a payload."""
    plain = {"payload__mass": 0.0, "payload__center": [0.0] * 3, "wrench__convention": "on_robot"}
    assert new_arm.ros.set_atomically("controller", law="impedance", **plain).successful
    new_arm.begin()
    new_arm.cycles(2)
    return new_arm


@pytest.fixture
def new_ros(tmp_path):
    with LockstepRos(tmp_path) as ros:
        yield ros


# --- switching ---


def test_the_law_is_switched_and_its_gains_are_there_at_once(arm):
    ros = arm.ros
    assert ros.set("controller", impedance__stiffness=321.0)[0].successful
    assert arm.law("joint_impedance").successful
    mode, _, blocks = arm.cycles(2)
    assert mode == "effort"
    assert "term.feedforward" in blocks or "term.stiffness" in blocks
    assert arm.controller.ros.get("controller", "law") == "joint_impedance"
    assert ros.set("controller", joint_impedance__stiffness=77.0)[0].successful
    assert ros.get("controller", "joint_impedance.stiffness") == [77.0] * 6
    assert ros.get("controller", "impedance.stiffness") == [321.0] * 6
    assert ros.set("controller", impedance__stiffness=[500.0, 500.0, 500.0, 50.0, 50.0, 50.0])[
        0
    ].successful
    assert arm.law("impedance").successful
    assert arm.law("joint_impedance").successful
    assert ros.get("controller", "joint_impedance.stiffness") == [77.0] * 6
    assert ros.set("controller", joint_impedance__stiffness=50.0)[0].successful


@pytest.mark.long
def test_a_switched_law_has_the_gains_that_were_set_while_it_did_not_run(arm):
    assert arm.law("joint_impedance").successful
    arm.cycles(2)
    assert arm.ros.set_atomically(
        "controller", joint_impedance__stiffness=40.0, joint_impedance__damping_ratio=0.0
    ).successful
    arm.cycles(1000)
    arm.move(HOME + OFFSET)
    _, command, _ = arm.cycles(200)
    np.testing.assert_allclose(
        command, arm.model.at(HOME + OFFSET).gravity - 40.0 * OFFSET, rtol=0.0, atol=1e-3
    )
    assert arm.law("impedance").successful
    arm.cycles(2)
    assert arm.ros.set("controller", joint_impedance__stiffness=80.0)[0].successful
    assert arm.law("joint_impedance").successful
    _, command, _ = arm.cycles(1500)
    np.testing.assert_allclose(
        command, arm.model.at(HOME + OFFSET).gravity - 80.0 * OFFSET, rtol=0.0, atol=1e-3
    )
    assert arm.ros.set_atomically(
        "controller", joint_impedance__stiffness=50.0, joint_impedance__damping_ratio=1.0
    ).successful


def test_a_switch_begins_where_the_other_law_ended_and_fades(arm):
    arm.move(HOME + OFFSET)  # away from the reference: the laws command different torques here
    before = arm.cycles(300)[1]
    assert arm.law("joint_impedance").successful
    commands = [before] + [arm.cycle()[1] for _ in range(1000)]
    assert np.abs(commands[-1] - before).max() > 1.0
    np.testing.assert_allclose(commands[1], before, rtol=0.0, atol=1e-9)
    changes = np.abs(np.diff(commands, axis=0))
    assert (changes <= 0.05 * np.abs(commands[-1] - before).max()).all()  # T = 0.2 s: 1 % per cycle
    assert changes[-1].max() < 1e-3


def test_the_same_law_again_changes_nothing(arm):
    arm.move(HOME + OFFSET)
    before = arm.cycles(300)[1]
    assert arm.law("impedance").successful
    for _ in range(20):
        np.testing.assert_allclose(arm.cycle()[1], before, rtol=0.0, atol=1e-9)


def test_another_mode_is_commanded_on_its_own_topic(arm):
    arm.cycles(5)
    assert arm.law("joint_pid").successful
    mode, command, _ = arm.cycle()
    assert mode == "velocity"
    np.testing.assert_allclose(command, np.zeros(6), rtol=0.0, atol=1e-9)
    assert arm.cycles(20)[0] == "velocity"
    assert arm.law("impedance").successful
    mode, command, _ = arm.cycle()
    assert mode == "effort"
    np.testing.assert_allclose(command, arm.model.at(HOME).gravity, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nonsense", "unknown law 'nonsense'; laws: admittance, "),
        ("nowhere.to_be:Found", "can't be loaded"),
        ("", "unknown law ''"),
    ],
)
def test_a_law_that_cannot_be_is_refused_and_the_other_goes_on(arm, name, words):
    arm.move(HOME + OFFSET)
    before = arm.cycles(300)[1]
    result = arm.law(name)
    assert not result.successful
    assert words in result.reason
    assert arm.ros.get("controller", "law") == "impedance"
    np.testing.assert_allclose(arm.cycles(5)[1], before, rtol=0.0, atol=1e-9)


class Unmade(Impedance):
    def __init__(self):
        raise RuntimeError("no luck")


def test_a_law_whose_class_raises_is_refused():
    laws = LawCache(None, ROBOT, 0.2)
    with pytest.raises(ConfigError, match="Unmade' can't be made: RuntimeError: no luck"):
        laws.get(f"{__name__}:Unmade")


def test_what_is_set_together_with_something_refused_switches_nothing(arm):
    result = arm.ros.set_atomically("controller", law="joint_pid", impedance__stiffness=-1.0)
    assert not result.successful
    assert arm.ros.get("controller", "law") == "impedance"
    assert arm.cycles(5)[0] == "effort"


def test_the_safe_outputs_at_the_end_go_to_the_mode_that_runs(arm):
    assert arm.law("joint_pid").successful
    arm.cycles(5)
    counts = {mode: len(inbox) for mode, inbox in arm.commands.items()}
    assert arm.controller.change("deactivate")
    arm.ros.until(lambda: len(arm.commands["velocity"]) > counts["velocity"], "the safe output")
    arm.controller.activate()  # a round trip: nothing more is under way
    assert len(arm.commands["effort"]) == counts["effort"]
    for message in arm.commands["velocity"].messages[counts["velocity"] :]:
        np.testing.assert_array_equal(message.data, np.zeros(6))


def test_a_law_set_while_inactive_or_unconfigured_runs_from_then_on(arm):
    controller = arm.controller
    assert controller.change("deactivate")
    assert arm.law("joint_pid").successful
    controller.activate()
    arm.begin()
    assert arm.cycle()[0] == "velocity"
    assert controller.change("deactivate")
    assert controller.change("cleanup")
    assert arm.ros.get("controller", "joint_pid.p") is None  # its parameters went with it
    assert arm.law("joint_impedance").successful
    assert controller.change("configure")
    controller.activate()
    arm.begin()
    mode, command, _ = arm.cycle()
    assert mode == "effort"
    np.testing.assert_allclose(command, arm.model.at(HOME).gravity, rtol=0.0, atol=1e-9)


# --- twenty switches on a moving arm ---

# effort, velocity and position
LAWS = ("impedance", "joint_pid", "task_space_pd", "admittance", "joint_impedance")
RADIUS, TURN = 0.04, 1.5  # m, s: of the circle


@pytest.mark.long
@pytest.mark.sim
def test_twenty_switches_on_a_circle_make_no_step_beyond_the_limits(arm):
    """The simulator's physics in lockstep with the controller, while a circle is
    streamed as target poses.
    """
    plant_module = pytest.importorskip(
        "robot_control_ros.simulation.mujoco_plant", reason="the simulator needs MuJoCo"
    )
    model, plant, targets = (
        arm.model,
        plant_module.MujocoPlant(ROBOT),
        arm.ros.publisher(PoseStamped, TARGET),
    )
    arm.ros.until(lambda: targets.get_subscription_count() == 1, "the controller listens")
    rates = {
        "effort": np.array(ROBOT.effort_rate),
        "position": model.limits.velocity,
        "velocity": 4.0 * model.limits.velocity,  # full speed in a quarter of a second
    }
    center, tips, changes, used = model.at(HOME).pose, [], 0, set()
    mode, last = "effort", model.at(HOME).gravity

    def cycle(number):
        """One period; returns mode and command, checked against the last one, or else
        what the robot does.
        """
        state = plant.sample()
        arm.robot.q, arm.robot.v = state.q, state.v
        arm.feel(np.concatenate((state.wrench.force, state.wrench.torque)))
        if number % 5 == 0:
            angle, pose = 2.0 * math.pi * number * PERIOD / TURN, center.copy()
            pose[:3, 3] += RADIUS * np.array([math.sin(angle), 1.0 - math.cos(angle), 0.0])
            target = PoseStamped()
            target.header.frame_id = ROBOT.base
            fill_pose(target.pose, pose)
            targets.publish(target)
        found, command, blocks = arm.cycle()
        holding = {"effort": model.at(state.q).gravity, "position": state.q, "velocity": state.v}
        before = last if found == mode else holding[found]
        assert (np.abs(command - before) <= rates[found] * PERIOD + 1e-9).all(), (
            number,
            mode,
            found,
        )
        plant.write(Command(CommandMode(found), command))
        plant.advance()
        tips.append(model.at(state.q).pose[:3, 3])
        return found, command, blocks

    for number in range(21 * 80):
        if number % 80 == 79 and number < 20 * 80:
            result = arm.law(LAWS[(number // 80 + 1) % len(LAWS)])
            assert result.successful, result.reason
        found, last, _ = cycle(number)
        changes += found != mode
        mode = found
        used.add(found)
    assert used == set(MODES)
    assert changes == 16  # of 20, the other 4 were from one law of efforts to another
    circle = np.linalg.norm(np.array(tips) - center[:3, 3] - [0.0, RADIUS, 0.0], axis=1)
    assert circle.max() < RADIUS + 0.03
    assert np.ptp(tips, axis=0)[:2].min() > RADIUS


# --- words and matrices ---


def test_a_word_is_taken_at_once_and_another_is_refused_with_the_choices(arm):
    arm.until(
        lambda mode, command, blocks: not np.isnan(blocks["wrench"]).any(), "a wrench", np.zeros(6)
    )
    assert arm.law("admittance").successful
    arm.until(lambda mode, *_: mode == "position", "positions", np.zeros(6))
    mode, command, _ = arm.cycles(3, np.zeros(6))
    np.testing.assert_allclose(command, HOME, rtol=0.0, atol=1e-6)
    assert arm.ros.set("controller", admittance__output="velocity")[0].successful
    mode, command, _ = arm.cycles(1, np.zeros(6))
    assert mode == "velocity"
    np.testing.assert_allclose(command, np.zeros(6), rtol=0.0, atol=1e-6)
    for value in ("torque", 1.0, True, ["velocity"]):
        (result,) = arm.ros.set("controller", admittance__output=value)
        assert not result.successful
        assert "must be one of: position, velocity" in result.reason
    assert arm.ros.get("controller", "admittance.output") == "velocity"
    (described,) = arm.ros.describe("controller", "admittance.output")
    assert json.loads(described.additional_constraints)["choices"] == ["position", "velocity"]
    assert arm.ros.set("controller", admittance__output="position")[0].successful


FULL = np.diag([500.0, 400.0, 300.0, 50.0, 50.0, 50.0])
FULL[0, 1] = FULL[1, 0] = 100.0
INDEFINITE = FULL.copy()
INDEFINITE[0, 1] = INDEFINITE[1, 0] = 450.0


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (300.0, [300.0] * 6),
        (300, [300.0] * 6),
        ([300.0], [300.0] * 6),
        ([1, 2, 3, 4, 5, 6], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        (FULL.ravel().tolist(), FULL.ravel().tolist()),
    ],
    ids=["a number", "an integer", "an array of one", "six", "thirty-six"],
)
def test_a_matrix_is_one_six_or_thirty_six_numbers(arm, value, read):
    assert arm.law("task_space_pd").successful
    (result,) = arm.ros.set("controller", task_space_pd__stiffness=value)
    assert result.successful, result.reason
    assert arm.ros.get("controller", "task_space_pd.stiffness") == read


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([1.0] * 5, "must have 1, 6 (the diagonal) or 36 numbers"),
        (-1.0, "stiffness[0] = -1"),
        (INDEFINITE.ravel().tolist(), "must be positive semidefinite"),
        ([NAN] * 6, "nan"),
        ("stiff", "36 numbers"),
    ],
    ids=["five", "negative", "indefinite", "not finite", "a word"],
)
def test_a_matrix_that_cannot_be_is_refused(arm, value, words):
    assert arm.law("task_space_pd").successful
    before = arm.ros.get("controller", "task_space_pd.stiffness")
    (result,) = arm.ros.set("controller", task_space_pd__stiffness=value)
    assert not result.successful
    assert words in result.reason
    assert arm.ros.get("controller", "task_space_pd.stiffness") == before


@pytest.mark.long
def test_a_matrix_acts_with_its_off_diagonals(arm):
    assert arm.law("task_space_pd").successful
    values = {"task_space_pd__stiffness": FULL.ravel().tolist(), "task_space_pd__damping": 0.0}
    assert arm.ros.set_atomically(
        "controller", **values, task_space_pd__joint_damping=0.0
    ).successful
    arm.cycles(1500)
    arm.robot.q = HOME + 0.1 * OFFSET
    _, command, blocks = arm.cycles(50)
    kin = arm.model.at(arm.robot.q)
    error = blocks["pose_error"]
    assert np.linalg.norm(error[:3]) > 1e-3
    expected = kin.gravity + kin.jacobian.T @ FULL @ error
    np.testing.assert_allclose(command, expected, rtol=0.0, atol=1e-6)


# --- the wrench ---

FORCE = np.array([3.0, -4.0, 12.0, 0.0, 0.0, 0.0])  # 13 N


def rotated(arm, wrench):
    """Force in base axes."""
    arm.model.update(arm.robot.q, arm.robot.v)
    return arm.model.frame_pose(FRAME)[:3, :3] @ np.asarray(wrench)[:3]


def test_the_settings_of_the_wrench_act_at_once(arm):
    def felt(expected):
        return lambda mode, command, blocks: np.abs(blocks["wrench"][:3] - expected).max() < 1e-9

    force = rotated(arm, FORCE)
    arm.until(felt(force), "the wrench", FORCE)
    assert arm.ros.set("controller", wrench__convention="by_robot")[0].successful
    arm.until(felt(-force), "the other sign", FORCE)
    assert arm.ros.set_atomically(
        "controller", wrench__convention="on_robot", wrench__dead_band_force=3
    ).successful
    arm.until(felt(force * 10.0 / 13.0), "the dead-band", FORCE)
    assert arm.ros.set_atomically(
        "controller",
        wrench__dead_band_force=0.0,
        payload__mass=1.0,
        payload__center=[0.0, 0.0, 0.1],
    ).successful
    arm.until(felt(force - arm.model.gravity), "the weight", FORCE)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("source", "guess", "source = 'guess': must be one of: sensor, joint_effort"),
        ("convention", "sideways", "must be one of: on_robot, by_robot"),
        ("low_pass", NAN, "nan"),
    ],
)
def test_a_setting_of_the_wrench_that_cannot_be_is_refused(arm, name, value, words):
    before = arm.ros.get("controller", f"wrench.{name}")
    (result,) = arm.ros.set("controller", **{f"wrench__{name}": value})
    assert not result.successful
    assert words in result.reason
    assert arm.ros.get("controller", f"wrench.{name}") == before


def push_over(arm, wrench):
    """Under admittance, pushed until it has given way; the robot goes where it is commanded to."""

    def follow(mode, command, blocks):
        arm.robot.q = command if mode == "position" else arm.robot.q
        return mode == "position" and np.abs(command - HOME).max() > 0.01

    arm.until(
        lambda mode, command, blocks: not np.isnan(blocks["wrench"]).any(), "a wrench", np.zeros(6)
    )
    assert arm.law("admittance").successful
    return arm.until(follow, "the arm gives way", wrench)


def test_admittance_holds_while_the_wrench_is_silent_and_goes_on_when_it_comes_back(arm):
    push_over(arm, 2.0 * FORCE)
    for _ in range(60):  # 0.12 s by the stamps, without a wrench
        _, held, blocks = arm.cycle()
    assert np.isnan(blocks["wrench"]).all()
    arm.robot.q = held + 1e-3 * OFFSET  # it gives way to a load
    for _ in range(20):
        mode, command, _ = arm.cycle()
        assert mode == "position"
        np.testing.assert_array_equal(command, held)
    reason = arm.controller.says(
        "law admittance: the last wrench is", "old: must be at most max_age", again=arm.cycle
    )
    assert "max_age = 0.08 s" in reason
    assert arm.controller.diagnosis()[2]["wrench"].startswith("the last wrench is")
    arm.until(
        lambda m, command, b: np.abs(command - held).max() > 5e-3, "it gives way again", 2.0 * FORCE
    )

    def well():
        arm.cycles(20, np.zeros(6))
        level, _, values = arm.controller.diagnosis()
        return level != 2 and values["wrench"] == "fresh"

    arm.controller.diagnostics.messages.clear()
    arm.ros.until(
        lambda: len(arm.controller.diagnostics), "diagnostics", lambda: arm.cycles(20, np.zeros(6))
    )
    arm.ros.until(well, "no more complaints")


@pytest.mark.parametrize("stamp", [0.0, 1234.5])
def test_a_wrench_that_is_always_the_same_message_stops_the_law_and_is_told(arm, stamp):
    push_over(arm, 2.0 * FORCE)
    arm.controller.diagnostics.messages.clear()

    def cycle():
        arm.feel(2.0 * FORCE, stamp)
        return arm.cycle()

    for _ in range(60):  # 0.12 s by the stamps
        _, held, _ = cycle()
    for _ in range(20):
        np.testing.assert_array_equal(cycle()[1], held)
    arm.controller.says("law admittance: the last wrench is", again=cycle)
    assert "must" in arm.controller.diagnosis()[2]["wrench sensor"]
    assert "has the sensor's driver stopped?" in arm.controller.child.err


@pytest.mark.parametrize("size", [1001.0, 1e6, 1e100])
def test_a_force_beyond_the_sensors_range_stops_the_law_with_words(arm, size):
    push_over(arm, 2.0 * FORCE)
    beyond = np.array([0.0, 0.0, size, 0.0, 0.0, 0.0])
    _, held, _ = arm.cycles(60, beyond)
    for _ in range(20):
        np.testing.assert_array_equal(arm.cycles(1, beyond)[1], held)
    arm.controller.says(
        "wrench: force = ", "wrench.range_force", again=lambda: arm.cycles(1, beyond)
    )
    arm.until(
        lambda m, command, b: np.abs(command - held).max() > 5e-3, "it gives way again", 2.0 * FORCE
    )


def test_two_publishers_of_a_wrench_are_told_and_a_law_that_needs_it_is_not_begun(arm):
    push_over(arm, 2.0 * FORCE)
    other = arm.ros.publisher(WrenchStamped, "/sensor/wrench")
    arm.controller.says(
        "2 publish a wrench on /sensor/wrench", again=lambda: arm.cycles(20, np.zeros(6))
    )
    arm.law("impedance")
    result = arm.law("admittance")
    assert not result.successful
    assert "2 publish a wrench on /sensor/wrench" in result.reason
    other.destroy()


def test_a_wrench_that_came_before_any_joint_state_ages_too(arm):
    arm.controller.change("deactivate")
    arm.controller.change("cleanup")
    arm.law("admittance")
    arm.controller.change("configure")
    arm.controller.activate()
    arm.ros.until(lambda: arm.sensor.get_subscription_count() == 1, "the new subscription")
    for _ in range(5):
        arm.feel(FORCE)
    assert arm.controller.state == "active"  # a round trip: nothing more is under way
    arm.begin()
    _, _, blocks = arm.cycle()
    np.testing.assert_allclose(blocks["wrench"][:3], rotated(arm, FORCE), rtol=0.0, atol=1e-9)
    assert np.isnan(arm.cycles(60)[2]["wrench"]).all()


def test_a_wrench_that_is_not_finite_is_refused_and_the_last_good_one_stays(arm):
    force = rotated(arm, FORCE)
    arm.until(
        lambda m, c, blocks: np.abs(blocks["wrench"][:3] - force).max() < 1e-9, "the wrench", FORCE
    )
    arm.controller.diagnostics.messages.clear()
    for _ in range(3):
        arm.feel([0.0, NAN, 0.0, 0.0, 0.0, 0.0])
    _, _, blocks = arm.cycles(5)
    np.testing.assert_allclose(blocks["wrench"][:3], force, rtol=0.0, atol=1e-9)
    arm.controller.says(
        "wrench: force", "nan", again=lambda: arm.feel([0.0, NAN, 0.0, 0.0, 0.0, 0.0])
    )


# --- what hangs on the sensor ---

MASS, CENTER = 1.3, np.array([0.01, -0.02, 0.06])  # kg, m in the sensor's frame
BIAS = np.array([2.0, -1.0, 0.5, 0.1, -0.05, 0.02])  # N, N·m
POSES = [
    HOME + offset
    for offset in (
        [0.0] * 6,
        [0, 0, 0, 0.8, 0, 0],
        [0, 0, 0, -0.8, 0, 0],
        [0, 0, 0, 0, 0.8, 0],
        [0, 0, 0, 0, -0.8, 0.5],
        [0, 0, 0, 0.6, 0.6, 1.0],
        [0, 0, 0, -0.6, 0.6, -1.0],
    )
]


def hanging(arm, q):
    """What the sensor shows at rest at q (n,)."""
    arm.model.update(q, np.zeros(6))
    weight = MASS * arm.model.frame_pose(FRAME)[:3, :3].T @ [0.0, 0.0, -9.81]
    return BIAS + np.concatenate((weight, np.cross(CENTER, weight)))


def in_tip(arm, point):
    """A point (3,) in the sensor's frame, in the tip's frame."""
    arm.model.update(HOME, np.zeros(6))
    tip, sensor = arm.model.frame_pose(arm.model.tip), arm.model.frame_pose(FRAME)
    return (np.linalg.inv(tip) @ sensor @ [*point, 1.0])[:3]


def go(arm, q):
    """Be there, with the sensor's wrench of there."""
    arm.begin(q)
    wrench = hanging(arm, q)
    arm.until(lambda m, c, blocks: not np.isnan(blocks["wrench"]).any(), "a wrench", wrench)
    arm.cycles(10, wrench)


def test_a_payload_is_identified_and_taken_out(arm):
    ros = arm.ros
    answer = ros.trigger("/controller/identify_payload")
    assert not answer.success
    assert "no payload samples" in answer.message
    for number, q in enumerate(POSES, 1):
        go(arm, q)
        answer = ros.trigger("/controller/add_payload_sample")
        assert answer.success, answer.message
        assert answer.message == f"{number} samples"
        if number == 5:
            answer = ros.trigger("/controller/identify_payload")
            assert not answer.success
            assert "poses = 5: must be at least 6" in answer.message
    answer = ros.trigger("/controller/identify_payload")
    assert answer.success, answer.message
    assert "mass 1.3000 kg" in answer.message
    assert ros.get("controller", "payload.mass") == pytest.approx(MASS, rel=1e-6)
    np.testing.assert_allclose(
        ros.get("controller", "payload.center"), in_tip(arm, CENTER), rtol=0.0, atol=1e-6
    )
    for q in (POSES[1], HOME + [0.3, 0.2, -0.2, 0.4, -0.5, 2.0]):
        go(arm, q)
        wrench = arm.cycles(3, hanging(arm, q))[2]["wrench"]
        np.testing.assert_allclose(wrench, np.zeros(6), rtol=0.0, atol=1e-6)
    push = hanging(arm, POSES[1]) + [0.0, 0.0, 7.0, 0.0, 0.0, 0.0]
    go(arm, POSES[1])
    felt = arm.cycles(10, push)[2]["wrench"]
    assert np.linalg.norm(felt[:3]) == pytest.approx(7.0, abs=1e-6)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"mass": -1.0}, "payload.mass"),
        ({"mass": NAN}, "payload.mass"),
        ({"mass": 1.0, "center": [0.0, 0.0, 3.0]}, "center[2] = 3"),
        ({"mass": 1.0, "center": [0.0, 0.0]}, "center has 2 values"),
        ({"mass": 1.0, "inertia": [0.1, 0.1, 0.3, 0.0, 0.0, 0.0]}, "inertia = 0.3"),
        ({"mass": 100.0}, "wrist_1_joint = "),
    ],
)
def test_a_payload_that_cannot_be_or_cannot_be_held_here_is_refused_as_a_whole(arm, values, word):
    result = arm.ros.set_atomically(
        "controller", **{f"payload__{name}": value for name, value in values.items()}
    )
    assert not result.successful
    assert word in result.reason
    assert arm.ros.get("controller", "payload.mass") == 0.0
    assert list(arm.ros.get("controller", "payload.center")) == [0.0, 0.0, 0.0]


def test_a_payload_is_in_the_torques_and_in_diagnostics_once_it_is_told(arm):
    assert arm.law("gravity_compensation").successful
    arm.cycles(300)
    bare = arm.cycles(1)[1]
    assert arm.ros.set_atomically(
        "controller", payload__mass=2, payload__center=[0.0, 0.0, 0.1]
    ).successful
    heavy = RobotModel.of(ROBOT.with_payload(2.0, (0.0, 0.0, 0.1))).at(HOME).gravity
    first = arm.cycles(1)[1]
    assert np.abs(first - bare).max() < 0.1
    np.testing.assert_allclose(
        arm.cycles(1000)[1] - bare, heavy - arm.model.at(HOME).gravity, rtol=0.0, atol=1e-3
    )
    diagnostics = arm.controller.diagnostics
    diagnostics.messages.clear()
    arm.ros.until(lambda: len(diagnostics), "diagnostics", arm.robot.send)
    assert "2 kg" in arm.controller.diagnosis()[2]["payload"]


def test_the_old_names_of_a_payload_are_refused_with_the_new_ones(new_ros):
    child = Controller(new_ros, **{"wrench.payload_mass": 1.0}).child
    new_ros.until(
        lambda: "payload.mass has taken the place of payload_mass" in child.err, "the refusal"
    )


def test_joint_torques_give_the_payload_where_they_are_the_source_of_the_wrench(arm):
    ros = arm.ros
    assert ros.set("controller", wrench__source="joint_effort")[0].successful
    heavy = RobotModel.of(ROBOT.with_payload(MASS, (0.0, 0.0, 0.08)))
    for number, q in enumerate((*POSES, HOME + 0.3, HOME - [0.2, 0.3, 0.4, -0.2, 0.3, 0.0]), 1):
        arm.robot.effort = heavy.at(q).gravity
        arm.begin(q)
        arm.cycles(3)
        answer = ros.trigger("/controller/add_payload_sample")
        assert answer.success, answer.message
        assert answer.message == f"{number} samples"
    answer = ros.trigger("/controller/identify_payload")
    assert answer.success, answer.message
    assert ros.get("controller", "payload.mass") == pytest.approx(MASS, rel=1e-6)
    np.testing.assert_allclose(
        ros.get("controller", "payload.center"), [0.0, 0.0, 0.08], rtol=0.0, atol=1e-6
    )


def test_a_payload_sample_needs_rest_and_a_fresh_wrench(arm):
    go(arm, POSES[0])
    arm.robot.v = np.full(6, 0.05)
    arm.cycles(5, hanging(arm, POSES[0]))
    answer = arm.ros.trigger("/controller/add_payload_sample")
    assert not answer.success
    assert "velocity = 0.05 rad/s" in answer.message
    arm.robot.v = np.zeros(6)
    arm.cycles(60)
    answer = arm.ros.trigger("/controller/add_payload_sample")
    assert not answer.success
    assert "the last wrench is" in answer.message


# --- other controllers ---


def test_a_law_that_the_hardware_cannot_take_is_refused_with_the_way_out(new_ros, model):
    arm = make_arm(new_ros, model, profile="real", law="joint_pid")
    # or else it looks like a driver that has lost the robot
    arm.robot.noise = np.random.default_rng(1)
    for name in ("impedance", "task_space_pd"):
        result = arm.law(name)
        assert not result.successful
        assert f"law {name} commands effort" in result.reason
        assert "A UR5 (CB3) has no effort interface: use " in result.reason
        assert arm.ros.get("controller", f"{name}.stiffness") is None
    arm.until(
        lambda mode, command, blocks: not np.isnan(blocks["wrench"]).any(), "a wrench", np.zeros(6)
    )
    assert arm.law("admittance").successful
    result = arm.ros.set("controller", admittance__output="effort")[0]
    assert not result.successful
    assert "output = 'effort': must be one of: position, velocity" in result.reason
    assert arm.law("position_domain_pd").successful  # its output is chosen as the robot takes it
    assert arm.ros.get("controller", "position_domain_pd.output") == "position"
    result = arm.ros.set("controller", position_domain_pd__output="effort")[0]
    assert not result.successful
    assert "has no effort interface" in result.reason
    assert arm.cycles(3)[0] == "position"


def test_a_law_that_needs_a_wrench_is_refused_where_there_is_none_and_the_running_one_goes_on(arm):
    arm.cycles(5, np.zeros(6))
    arm.cycles(60)  # longer than a wrench may be old
    result = arm.law("admittance")
    assert not result.successful
    for words in (
        "law admittance: the last wrench is ",
        "topic wrench",
        "wrench.source to joint_effort",
    ):
        assert words in result.reason
    assert arm.cycles(3)[0] == "effort"
    assert arm.ros.get("controller", "law") == "impedance"


def test_gains_given_at_the_start_go_to_laws_that_come_later(new_ros, model):
    arm = make_arm(new_ros, model, **{"joint_impedance.stiffness": 66})
    assert arm.law("joint_impedance").successful
    assert arm.ros.get("controller", "joint_impedance.stiffness") == [66.0] * 6


def test_an_unknown_gain_of_any_law_given_at_the_start_ends_the_controller(new_ros):
    child = Controller(new_ros, **{"joint_pid.nonsense": 1.0}).child
    assert child.end() == 1
    assert "joint_pid.nonsense" in child.err
    assert "joint_pid.anti_windup" in child.err


def test_a_setting_that_is_refused_at_the_start_leaves_nothing_behind(new_ros):
    controller = Controller(new_ros, autostart=False, **{"wrench.max_age": 99.0})
    # the second time as the first: no parameter and no topic of the first is in the way
    for _ in range(2):
        assert not controller.change("configure")
        new_ros.until(lambda: "not configured: " in controller.child.err, "a reason")
        assert "max_age" in controller.child.err
        assert "already" not in controller.child.err
        assert controller.state == "unconfigured"
        assert new_ros.get("controller", "impedance.stiffness") is None
        assert new_ros.node.count_subscribers("/joint_states") == 0
