"""README and the tutorials: what stands there runs, prints what stands below it, or is a command of
another package.
"""

import importlib
import io
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest
import yaml

from robot_control_ros.bringup import SETUPS
from robot_control_ros.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
INDEX = ROOT / "docs" / "index.md"
# Programs of others, which no test of this repository can run, by how their lines begin.
OTHERS = {
    "rosdep install": "of ROS",
    "colcon build": "of ROS",
    "sudo apt install": "of Debian and Ubuntu",
    "export ROS_AUTOMATIC_DISCOVERY_RANGE": "the demo prints it",
    "export ROBOT_CONTROL_LAWS": "names a law of the reader's",
    "ros2 control": "asks ros2_control",
    "ros2 topic echo --once /io_and_status_controller": "of Universal Robots' driver",
    "ros2 topic echo --once /speed_scaling_state_broadcaster": "of Universal Robots' driver",
    "ros2 run ur_client_library": "of Universal Robots",
    "ros2 run controller_manager": "of ros2_control",
    "ros2 launch ur_calibration": "of Universal Robots",
    "ros2 launch ur_robot_driver": "of Universal Robots; test/bringup/test_drivers.py compares its names",
    "ros2 launch kortex_bringup": "of Kinova; test/bringup/test_drivers.py compares its names",
    "ros2 launch franka_bringup": "of Franka",
    "ros2 service call /io_and_status_controller": "of Universal Robots' driver",
    "ros2 service call /friction_model_controller": "of Universal Robots' driver",
    "ros2 service call /ur_configuration_controller": "of Universal Robots' driver",
    "ros2 service call /franka/enable": "of the node that drives the robot; test/franka",
    "lerobot-": "of LeRobot; make test-lerobot",
    "plugin=": "an option of the lines below it",
    "python3.11 -m venv": "of Python",
    ". .venv-lerobot/bin/activate": "of Python",
    "python3 - <<'END'": "its lines are run below",
}
# What begins so is run by another test, or its words are compared where it needs a running robot.
CHECKED = {
    "robot_control simulate": "below, but for one: test/repository/test_site.py",
    "robot_control list": "test/repository/test_site.py",
    "robot_control init-law": "below",
    "robot_control docs": "below",
    "robot_control demo": "test/system/test_demo_processes.py, with other options",
    "robot_control doctor": "test/cli/test_doctor.py",
    "robot_control status": "test/system/test_robot_client.py",
    "robot_control set": "test/system/test_robot_client.py",
    "robot_control identify": "test/system/test_identify_running.py, with other options",
    "python -m evidence stability": "its options: test/evidence/test_command_line_of_evidence.py",
    "ros2 param ": "test/repository/test_newcomer_pages.py",
    "ros2 service call /controller/": "test/repository/test_newcomer_pages.py",
    "ros2 topic ": "below",
    "ros2 launch robot_control_ros ": "its arguments below",
    "ros2 run robot_control_ros ": "its name below",
}
FILES = re.compile(r"^(?:\S*python(?: -m pytest)?) (\S+\.py)")


def tutorials():
    """README, and each page of the repository that the index has among its tutorials."""
    section = INDEX.read_text("utf-8").partition("## Tutorials\n")[2].partition("\n## ")[0]
    named = [INDEX.parent / name for name in re.findall(r"\]\(([^)]+\.md)\)", section)]
    return [ROOT / "README.md", *(page.resolve() for page in named)]


OWN_LAW = (ROOT / "docs" / "own_law.md").read_text("utf-8")
PAGES = {str(page.relative_to(ROOT)): page.read_text("utf-8") for page in tutorials()}


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def command_lines(text):
    """Commands of a page's shell blocks, without comments; lines that go on are joined."""
    text = "\n".join(blocks(text, "sh")).replace("\\\n", " ")
    text = re.sub(r"<<'END'\n.*?\nEND", "<<'END'", text, flags=re.DOTALL)
    lines = [re.sub(r"(^|\s)#.*", "", line).strip() for line in text.splitlines()]
    return [part for line in lines if line for part in line.split(" && ")]


# --- commands ---


