"""The watchdog node over DDS, beside a controller that lives, dies, stands still or is told to end.

``-rP`` shows what was measured.
"""

import signal
import sys
import time
from dataclasses import dataclass, field, replace
from types import ModuleType, SimpleNamespace
from typing import Any

import graph
import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lockstep import LockstepRos
from rclpy.qos import QoSProfile
from ros_support import PERIOD, Controller, FakeRobot, Inbox, Ros, ended_cleanly
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from robot_control_ros.core.types import CommandMode
from robot_control_ros.nodes.watchdog import node as watchdog_node
from robot_control_ros.nodes.watchdog.node import GONE, LABEL, MAX_END
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.ros.ending import FAULT
from robot_control_ros.ros.fallback import Fallback
from robot_control_ros.ros.messages import seconds, to_stamp

pytestmark = pytest.mark.ros

ROBOT = load_robot("ur5")
HOME = np.array(ROBOT.home)
SIDE = HOME + [1.2, 0.3, -0.3, 0.2, 0.2, 0.5]  # a second and more away
LAWS = {"joint_impedance": "effort", "admittance": "position", "joint_pid": "velocity"}
RATE = 250.0  # Hz, of the simulated arm: half of the usual one, for half of the time
TIMEOUT, STATE_TIMEOUT = 0.04, 0.2  # s, the node's defaults
REQUIRED = 0.06  # s from the last command to the safe output, on the topic
AT_REST = 0.02  # rad/s


@dataclass
class Heard:
    """One command: when it reached this process's middleware [s], by whom, and what."""

    time: float
    mode: str
    by_watchdog: bool
    values: np.ndarray


