"""The simulator node, over DDS, under commands that the test gives."""

import re
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from geometry_msgs.msg import PointStamped, WrenchStamped
from lockstep import LockstepRos
from rclpy.qos import QoSProfile, qos_profile_sensor_data
from ros_support import Child, Ros, ended_cleanly
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool
from visualization_msgs.msg import Marker, MarkerArray

from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.ros.messages import seconds, vector

pytestmark = [pytest.mark.ros, pytest.mark.sim]

ROBOT = load_robot("ur5")
HOME = np.array(ROBOT.home)
PERIOD = 0.002  # s, at the 500 Hz of the robot's profile
MODES = ("effort", "position", "velocity")


@dataclass
class Simulator:
    """A simulator process, and what goes to and comes from it.

    Attributes:
        law: the command for a joint state, sent at once: mode and values, or a JointState; or None.
    """

    ros: Ros
    child: Child
    commands: dict[str, Any]
    joint_commands: Any
    push: Any
    states: Any = None
    wrenches: Any = None
    clocks: Any = None
    law: Any = None

    def send(self, mode, values):
        self.commands[mode].publish(Float64MultiArray(data=[float(value) for value in values]))

    def answer(self, state):
        command = None if self.law is None else self.law(state)
        if isinstance(command, JointState):
            self.joint_commands.publish(command)
        elif command is not None:
            self.send(*command)

    def follow(self, law, condition, what, again=None):
        """Answer every joint state by the law until the condition holds for
        the last joint state.
        """
        self.states.messages.clear()
        self.law = law
        try:
            self.ros.until(lambda: len(self.states) and condition(self.states.last), what, again)
        finally:
            self.law = None
        self.pause(False)  # a round trip: no command is under way any more

    def pause(self, on=True):
        answer = self.ros.call(SetBool, "/simulator/pause", data=on)
        assert answer.success
        return answer.message

    def pause_at_start(self):
        """Pause one step after a reset, with no older joint state or wrench under way."""
        self.ros.until(lambda: seconds(self.states.last.header.stamp) > 0.05, "the simulation runs")
        self.pause()
        for inbox in (self.states, self.wrenches):
            del inbox.messages[:-1]
        assert self.ros.trigger("/simulator/reset").success
        assert self.ros.trigger("/simulator/step").success
        for inbox in (self.states, self.wrenches):
            self.ros.until(lambda inbox=inbox: self.begins_anew(inbox), "the first step")

    @staticmethod
    def begins_anew(inbox):
        """Whether time went back between two messages; what was before is then taken away."""
        stamps = [seconds(message.header.stamp) for message in inbox.messages]
        backward = [at for at in range(1, len(stamps)) if stamps[at] < stamps[at - 1]]
        if backward:
            del inbox.messages[: backward[-1]]
        return bool(backward)

    def step(self):
        """One step of a paused simulation; its joint state and wrench are then the last ones."""
        count = len(self.states)
        assert self.ros.trigger("/simulator/step").success
        for inbox in (self.states, self.wrenches):
            self.ros.until(lambda inbox=inbox: len(inbox) > count, "the message of a step")


def make_simulator(ros, **parameters):
    child = ros.start("simulator", parameters)
    commands = {
        mode: ros.publisher(Float64MultiArray, f"/forward_{mode}_controller/commands")
        for mode in MODES
    }
    joint_commands = ros.publisher(JointState, "joint_commands")
    simulator = Simulator(
        ros, child, commands, joint_commands, ros.publisher(WrenchStamped, "/simulator/push")
    )
    simulator.wrenches = ros.subscribe(WrenchStamped, "/force_torque_sensor_broadcaster/wrench")
    simulator.clocks = ros.subscribe(Clock, "/clock")
    simulator.states = ros.subscribe(JointState, "joint_states", on_message=simulator.answer)
    for publisher in (*commands.values(), joint_commands, simulator.push):
        ros.until(
            lambda publisher=publisher: publisher.get_subscription_count() == 1,
            "the simulator listens",
        )
    for inbox, what in (
        (simulator.states, "states"),
        (simulator.wrenches, "wrenches"),
        (simulator.clocks, "clocks"),
    ):
        ros.until(lambda inbox=inbox: len(inbox), what)
    return simulator


