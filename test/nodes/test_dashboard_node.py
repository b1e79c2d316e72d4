"""The dashboard's link to a controller and a simulator, and the node with its
page, all in lockstep.
"""

import signal
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from lockstep import LockstepRos
from rcl_interfaces.msg import ParameterEvent
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker, MarkerArray

from robot_control_ros.bringup import SETUPS
from robot_control_ros.control.requests import SETTINGS
from robot_control_ros.core.gains import TASK, GainSpec
from robot_control_ros.core.spatial import make_pose
from robot_control_ros.dashboard.gains import gains_file
from robot_control_ros.fieldbus.driver_class import driver_names
from robot_control_ros.nodes.dashboard.robot_link import RosLink
from robot_control_ros.recording.cycle_file import whole_file
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.ros.bus_services import BUS_NODES
from robot_control_ros.ros.messages import read_pose
from robot_control_ros.ros.ros_params import gain_descriptor

pytestmark = [pytest.mark.ros, pytest.mark.sim]

ROBOT = load_robot("ur5")
RATE = "125"  # Hz: a quarter of the usual one, for a quarter of the time; a page depends on none


class System:
    """A simulation, and the link to it in the test's own node."""

    def __init__(self, ros, **arguments):
        self.ros, self.children = ros, {}
        for spec in SETUPS["sim"].make(watchdog="false", **{"rate": RATE, **arguments}).nodes():
            self.specs = {**getattr(self, "specs", {}), spec.name: spec}
            self.start(spec.name)
        self.link = RosLink(ros.node, ROBOT, ROBOT.urdf())
        self.until(lambda: self.link.health().lifecycle == "active", "an active controller")
        self.until(lambda: self.link.parameters(), "its gains")

    def start(self, name):
        spec = self.specs[name]
        self.children[name] = self.ros.start(
            name, dict(spec.parameters), remappings=dict(spec.remappings)
        )

    def until(self, condition, what):
        return self.ros.until(condition, what)

    def answer(self, ask, *arguments):
        """The answer to a request of the link."""
        answers = []
        ask(*arguments, answers.append)
        self.until(lambda: answers, "an answer")
        return answers[0]

    def position(self):
        return self.link.telemetry().blocks["pose"].reshape(3, 4)[:, 3]


@pytest.fixture
def system(ros):
    made = System(ros)
    yield made
    made.link.close()


@pytest.fixture
def active(system):
    """The system with the arm at rest at home under impedance with its usual gains."""
    link = system.link
    if link.health().lifecycle != "active":
        assert system.answer(link.change_state, "activate").accepted
    assert system.answer(link.set_law, "impedance").accepted
    assert system.answer(link.set_gains, {"stiffness": 500.0, "damping_ratio": 1.0}).accepted
    system.until(lambda: link.health().lifecycle == "active", "activity")
    system.until(lambda: "pose" in link.telemetry().blocks, "a state")
    return system


def test_the_gains_are_those_that_the_controller_declares(active):
    gains = active.link.parameters()
    stiffness = gains["stiffness"]
    assert next(iter(gains)) == "stiffness"
    assert (stiffness.unit, stiffness.lower, stiffness.upper) == ("N/m, N·m/rad", 0.0, 10000.0)
    assert stiffness.default == (500.0,) * 3 + (50.0,) * 3
    assert stiffness.axes == ("x", "y", "z", "rx", "ry", "rz")
    assert gains["coriolis"].value is False


def test_a_change_is_known_in_full_when_it_is_answered(active):
    # an integer, for all axes
    assert active.answer(active.link.set_gains, {"stiffness": 700}).accepted
    assert active.link.parameters()["stiffness"].value == (700.0,) * 6
    assert active.ros.get("controller", "impedance.stiffness") == [700.0] * 6


def test_a_refusal_has_the_nodes_words_and_changes_nothing(active):
    before = active.link.parameters()
    answer = active.answer(active.link.set_gains, {"damping_ratio": 0.5, "stiffness": 20000.0})
    assert not answer.accepted
    assert "stiffness" in answer.message
    assert "10000" in answer.message
    assert active.ros.get("controller", "impedance.damping_ratio") == [1.0] * 6
    assert active.link.parameters()["damping_ratio"] == before["damping_ratio"]