@dataclass
class System:
    """What runs, and all that was commanded, oldest first."""

    ros: Ros
    children: dict[str, Any] = field(default_factory=dict)
    commands: list[Heard] = field(default_factory=list)
    states: Any = None
    stamps: list[tuple[float, float, float]] = field(default_factory=list)
    """Of joint states: when they came [s], their stamps [s] and the fastest joint's speed [rad/s]."""
    diagnostics: Any = None
    targets: Any = None

    def start(self, name, **parameters):
        self.children[name] = self.ros.start(name, parameters, remappings=_REMAPPINGS)

    def listen(self):
        for mode in CommandMode:
            self._listen(mode.value)
        self.states = Inbox()
        self._subscribe(JointState, "joint_states", self._keep_state)
        self.diagnostics = self.ros.subscribe(DiagnosticArray, "/diagnostics")
        self.targets = self.ros.publisher(JointState, "/controller/target_joint")

    def _listen(self, mode):
        def keep(message, info):
            by_watchdog = any(dimension.label == LABEL for dimension in message.layout.dim)
            heard = Heard(
                (info["source_timestamp"] - graph.EPOCH) * 1e-9,
                mode,
                by_watchdog,
                np.array(message.data),
            )
            self.commands.append(heard)

        topic = f"/forward_{mode}_controller/commands"
        self._subscribe(Float64MultiArray, topic, keep)

    def _subscribe(self, kind, topic, keep):
        self.ros.node.create_subscription(
            kind, topic, lambda message, info: keep(message, info), QoSProfile(depth=1000)
        )

    def _keep_state(self, message, info):
        self.states.messages.append(message)
        fastest = np.abs(message.velocity).max()
        self.stamps.append(
            (
                (info["source_timestamp"] - graph.EPOCH) * 1e-9,
                seconds(message.header.stamp),
                fastest,
            )
        )

    def stamp_at(self, time):
        """The stamp of the last joint state before that time."""
        return max(stamp for came, stamp, _ in self.stamps if came <= time)

    def speed_at(self, time):
        """The fastest joint's speed in the last joint state before that time."""
        return max((came, speed) for came, _, speed in self.stamps if came <= time)[1]

    def of(self, by_watchdog):
        return [heard for heard in self.commands if heard.by_watchdog is by_watchdog]

    def is_taken_over(self):
        return all(heard.by_watchdog for heard in self.commands[-50:])

    def safe(self):
        """The watchdog's commands since the controller's last one."""
        last = max(heard.time for heard in self.of(by_watchdog=False))
        return [heard for heard in self.of(by_watchdog=True) if heard.time > last]

    def delay(self):
        """From the controller's last command to the watchdog's first [s]."""
        return self.safe()[0].time - max(heard.time for heard in self.of(by_watchdog=False))

    def diagnosis(self):
        """The watchdog's latest: level, message, values; None where there is none."""
        for array in reversed(self.diagnostics.messages):
            status = array.status[0]
            if status.name.startswith("watchdog"):
                return (
                    status.level[0],
                    status.message,
                    {item.key: item.value for item in status.values},
                )
        return None

    def watching(self, again=None):
        """Wait until the watchdog has heard the controller, and forget what has been heard so far.

        What isn't published by a node is published by `again`.
        """

        def is_watching():
            found = self.diagnosis()
            return found is not None and found[:2] == (0, "watching")

        self.diagnostics.messages.clear()
        self.ros.until(is_watching, "the watchdog watches", again)

    def speed(self):
        return np.abs(self.states.last.velocity).max() if len(self.states) else 0.0

    def move(self, goal=SIDE):
        """Let the controller move the joints to a goal; returns when the arm is well on its way."""
        message = JointState(name=list(ROBOT.joints), position=goal.tolist())
        publish = lambda: self.targets.publish(message)  # noqa: E731
        self.ros.until(lambda: self.speed() > 0.5, "the arm moves", publish)

    def rest(self):
        """Wait for joint speeds that stay small for 0.2 s; returns the joint angles."""
        states = self.states
        states.messages.clear()

        def is_at_rest():
            last = states.messages[-100:]
            return (
                len(last) == 100 and max(np.abs(state.velocity).max() for state in last) < AT_REST
            )

        self.ros.until(is_at_rest, "the arm is at rest")
        return np.array(states.last.position)

    def pause(self, on):
        assert self.ros.call(SetBool, "/simulator/pause", data=on).success

    def end_watchdog(self, *signals):
        """Send signals to the watchdog; returns how long its end takes by the robot's clock [s]."""
        watchdog, began = self.children["watchdog"], self.stamps[-1][1]
        for number in signals:
            watchdog.process.send_signal(number)
        self.ros.until(lambda: watchdog.process.poll() is not None, "the end of the watchdog")
        assert watchdog.end() == 0
        return self.stamps[-1][1] - began

    def spin(self, seconds):
        self.ros.wait(seconds)

    def unprovoked(self):
        """Takeovers with no silence of the controller before them, by the simulation's time.

        A machine that holds the controller up makes such a silence.
        """
        found, heard_at = [], None
        for heard in sorted(self.commands, key=lambda heard: heard.time):
            if not heard.by_watchdog:
                heard_at = heard.time
            elif heard_at is not None:
                if self.stamp_at(heard.time) - self.stamp_at(heard_at) < 0.5 * TIMEOUT:
                    found.append(heard)
                heard_at = None  # what follows belongs to the same takeover
        return found

    def was_left_at_rest(self):
        """Whether the command that was sent last is the watchdog's, and the
        arm stood still then.
        """
        last = max(self.commands, key=lambda heard: heard.time)
        return last.by_watchdog and self.speed_at(last.time) < 2.0 * AT_REST

    def fights(self):
        """Commands of the watchdog during 0.1 s and more of a controller's without a gap.

        Those about the end of a silence don't count: they cross.
        """
        living = np.sort([heard.time for heard in self.of(by_watchdog=False)])
        found = []
        for heard in self.of(by_watchdog=True):
            before = living[(living > heard.time - 0.1) & (living < heard.time)]
            gaps = np.diff([heard.time - 0.1, *before, heard.time])
            if gaps.max() < 0.5 * TIMEOUT:
                found.append(heard)
        return found


_REMAPPINGS = {"wrench": "/force_torque_sensor_broadcaster/wrench"}


def make_system(ros, law="joint_impedance"):
    """Simulator, watchdog and controller, all of them running; no command of the
    simulator's times out.
    """
    pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")
    system = System(ros)
    system.start("simulator", rate=RATE, command_timeout=0.0)
    system.start("watchdog", use_sim_time=True)
    system.start("controller", law=law, rate=RATE, use_sim_time=True)
    system.listen()
    system.watching()
    return system


@pytest.fixture
def ros(tmp_path):
    with LockstepRos(tmp_path) as ros:
        yield ros


@pytest.fixture(scope="module")
def shared_system(tmp_path_factory):
    with LockstepRos(tmp_path_factory.mktemp("system")) as ros:
        yield make_system(ros)