@pytest.fixture(scope="module")
def shared_simulator(tmp_path_factory):
    with LockstepRos(tmp_path_factory.mktemp("simulator")) as ros:
        yield make_simulator(ros)


@pytest.fixture
def simulator(shared_simulator):
    """At home, held, running; with no joint state or wrench of the test before under way."""
    shared_simulator.pause(False)
    shared_simulator.pause_at_start()
    np.testing.assert_allclose(position(shared_simulator.states.last), HOME, rtol=0.0, atol=1e-5)
    shared_simulator.pause(False)
    return shared_simulator


def position(state):
    return np.array(state.position)


def velocity(state):
    return np.array(state.velocity)


# --- outputs ---


def test_names_and_frames_are_those_of_the_robot(simulator):
    state, wrench = simulator.states.last, simulator.wrenches.last
    assert tuple(state.name) == ROBOT.joints
    assert len(state.position) == len(state.velocity) == len(state.effort) == ROBOT.n
    assert wrench.header.frame_id == "ft_frame"


def test_the_description_is_there_for_whoever_comes_late(simulator):
    descriptions = simulator.ros.subscribe(String, "robot_description", latched=True)
    simulator.ros.until(lambda: len(descriptions), "the description")
    assert descriptions.last.data == ROBOT.urdf()