def test_what_others_change_arrives(active):
    active.ros.set("controller", impedance__stiffness=321.0)
    active.until(lambda: active.link.parameters()["stiffness"].value == (321.0,) * 6, "the change")


def test_settings_of_the_wrench_come_after_the_gains_and_are_changed_and_refused_alike(active):
    link, settings = active.link, {"wrench.low_pass": 20.0, "payload.center": (0.0, 0.0, 0.05)}
    low_pass = link.parameters()["wrench.low_pass"]
    assert (low_pass.unit, low_pass.lower, low_pass.upper, low_pass.default) == (
        "Hz",
        0.0,
        1000.0,
        0.0,
    )
    assert link.parameters()["payload.center"].axes == ("x", "y", "z")
    assert link.parameters()["payload.inertia"].axes == ("xx", "yy", "zz", "xy", "xz", "yz")
    names = list(link.parameters())
    assert names == sorted(names, key=lambda name: name.startswith(SETTINGS))
    assert active.answer(link.set_gains, settings).accepted
    assert {name: link.parameters()[name].value for name in settings} == settings
    assert active.ros.get("controller", "wrench.low_pass") == 20.0
    answer = active.answer(link.set_gains, {"wrench.low_pass": 2000.0})
    assert not answer.accepted
    assert "wrench.low_pass" in answer.message
    assert "1000" in answer.message
    assert link.parameters()["wrench.low_pass"].value == 20.0
    assert active.answer(link.set_gains, {"wrench.low_pass": 0.0, "payload.center": 0.0}).accepted


def test_a_law_brings_its_own_gains_and_a_wrong_one_is_refused_in_words(active):
    link = active.link
    assert active.answer(link.set_law, "joint_impedance").accepted
    assert link.law() == "joint_impedance"
    assert link.parameters()["stiffness"].axes[0] == "shoulder pan"
    answer = active.answer(link.set_law, "none_such")
    assert not answer.accepted
    assert "none_such" in answer.message
    assert link.law() == "joint_impedance"


def test_the_arm_follows_a_target_and_the_reference_shows(active):
    link, start = active.link, active.position().copy()
    pose = active.link.telemetry().blocks["pose"].reshape(3, 4)
    target = make_pose(start + [0.0, 0.05, 0.0], pose[:, :3])
    # again: a machine that stalled for 0.1 s has ended the motion
    to_target = partial(link.set_target_pose, target)
    active.ros.until(
        lambda: abs(active.position()[1] - start[1] - 0.05) < 0.005, "the arm", to_target
    )
    there = lambda: np.allclose(link.telemetry().reference, target, atol=1e-3)  # noqa: E731
    active.ros.until(there, "the reference at the target", to_target)
    assert active.answer(link.request, "controller/go_home").accepted
    home = lambda: np.abs(link.telemetry().q - ROBOT.home).max() < 0.02  # noqa: E731
    # again, as above
    active.ros.until(home, "home", partial(link.request, "controller/go_home", id))


def test_joint_goals_reach_the_controller_which_refuses_those_beyond_limits(active):
    link = active.link
    goal = np.array(ROBOT.home) + [0.1, 0.0, 0.0, 0.0, 0.0, 0.0]

    def arrived():
        q = link.telemetry().q
        return q is not None and np.abs(q - goal).max() < 0.01

    link.set_target_joints(goal)
    active.ros.until(arrived, "the joints at the goal")
    before = link.health().diagnosis.get("refusals", "0")
    link.set_target_joints(np.full(6, 9.0))
    active.ros.until(lambda: link.health().diagnosis.get("refusals", "0") != before, "the refusal")
    assert "shoulder_pan_joint" in link.health().diagnosis["last refusal"]
    goal = np.array(ROBOT.home)
    link.set_target_joints(goal)
    active.ros.until(arrived, "home")