@pytest.fixture
def system(shared_system):
    """With a controller that lives."""
    shared_system.watching()
    shared_system.commands.clear()
    return shared_system


# --- beside a controller that lives ---


@pytest.mark.sim
def test_after_stop_the_watchdog_holds_the_arm_and_reports_no_error(ros):
    system = make_system(ros)
    assert ros.trigger("/controller/stop").success
    ros.until(system.is_taken_over, "commands of the watchdog")
    ros.until(
        lambda: system.diagnosis()[0] == 1 and "STOP" in system.diagnosis()[1],
        "a warning in /diagnostics",
    )
    assert "[ERROR]" not in system.children["watchdog"].err
    assert ros.trigger("/controller/release_stop").success
    ros.wait(0.5)
    assert system.is_taken_over()  # releasing alone moves nothing


@pytest.mark.sim
def test_a_controller_that_lives_never_sees_a_command_of_the_watchdog(system):
    for law in ("joint_pid", "joint_impedance"):  # what a law needs at its first use is there then
        assert system.ros.set("controller", law=law)[0].successful
    system.spin(0.5)
    system.commands.clear()
    system.move(SIDE)
    system.spin(1.5)
    # another mode: another topic
    assert system.ros.set("controller", law="joint_pid")[0].successful
    system.move(HOME)
    system.spin(1.5)
    assert system.ros.set("controller", law="joint_impedance")[0].successful
    system.spin(1.5)
    times = sorted(heard.time for heard in system.of(by_watchdog=False))
    assert {heard.mode for heard in system.commands} == {"effort", "velocity"}
    assert len(times) > 1000
    assert system.fights() == []
    assert system.unprovoked() == []


@pytest.mark.sim
def test_a_simulation_that_pauses_is_no_silence(system):
    for _ in range(3):
        system.pause(True)
        system.spin(0.5)
        system.pause(False)
        system.spin(0.1)
    assert system.unprovoked() == []
    assert len(system.of(by_watchdog=False)) > 50


@pytest.mark.sim
def test_a_controller_that_stands_still_gets_its_robot_back(system):
    controller, delays = system.children["controller"].process, []
    for _ in range(5):
        system.commands.clear()
        system.ros.until(
            lambda: len(system.of(by_watchdog=False)) > 50, "commands of the controller"
        )
        controller.send_signal(signal.SIGSTOP)
        try:
            system.ros.until(system.is_taken_over, "commands of the watchdog")
            delays.append(system.delay())
        finally:
            controller.send_signal(signal.SIGCONT)
        count = len(system.of(by_watchdog=False))
        system.ros.until(
            lambda count=count: len(system.of(by_watchdog=False)) > count + 100,
            "those of the controller",
        )
        assert system.fights() == []
        assert not system.commands[-1].by_watchdog
    assert "commands come again after" in system.children["watchdog"].err
    print(
        f"safe output after the last command, of five: {', '.join(f'{delay * 1e3:.1f}' for delay in delays)} ms"
    )
    assert np.median(delays) <= REQUIRED


@pytest.mark.sim
def test_a_watchdog_that_ends_leaves_a_living_controller_alone(system):
    system.ros.until(lambda: len(system.commands) > 100, "commands")
    assert system.end_watchdog(signal.SIGTERM, signal.SIGTERM) < MAX_END + 1.0
    assert ended_cleanly(system.children["watchdog"])
    assert system.fights() == []
    assert not system.commands[-1].by_watchdog
    system.start("watchdog", use_sim_time=True)
    system.watching()


# --- beside one that dies ---