def test_a_wrench_goes_with_every_joint_state_and_a_clock_with_every_fifth(simulator):
    simulator.pause_at_start()
    last = 50
    for _ in range(last - 1):
        simulator.step()

    def stamps(inbox, of):
        return [round(seconds(of(message)) / PERIOD) for message in inbox.messages]

    assert stamps(simulator.states, lambda message: message.header.stamp) == list(
        range(1, last + 1)
    )
    assert stamps(simulator.wrenches, lambda message: message.header.stamp) == list(
        range(1, last + 1)
    )
    for _ in range(last):
        simulator.step()
    simulator.ros.until(lambda: len(clock_steps(simulator)) == 2 * last // 5, "the clocks")
    found = clock_steps(simulator)
    assert found[0] <= 5
    assert np.diff(found).tolist() == [5] * (2 * last // 5 - 1)


def clock_steps(simulator):
    """The simulated times on /clock since the last reset, in periods."""
    steps = [round(seconds(message.clock) / PERIOD) for message in simulator.clocks.messages]
    return steps[max((at for at in range(1, len(steps)) if steps[at] < steps[at - 1]), default=0) :]


# --- commands ---


def test_position_commands_move_the_joints_there(simulator):
    goal = HOME + [0.2, -0.1, 0.1, 0.3, -0.2, 0.4]

    def law(state):  # a little further each time: no servo is asked to jump
        way = goal - position(state)
        return "position", position(state) + np.clip(way, -0.01, 0.01)

    simulator.follow(law, lambda state: np.abs(position(state) - goal).max() < 1e-3, "the goal")


def test_velocity_commands_move_the_joints_at_that_speed(simulator):
    wanted = np.array([0.1, -0.05, 0.05, 0.1, -0.1, 0.2])

    def moving(state):
        return np.abs(velocity(state) - wanted).max() < 1e-3 and position(state)[5] > HOME[5] + 0.05

    simulator.follow(lambda state: ("velocity", wanted), moving, "the speed")
    assert (np.sign(position(simulator.states.last) - HOME) == np.sign(wanted)).all()


def test_effort_commands_are_the_torques_that_act(simulator):
    model = RobotModel.of(ROBOT)

    def law(state):
        return "effort", model.at(position(state)).gravity + [0.0, 0.0, 0.0, 0.0, 0.0, 0.5]

    def turned(state):
        return position(state)[5] > HOME[5] + 0.1

    simulator.follow(law, turned, "the last joint turns as it is driven")
    state = simulator.states.last
    assert velocity(state)[5] > 0.1
    np.testing.assert_allclose(
        state.effort[5], model.at(position(state)).gravity[5] + 0.5, rtol=0.0, atol=1e-3
    )
    np.testing.assert_allclose(position(state)[:3], HOME[:3], rtol=0.0, atol=0.02)


def test_silence_makes_the_joints_hold(simulator):
    wanted = np.full(ROBOT.n, 0.1)
    simulator.follow(
        lambda state: ("velocity", wanted), lambda state: velocity(state)[0] > 0.09, "the speed"
    )
    states = simulator.states

    def at_rest():  # for 0.5 s of simulated time
        last = states.messages[-250:]
        return len(last) == 250 and np.abs([velocity(state) for state in last]).max() < 1e-4

    simulator.ros.until(at_rest, "rest")
    held = [position(state) for state in states.messages[-250:]]
    assert np.ptp(held, axis=0).max() < 1e-5


@pytest.mark.few(2)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("values", "words"), [([0.5], "[0.5]"), ([0.5] * 5 + [float("nan")], "nan")]
)
def test_a_command_that_cannot_be_is_refused_in_words_and_moves_nothing(
    simulator, mode, values, words
):
    expected = f"refused: {mode} command = [{', '.join(map(str, values))}]: must be 6 finite numbers, one per joint"
    assert words in expected
    simulator.states.messages.clear()
    simulator.ros.until(
        lambda: expected in simulator.child.err, expected, lambda: simulator.send(mode, values)
    )
    simulator.ros.next(simulator.states, "a joint state")
    for state in simulator.states.messages:
        np.testing.assert_allclose(position(state), HOME, rtol=0.0, atol=1e-5)


# --- commands as JointState ---

SWAPPED = (4, 0, 5, 2, 1, 3)  # the robot's joints in the order of the sender's
DOCUMENTATION = Path(__file__).parents[2] / "docs" / "simulator.md"
BEHIND = dict(re.findall(r"-r (\S+):=(\S+)", DOCUMENTATION.read_text()))  # remappings


def joint_command(**values):
    """Arrays in the robot's order, sent in another one."""
    message = JointState(name=[ROBOT.joints[joint] for joint in SWAPPED])
    for kind, array in values.items():
        setattr(message, kind, [float(array[joint]) for joint in SWAPPED])
    return message


class TopicBasedInterface:
    """Plays ros2_control's topic-based hardware interface under a controller manager with
    use_sim_time.

    It publishes what joint_state_topic_hardware_interface 1.1.0 does
    (ros-controls/topic_based_hardware_interfaces, src/joint_state_topic_hardware_interface.cpp)
    with trigger_joint_command_threshold -1: an array for each command interface, all joints in
    each, NaN until a controller writes to it.

    Attributes:
        commands: (n,) for each command interface, in the robot's order.
        now: time of the last joint state [s].
    """

    def __init__(self, ros, *interfaces):
        self.commands = {interface: np.full(ROBOT.n, np.nan) for interface in interfaces}
        self.states, self.now, self.controller = [], None, None
        self._publisher = ros.node.create_publisher(
            JointState, "/robot/joint_commands", QoSProfile(depth=1)
        )
        ros.node.create_subscription(
            JointState, "/robot/joint_states", self._read, qos_profile_sensor_data
        )
        ros.node.create_timer(0.004, self._write)

    def _read(self, state):
        self.states.append(state)
        self.now = seconds(state.header.stamp)

    def _write(self):
        if self.now is not None and self.controller is not None:
            self.commands.update(self.controller(self.now))
        self._publisher.publish(joint_command(**self.commands))


def quintic(share):
    """Position and velocity of a motion by 1 within a time of 1, at rest before and after."""
    s = min(max(share, 0.0), 1.0)
    return s**3 * (10.0 + s * (6.0 * s - 15.0)), 30.0 * s**2 * (1.0 - s) ** 2


@pytest.mark.long
def test_ros2_control_moves_the_arm_along_a_trajectory_through_its_topic_based_interface(new_ros):
    """As fast as wall time allows; how closely it follows is tested in lockstep."""
    ros, way = new_ros, np.array([0.2, -0.1, 0.1, 0.15, -0.2, 0.2])
    child = ros.start("simulator", remappings=BEHIND)
    interface = TopicBasedInterface(ros, "position", "velocity", "effort")
    ros.until(lambda: len(interface.states) > 200, "joint states")
    assert "refused" not in child.err  # no controller is active: all commands are NaN
    np.testing.assert_allclose(
        [position(state) for state in interface.states], [HOME] * len(interface.states), atol=1e-5
    )
    assert {
        ros.node.count_publishers(topic) for topic in ("/joint_states", "/robot_description")
    } == {0}
    assert {
        ros.node.count_subscribers(f"/forward_{mode}_controller/commands") for mode in MODES
    } == {0}

    start = interface.now

    def joint_trajectory_controller(now):
        share, rate = quintic(now - start)
        return {"position": HOME + share * way, "velocity": rate * way}

    interface.controller = joint_trajectory_controller
    ros.until(lambda: interface.now > start + 1.3, "the trajectory's end")
    np.testing.assert_allclose(position(interface.states[-1]), HOME + way, rtol=0.0, atol=1e-4)
    done = (np.array([position(state) for state in interface.states]) - HOME) @ way / (way @ way)
    assert np.diff(done).min() > -1e-3
    # a straight line, for all the joints move alike
    for share, state in zip(done, interface.states, strict=True):
        np.testing.assert_allclose(position(state), HOME + share * way, rtol=0.0, atol=0.01)
    assert "refused" not in child.err


@pytest.mark.long
def test_velocities_that_go_with_positions_make_the_arm_follow_without_lag(new_ros):
    """Without them the servos, critically damped at 150 rad/s, would be behind by 2/150 s
    of the way: 1e-2 rad.
    """
    simulator = make_simulator(new_ros, pacing="lockstep", clock_rate=500.0)
    way, found = np.array([0.2, -0.1, 0.1, 0.15, -0.2, 0.2]), {}

    def target(at):  # the trajectory takes 0.5 s
        share, rate = quintic(at * PERIOD / 0.5)
        return {"position": HOME + share * way, "velocity": rate / 0.5 * way}

    def law(state):
        at = round(seconds(state.header.stamp) / PERIOD)
        if at in found:  # our answer was long in coming, and is on its way
            return None
        found[at] = position(state)
        return joint_command(**target(at))

    simulator.law = law
    new_ros.until(lambda: 300 in found, "the trajectory's end")
    assert list(found) == list(range(max(found) + 1))
    for at, q in found.items():
        np.testing.assert_allclose(q, target(at)["position"], rtol=0.0, atol=1e-3)


def test_efforts_that_go_with_positions_are_torque_offsets(simulator):
    """The servo M w² (q_c - q) gives way by M^-1 offset / w²; velocities that are
    NaN aren't commanded.
    """
    offset = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 5.0])
    expected = np.linalg.solve(RobotModel.of(ROBOT).at(HOME).mass, offset) / 150.0**2
    command = joint_command(position=HOME, velocity=np.full(ROBOT.n, np.nan), effort=offset)

    def gives_way(state):
        return np.abs(position(state) - HOME - expected).max() < 0.05 * np.abs(expected).max()

    simulator.follow(lambda state: command, gives_way, "the arm gives way")
    assert np.abs(expected).max() > 1e-3