@pytest.mark.parametrize("page", PAGES)
def test_each_command_is_checked_somewhere_or_is_a_program_of_others(page):
    makefile = (ROOT / "Makefile").read_text("utf-8")
    unknown = []
    for line in command_lines(PAGES[page]):
        target = re.match(r"make ([\w-]+)", line)
        script = FILES.match(line)
        known = (
            line.startswith((*OTHERS, *CHECKED))
            or (target is not None and f"\n{target[1]}:" in makefile)
            or (script is not None and (ROOT / script[1]).is_file())
            or line.startswith("source install/setup.bash")
        )
        if not known and not is_of_repository(line):
            unknown.append(line)
    assert unknown == []


def is_of_repository(line):
    """Whether a line runs pytest, pip or a release command on what the checkout has."""
    words = shlex.split(line)
    if words[:3] == ["python", "-m", "pytest"] and words[3] == "test_my_law.py":
        return "robot_control init-law my_law" in OWN_LAW  # which writes it
    if "pytest" in words:
        files = [word for word in words if word.startswith("test/")]
        return bool(files) and all((ROOT / file).exists() for file in files)
    if words[:2] == ["pip", "install"]:
        return all((ROOT / word.partition("[")[0]).is_dir() for word in words[2:])
    return words[:3] == ["python", "-m", "release"]


@pytest.mark.parametrize("page", PAGES)
def test_each_launch_file_has_the_arguments_that_are_typed(page):
    for line in command_lines(PAGES[page]):
        words = line.split()
        if words[:3] == ["ros2", "launch", "robot_control_ros"]:
            setup = SETUPS[words[3].removesuffix(".launch.py")]
            typed = {word.partition(":=")[0] for word in words[4:]}
            assert typed <= {argument.name for argument in setup.arguments}, line
        elif words[:3] == ["ros2", "run", "robot_control_ros"]:
            assert (ROOT / "scripts" / words[3]).is_file(), line


def topic_lines(verbs):
    """Words of each `ros2 topic` line with one of these verbs, but for those of others."""
    found = []
    for text in PAGES.values():
        for line in command_lines(text):
            words = shlex.split(line)
            is_of_others = line.startswith(tuple(OTHERS))
            if words[:2] == ["ros2", "topic"] and words[2] in verbs and not is_of_others:
                found.append(words)
    return found


@pytest.mark.ros
@pytest.mark.sim
def test_each_topic_that_is_looked_at_has_messages_and_each_message_is_taken(ros):
    """Beside a simulated arm, whose topics are those of a driver."""
    pytest.importorskip("mujoco")
    from geometry_msgs.msg import PoseStamped, WrenchStamped
    from ros_support import Controller
    from sensor_msgs.msg import JointState

    kinds = {
        "/joint_states": JointState,
        "/force_torque_sensor_broadcaster/wrench": WrenchStamped,
        "/controller/tip_wrench": WrenchStamped,
        "/controller/pose": PoseStamped,
    }
    wrench = "/force_torque_sensor_broadcaster/wrench"
    ros.start("simulator", {"robot": "ur5e"})
    controller = Controller(ros, wrench, robot="ur5e", use_sim_time=True)
    reference = ros.subscribe(PoseStamped, "/controller/reference_pose")
    ros.until(lambda: reference.messages, "a controller that runs")
    seen = topic_lines(("echo", "hz"))
    assert len(seen) > 5
    for words in seen:
        (topic,) = (word for word in words if word.startswith("/"))
        inbox = ros.subscribe(kinds[topic], topic)
        ros.until(lambda inbox=inbox: inbox.messages, topic)
    taken = dict(ros.node.get_subscriber_names_and_types_by_node("controller", "/"))
    sent = topic_lines(("pub",))
    assert sent
    for words in sent:
        topic, kind, values = words[-3:]
        assert taken[topic] == [kind]
        if "…" in values:
            continue  # the reader writes the numbers
        package, _, name = kind.split("/")
        message = getattr(importlib.import_module(f"{package}.msg"), name)()
        fill(message, yaml.safe_load(values))
        publisher = ros.publisher(type(message), topic)
        count = len(reference)
        start = reference.last.pose.position
        ros.until(
            lambda start=start: abs(reference.last.pose.position.y - start.y) > 0.002,
            "a reference that moves",
            lambda publisher=publisher, message=message: publisher.publish(message),
        )
        assert len(reference) > count
    refused = [
        value.value
        for each in controller.diagnostics.messages
        for status in each.status
        for value in status.values
        if value.key == "last refusal"
    ]
    assert refused == []