@pytest.mark.sim
@pytest.mark.parametrize(
    "law",
    [
        "joint_impedance",
        *(pytest.param(each, marks=pytest.mark.long) for each in ("admittance", "joint_pid")),
    ],
)
def test_a_killed_controller_s_robot_comes_to_rest_and_goes_to_the_next_controller(ros, law):
    system = make_system(ros, law)
    system.move()
    system.children["controller"].end(signal.SIGKILL)
    system.ros.until(system.is_taken_over, "commands of the watchdog")
    living, safe, delay = system.of(by_watchdog=False), system.safe(), system.delay()
    simulated = system.stamp_at(safe[0].time) - system.stamp_at(living[-1].time)
    place = system.rest()
    states, at = system.states.messages, system.commands[-1].time - safe[0].time
    print(
        f"{law}: safe output {delay * 1e3:.1f} ms after the last command ({simulated * 1e3:.0f} ms by the stamps)"
    )
    print(f"{law}: at rest, and for 0.2 s, within {at:.2f} s")
    assert {heard.mode for heard in system.commands} == {LAWS[law]}
    assert delay > 0.5 * TIMEOUT
    # one may be held up: the median of five is judged above
    assert min(delay, simulated) < STATE_TIMEOUT
    check_ramp(LAWS[law], living[-1], safe)
    assert "no command for" in system.children["watchdog"].err
    system.ros.until(
        lambda: system.diagnosis()[0] == 2 and "; at rest" in system.diagnosis()[1],
        "/diagnostics say so",
    )
    assert np.abs(np.array(states[-1].position) - place).max() < 0.02

    count = len(system.of(by_watchdog=False))
    system.start("controller", law=law, rate=RATE, use_sim_time=True)
    system.watching()  # the watchdog has found the new controller,
    system.ros.until(
        lambda: len(system.of(by_watchdog=False)) > count, "commands of the next controller"
    )  # and so have we
    first = system.of(by_watchdog=False)[count]
    last = [heard for heard in system.of(by_watchdog=True) if heard.time < first.time][-1]
    assert (
        np.abs(first.values - last.values).max()
        < {"effort": 0.5, "position": 1e-3, "velocity": AT_REST}[LAWS[law]]
    )
    assert np.abs(system.rest() - place).max() < 0.05
    system.commands.clear()
    system.ros.until(
        lambda: len(system.of(by_watchdog=False)) > 200, "commands of the next controller"
    )
    assert system.fights() == []

    for child in system.children.values():
        child.process.send_signal(signal.SIGINT)
    for child in system.children.values():
        assert child.end() == 0, child.err
        assert ended_cleanly(child)


def check_ramp(mode, living, safe):
    """No step of the command beyond the rates, from the controller's last one on."""
    steps = np.abs(np.diff([living.values, *(heard.values for heard in safe)], axis=0))
    effort, velocity = np.array(ROBOT.effort_rate), 4.0 * RobotModel.of(ROBOT).limits.velocity
    rate = {"effort": effort, "position": 0.0 * velocity, "velocity": velocity}[mode]
    times = np.array([heard.time for heard in safe])
    passed = np.minimum(np.diff(times, prepend=times[0] - ROBOT.period), 0.02)
    assert (steps <= rate * passed[:, None] + 1e-9).all()


# --- told to end ---


@pytest.mark.few(1)
@pytest.mark.sim
@pytest.mark.parametrize("acted_before", [False, True])
def test_told_to_end_with_its_controller_it_first_brings_the_arm_to_rest(ros, acted_before):
    system = make_system(ros)
    if acted_before:
        system.ros.until(
            lambda: len(system.of(by_watchdog=False)) > 50, "commands of the controller"
        )
        system.children["controller"].process.send_signal(signal.SIGSTOP)
        system.ros.until(system.is_taken_over, "commands of the watchdog")
        system.children["controller"].process.send_signal(signal.SIGCONT)
        system.ros.until(
            lambda: not any(heard.by_watchdog for heard in system.commands[-50:]),
            "the controller's",
        )
    system.move()
    watchdog, controller = system.children["watchdog"], system.children["controller"]
    controller.process.send_signal(signal.SIGINT)
    # as launch does, when it grows impatient
    assert system.end_watchdog(signal.SIGINT, signal.SIGTERM) < MAX_END + 1.0
    assert controller.end() == 0
    assert ended_cleanly(watchdog)
    ros.until(system.was_left_at_rest, "a last command of the watchdog's, to an arm at rest")
    assert "still moves" not in watchdog.err


@pytest.mark.sim
def test_held_up_itself_while_it_is_told_to_end_it_still_brings_the_arm_to_rest(ros):
    """A machine that stands still for longer than a robot may be silent is no
    robot that is gone.
    """
    system = make_system(ros)
    system.move()
    watchdog = system.children["watchdog"]
    watchdog.process.send_signal(signal.SIGSTOP)
    system.children["controller"].end(signal.SIGKILL)
    watchdog.process.send_signal(signal.SIGINT)
    system.spin(GONE[True] + 0.2)
    watchdog.process.send_signal(signal.SIGCONT)
    assert watchdog.end() == 0
    ros.until(system.was_left_at_rest, "a last command of the watchdog's, to an arm at rest")
    assert "still moves" not in watchdog.err