def test_efforts_alone_are_the_torques_that_act(simulator):
    model = RobotModel.of(ROBOT)
    extra = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.5])

    def law(state):
        return joint_command(effort=model.at(position(state)).gravity + extra)

    simulator.follow(
        law,
        lambda state: position(state)[5] > HOME[5] + 0.1,
        "the last joint turns as it is driven",
    )
    state = simulator.states.last
    np.testing.assert_allclose(
        state.effort, model.at(position(state)).gravity + extra, rtol=0.0, atol=0.05
    )


BAD_COMMANDS = [
    (
        JointState(name=list(ROBOT.joints), position=[0.5] * 3),
        "3 positions for 6 names: must be as many, or none",
    ),
    (
        JointState(name=["left_" + joint for joint in ROBOT.joints], position=[0.5] * 6),
        f"joints {list(ROBOT.joints)} are missing; it has: left_{ROBOT.joints[0]}, ",
    ),
    (
        joint_command(position=[0.5] * 5 + [np.nan]),
        "wrist_3_joint = nan: positions must be given for all joints",
    ),
    (joint_command(position=HOME, effort=[np.inf] * 6), "must be 6 finite numbers, one per joint"),
]


@pytest.mark.parametrize(
    ("message", "words"), BAD_COMMANDS, ids=["sizes", "names", "some NaN", "infinite"]
)
def test_a_joint_command_that_cannot_be_is_refused_in_words_and_the_last_one_stays(
    simulator, message, words
):
    simulator.pause_at_start()
    wanted, publish = np.array([0.1, -0.05, 0.05, 0.1, -0.1, 0.2]), simulator.joint_commands.publish

    def steps(count):
        for _ in range(count):
            simulator.step()

    def as_commanded():
        return np.abs(velocity(simulator.states.last) - wanted).max() < 1e-3

    def command_well():
        publish(joint_command(velocity=wanted))
        steps(20)

    simulator.ros.until(as_commanded, "the speed", command_well)
    heard = len(simulator.child.err)
    simulator.ros.until(
        lambda: words in simulator.child.err[heard:], words, lambda: publish(message)
    )
    assert "refused: " in simulator.child.err[heard:]
    steps(50)
    assert as_commanded()


