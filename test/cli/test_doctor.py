"""`robot_control doctor` before systems that run, half run, or don't: what it prints,
and its exit status.
"""

import contextlib
import json
import os
import re
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from geometry_msgs.msg import WrenchStamped
from mock_hardware import RATE, WRENCH, MockHardware
from ros_support import Controller
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray

from robot_control_ros.bringup import SETUPS
from robot_control_ros.cli.main import main
from robot_control_ros.nodes.doctor import running_controllers
from robot_control_ros.nodes.doctor.node import real_time_pause
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.ros.entities import Entities

pytestmark = pytest.mark.ros

ROOT = Path(__file__).resolve().parents[2]


class Visit:
    """One run of the doctor: its exit status, and what it printed."""

    def __init__(self, status, text):
        self.status, self.text, self.lines = status, text, text.splitlines()

    def level(self, words):
        """The mark of the line that begins with these words."""
        (line,) = [line for line in self.lines if line[7:].startswith(words)]
        return line[:6].strip()

    @property
    def next(self):
        (line,) = [line for line in self.lines if line.startswith("Next: ")]
        return line.removeprefix("Next: ")


@pytest.fixture
def visit(ros, monkeypatch, capsys):
    """Runs the doctor beside the nodes of the test."""

    @contextlib.contextmanager
    def spinning(make_node):
        node = make_node()
        ros.executor.add_node(node)
        yield node, ros.wait
        ros.executor.remove_node(node)
        node.destroy_node()

    def find_controllers(within):
        node = ros.create_node("finder")
        entities = Entities(node)
        namespaces = running_controllers.controller_namespaces(node, ros.wait, within)
        found = running_controllers.ParameterAnswers(entities, namespaces).await_all(ros.wait)
        ros.executor.remove_node(node)
        node.destroy_node()
        return found

    monkeypatch.setattr("robot_control_ros.nodes.doctor.node.spinning", spinning)
    monkeypatch.setattr(running_controllers, "find_controllers", find_controllers)
    monkeypatch.setattr(os, "environ", os.environ | {"ROS_DOMAIN_ID": "7"})

    def run(*options):
        status = main(["doctor", *options])
        said = capsys.readouterr()
        assert said.err == ""
        return Visit(status, said.out)

    return run


def test_before_nothing_the_domain_is_named_and_what_to_start(ros, visit):
    ros.node.destroy_node()
    found = visit("--seconds", "4")
    assert found.status == 1
    assert found.level("no other node is seen in ROS domain 7") == "FAIL"
    assert found.next.startswith("ros2 launch robot_control_ros sim.launch.py robot:=ur5")


@pytest.mark.sim
def test_a_running_simulation_is_well_and_then_its_controller_is_missed(ros, visit):
    simulator = {"robot": "ur5"}
    ros.start("simulator", simulator)
    ros.start("watchdog", {**simulator, "use_sim_time": True})
    controller = Controller(ros, WRENCH, robot="ur5", use_sim_time=True)
    states = ros.subscribe(Float64MultiArray, "/controller/state")

    def watched():
        said = {
            status.name: status.message
            for message in controller.diagnostics.messages
            for status in message.status
        }
        return said.get("watchdog: commands") == "watching" and len(states)

    ros.until(watched, "controller and watchdog")
    well = visit("--seconds", "4")
    assert well.status == 0, well.text
    assert " FAIL " not in well.text
    assert ("All is well." in well.lines) == (" warn " not in well.text)
    for words in (
        "joint states on /joint_states, from simulator",
        "effort commands on /forward_effort_controller/commands are taken by simulator",
        f"wrench on {WRENCH}, from simulator",
        "joint states: all 6 joints",
        "joint states: stamps of simulated time don't go back",
        "effort looks like torques with gravity",
        "wrench: in frame ft_frame",
        "wrench: 0.0 N",
    ):
        assert well.level(words) == "ok", well.text
    assert max(map(len, well.lines)) <= 100

    other = visit("--profile", "mock", "--law", "joint_pid", "--seconds", "4")
    assert other.level("controller runs for ur5 under profile sim") == "FAIL"
    assert other.level("watchdog runs for ur5 under profile sim") == "FAIL"

    assert controller.child.end(2) == 0
    alone = visit("--law", "admittance", "--seconds", "4")
    assert alone.level("no controller: nothing commands the robot") == "warn"
    assert alone.next.endswith(  # after `ros2 run …`, or `python -m …` where there is no ros2
        " controller --ros-args -p robot:=ur5 -p profile:=sim -p use_sim_time:=true "
        f"-p law:=admittance -r wrench:={WRENCH[1:]}"
    )