# --- without joint states ---


def test_where_the_driver_falls_silent_too_the_safe_output_goes_on(ros):
    """The test is driver and controller in one."""
    system = System(ros)
    system.start("watchdog")
    system.listen()
    states = ros.publisher(JointState, "joint_states")
    commands = ros.publisher(Float64MultiArray, "/forward_effort_controller/commands")
    for publisher in (states, commands):
        ros.until(
            lambda publisher=publisher: publisher.get_subscription_count(), "the watchdog listens"
        )
    values = RobotModel.of(ROBOT).at(HOME).gravity + 1.0
    message = JointState(name=list(ROBOT.joints), position=HOME.tolist(), velocity=[0.5] * ROBOT.n)
    clock = 100.0

    def both():
        nonlocal clock
        clock += 0.1
        message.header.stamp = to_stamp(clock)
        states.publish(message)
        commands.publish(Float64MultiArray(data=values.tolist()))

    delays = []
    for _ in range(3):
        system.watching(both)
        system.commands.clear()
        ros.until(lambda: system.of(by_watchdog=False), "a last command of the controller", both)
        ros.until(lambda: len(system.of(by_watchdog=True)) > 20, "commands of the watchdog")
        delays.append(system.delay())
    # a busy machine may hold up one of them
    assert STATE_TIMEOUT - 0.005 < min(delays) < STATE_TIMEOUT + 0.1
    safe = [heard.time for heard in system.safe()]
    assert np.median(np.diff(safe)) < 0.02
    ros.wait(1.0)
    rest = HOME + 0.5 * (np.mean(delays) + 0.1)  # it is predicted to go on, and to brake for 0.2 s
    assert system.commands[-1].values == pytest.approx(
        RobotModel.of(ROBOT).at(rest).gravity, abs=1.0
    )
    assert "no joint state and no command for" in system.children["watchdog"].err
    # nobody is left to be brought to rest
    assert system.children["watchdog"].end(signal.SIGINT) == 0


def test_while_the_robot_executes_no_commands_it_is_left_alone(ros):
    """A UR arm whose program stands may be moved by hand: what was commanded before must
    not count afterwards.
    """
    system = System(ros)
    system.listen()
    executes = ros.publisher(Bool, "/io_and_status_controller/robot_program_running", latched=True)
    states = ros.publisher(JointState, "joint_states")
    commands = ros.publisher(Float64MultiArray, "/forward_position_controller/commands")
    system.start("watchdog", robot="ur5e", profile="real")

    def state():
        message = JointState(
            name=list(ROBOT.joints), position=HOME.tolist(), velocity=[0.0] * ROBOT.n
        )
        message.header.stamp = to_stamp(time.time())
        states.publish(message)

    def both():
        state()
        commands.publish(Float64MultiArray(data=HOME.tolist()))

    def says(words, again):
        # one that comes now: the last of `again` has been heard by then
        system.diagnostics.messages.clear()
        ros.until(
            lambda: (found := system.diagnosis()) is not None and found[1] == words, words, again
        )

    says("watching", both)
    executes.publish(Bool(data=False))
    says("the robot executes no commands", both)
    told = time.time()
    says("the robot executes no commands", state)
    executes.publish(Bool(data=True))
    says("nobody has commanded yet", state)
    assert not [heard for heard in system.of(by_watchdog=True) if heard.time > told]
    says("watching", both)
    ros.until(lambda: system.of(by_watchdog=True), "a command of the watchdog", state)


# --- what is refused ---


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"robot": "nonsense"}, "unknown robot 'nonsense'"),
        ({"profile": "nonsense"}, "unknown profile 'nonsense'"),
        ({"timeout": 0.0}, "timeout = 0: must be a finite number from 0.005 to 10 [s]"),
    ],
)
def test_a_refused_parameter_is_named(ros, parameters, words):
    child = ros.start("watchdog", parameters)
    assert child.end() == 1
    assert words in child.err
    assert "Traceback" not in child.err


# --- the fallback controller, with a stand-in for the controller manager's client ---


class Client:
    """Plays rclpy's client of a service."""

    def __init__(self, kind, name):
        self.kind, self.name, self.ready, self.requests, self.said = kind, name, True, [], []

    def service_is_ready(self):
        return self.ready

    def call_async(self, request):
        self.requests.append(request)
        return SimpleNamespace(add_done_callback=self.said.append)

    def answer(self, **fields):
        self.said[-1](SimpleNamespace(result=lambda: SimpleNamespace(**fields)))