# --- pushes ---


def push_message(link, force, torque=(0.0, 0.0, 0.0)):
    message = WrenchStamped()
    message.header.frame_id = link
    wrench = message.wrench
    wrench.force.x, wrench.force.y, wrench.force.z = map(float, force)
    wrench.torque.x, wrench.torque.y, wrench.torque.z = map(float, torque)
    return message


def test_a_push_shows_in_the_wrench_and_expires(simulator):
    model = RobotModel.of(ROBOT)
    model.update(HOME, np.zeros(ROBOT.n))
    tool, sensor = model.frame_pose("tool0"), model.frame_pose("ft_frame")
    push, twist = np.array([5.0, -10.0, 20.0]), np.array([0.5, 0.2, -0.4])
    force = sensor[:3, :3].T @ tool[:3, :3] @ push
    lever = np.cross(tool[:3, 3] - sensor[:3, 3], tool[:3, :3] @ push)
    torque = sensor[:3, :3].T @ (tool[:3, :3] @ twist + lever)

    def measured():
        last = simulator.wrenches.last.wrench
        return np.concatenate((vector(last.force), vector(last.torque)))

    before = measured()
    pushed = before + np.concatenate((force, torque))
    message = push_message("tool0", push, twist)

    def near(expected):
        return lambda: np.abs(measured() - expected).max() < 0.02

    simulator.ros.until(near(pushed), "the push shows", lambda: simulator.push.publish(message))
    simulator.ros.until(near(before), "the push expires")


@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_a_push_moves_the_arm_its_way(simulator, direction):
    model = RobotModel.of(ROBOT)
    start = model.at(HOME).pose[:3, 3]
    in_link = np.array([0.0, 0.0, -20.0 * direction])  # the tool points down

    def float_freely(state):
        return "effort", model.at(position(state)).gravity - 5.0 * velocity(state)

    def moved(state):
        way = model.at(position(state)).pose[:3, 3] - start
        return way[2] * direction > 0.03

    message = push_message("tool0", in_link)
    simulator.follow(float_freely, moved, "the tip moves", lambda: simulator.push.publish(message))


def test_a_push_on_an_unknown_link_is_refused_in_words(simulator):
    message = push_message("nowhere", (1.0, 0.0, 0.0))
    words = "refused: unknown frame 'nowhere'; frames: "
    simulator.ros.until(
        lambda: words in simulator.child.err, words, lambda: simulator.push.publish(message)
    )
    line = next(line for line in simulator.child.err.splitlines() if words in line)
    assert "tool0" in line


