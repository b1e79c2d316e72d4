"""The support matrix: which law, robot and interface a test exercises together, and on which ROS.

Each row of EVIDENCE names a test, and the laws and robots that it runs. A test of the repository
compares these names with those in the test's file. A row without a test can't be written.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from robot_control_ros.core.errors import ConfigError, unknown
from robot_control_ros.laws import law_names
from robot_control_ros.robot.configuration import robot_names

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/support_matrix.md"
ALL = ("all",)
LISTS = {"law_names", "robot_names"}  # functions that name all laws and all robots

INTERFACES = {
    "simulation": "`simulate` and `Robot.simulated`: MuJoCo in this process, without ROS",
    "simulator node": "`make demo`, `sim.launch.py`: MuJoCo behind ROS topics",
    "controller node": "the controller alone; the test plays the robot over ROS topics",
    "ros2_control": "the controller before forward controllers that the test plays",
    "EtherCAT": "the driver and the bus process, on emulated CiA 402 drives",
    "CAN": "the driver, on emulated motors in lockstep",
    "Franka": "the driver, on a simulated robot of another project: `make test-franka`",
    "Gazebo": "`gazebo.launch.py`; its launch file with stand-ins alone",
    "UR driver": "`ur.launch.py`; its launch file with stand-ins alone",
    "Kortex": "`gen3.launch.py`; its launch file with stand-ins alone",
    "ICube": "`icube.launch.py`; its launch file with stand-ins alone",
}


@dataclass(frozen=True)
class Evidence:
    """A test that exercises laws on robots over an interface.

    Attributes:
        interface: Name in INTERFACES.
        test: The test as pytest names it, without its parameters.
        laws: Names of the laws that it runs, or ALL.
        robots: Names of the robots that it runs them on, or ALL.
    """

    interface: str
    test: str
    laws: tuple[str, ...]
    robots: tuple[str, ...]


EVIDENCE = (
    Evidence(
        "simulation",
        "test/across/test_every_push.py::"
        "test_a_push_moves_the_arm_as_the_laws_equation_says_and_it_comes_back",
        ALL,
        ALL,
    ),
    Evidence(
        "simulator node",
        "test/system/test_demo_processes.py::"
        "test_the_demonstration_shows_and_records_itself_and_leaves_nothing_behind",
        ("impedance",),
        ("ur5",),
    ),
    Evidence(
        "controller node",
        "test/nodes/test_controller_laws.py::"
        "test_twenty_switches_on_a_circle_make_no_step_beyond_the_limits",
        ("impedance", "joint_pid", "task_space_pd", "admittance", "joint_impedance"),
        ("ur5",),
    ),
    Evidence(
        "ros2_control",
        "test/nodes/test_mock_hardware.py::"
        "test_a_law_of_position_or_velocity_drives_the_joints_to_the_target",
        ("admittance", "position_domain_pd", "joint_pid"),
        ("ur5", "gen3"),
    ),
    Evidence(
        "EtherCAT",
        "test/system/ethercat_node_tests.py::test_an_impedance_in_the_bus_process",
        ("impedance", "joint_impedance"),
        ("ur5",),
    ),
    Evidence(
        "CAN",
        "test/fieldbus/can/test_emulated_openarm.py::"
        "test_a_push_of_20_newtons_is_held_as_by_a_spring_within_3_percent",
        ("impedance",),
        ("openarm",),
    ),
    Evidence(
        "Franka",
        "test/franka/test_simulated_robot.py::"
        "test_each_law_holds_and_moves_the_arm_without_a_reflex",
        (
            "impedance",
            "joint_impedance",
            "joint_pid_effort",
            "task_space_pd",
            "gravity_compensation",
            "force_control",
            "position_domain_pd",
        ),
        ("fr3",),
    ),
)

# By ROS distribution: its end, its Ubuntu, and where the tests run with it.
DISTRIBUTIONS = {
    "Jazzy": ("May 2029", "24.04", "image, in the workflow; its wheels exist: `ros-rclpy` 7.1.6"),
    "Lyrical": ("May 2031", "26.04", "image, in the workflow; there are no wheels"),
    "Rolling": ("never", "26.04", "image, in the workflow; there are no wheels"),
    "Kilted": ("December 2026", "24.04", "its wheels: `make test` installs `ros-rclpy` 9.1.2"),
}


def names_in_test(test: str, root: Path = ROOT) -> set[str]:
    """Words in what a test is made of: its own text, and its file without the other tests.

    Where the file asks the package for all laws or all robots, the words have these, too.

    Raises:
        ConfigError: There is no such test.
    """
    name, _, function = test.partition("::")
    path = root / name
    tree = ast.parse(path.read_text("utf-8")) if path.is_file() else ast.Module([], [])
    tests = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    if function not in {node.name for node in tests}:
        raise unknown("test", test, (node.name for node in tests), hint="; name one that exists")
    others = {node for node in tests if node.name != function}
    words = set(function.split("_"))
    for node in _nodes(tree, others):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words.update(re.findall(r"\w+", node.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            words.update({node.func.id} & LISTS)
    if "law_names" in words:
        words.update(law_names(plugins=False))
    if "robot_names" in words:
        words.update(robot_names())
    return words


def _nodes(node: ast.AST, without: set[ast.FunctionDef]) -> list[ast.AST]:
    """Nodes below a node, without some functions and what is in them."""
    nodes = [node]
    for child in ast.iter_child_nodes(node):
        if child not in without:
            nodes += _nodes(child, without)
    return nodes


def check(evidence: Evidence, root: Path = ROOT) -> None:
    """Check one row against its test.

    Raises:
        ConfigError: The interface, the test, a law or a robot doesn't exist, or the test's file
            doesn't name it.
    """
    if evidence.interface not in INTERFACES:
        raise unknown("interface", evidence.interface, INTERFACES)
    words = names_in_test(evidence.test, root)
    laws = law_names(plugins=False)
    for kind, claimed, valid in (
        ("law", evidence.laws, laws),
        ("robot", evidence.robots, robot_names()),
    ):
        for name in valid if claimed == ALL else claimed:
            if name not in valid:
                raise unknown(kind, name, valid)
            if name not in words:
                raise ConfigError(
                    f"{evidence.test} doesn't name the {kind} {name}: leave it out of this row",
                    name=kind,
                    value=name,
                )


def page() -> str:
    """The page docs/support_matrix.md."""
    laws = law_names(plugins=False)
    letters = {row.test: chr(ord("a") + number) for number, row in enumerate(EVIDENCE)}
    shown = [name for name in INTERFACES if any(row.interface == name for row in EVIDENCE)]
    lines = [
        "# Support matrix",
        "",
        "This page is for you if you want to know what was exercised before you build on it. "
        "After it you know which test did.",
        "",
        "A letter means supported: the test of that letter, below, exercises it. "
        "An empty cell may work; no test says so.",
        "`real` is empty until somebody has done it on a real arm.",
        "",
        "```sh",
        "python -m release support   # writes this page; a test compares it with the tests' files",
        "```",
        "",
        "## Laws",
        "",
        *_table("law", laws, shown, letters, lambda row: row.laws),
        "",
        "## Robots",
        "",
        *_table("robot", robot_names(), shown, letters, lambda row: row.robots),
        "",
        "## Tests",
        "",
        "| letter | test | laws | robots |",
        "|---|---|---|---|",
    ]
    for row in EVIDENCE:
        cells = (letters[row.test], f"`{row.test}`", _joined(row.laws), _joined(row.robots))
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "## Interfaces", "", "| interface | what a test exercises |", "|---|---|"]
    lines += [f"| {name} | {text} |" for name, text in INTERFACES.items()]
    lines += [
        "",
        "## ROS distributions",
        "",
        "The workflow `.github/workflows/test.yml` starts images of ROS. "
        "**It has not run yet**: only wheels were tried.",
        "",
        "| distribution | ends | Ubuntu | where the tests run |",
        "|---|---|---|---|",
    ]
    lines += [f"| {name} | {' | '.join(cells)} |" for name, cells in DISTRIBUTIONS.items()]
    return "\n".join(lines).replace("|  |", "| |") + "\n"


def _table(
    kind: str,
    names: Iterable[str],
    shown: list[str],
    letters: dict[str, str],
    claimed: Callable[[Evidence], tuple[str, ...]],
) -> list[str]:
    """A table with a row for each name, and a column for each interface and for real arms."""
    head = [kind, *shown, "real"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name in names:
        cells = []
        for interface in shown:
            rows = [row for row in EVIDENCE if row.interface == interface]
            cells.append(
                ", ".join(
                    letters[row.test] for row in rows if claimed(row) == ALL or name in claimed(row)
                )
            )
        lines.append(f"| `{name}` | {' | '.join(cells)} | |")
    return lines


def _joined(names: tuple[str, ...]) -> str:
    return "all" if names == ALL else ", ".join(f"`{name}`" for name in names)