class Log:
    def __init__(self):
        self.lines = []

    def __getattr__(self, level):
        return lambda text: self.lines.append((level, text))


class SwitchController:
    """As controller_manager_msgs, srv/SwitchController.srv, has it."""

    class Request:
        __slots__ = (
            "activate_asap",
            "activate_controllers",
            "deactivate_controllers",
            "strictness",
            "timeout",
        )
        BEST_EFFORT, STRICT = 1, 2


def make_fallback(monkeypatch, installed=True, **changes):
    """A fallback, the clients it has made, and its log."""
    services = ModuleType("controller_manager_msgs.srv")
    services.SwitchController = SwitchController
    package = ModuleType("controller_manager_msgs") if installed else None
    monkeypatch.setitem(sys.modules, "controller_manager_msgs", package)
    monkeypatch.setitem(sys.modules, "controller_manager_msgs.srv", services if installed else None)
    clients, log = [], Log()
    create = lambda kind, name: clients.append(Client(kind, name)) or clients[-1]  # noqa: E731
    node = SimpleNamespace(
        get_logger=lambda: log, create_client=create, destroy_client=clients.remove
    )
    managed = {
        "controller_manager": "/manager",
        "fallback_controller": "joint_trajectory_controller",
        **changes,
    }
    profile = replace(ROBOT.profile, commands=(CommandMode.EFFORT, CommandMode.POSITION), **managed)
    fallback = Fallback(
        SimpleNamespace(node=node, client=node.create_client), replace(ROBOT, profile=profile)
    )
    return fallback, clients, log


def test_the_fallback_controller_is_asked_for_until_it_is_given(monkeypatch):
    fallback, (client,), log = make_fallback(monkeypatch)
    assert (client.kind, client.name) == (SwitchController, "/manager/switch_controller")
    for now in (10.0, 10.1, 10.9):
        assert not fallback.has_robot(now, since=0.0)
    (request,) = client.requests
    assert request.activate_controllers == ["joint_trajectory_controller"]
    assert request.deactivate_controllers == [
        "forward_effort_controller",
        "forward_position_controller",
    ]
    assert request.strictness == SwitchController.Request.BEST_EFFORT
    assert request.timeout == Duration(sec=5)
    client.answer(ok=False, message="no such controller")
    assert log.lines[-1][0] == "error"
    assert "no such controller" in log.lines[-1][1]
    assert not fallback.has_robot(11.1, since=0.0)
    client.answer(ok=True, message="")
    assert log.lines[-1] == ("info", "joint_trajectory_controller is active")
    assert fallback.has_robot(11.2, since=0.0)
    assert fallback.has_robot(99.0, since=0.0)
    assert len(client.requests) == 2
    assert not fallback.has_robot(99.1, since=99.0)  # another takeover
    assert len(client.requests) == 3


def test_a_takeover_after_one_that_the_fallback_ended_asks_for_it_again(monkeypatch):
    fallback, (client,), _ = make_fallback(monkeypatch)
    for count in (1, 2):
        since = 10.0 * count
        assert not fallback.has_robot(since, since)
        assert len(client.requests) == count
        client.answer(ok=True, message="")
        assert fallback.has_robot(since + 0.1, since)


def test_a_fallback_that_is_itself_a_forward_controller_is_not_switched_off(monkeypatch):
    fallback, (client,), _ = make_fallback(
        monkeypatch, fallback_controller="forward_position_controller"
    )
    fallback.has_robot(1.0, since=0.0)
    assert client.requests[0].deactivate_controllers == ["forward_effort_controller"]


def test_a_controller_manager_that_is_not_there_is_named(monkeypatch):
    fallback, (client,), log = make_fallback(monkeypatch)
    client.ready = False
    assert not fallback.has_robot(1.0, since=0.0)
    assert client.requests == []
    assert log.lines == [
        (
            "error",
            "/manager doesn't answer: a switch to joint_trajectory_controller isn't possible",
        ),
    ]


def test_without_controller_manager_msgs_the_log_says_what_will_not_be_done(monkeypatch):
    fallback, clients, log = make_fallback(monkeypatch, installed=False)
    assert not fallback.has_robot(1.0, since=0.0)
    assert clients == []
    assert len(log.lines) == 1
    assert log.lines[0][0] == "warning"
    assert "controller_manager_msgs isn't installed" in log.lines[0][1]
    assert "joint_trajectory_controller will not be activated" in log.lines[0][1]


