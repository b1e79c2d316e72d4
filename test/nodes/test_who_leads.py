"""Of several that could command a robot one does, and all others say who: controllers,
strangers, clients, teleop.
"""

import signal
import time
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from mock_hardware import RATE, MockHardware
from ros_support import ended_cleanly
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from robot_control_ros import ConfigError, HardwareFault, Robot
from robot_control_ros.nodes.controller import runtime
from robot_control_ros.robot.configuration import load_robot

pytestmark = pytest.mark.ros

COMMANDS = "/forward_position_controller/commands"
ROBOT = load_robot("ur5", "mock")
UNSTARTED = {"autostart": False}


class Rivals:
    """Mock hardware, and the controllers that want it.

    Attributes:
        faults: newest of ~/fault, by the name of the controller.
        commanders: names of the nodes whose commands came, without repetitions in a row.
        gids: identifiers of the publishers of these commands.
    """

    def __init__(self, ros):
        self.ros, self.faults, self.commanders = ros, {}, []
        self.gids: set[int] = set()
        self.hardware = MockHardware(ros, ROBOT).start()
        self.statuses: dict[str, Any] = {}
        ros.subscribe(DiagnosticArray, "/diagnostics", on_message=self._keep_status)
        ros.graph.on_message = self._note

    def start(self, name, namespace="", **parameters):
        chosen = {
            "robot": "ur5",
            "profile": "mock",
            "law": "position_domain_pd",
            "rate": RATE,
            **parameters,
        }
        remappings = {"__node": name}
        if namespace:
            remappings |= {topic: f"/{topic}" for topic in ("joint_states", COMMANDS[1:])}
        full = f"{namespace}/{name}" if namespace else name
        child = self.ros.start("controller", chosen, remappings=remappings, namespace=namespace)
        inbox = self.ros.subscribe(String, f"/{full}/fault", latched=True)
        self.faults[full] = inbox
        return child

    def state(self, name):
        return self.ros.call(GetState, f"/{name}/get_state").current_state.label

    def change(self, name, transition):
        number = getattr(Transition, f"TRANSITION_{transition.upper()}")
        return self.ros.call(
            ChangeState, f"/{name}/change_state", transition=Transition(id=number)
        ).success

    def active(self, *names):
        return [name for name in names if self.state(name) == "active"]

    def leads(self, name):
        """Wait until a controller commands the robot."""
        self.ros.until(lambda: self.state(name) == "active", f"an active {name}")
        self.ros.until(lambda: self.commanders[-1:] == [f"/{name}"], f"commands of {name}")

    def says(self, name, *words):
        """Wait until a controller's ~/fault has these words."""
        inbox = self.faults[name]
        self.ros.until(
            lambda: len(inbox) and all(word in inbox.last.data for word in words),
            f"{words} of {name}",
        )

    def diagnosis(self, name):
        """Level, message and values of a controller's newest diagnosis."""
        self.statuses.clear()
        status = self.ros.until(
            lambda: self.statuses.get(f"{name}: control loop"), f"a diagnosis of {name}"
        )
        return status.level[0], status.message, {item.key: item.value for item in status.values}

    def _keep_status(self, message):
        self.statuses.update((status.name, status) for status in message.status)

    def _note(self, publisher, data):
        name = publisher.node.get_fully_qualified_name()
        if publisher.get_topic_name() == COMMANDS:
            self.gids.add(publisher.gid)
        if publisher.get_topic_name() == COMMANDS and self.commanders[-1:] != [name]:
            self.commanders.append(name)
        return [(0, data)]


@pytest.fixture
def rivals(ros):
    return Rivals(ros)


# --- two controllers ---


def test_a_second_controller_is_not_activated_and_says_who_leads(rivals):
    rivals.start("controller")
    rivals.leads("controller")
    second = rivals.start("second", **UNSTARTED)
    assert rivals.change("second", "configure")
    assert not rivals.change("second", "activate")
    assert rivals.state("second") == "inactive"
    rivals.ros.until(
        lambda: f"not activated: /controller publishes commands on {COMMANDS}" in second.err,
        "the refusal",
    )
    rivals.says("second", "/controller commands the robot")
    level, message, values = rivals.diagnosis("second")
    assert level == 1
    assert "/controller commands the robot" in message
    assert values["commanded by"] == "/controller"
    rivals.ros.wait(1.0)  # its first report begins before its first joint state
    level, _, values = rivals.diagnosis("controller")
    assert (level, values["commanded by"]) == (0, "/controller")
    assert rivals.commanders == ["/controller"]


