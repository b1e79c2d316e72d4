"""The pages for a newcomer: what stands there runs, and prints what stands there."""

import ast
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from robot_control_ros import ControlLoop, RobotControlError, RobotState, load_robot
from robot_control_ros.cli.main import main
from robot_control_ros.core.gains import gain_specs
from robot_control_ros.laws import law_class, law_names
from robot_control_ros.references.workspace import WorkspaceSettings
from robot_control_ros.sensing.wrench import WrenchSettings

ROOT = Path(__file__).resolve().parents[2]


def read(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


# --- python.md ---


@pytest.mark.long
@pytest.mark.starts("the page's blocks, in an interpreter of their own")
@pytest.mark.sim
def test_each_block_of_the_python_page_prints_what_stands_under_it(tmp_path):
    """In a process of its own: the page registers a law."""
    pytest.importorskip("mujoco")
    pytest.importorskip("matplotlib")
    page, border = read("python.md"), "--- the next block ---"
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == page.count("```python") == 8
    program = f"\nprint({border!r})\n".join(code for code, _ in blocks)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split(f"{border}\n") == [printed for _, printed in blocks]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sway.csv", "sway.png"]


# --- in_contact.md ---


@pytest.mark.sim
@pytest.mark.parametrize("index", range(3))
def test_the_scripts_that_press_and_wipe_print_what_stands_under_them(capsys, index):
    pytest.importorskip("mujoco")
    blocks = re.findall(r"```python\n([^`]*)```\n\n```text\n([^`]*)```", read("in_contact.md"))
    assert len(blocks) == 3
    code, printed = blocks[index]
    exec(code, {})
    assert capsys.readouterr().out == printed


def test_the_gains_that_press_are_those_of_the_example():
    (shown,) = re.findall(r"```yaml\n(.*?)```", read("in_contact.md"), re.DOTALL)
    example = (ROOT / "examples" / "press.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(shown) == yaml.safe_load(example)


# --- pictures ---


def test_the_drawings_are_those_of_the_script(tmp_path):
    script = ROOT / "docs" / "images" / "drawings.py"
    runpy.run_path(str(script))["main"](tmp_path)
    drawn = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    kept = {path.name: path.read_text(encoding="utf-8") for path in script.parent.glob("*.svg")}
    assert drawn == kept, "run: python docs/images/drawings.py"
    for picture in drawn:
        assert f"(images/{picture})" in read("concepts.md") + read("before_touch.md")


# --- commands ---


def simulations(name):
    """Each command line `robot_control simulate` of a page, and the line of errors that
    stands for it below.
    """
    found = []
    for commands, printed in re.findall(
        r"```sh\n(.*?)```\n\n```text\n(.*?)```", read(name), re.DOTALL
    ):
        lines = [
            line for line in commands.splitlines() if line.startswith("robot_control simulate")
        ]
        errors = [line for line in printed.splitlines() if "position error" in line]
        found += zip(lines, errors, strict=True)
    return found


@pytest.mark.sim
@pytest.mark.parametrize(
    ("line", "printed"), [*simulations("concepts.md"), *simulations("trouble.md")]
)
def test_a_simulation_prints_what_stands_below_it(line, printed, capsys):
    pytest.importorskip("mujoco")
    main(shlex.split(line)[1:])  # 1 where the example shows what goes wrong
    assert printed in capsys.readouterr().out.splitlines()


# --- trouble.md ---

MIN_FRAGMENT = 4  # characters of a message between two "…" that are looked for


def messages():
    """What the page shows in the column of what is seen."""
    rows = re.findall(r"^\| (.+?) \| .* \|$", read("trouble.md"), re.MULTILINE)
    return sorted(
        {
            span
            for row in rows
            for span in re.findall(r"`([^`]+)`", row)
            if "…" in span or ": " in span
        }
    )


@pytest.fixture(scope="module")
def texts():
    """The fixed parts of all texts in the package, as the code has them."""
    found = []
    for path in (ROOT / "robot_control_ros").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                found.append(
                    "…".join(part.value for part in node.values if isinstance(part, ast.Constant))
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return "\n".join(found)


@pytest.mark.parametrize("message", messages())
def test_the_package_has_each_message_that_the_page_explains(texts, message):
    fragments = [part.strip(" ;") for part in message.split("…")]
    looked_for = [part for part in fragments if len(part) >= MIN_FRAGMENT]
    assert looked_for
    assert [part for part in looked_for if part not in texts] == []


def sample(time, q, **more):
    return RobotState(time, np.array(q), np.zeros(6), np.zeros(6), **more)


def ticked(law, *samples, profile="sim"):
    robot = load_robot("ur5", profile)
    loop = ControlLoop(robot, law)
    for each in samples:
        loop.tick(each)
    return loop


def raised(action):
    with pytest.raises(RobotControlError) as error:
        action()
    return str(error.value)


def not_executed():
    """The fault of a loop whose robot stands, whatever it commands."""
    loop, home = ticked("position_domain_pd", profile="real"), load_robot("ur5", "real").home
    loop.tick(sample(0.0, home))
    loop.motion.move_joints_to(np.array(home) + [0.5, 0, 0, 0, 0, 0])
    for cycle in range(1, 250):
        loop.tick(sample(0.008 * cycle, home))
        if loop.fault:
            return loop.fault
    return ""


HOME = load_robot("ur5").home
FAR = np.diag([1.0, 1.0, 1.0, 1.0])
FAR[0, 3] = 3.0  # m
CAUSES = {
    "law": lambda: raised(lambda: ticked("impedance", profile="real")),
    "wrench": lambda: ticked("admittance", sample(0.0, HOME)).fault,
    "gap": lambda: ticked("impedance", sample(0.0, HOME), sample(0.5, HOME)).restart_reason,
    "back": lambda: (
        ticked(
            "impedance", *(sample(time, HOME) for time in (9.0, 0.1, 0.102, 0.104))
        ).restart_reason
    ),
    "same stamp": lambda: ticked("impedance", *[sample(0.0, HOME)] * 60).fault,
    "late": lambda: (
        ticked("impedance", *(sample(0.002 * k, HOME, age=0.03) for k in range(200))).warning
    ),
    "nan": lambda: raised(lambda: ticked("impedance", sample(0.0, [np.nan] * 6))),
    "workspace": lambda: raised(lambda: ticked("impedance", sample(0.0, HOME)).motion.move_to(FAR)),
    "joint goal": lambda: raised(
        lambda: ticked("impedance", sample(0.0, HOME)).motion.move_joints_to(np.full(6, 9.0))
    ),
    "no state": lambda: raised(lambda: ticked("impedance").motion.hold()),
    "bound": lambda: raised(
        lambda: ControlLoop(load_robot("ur5"), "impedance", {"stiffness": 3e4})
    ),
    "size": lambda: raised(
        lambda: ControlLoop(load_robot("ur5"), "impedance", {"stiffness": [1.0, 2.0]})
    ),
    "robot": lambda: raised(lambda: load_robot("ur6")),
    "profile": lambda: raised(lambda: load_robot("ur5", "reel")),
    "not executed": not_executed,
}


@pytest.mark.parametrize("cause", CAUSES)
def test_a_cause_gives_a_message_that_the_page_explains(cause):
    said = CAUSES[cause]()
    patterns = {message: re.escape(message).replace("…", ".*") for message in messages()}
    found = [message for message, pattern in patterns.items() if re.search(pattern, said)]
    specific = [message for message in found if len(message) > len("waiting: …")]
    assert specific, said


# --- parameters and services ---

NEWCOMER = ("concepts.md", "trouble.md", "before_touch.md", "coming_from.md")


def found_in_texts(pattern):
    """In the pages, and in what the programs say."""
    files = [
        ROOT / "README.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "robot_control_ros").rglob("*.py"),
    ]
    return sorted(
        {match for file in files for match in re.findall(pattern, file.read_text(encoding="utf-8"))}
    )


@pytest.mark.ros
def test_the_controller_takes_each_parameter_and_has_each_service_of_the_pages(ros):
    from rcl_interfaces.msg import Parameter as ParameterMessage
    from rcl_interfaces.srv import SetParametersAtomically
    from rclpy.parameter import get_parameter_value
    from ros_support import Controller, FakeRobot

    node = "/controller"
    parameters = found_in_texts(
        r"ros2 param set /controller ([\w.]+) (\"[^\"]*\"|[a-z0-9.]\w*(?:\.\d+)?)(?=`|\n)"
    )
    services = found_in_texts(r"ros2 service call (/(?:controller|{CONTROLLER})/\w+) ")
    services = {name.replace("{CONTROLLER}", "controller") for name in services}
    assert len(parameters) > 8
    assert len(services) > 1
    controller = Controller(ros, robot="ur5", profile="sim", check_system=False)
    ros.until(lambda: controller.state == "active", "an active controller")
    FakeRobot(ros, load_robot("ur5")).send()
    for name, text in parameters:
        if name == "law":
            assert text in law_names(plugins=False)
            continue
        # as `ros2 param` does
        change = ParameterMessage(name=name, value=get_parameter_value(text.strip('"')))
        result = ros.call(
            SetParametersAtomically, f"{node}/set_parameters_atomically", parameters=[change]
        ).result
        assert result.successful, (name, result.reason)
    names = [name for name, _ in ros.node.get_service_names_and_types_by_node("controller", "/")]
    assert [each for each in services if each not in names] == []


# --- all of them ---

PAGES = (*NEWCOMER, "python.md", "glossary.md")


def test_each_gain_and_setting_that_the_pages_name_exists():
    specs = {law: law_class(law).Gains for law in law_names(plugins=False)}
    specs |= {"wrench": WrenchSettings, "workspace": WorkspaceSettings}
    gain_name = re.compile(r"(?<![\w/~-])(\w+)\.(\w+)(?=[\s`])")
    spans = [
        " ".join(re.findall(r"`[^`\n]+`", re.sub(r"```.*?```", "", read(page), flags=re.DOTALL)))
        for page in PAGES
    ]
    named = {
        (prefix, name)
        for each in spans
        for prefix, name in gain_name.findall(each)
        if prefix in specs
    }
    assert len(named) > 15
    # admittance_controller's own, on the page for those who come from it
    theirs = {("admittance", "joint_damping")}
    known = {(prefix, spec.name) for prefix, gains in specs.items() for spec in gain_specs(gains)}
    assert named - known == theirs