def fill(message, values):
    """Write values, as `ros2 topic pub` takes them, into the fields of a message."""
    for name, value in values.items():
        if isinstance(value, dict):
            fill(getattr(message, name), value)
        else:
            setattr(message, name, value)


def simulations():
    """Each `robot_control simulate …` of the pages, with the line of errors that stands below it."""
    found = []
    for page, text in PAGES.items():
        pairs = re.findall(
            r"^```sh\n(.*?)^```\n\n```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL
        )
        for commands, printed in pairs:
            lines = [
                line
                for line in commands.replace("\\\n", " ").splitlines()
                if line.startswith("robot_control simulate")
            ]
            errors = [line.strip() for line in printed.splitlines() if "position error" in line]
            if errors:
                assert len(lines) == len(errors), page
                found += zip(lines, errors, strict=True)
    return found


@pytest.mark.sim
@pytest.mark.few(3)
@pytest.mark.parametrize(("line", "printed"), simulations())
def test_a_simulation_of_a_tutorial_prints_what_stands_below_it(
    line, printed, capsys, tmp_path, monkeypatch
):
    pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)
    for module in re.findall(r"--law (\w+):", line):  # as the page writes it before
        (written,) = re.findall(rf"^robot_control (init-law {module}.*)$", OWN_LAW, re.MULTILINE)
        sys.modules.pop(module, None)  # of another line of the page
        assert main(shlex.split(written)) == 0
        monkeypatch.syspath_prepend(tmp_path)
    main(shlex.split(line)[1:])
    assert printed in [each.strip() for each in capsys.readouterr().out.splitlines()]


def test_the_tutorials_have_simulations():
    """And each is run, but for the one that test_site.py runs."""
    run = {" ".join(line.split()) for line, _ in simulations()}
    assert len(run) > 4
    lines = {" ".join(line.split()) for text in PAGES.values() for line in command_lines(text)}
    typed = {line for line in lines if line.startswith("robot_control simulate")}
    assert typed - run == {"robot_control simulate --push 20 0 0 --plot push.png"}


def test_the_law_of_the_tutorial_gets_a_section(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("my_law", None)
    for line in ("robot_control init-law my_law", "robot_control docs --law my_law:MyLaw"):
        assert f"\n{line}\n" in OWN_LAW
        assert main(shlex.split(line)[1:]) == 0
    assert "MyLaw" in capsys.readouterr().out


# --- Python and YAML ---


@pytest.mark.parametrize("page", PAGES)
def test_each_python_block_is_python(page):
    for number, code in enumerate(blocks(PAGES[page], "python")):
        compile(code, f"{page}, block {number}", "exec")


def test_the_python_of_a_shell_block_prints_what_stands_below_it():
    found = [
        pair
        for text in PAGES.values()
        for pair in re.findall(
            r"python3 - <<'END'\n(.*?)\nEND\n```\n\n```text\n(.*?)```", text, re.DOTALL
        )
    ]
    assert found
    for code, printed in found:
        shown = io.StringIO()
        with redirect_stdout(shown):
            exec(code, {})
        assert shown.getvalue() == printed


@pytest.mark.parametrize("page", PAGES)
def test_each_yaml_block_is_yaml(page):
    for code in blocks(PAGES[page], "yaml"):
        assert isinstance(yaml.safe_load(code), dict)


@pytest.mark.long
@pytest.mark.starts("the page's blocks, in an interpreter of their own")
@pytest.mark.sim
def test_the_blocks_about_learning_run_one_after_the_other(tmp_path):
    """All but those that lead a running robot."""
    pytest.importorskip("mujoco")
    pytest.importorskip("gymnasium")
    code = [
        each
        for each in blocks(PAGES["docs/learning.md"], "python")
        if "Robot(" not in each and "robot.record" not in each
    ]
    assert len(code) > 3
    program = tmp_path / "page.py"
    program.write_text("\n".join(code), encoding="utf-8")
    command = [sys.executable, str(program)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