def test_a_controller_that_is_to_start_by_itself_waits_for_the_one_that_leads_and_then_leads(
    rivals,
):
    """The usual change of hands: the first is deactivated, and may be activated
    again after the second.
    """
    rivals.start("controller")
    rivals.leads("controller")
    second = rivals.start("second")
    rivals.ros.until(
        lambda: f"waiting: /controller publishes commands on {COMMANDS}" in second.err,
        "whom it waits for",
    )
    assert rivals.change("controller", "deactivate")
    rivals.leads("second")
    assert not rivals.change("controller", "activate")
    assert rivals.change("second", "deactivate")
    assert rivals.change("controller", "activate")
    rivals.leads("controller")
    assert rivals.commanders == ["/controller", "/second", "/controller"]


def test_a_controller_that_is_only_configured_keeps_nobody_from_leading(rivals):
    rivals.start("second", **UNSTARTED)
    assert rivals.change("second", "configure")
    rivals.start("controller")
    rivals.leads("controller")
    level, _, values = rivals.diagnosis("controller")
    assert level != 2
    assert values["commanded by"] == "/controller"


def test_its_own_watchdog_keeps_it_from_nothing_and_that_of_another_namespace_does(rivals):
    watched = {"robot": "ur5", "profile": "mock"}
    rivals.ros.start("watchdog", watched)
    rivals.start("controller")
    rivals.leads("controller")
    assert rivals.change("controller", "deactivate")
    rivals.ros.start("watchdog", watched, namespace="other", remappings={COMMANDS[1:]: COMMANDS})
    assert not rivals.change("controller", "activate")
    rivals.says("controller", "/other/watchdog commands the robot")


def test_of_two_with_one_full_name_the_second_waits_and_the_first_is_not_disturbed(rivals):
    rivals.start("controller")
    rivals.leads("controller")
    second = rivals.start("controller")
    words = f"waiting: another /controller publishes commands on {COMMANDS}"
    rivals.ros.until(lambda: words in second.err, "whom it waits for")
    rivals.ros.wait(2.0)
    assert "not activated" not in second.err
    assert rivals.ros.node.count_publishers(COMMANDS) == 1


def test_of_two_with_one_name_in_two_namespaces_one_leads(rivals):
    rivals.start("controller")
    rivals.leads("controller")
    rivals.start("controller", namespace="other", **UNSTARTED)
    assert rivals.change("other/controller", "configure")
    assert not rivals.change("other/controller", "activate")
    rivals.says("other/controller", "/controller commands the robot")


def discover_after(rivals, delay):
    """Let a node see another's publishers only a while [s] after somebody has
    first asked for them.
    """
    graph = rivals.ros.graph
    asked_at: dict[int, int] = {}

    def sees(node, publisher):
        if publisher.get_topic_name() != COMMANDS:
            return True
        first = asked_at.setdefault(publisher.gid, graph.now)
        return graph.now - first >= delay * 1e9

    graph.sees = sees


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("late", "delay"),
    [
        pytest.param(
            late,
            delay,
            marks=() if late in (0.0, delay) or (late, delay) == (0.3, 0.2) else pytest.mark.long,
        )
        for late in (0.0, 0.01, 0.1, 0.2, 0.3)
        for delay in (0.0, 0.1, 0.2)
    ],
)
def test_of_two_that_start_at_once_exactly_one_leads(rivals, late, delay):
    discover_after(rivals, delay)
    rivals.start("one")
    rivals.ros.wait(late)
    rivals.start("two")
    rivals.ros.until(lambda: rivals.active("one", "two"), "one that leads")
    rivals.ros.wait(5.0)
    (leading,) = rivals.active("one", "two")
    assert rivals.commanders == [f"/{leading}"]
    other = "two" if leading == "one" else "one"
    rivals.says(other, f"/{leading} commands the robot")


def activated_at_once(rivals, delay):
    """What two controllers answer that are told at once to become active."""
    discover_after(rivals, delay)
    for name in ("one", "two"):
        rivals.start(name, **UNSTARTED)
        assert rivals.change(name, "configure")
    activate = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_ACTIVATE))
    futures = {
        name: rivals.ros.node.create_client(ChangeState, f"/{name}/change_state").call_async(
            activate
        )
        for name in ("one", "two")
    }
    rivals.ros.until(lambda: all(future.done() for future in futures.values()), "both answers")
    return {name: future.result() for name, future in futures.items()}