def test_a_push_in_the_links_axes_moves_the_arm_and_is_measured(active):
    link = active.link
    active.until(lambda: "simulator/push" in link.requests(), "the simulator to be seen")
    start, pose = active.position().copy(), link.telemetry().blocks["pose"].reshape(3, 4).copy()
    turn = link.telemetry().blocks["pose"].reshape(3, 4)[:, :3]
    force = turn.T @ np.array([0.0, 0.0, 20.0])

    def pushed():
        wrench = link.telemetry().wrench
        return wrench is not None and wrench[2] > 15.0 and active.position()[2] > start[2] + 0.02

    active.ros.until(pushed, "the arm to give way upwards", again=lambda: link.push("tool0", force))
    link.push("tool0", np.zeros(3))
    # again, as a machine that stalled has the arm hold where it was then
    target = make_pose(start, pose[:, :3])
    came_back = lambda: abs(active.position()[2] - start[2]) < 0.005  # noqa: E731
    active.ros.until(came_back, "the arm to come back", lambda: link.set_target_pose(target))


@pytest.mark.starts("the thread that writes a record, whose end is waited for")
def test_the_last_minute_is_kept_in_a_file_whose_path_is_the_answer(active, tmp_path, monkeypatch):
    pytest.importorskip("mcap")
    link = active.link
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "mine"))
    assert "controller/save_record" in link.requests()
    answer = active.answer(link.request, "controller/save_record")
    assert answer.accepted
    (cycles,) = whole_file(Path(answer.message)).blocks(100_000)
    assert len(cycles) > 0
    assert Path(answer.message).is_relative_to(tmp_path / "mine")
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    active.until(
        lambda: "/dev/null" in active.answer(link.request, "controller/save_record").message,
        "a refusal",
    )


def test_stop_deactivates_and_activation_is_refused_in_the_logs_words_where_it_is(active):
    link = active.link
    assert active.answer(link.stop).accepted
    active.until(lambda: link.health().lifecycle == "inactive", "the inactive state")
    assert active.answer(link.stop).accepted  # it has stopped
    refusal = active.answer(link.request, "controller/hold")
    assert refusal.message == "the controller is not active: activate it first"
    assert not active.answer(link.change_state, "configure").accepted
    assert link.health().answers
    active.until(lambda: link.telemetry().q is not None, "joint states without the controller")
    assert active.answer(link.change_state, "activate").accepted


def test_a_killed_controller_is_told_within_a_second_and_found_again(active):
    link = active.link
    assert active.answer(link.set_gains, {"stiffness": 111.0}).accepted
    active.children["controller"].process.send_signal(signal.SIGKILL)
    active.children["controller"].process.wait()
    dead = time.monotonic()
    active.until(lambda: not link.health().answers, "its silence")
    assert time.monotonic() - dead < 1.0
    answer = active.answer(link.set_gains, {"stiffness": 222.0})
    assert not answer.accepted
    assert "doesn't answer" in answer.message
    active.start("controller")
    active.until(
        lambda: link.health().lifecycle == "active" and link.health().answers, "the new one"
    )
    active.until(
        lambda: link.parameters()["stiffness"].value == (500.0,) * 3 + (50.0,) * 3, "its gains"
    )


def test_a_controller_restarted_at_once_with_another_law_and_a_saved_file_is_known_anew(
    active, tmp_path
):
    link = active.link
    assert active.answer(link.set_law, "joint_impedance").accepted
    assert active.answer(
        link.set_gains, {"stiffness": 77.0, "wrench.dead_band_force": 2.0}
    ).accepted
    saved = tmp_path / "gains.yaml"
    saved.write_text(gains_file.write(link.law(), link.parameters()), encoding="utf-8")
    assert active.answer(link.set_law, "impedance").accepted
    active.children["controller"].process.send_signal(signal.SIGKILL)
    active.children["controller"].process.wait()
    spec = active.specs["controller"]
    active.children["controller"] = active.ros.start(
        "controller",
        {**spec.parameters, "law": "joint_impedance"},
        remappings=dict(spec.remappings),
        parameter_files=(str(saved),),
    )
    active.until(lambda: link.law() == "joint_impedance", "the law of the new one")
    active.until(lambda: link.parameters()["stiffness"].value == (77.0,) * 6, "the saved gains")
    assert link.parameters()["wrench.dead_band_force"].value == 2.0
    active.until(lambda: link.health().commands, "it to be active")
    assert active.answer(link.set_gains, {"wrench.dead_band_force": 0.0}).accepted