def test_a_push_that_is_not_finite_is_refused_in_words(simulator):
    message = push_message("tool0", (float("nan"), 0.0, 0.0))
    words = "must be 3 + 3 finite numbers"
    simulator.ros.until(
        lambda: words in simulator.child.err, words, lambda: simulator.push.publish(message)
    )
    simulator.ros.next(simulator.states, "a joint state")
    np.testing.assert_allclose(position(simulator.states.last), HOME, rtol=0.0, atol=1e-5)


# --- services ---


def test_a_paused_simulation_moves_on_by_single_steps_only(simulator):
    simulator.pause_at_start()
    for count in range(2, 7):
        simulator.step()
        assert len(simulator.states) == count
        assert seconds(simulator.states.last.header.stamp) == pytest.approx(
            count * PERIOD, abs=1e-6
        )
    assert simulator.pause(False) == "running"
    simulator.ros.until(lambda: len(simulator.states) > 50, "it runs on")


def test_a_step_of_a_running_simulation_is_refused_in_words(simulator):
    answer = simulator.ros.trigger("/simulator/step")
    assert not answer.success
    assert "pause it first" in answer.message


def test_reset_begins_anew_at_home(simulator):
    away = HOME + 0.05

    def law(state):
        return "position", position(state) + np.clip(away - position(state), -0.005, 0.005)

    simulator.follow(
        law, lambda state: np.abs(position(state) - away).max() < 1e-3, "a place away from home"
    )
    before = seconds(simulator.states.last.header.stamp)
    assert simulator.ros.trigger("/simulator/reset").success

    def at_home():
        state = simulator.states.last
        return seconds(state.header.stamp) < before and np.abs(position(state) - HOME).max() < 1e-5

    simulator.ros.until(at_home, "home, at an earlier time")
    simulator.states.messages.clear()
    simulator.ros.until(lambda: len(simulator.states) > 20, "more joint states")
    for state in simulator.states.messages:
        np.testing.assert_allclose(position(state), HOME, rtol=0.0, atol=1e-5)


def test_a_command_after_a_reset_counts_once_there_is_a_joint_state_to_answer(simulator):
    """One that comes earlier was meant for what was before the reset."""
    publish = simulator.joint_commands.publish

    def command():
        publish(joint_command(position=HOME + 0.01))
        simulator.pause()  # a round trip, for of two messages at once only the later one is taken
        publish(JointState())  # is refused, and then what came before it was dealt with

    simulator.pause_at_start()
    assert simulator.ros.trigger("/simulator/reset").success
    heard = len(simulator.child.err)
    simulator.ros.until(lambda: "refused: " in simulator.child.err[heard:], "the refusal", command)
    for _ in range(5):
        simulator.step()
    np.testing.assert_allclose(position(simulator.states.last), HOME, rtol=0.0, atol=1e-5)

    def moved():
        return np.abs(position(simulator.states.last) - HOME).max() > 1e-4

    simulator.ros.until(moved, "the arm obeys", lambda: (command(), simulator.step()))


# --- lockstep ---


@pytest.fixture
def new_ros(tmp_path):
    with LockstepRos(tmp_path) as ros:
        yield ros


def lockstep_run(ros, cycles):
    """The joint states at each time, answered by a law that moves the arm; as lists by the
    number of the period.
    """
    model = RobotModel.of(ROBOT)
    simulator = make_simulator(ros, pacing="lockstep", clock_rate=500.0)
    found = {}

    def answer(state):
        at = round(seconds(state.header.stamp) / PERIOD)
        first = at not in found
        found.setdefault(at, []).append(
            (state.position.tolist(), state.velocity.tolist(), state.effort.tolist())
        )
        if first and at < cycles:  # where our answer was long in coming, the same state comes again
            wanted = HOME + 0.2 * np.sin(2.0 * at * PERIOD)
            torque = (
                model.at(position(state)).gravity
                + 100.0 * (wanted - position(state))
                - 10.0 * velocity(state)
            )
            simulator.send("effort", torque)

    ros.subscribe(JointState, "joint_states", on_message=answer)
    ros.until(lambda: cycles in found, f"{cycles} periods")
    return found