@pytest.mark.few(1)
@pytest.mark.parametrize("delay", [0.0, 0.1, 0.2])
def test_of_two_that_are_activated_at_once_at_most_one_is(rivals, delay):
    answers = activated_at_once(rivals, delay)
    assert sum(answer.success for answer in answers.values()) < 2
    assert len(rivals.active("one", "two")) < 2
    rivals.ros.wait(1.0)
    assert len(rivals.commanders) < 2


def test_one_whose_activation_takes_long_does_not_displace_another_that_leads_meanwhile(
    rivals, monkeypatch
):
    def slow(node, *arguments):
        """The controller manager answers the first one late."""
        if node.get_name() == "one":
            time.sleep(1.0)
        return []

    monkeypatch.setattr(runtime, "check_controllers", slow)
    answers = activated_at_once(rivals, delay=0.0)
    assert {name: answer.success for name, answer in answers.items()} == {"one": False, "two": True}
    rivals.ros.wait(1.0)
    assert rivals.active("one", "two") == ["two"]
    assert rivals.commanders == ["/two"]


@pytest.mark.few(3)
@pytest.mark.parametrize("names", [("one", "two"), ("two", "one"), ("controller", "controller")])
@pytest.mark.parametrize("late", [0.0, 0.4, 3.0])
def test_of_two_young_ones_that_both_became_active_exactly_one_yields(rivals, names, late):
    """Discovery takes longer than a claim; who comes first in the order of names leads on."""
    discover_after(rivals, 2.0)
    first = rivals.start(names[0])
    rivals.ros.wait(late)
    second = rivals.start(names[1])
    rivals.ros.until(lambda: "yields" in first.err + second.err, "one that yields")
    rivals.commanders.clear()
    rivals.gids.clear()
    rivals.ros.wait(4.0)
    assert sum("yields" in text for _, _, text in rivals.ros.graph.lines) == 1
    assert len(rivals.gids) == 1
    if names[0] != names[1]:
        assert rivals.active("one", "two") == ["one"]
        rivals.says("two", "/one commands the robot")


@pytest.mark.few(1)
@pytest.mark.parametrize("names", [("one", "two"), ("two", "one"), ("controller", "controller")])
def test_the_older_one_leads_on_and_the_younger_waits_until_it_has_gone(rivals, names):
    first = rivals.start(names[0])
    rivals.leads(names[0])
    rivals.ros.wait(12.0)
    discover_after(rivals, 4.0)
    second = rivals.start(names[1])
    rivals.ros.until(lambda: "yields" in second.err, "one that yields")
    rivals.gids.clear()
    rivals.ros.wait(2.0)
    assert len(rivals.gids) == 1
    assert names[0] == names[1] or "yields" not in first.err
    assert first.end(signal.SIGINT) == 0
    rivals.ros.until(lambda: len(rivals.gids) == 2, "commands of the other")


def test_a_young_one_that_meets_another_sends_nothing_more_not_even_to_brake(rivals):
    discover_after(rivals, 2.0)
    rivals.start("one")
    second = rivals.start("two")
    rivals.ros.until(lambda: rivals.active("one", "two") == ["one", "two"], "two that lead")
    rivals.ros.until(lambda: "sends nothing" in second.err, "one that stands back")
    rivals.commanders.clear()
    rivals.ros.wait(3.0)
    assert "/two" not in rivals.commanders


def test_one_that_yields_and_was_activated_by_hand_stays_inactive(rivals):
    discover_after(rivals, 2.0)
    for name in ("one", "two"):
        rivals.start(name, **UNSTARTED)
        assert rivals.change(name, "configure")
        assert rivals.change(name, "activate")
    rivals.ros.until(lambda: rivals.active("one", "two") == ["one"], "one that leads")
    assert rivals.change("one", "deactivate")
    rivals.ros.wait(3.0)
    assert rivals.active("one", "two") == []


def test_two_that_lead_for_longer_than_they_are_young_are_both_told(rivals):
    discover_after(rivals, 11.0)
    rivals.start("one")
    rivals.start("two")
    rivals.ros.until(lambda: rivals.active("one", "two") == ["one", "two"], "two that lead")
    rivals.says("one", "/two commands the robot, too")
    rivals.says("two", "/one commands the robot, too")
    assert rivals.active("one", "two") == ["one", "two"]