@pytest.mark.parametrize("missing", ["controller_manager", "fallback_controller"])
def test_a_profile_without_a_manager_or_fallback_asks_nobody(monkeypatch, missing):
    fallback, clients, log = make_fallback(monkeypatch, **{missing: ""})
    assert not fallback.has_robot(1.0, since=0.0)
    assert clients == log.lines == []


# --- what watches is itself supervised ---


@pytest.mark.sim
def test_a_watchdog_whose_thread_dies_leaves_its_arm_safe_and_ends_with_a_status_of_its_own(ros):
    system = make_system(ros)
    system.move()
    system.spin(0.3)
    system.children["controller"].end(signal.SIGKILL)
    ros.until(system.is_taken_over, "commands of the watchdog")
    watchdog = system.children["watchdog"]

    def fail(*given):
        raise ValueError("on purpose")

    watchdog.node.hearing.proven = fail
    ros.until(lambda: watchdog.process.poll() is not None, "the watchdog ends")
    assert watchdog.process.poll() == FAULT
    assert "the watchdog ends while the arm still moves" in watchdog.err
    assert "on purpose" in watchdog.err
    ros.wait(0.01)
    gravity = RobotModel.of(ROBOT).at(np.array(system.states.last.position)).gravity
    assert system.commands[-1].by_watchdog
    assert system.commands[-1].values == pytest.approx(gravity, abs=2.0)  # without damping


def test_what_does_not_watch_does_not_say_that_it_does(ros, monkeypatch):
    class Hanging:
        def __init__(self, *given):
            pass

        def start(self):
            pass

        stop = start

    system = System(ros)
    system.listen()
    system.start("watchdog")
    ros.until(system.diagnosis, "a diagnosis of one that watches")
    assert system.children["watchdog"].end(signal.SIGTERM) == 0
    monkeypatch.setattr(watchdog_node, "Periodic", Hanging)
    system.start("watchdog")
    system.diagnostics.messages.clear()
    ros.wait(3.0)
    assert system.diagnosis() is None
    assert system.children["watchdog"].end(signal.SIGTERM) == 0


def test_told_to_end_it_ends_although_the_stamps_stand_still_and_the_arm_moves(ros):
    """The test is a simulator whose clock has stopped, but not its arm."""
    system = System(ros)
    system.start("watchdog", use_sim_time=True)
    system.listen()
    states = ros.publisher(JointState, "joint_states")
    commands = ros.publisher(Float64MultiArray, "/forward_effort_controller/commands")
    message = JointState(name=list(ROBOT.joints), position=HOME.tolist(), velocity=[0.5] * ROBOT.n)
    clock = 100.0

    def publish():
        message.header.stamp = to_stamp(clock)
        states.publish(message)

    ros.node.create_timer(0.002, publish)
    for _ in range(20):
        clock += 0.01
        commands.publish(Float64MultiArray(data=[0.0] * ROBOT.n))
        ros.wait(0.01)

    def silence():
        nonlocal clock
        clock += 0.002

    ros.until(lambda: system.of(by_watchdog=True), "commands of the watchdog", silence)
    asked = ros.graph.now
    assert system.children["watchdog"].end(signal.SIGTERM) == 0
    assert (ros.graph.now - asked) * 1e-9 < 2.0


# --- a watchdog that has gone ---


def diagnosis(controller):
    controller.diagnostics.messages.clear()
    controller.ros.until(lambda: len(controller.diagnostics), "a diagnosis")
    return controller.diagnostics.last.status[0]


@pytest.fixture
def watched(tmp_path):
    """A controller of a chosen reaction beside a watchdog that is killed; returns the parts."""
    made = []

    def make(**parameters):
        ros = LockstepRos(tmp_path)
        made.append(ros)
        ros.__enter__()
        watchdog = ros.start("watchdog", {})
        controller = Controller(ros, law="impedance", state_timeout=10.0, **parameters)
        robot = FakeRobot(ros, ROBOT)
        robot.begin(lambda q: RobotModel.of(ROBOT).at(q).gravity)
        replies = ros.subscribe(DiagnosticStatus, "/controller/target_reply")
        targets = ros.publisher(JointState, "/controller/target_joint")
        ros.until(
            lambda: targets.get_subscription_count() and replies is not None,
            "the controller listens",
        )
        for _ in range(100):
            robot.exchange()
            ros.wait(PERIOD)
        assert watchdog.end(signal.SIGKILL) == -signal.SIGKILL
        controller.diagnostics.messages.clear()
        for _ in range(round(0.45 / PERIOD)):
            robot.exchange()
            ros.wait(PERIOD)
        return ros, controller, robot, targets, replies

    yield make
    for ros in made:
        ros.__exit__(None, None, None)