def test_a_change_while_the_gains_are_learnt_is_not_lost(tmp_path):
    """With a node that has the names of ours; the change comes between its reading of the
    gains and its answer.
    """
    before, after = (500.0,) * 6, (77.0,) * 6
    name = "impedance.stiffness"
    with LockstepRos(tmp_path) as ros:
        events = ros.publisher(ParameterEvent, "/parameter_events")

        def get_state(request, response):
            response.current_state.label = "active"
            return response

        def get_parameters(request, response):
            whole = {"law": "impedance", "robot": "ur5", "profile": "sim", "prefix": ""}
            if list(request.names) == list(whole):
                response.values = [
                    Parameter(key, value=text).get_parameter_value() for key, text in whole.items()
                ]
                return response
            change = Parameter(name, value=after).to_parameter_msg()
            events.publish(ParameterEvent(node="/controller", changed_parameters=[change]))
            response.values = [Parameter(name, value=before).get_parameter_value()]
            return response

        def list_parameters(request, response):
            response.result.names = [name]
            return response

        def describe_parameters(request, response):
            spec = GainSpec(
                name="stiffness", default=before, doc="", size=TASK, lower=0.0, upper=1e4
            )
            response.descriptors = [gain_descriptor(spec, list(before), ROBOT.joints)]
            response.descriptors[0].name = name
            return response

        for kind, take in (
            (GetState, get_state),
            (GetParameters, get_parameters),
            (ListParameters, list_parameters),
            (DescribeParameters, describe_parameters),
        ):
            ros.node.create_service(kind, f"/controller/{take.__name__}", take)
        link = RosLink(ros.node, ROBOT, ROBOT.urdf())
        try:
            ros.until(link.parameters, "the gains")
            ros.until(lambda: link.parameters()["stiffness"].value == after, "the change")
        finally:
            link.close()


def activate(ros):
    """Ask as any other program does; returns whether the controller is activated."""
    request = Transition(id=Transition.TRANSITION_ACTIVATE)
    return ros.call(ChangeState, "/controller/change_state", transition=request).success


def test_stop_of_the_page_stays_until_its_own_activation(active):
    link = active.link
    assert active.answer(link.stop).accepted
    active.until(lambda: link.health().stopped, "STOP to be told")
    assert link.health().lifecycle == "inactive"
    assert link.health().stopped in link.health().obstacle
    assert not activate(active.ros)
    assert active.answer(link.change_state, "activate").accepted
    active.until(
        lambda: link.health().commands and not link.health().stopped, "an active controller"
    )


def test_the_page_tells_its_own_stop_from_that_of_others(active):
    link = active.link
    link.stop(lambda answer: None)
    own = active.until(lambda: link.health().stopped, "its own")
    assert active.answer(link.change_state, "activate").accepted
    active.until(lambda: link.health().commands, "activity")
    assert active.ros.trigger("/controller/stop").success
    assert active.until(lambda: link.health().stopped, "that of another program") != own