@pytest.mark.long
def test_lockstep_gives_one_joint_state_per_command_and_the_same_ones_each_time(tmp_path):
    runs = []
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        with LockstepRos(folder) as ros:
            found = lockstep_run(ros, 500)
        assert sorted(found) == list(range(501))
        for same in found.values():
            assert all(state == same[0] for state in same)
        runs.append(np.array([found[at][0] for at in range(501)]))
    np.testing.assert_array_equal(runs[0], runs[1])
    assert np.abs(runs[0][-1, 0] - HOME).max() > 0.05


def test_lockstep_waits_for_commands(new_ros):
    simulator = make_simulator(new_ros, pacing="lockstep", clock_rate=500.0)
    simulator.states.messages.clear()
    simulator.ros.until(
        lambda: len(simulator.states) >= 2, "the same state again where no command comes"
    )
    assert {seconds(state.header.stamp) for state in simulator.states.messages} == {0.0}


# --- a scene ---


def test_a_scene_shows_its_objects_and_contacts_and_takes_targets(new_ros):
    """The ball is led 5 mm into the tool: the joints hold, its slides give way; all in the
    frames that are named.
    """
    ros, simulator = new_ros, make_simulator(new_ros, scene="ball")
    targets = ros.publisher(PointStamped, "/simulator/ball/target")
    contacts = ros.subscribe(WrenchStamped, "/simulator/contact_wrench")
    scenes = ros.subscribe(MarkerArray, "/simulator/objects")
    ros.until(lambda: len(contacts) and len(scenes), "contact wrench and objects")
    ball, tool = scenes.last.markers
    assert (ball.ns, ball.id, ball.type, ball.header.frame_id) == (
        "ball",
        0,
        Marker.SPHERE,
        "base_link",
    )
    assert (tool.ns, tool.id, tool.type, tool.header.frame_id) == (
        "tool",
        1,
        Marker.SPHERE,
        "tool0",
    )
    for marker, place in ((ball, [0.9, 0.0, 0.1]), (tool, [0.0, 0.0, 0.025])):
        np.testing.assert_allclose(vector(marker.pose.position), place, rtol=0.0, atol=1e-6)
        np.testing.assert_allclose(vector(marker.scale), 0.05, rtol=1e-12)
    assert contacts.last.header.frame_id == "tool0"
    assert not vector(contacts.last.wrench.force).any()

    target = PointStamped()
    target.header.frame_id = "base_link"
    target.point.x, target.point.z = 0.82, 0.1

    def force():
        # along the tool, which points forward: x of the base
        return vector(contacts.last.wrench.force)[2]

    def pressing():
        return 1000.0 * (0.82 - scenes.last.markers[0].pose.position.x)

    ros.until(
        lambda: force() < -3.0 and abs(force() - pressing()) < 0.05,
        "the press",
        lambda: targets.publish(target),
    )

    def difference():  # z of ft_frame looks the other way
        return np.abs(vector(simulator.wrenches.last.wrench.force) + [0.0, 0.0, force()]).max()

    ros.until(lambda: difference() < 0.1, "the same force at the sensor")
    np.testing.assert_allclose(
        position(simulator.states.last), position(simulator.states.messages[0]), atol=1e-3
    )
    assert simulator.ros.trigger("/simulator/reset").success
    ros.until(
        lambda: abs(scenes.last.markers[0].pose.position.x - 0.9) < 1e-6 and force() == 0.0,
        "the ball is back",
    )

    target.header.frame_id = "tool0"
    words = "refused: target of ball: frame_id = 'tool0': must be base_link"
    ros.until(lambda: words in simulator.child.err, words, lambda: targets.publish(target))


def test_a_joint_law_of_a_simulator_takes_positions_only(new_ros):
    simulator = make_simulator(new_ros, joint_law="impedance")
    words = "refused: effort command: joint_law impedance takes position only"
    simulator.ros.until(
        lambda: words in simulator.child.err, words, lambda: simulator.send("effort", HOME)
    )