# --- strangers ---


def test_a_stranger_that_commands_later_is_named_until_it_goes_and_the_law_goes_on(rivals):
    rivals.start("controller")
    rivals.leads("controller")
    stranger = rivals.ros.create_node("_ros2cli_7")
    publisher = stranger.create_publisher(Float64MultiArray, COMMANDS, 10)
    publisher.publish(Float64MultiArray(data=list(ROBOT.home)))
    rivals.says("controller", "/_ros2cli_7 commands the robot, too")
    level, message, values = rivals.diagnosis("controller")
    assert level == 2
    assert f"/_ros2cli_7 publishes commands on {COMMANDS}" in message
    assert values["commanded by"] == "/_ros2cli_7, /controller"
    assert rivals.state("controller") == "active"
    stranger.destroy_publisher(publisher)
    rivals.ros.until(lambda: rivals.faults["controller"].last.data == "", "the end of it")
    assert rivals.commanders[-1] == "/controller"


def test_a_stranger_that_was_there_before_keeps_a_controller_waiting(rivals):
    publisher = rivals.ros.publisher(Float64MultiArray, COMMANDS)
    child = rivals.start("controller")
    rivals.ros.until(
        lambda: f"waiting: /test publishes commands on {COMMANDS}" in child.err, "whom it waits for"
    )
    rivals.says("controller", "/test commands the robot")
    assert rivals.commanders == []
    rivals.ros.node.destroy_publisher(publisher)
    rivals.leads("controller")


def test_a_stranger_is_told_within_half_a_second(rivals):
    rivals.start("controller")
    rivals.leads("controller")
    rivals.ros.wait(1.3)
    rivals.statuses.clear()
    rivals.ros.publisher(Float64MultiArray, COMMANDS)
    rivals.ros.wait(0.4)
    assert "/test commands the robot" in rivals.faults["controller"].last.data
    assert "/test publishes commands" in rivals.statuses["controller: control loop"].message


def test_late_joint_states_of_another_publisher_are_told_with_the_publishers_names(rivals):
    rivals.start("controller")
    rivals.leads("controller")
    rivals.ros.wait(1.3)
    newest = rivals.ros.subscribe(JointState, "/joint_states")
    stranger = rivals.ros.create_node("relay")
    publisher = stranger.create_publisher(JointState, "/joint_states", 10)
    rivals.ros.until(lambda: len(newest) > 3, "joint states")
    late = newest.messages[-3]
    rivals.statuses.clear()
    for _ in range(5):
        publisher.publish(late)
        rivals.ros.wait(0.08)
    status = rivals.statuses["controller: control loop"]
    values = {item.key: item.value for item in status.values}
    assert status.level[0] == 1
    assert "came after a newer one" in status.message
    assert "/relay" in status.message
    assert int(values["late joint states"]) > 0
    assert "/relay" in values["joint states from"]
    rivals.ros.wait(4.0)
    assert rivals.diagnosis("controller")[0] == 0


# --- who asks ---


def test_a_client_of_one_that_waits_is_told_who_leads(rivals):
    rivals.start("controller")
    rivals.leads("controller")
    rivals.start("second")
    rivals.says("second", "/controller commands the robot")
    with pytest.raises(ConfigError, match="/controller commands the robot") as refused:
        Robot(controller="second", timeout=2.0)
    assert refused.value.name == "/second"


def test_a_client_s_move_ends_where_a_stranger_commands_the_robot_too(rivals):
    rivals.start("controller")
    rivals.leads("controller")
    with Robot(timeout=10.0) as robot:
        rivals.ros.publisher(Float64MultiArray, COMMANDS)
        with pytest.raises(HardwareFault, match="/test commands the robot, too"):
            robot.move_to(q=np.array(ROBOT.home) + np.eye(ROBOT.n)[0])
        assert "/test commands the robot" in robot.fault


def test_teleop_says_why_the_arm_does_not_follow_and_when_it_does(rivals):
    rivals.start("controller")
    rivals.leads("controller")
    rivals.start("second")
    teleop = rivals.ros.start("teleop", {"controller": "second"})
    rivals.ros.until(lambda: "/controller commands the robot" in teleop.err, "who leads")
    assert rivals.change("controller", "deactivate")
    rivals.leads("second")
    rivals.ros.until(lambda: "the arm follows" in teleop.err, "that it follows")
    assert ended_cleanly(teleop)