def test_messages_that_cannot_be_read_harm_the_page_s_link_no_more_than_silence(active):
    link, graph = active.link, active.ros.graph
    kinds = {
        "/controller/state": Float64MultiArray(data=[1.0]),
        "/controller/reference_pose": PoseStamped(),
        "/joint_states": JointState(name=["no_such_joint"], position=[1.0]),
        "/simulator/objects": MarkerArray(markers=[Marker(type=Marker.SPHERE)]),
    }
    for topic, message in kinds.items():
        publisher = active.ros.publisher(type(message), topic)
        publisher.publish(message)
    active.ros.wait(0.2)
    cut = ("/controller/state", "/controller/reference_pose", "/simulator/objects")
    graph.on_message = lambda publisher, raw: [
        (0, raw[: len(raw) // 2] if publisher.name in cut else raw)
    ]
    active.ros.wait(0.5)
    graph.on_message = None
    samples = link.telemetry().samples
    active.until(lambda: link.telemetry().samples > samples, "later states")
    assert np.isfinite(link.telemetry().reference).all()
    assert set(link.telemetry().blocks) > {"position", "wrench"}


def test_a_controller_that_is_there_and_has_not_answered_yet_starts(ros):
    link = RosLink(ros.node, ROBOT, ROBOT.urdf())
    assert not link.health().starting
    busy = ros.create_node("busy")
    busy.create_service(GetState, "/controller/get_state", lambda request, response: response)
    ros.executor.remove_node(busy)  # it doesn't take requests, as while it compiles
    ros.until(lambda: link.health().starting, "a node that doesn't answer")
    ros.executor.add_node(busy)
    ros.until(lambda: link.health().answers, "an answer")
    assert not link.health().starting
    ros.executor.remove_node(busy)
    ros.until(lambda: link.health().silence > 1.0, "silence")
    assert not link.health().starting  # it is lost
    link.close()


def test_the_nodes_of_buses_are_those_that_have_a_driver_and_the_one_of_the_user():
    assert set(BUS_NODES) == {*driver_names(), "fieldbus"}


@pytest.mark.parametrize("bus", BUS_NODES)
def test_drives_are_told_and_asked_for(tmp_path, bus):
    """With a node that has the names of ours."""
    with LockstepRos(tmp_path) as ros:
        asked = []
        link = RosLink(ros.node, ROBOT, ROBOT.urdf())

        def answer(name):
            def take(request, response):
                asked.append(name)
                response.success, response.message = name != "enable", f"{name} isn't possible"
                return response

            return take

        names = ("enable", "disable", "quick_stop", "reset_fault")
        for name in names:
            ros.node.create_service(Trigger, f"/{bus}/{name}", answer(name))
        publisher = ros.publisher(DiagnosticArray, "/diagnostics")
        said = {
            "bus": "stopped",
            "elbow_joint": "fault",
            "wrist_1_joint": "fault",
            "wrist_2_joint": "switched on",
        }
        status = [
            DiagnosticStatus(name=f"{bus}: {name}", message=words) for name, words in said.items()
        ]
        try:
            ros.until(
                lambda: {f"drives/{name}" for name in names} <= link.requests(), "the services"
            )
            words = "stopped · elbow, wrist 1: fault · wrist 2: switched on"
            ros.until(
                lambda: link.health().drives == words,
                "the drives",
                lambda: publisher.publish(DiagnosticArray(status=status)),
            )
            for name in names:
                answers = []
                link.request(f"drives/{name}", answers.append)
                ros.until(lambda answers=answers: answers, "an answer")
                assert (answers[0].accepted, answers[0].message) == (
                    name != "enable",
                    f"{name} isn't possible",
                )
            link.stop(lambda answer: None)
            ros.until(lambda: len(asked) == 5, "the quick stop")
            assert asked == [*names, "quick_stop"]
        finally:
            link.close()


def test_objects_of_a_scene_are_seen_and_led(tmp_path):
    with LockstepRos(tmp_path) as ros:
        system = System(ros, scene="ball")
        link = system.link
        try:

            def led_ball():
                return next(
                    (item for item in link.telemetry().objects if item.name == "ball" and item.led),
                    None,
                )

            ball = system.until(led_ball, "the ball, and that it takes targets")
            assert (ball.shape, ball.frame) == ("sphere", ROBOT.base)
            assert (
                next(item for item in link.telemetry().objects if item.name == "tool").frame
                == ROBOT.tip
            )
            goal = ball.pose[:3, 3] + [0.0, 0.05, 0.0]

            def there():
                now = next(item for item in link.telemetry().objects if item.name == "ball")
                return abs(now.pose[1, 3] - goal[1]) < 0.01

            ros.until(
                there, "the ball at its place", again=lambda: link.set_object_target("ball", goal)
            )
        finally:
            link.close()


# --- the node with its page ---


@pytest.fixture
def web(ros):
    """Pages on the clock of the graph."""
    pytest.importorskip("viser", reason="the page needs viser")
    from web import Web

    with Web(ros.graph) as made:
        yield made


def test_the_page_of_a_simulated_arm_shows_it_changes_a_gain_leads_and_stops_it(ros, web):
    from dashboard_support import HOME, Browser, press_stop, text, until

    for spec in SETUPS["sim"].make(watchdog="false").nodes():
        ros.start(spec.name, dict(spec.parameters), remappings=dict(spec.remappings))
    page = ros.start("dashboard", {"robot": "ur5"}).node.page
    until(lambda: "● active" in text(page), "an active controller")
    browser = Browser(page)
    assert browser.handle("Stiffness [N/m]").value == 500.0
    until(lambda: np.abs(page.robot.q - ROBOT.home).max() < 1e-3, "the arm at home")
    browser.set("Stiffness [N/m]", 700.0)
    until(
        lambda: ros.get("controller", "impedance.stiffness")[:3] == [700.0] * 3,
        "the gain of the node",
    )
    goal = make_pose(HOME[:3, 3] + [0.0, 0.05, 0.0], HOME[:3, :3])
    references = ros.subscribe(PoseStamped, "/controller/reference_pose")
    until(lambda: len(references), "a reference")
    browser.begin_drag("/target")
    browser.drag("/target", goal)

    def is_there():
        return len(references) and np.abs(read_pose(references.last.pose) - goal).max() < 1e-3

    until(is_there, "the reference at the target")
    browser.end_drag("/target")
    press_stop(page)
    until(lambda: "stopped by the page" in text(page), "the page to say so")


def test_the_node_prints_its_address_serves_the_page_and_ends(ros, web, capsys):
    from web import get

    child = ros.start("dashboard", {"robot": "planar_two_link", "port": 8480})
    address, look = (line.split()[-1] for line in capsys.readouterr().out.splitlines())
    assert address.startswith("http://127.0.0.1:8480/?token=")
    assert look != address
    status, _, content = get(8480, address.partition("8480")[2])
    assert (status, b"<html" in content.lower()) == (200, True)
    assert child.end(signal.SIGTERM) == 0
    with pytest.raises(ConnectionRefusedError):
        get(8480, "/")


class EndingIdentification:
    """An identification that leaves the arm holding some time after it is asked for its end."""

    def __init__(self):
        self.stops, self.asked_at, self.ran_at_close = 0, 0.0, None

    @property
    def running(self):
        return self.stops == 0 or time.monotonic() < self.asked_at + 0.5

    def stop(self):
        self.stops += 1
        if self.stops == 1:
            self.asked_at = time.monotonic()

    def close(self, timeout):
        self.ran_at_close = self.running


def test_a_page_that_ends_lets_an_identification_end_first(ros, web):
    child = ros.start("dashboard", {"robot": "ur5"})
    child.node.link.identification = identification = EndingIdentification()
    assert child.end(signal.SIGTERM) == 0
    assert identification.stops > 0
    assert identification.ran_at_close is False


def test_the_description_comes_from_its_topic_where_it_shall(ros, web, capsys):
    child = ros.start("dashboard", {"robot": "ur5", "port": 8490, "description": "topic"})
    publisher = ros.publisher(String, "robot_description", latched=True)
    ros.until(lambda: publisher.get_subscription_count() > 0, "the dashboard")
    publisher.publish(String(data="<robot name='another'><link name='base'/></robot>"))
    ros.until(lambda: "not in the robot description" in child.err, "words on another robot's")
    assert "http://" not in capsys.readouterr().out
    publisher.publish(String(data=ROBOT.urdf()))
    ros.until(lambda: child.node.page is not None, "the page")
    assert "dashboard of ur5: http://127" in capsys.readouterr().out