def lines_of_pages():
    """Each `robot_control doctor` line of the pages, without comments."""
    pages = "\n".join(page.read_text("utf-8") for page in (ROOT / "docs").rglob("*.md"))
    lines = re.findall(r"^robot_control (doctor --robot[^#\n]*[^#\s])", pages, re.MULTILINE)
    return sorted({line for line in lines if "my_arm" not in line})


@pytest.mark.parametrize("line", lines_of_pages())
def test_each_line_of_a_page_says_what_to_do_first_where_nothing_runs(line, ros, visit):
    ros.node.destroy_node()
    command, *options = line.split()
    found = visit(*options, "--seconds", "4")
    assert command == "doctor"
    assert found.status == 1
    assert found.next


def test_programs_get_the_findings_and_what_to_do_first(ros, visit):
    ros.node.destroy_node()
    shown = visit("--seconds", "4")
    found = visit("--seconds", "4", "--json")
    assert found.status == shown.status == 1
    (examined,) = json.loads(found.text)
    assert (examined["robot"], examined["profile"]) == ("ur5", "sim")
    assert examined["law"] == "impedance"
    assert "error" in {each["level"] for each in examined["findings"]}
    assert examined["next"] == shown.next
    assert examined["commands"]["effort"] == "/forward_effort_controller/commands"


def test_an_arm_of_a_work_cell_is_started_with_its_cell(ros, visit):
    ros.node.destroy_node()
    found = visit("--robot", "two_ur5e#left", "--seconds", "4")
    assert found.next.startswith("ros2 launch robot_control_ros two_arms.launch.py ")
    assert "workcell:=two_ur5e" in found.next.split()


@pytest.mark.sim
def test_each_arm_of_the_running_work_cell_is_examined_under_the_law_that_runs(ros, visit):
    nodes = SETUPS["two_arms"].make(law="joint_impedance", rate="100", watchdog="false").nodes()
    for spec in nodes:
        if spec.executable in ("simulator", "controller"):
            ros.start(spec.executable, dict(spec.parameters), namespace=spec.namespace)
    states = {
        arm: ros.subscribe(Float64MultiArray, f"/{arm}/controller/state")
        for arm in ("left", "right")
    }
    ros.until(lambda: all(len(inbox) for inbox in states.values()), "both controllers")
    found = visit("--seconds", "4")
    heads = [line for line in found.lines if "listening for" in line or "in namespace" in line]
    assert [arm for arm in states if f"in namespace {arm}," in " ".join(heads)] == list(states)
    assert found.text.count("law joint_impedance") == 2
    assert "law impedance" not in found.text
    for line in found.lines:
        assert "sim.launch.py" not in line
    one = visit("--namespace", "right", "--seconds", "4")
    assert "in namespace right," in one.text
    assert "in namespace left," not in one.text


def test_wrong_rate_wrong_frame_and_a_rival_are_found(ros, visit):
    hardware = MockHardware(ros, load_robot("ur5", "mock")).start()
    hardware.frame = "sensor_link"
    ros.publisher(Float64MultiArray, "/forward_position_controller/commands")
    found = visit("--profile", "mock", "--law", "admittance")
    assert found.status == 1
    assert (
        found.level("position commands on /forward_position_controller/commands are taken by contr")
        == "ok"
    )
    assert (
        found.level("/test publishes commands on /forward_position_controller/commands, too")
        == "FAIL"
    )
    assert found.level("wrench: unknown frame 'sensor_link'") == "FAIL"
    (rate,) = [line for line in found.lines if "the profile says 500 Hz" in line]
    assert rate.startswith(" warn  joint states: ")
    assert float(rate.split()[3]) <= 1.1 * RATE
    assert found.next == "Stop it: only one node may command"