def asked(ros, robot, targets, replies):
    """What the controller answers to a target."""
    message = JointState(name=list(ROBOT.joints), position=(HOME + 0.1).tolist())
    message.header.stamp = to_stamp(robot.time)
    targets.publish(message)
    for _ in range(10):
        robot.exchange()
        ros.wait(PERIOD)
    return replies.last


@pytest.mark.few(2)
@pytest.mark.parametrize("reaction", ["profile", "go_on", "hold", "stop"])
def test_a_killed_watchdog_is_told_within_half_a_second_and_its_controller_does_what_was_chosen(
    watched, reaction
):
    ros, controller, robot, targets, replies = watched(without_watchdog=reaction)
    statuses = [status for message in controller.diagnostics.messages for status in message.status]
    assert DiagnosticStatus.ERROR in [status.level for status in statuses]
    answer = asked(ros, robot, targets, replies)
    goes_on = reaction in ("profile", "go_on")  # the profile is a simulation's
    assert answer.level == (DiagnosticStatus.OK if goes_on else DiagnosticStatus.ERROR)
    robot.v = np.full(ROBOT.n, 0.2)
    for _ in range(100):
        command = robot.exchange()
        ros.wait(PERIOD)
    braked = RobotModel.of(ROBOT).at(robot.q).gravity - np.array(ROBOT.safe_damping) * robot.v
    assert np.allclose(command, braked, atol=1e-6) is (reaction == "stop")
    ros.start("watchdog", {})
    for _ in range(100):
        robot.exchange()
        ros.wait(PERIOD)
    assert asked(ros, robot, targets, replies).level == DiagnosticStatus.OK


def test_a_watchdog_that_was_never_there_is_not_missed(tmp_path):
    with LockstepRos(tmp_path) as ros:
        controller, robot = (
            Controller(ros, state_timeout=10.0, without_watchdog="stop"),
            FakeRobot(ros, ROBOT),
        )
        for _ in range(600):
            robot.send()
            ros.wait(PERIOD)
        assert diagnosis(controller).level != DiagnosticStatus.ERROR


def test_another_reaction_than_the_known_ones_is_refused(tmp_path):
    with LockstepRos(tmp_path) as ros:
        child = ros.start("controller", {"without_watchdog": "panic"})
        ros.until(lambda: child.process.poll() is not None, "the end of the controller")
        assert "panic" in child.err
        assert "go_on" in child.err


# --- the robot's own stop ---


@pytest.mark.few(2)
@pytest.mark.parametrize("who", ["controller", "watchdog"])
@pytest.mark.parametrize("success", [True, False])
def test_where_joint_states_stop_the_robot_is_asked_to_stop_by_itself(tmp_path, who, success):
    path = tmp_path / "stopping.yaml"
    path.write_text(
        "name: stopping\nextends: ur5\nprofiles:\n  own:\n    rate: 500\n    commands: [effort]\n"
        "    gravity_by_robot: false\n    stop_service: dashboard_client/stop\n",
        encoding="utf-8",
    )
    with LockstepRos(tmp_path) as ros:
        asked = []

        def stop(request, response):
            asked.append(time.monotonic())
            response.success, response.message = success, "on purpose"
            return response

        ros.node.create_service(Trigger, "/dashboard_client/stop", stop)
        child = ros.start(who, {"robot": str(path), "profile": "own"})
        robot = FakeRobot(ros, ROBOT)
        topic = "/forward_effort_controller/commands"
        commands = ros.publisher(Float64MultiArray, topic) if who == "watchdog" else None
        for _ in range(600):
            robot.send()
            if commands is not None:
                commands.publish(Float64MultiArray(data=[0.0] * ROBOT.n))
            ros.wait(PERIOD)
        assert asked == []
        ros.wait(2.5)
        assert len(asked) == (1 if success else 3)
        assert ("stops by itself" in child.err) is success