# --- imperfections ---


def test_an_imperfect_simulator_sends_noisy_samples_late_and_loses_some(new_ros, tmp_path):
    std, delay = 1e-3, 0.02
    path = tmp_path / "noisy.yaml"
    path.write_text(
        f"{{ noise: {{ position: {std} }}, states: {{ delay: {delay}, lost: 0.2 }} }}",
        encoding="utf-8",
    )
    simulator = make_simulator(new_ros, imperfections=str(path), clock_rate=500)
    new_ros.until(lambda: len(simulator.states) > 300, "300 joint states")
    simulator.pause()
    noise = np.array([position(state) for state in simulator.states.messages]) - HOME
    assert noise.std() == pytest.approx(std, rel=0.1)
    stamps = np.array([seconds(state.header.stamp) for state in simulator.states.messages])
    assert set(np.round(np.diff(stamps) / PERIOD)) > {1.0, 2.0}
    assert seconds(simulator.clocks.last.clock) - stamps[-1] == pytest.approx(delay, abs=PERIOD)


def test_a_trip_is_said_and_pauses(new_ros, tmp_path):
    path = tmp_path / "careful.yaml"
    path.write_text("trips: { joint_velocity: 0.1 }", encoding="utf-8")
    simulator = make_simulator(new_ros, imperfections=str(path))
    words = f"trip: joint_velocity of {ROBOT.joints[0]}"
    send = [0.5, *[0.0] * (ROBOT.n - 1)]
    new_ros.until(
        lambda: words in simulator.child.err, words, lambda: simulator.send("velocity", send)
    )


# --- parameters and the end ---


@pytest.mark.parametrize("rate", [100.0, 100])
def test_the_rate_can_be_chosen(new_ros, rate):
    simulator = make_simulator(new_ros, rate=rate)
    simulator.pause_at_start()
    for count in range(2, 5):
        simulator.step()
        assert seconds(simulator.states.last.header.stamp) == pytest.approx(count / rate, abs=1e-6)


def test_the_rate_of_the_clock_can_be_chosen(new_ros):
    simulator = make_simulator(new_ros, clock_rate=250)
    simulator.pause_at_start()
    for _ in range(20):
        simulator.step()
    new_ros.until(lambda: len(clock_steps(simulator)) >= 10, "the clocks")
    assert np.diff(clock_steps(simulator)).tolist() == [2] * (len(clock_steps(simulator)) - 1)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"robot": "nonsense"}, "unknown robot 'nonsense'; robots: "),
        ({"pacing": "nonsense"}, "pacing = 'nonsense': must be one of: realtime, lockstep"),
        ({"rate": -1.0}, "rate"),
        (
            {"scene": "nonsense"},
            "unknown scene 'nonsense'; scenes: ball, block, edge, hole, pick, surface, table, wall",
        ),
        (
            {"imperfections": "nonsense"},
            "unknown preset 'nonsense'; presets: like_gen3, like_ur5, like_ur5e, worst",
        ),
        ({"imperfections": "like_gen3"}, "imperfections like_gen3: "),
        ({"joint_law": "nonsense"}, "unknown law 'nonsense'; laws: "),
        ({"physics_step": 1.0}, "physics_step = 1: must be a finite number from 1e-05 to 0.02 [s]"),
    ],
)
def test_a_simulator_that_cannot_start_says_why_in_a_line(new_ros, parameters, words):
    child = new_ros.start("simulator", parameters)
    assert child.end() == 1
    assert words in child.err
    assert "Traceback" not in child.err


@pytest.mark.parametrize(
    "signals",
    [(signal.SIGINT,), (signal.SIGTERM,), (signal.SIGINT, signal.SIGINT)],
    ids=lambda signals: "+".join(number.name for number in signals),
)
def test_a_simulator_ends_cleanly(new_ros, signals):
    simulator = make_simulator(new_ros)
    assert simulator.child.end(*signals) == 0
    assert ended_cleanly(simulator.child)