def test_two_publishers_of_one_wrench_are_found(ros, visit):
    MockHardware(ros, load_robot("ur5", "mock")).start()
    ros.publisher(WrenchStamped, WRENCH)
    found = visit("--profile", "mock", "--law", "admittance")
    assert found.level(f"2 publish a wrench on {WRENCH}: ") == "FAIL"
    assert (
        visit("--profile", "mock", "--law", "joint_pid").level(f"2 publish a wrench on {WRENCH}: ")
        == "warn"
    )


def test_another_robot_s_joints_and_a_missing_wrench_are_found(ros, visit):
    hardware = MockHardware(ros, load_robot("gen3", "mock"))
    hardware.publish_states()
    hardware.take_commands()
    found = visit("--profile", "mock", "--law", "admittance")
    assert found.status == 1
    assert found.level("joint states: ['shoulder_pan_joint', ") == "FAIL"
    assert "there are: joint_1, joint_2," in " ".join(found.text.split())
    assert found.level("law admittance needs a wrench, and nobody publishes one on") == "FAIL"


def test_a_robot_that_executes_nothing_and_a_silent_topic_are_found(ros, visit):
    robot = load_robot("ur5", "real")
    hardware = MockHardware(ros, robot)
    hardware.take_commands()
    hardware.publish_wrenches()
    ros.publisher(Bool, robot.profile.running_topic, latched=True).publish(Bool(data=False))
    hardware.node.create_publisher(JointState, "joint_states", 10)
    found = visit("--profile", "real", "--law", "position_domain_pd")
    assert found.status == 1
    assert found.level(f"/{robot.profile.running_topic}: the robot executes no commands") == "FAIL"
    assert found.level("only 0 joint states have come") == "FAIL"
    for note in robot.profile.notes:
        assert note in " ".join(found.text.split())


@pytest.mark.parametrize(
    ("period", "runtime", "pause"),
    [("1000000", "950000", 0.05), ("1000000", "-1", 0.0), (None, None, 0.0)],
)
def test_the_pause_of_real_time_threads_is_what_the_kernel_says(tmp_path, period, runtime, pause):
    for name, value in (("period", period), ("runtime", runtime)):
        if value is not None:
            (tmp_path / f"sched_rt_{name}_us").write_text(f"{value}\n")
    assert real_time_pause(tmp_path) == pytest.approx(pause)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--seconds", "1"], "seconds = 1: must be 4 or more"),
        (["--robot", "ur55"], "unknown robot 'ur55'"),
        (["--profile", "reel"], "unknown profile 'reel'"),
        (
            ["--profile", "real", "--law", "impedance"],
            "law impedance commands effort, but UR5 (CB3) (profile real) takes only",
        ),
    ],
)
def test_what_can_not_be_looked_at_is_refused_in_one_line(capsys, options, words):
    assert main(["doctor", *options]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("robot_control: ")
    assert words in said.err
    assert said.err.count("\n") == 1


def commands():
    """Every command line of the doctor in the documentation, without its comment."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    lines = [line for page in pages for line in page.read_text(encoding="utf-8").splitlines()]
    found = {
        re.sub(r"\s+#.*", "", line).strip()
        for line in lines
        if line.strip().startswith("robot_control doctor --")
    }
    return sorted(line for line in found if "my_arm.yaml" not in line)


@pytest.mark.parametrize("line", commands())
def test_a_command_of_the_documentation_is_not_refused(monkeypatch, capsys, line):
    seen = []
    monkeypatch.setattr(
        "robot_control_ros.nodes.doctor.node.examine", lambda *given: seen.append(given) or []
    )
    monkeypatch.setattr(running_controllers, "find_controllers", lambda within: [])
    assert main(line.split()[1:]) == 0
    assert seen
    assert "All is well." in capsys.readouterr().out
