"""Dependencies point downward, and each outside library stays in its place: proven over the imports."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import robot_control_ros

PACKAGE = "robot_control_ros"
FOLDER = Path(robot_control_ros.__file__).resolve().parent

# Lowest first: a module imports from its own layer or a lower one. Folders stand for everything in them.
LAYERS = (
    ("errors", "types", "gains", "findings"),
    ("spatial",),
    ("share", "profiles", "robots", "model"),
    ("inverse_kinematics",),
    ("laws", "wrench", "payload", "momentum_observer", "trajectories", "safety", "workspace"),
    ("running_law", "joint_reference", "motion_model"),
    ("cycle_times", "handover", "examination", "loop", "takeover"),
    ("log", "plants", "simulate", "joint_step"),
    (
        "reproduce",
        "planar_arm",
        "nodes",
        "bringup",
        "launching",
        "processes",
        "bench",
        "page_bench",
        "stability",
        "demo",
        "doctor",
        "reference_docs",
        "ethercat_commands",
        "contour_trial",
        "contour_figures",
        "ethercat_demo",
        "cli",
        "dashboard",
    ),
)
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
ALONE = ("errors", "__init__")  # import nothing of the package

# Where an outside library may be imported; elsewhere it may not. None: anywhere.
HOMES = {
    "ros": ("nodes",),
    "pinocchio": ("model", "spatial"),
    "mujoco": ("plants.mujoco",),
    "launch": ("launching",),
    "launch_ros": ("launching",),
    "viser": ("dashboard",),
    "pysoem": ("plants.ethercat",),
    "matplotlib": None,
}
# Where it may be imported when a module is loaded; elsewhere only within a function, where it is used.
EAGER_HOMES = {"mujoco": (), "viser": ("dashboard",), "pysoem": ("plants.ethercat",), "matplotlib": ("reproduce",)}
NOT_IN_LAWS = {"ros", "time", "datetime", "logging"}

_ROS = re.compile(r"rclpy|rcl_interfaces|builtin_interfaces|action_msgs|.+_msgs|.+_srvs|rosidl_.+|ros2.+")


def modules() -> dict[str, Path]:
    """Every module by its name within the package: `laws.law`, `laws.__init__`."""
    files = sorted(FOLDER.rglob("*.py"))
    return {".".join(path.relative_to(FOLDER).with_suffix("").parts): path for path in files}


def imports(source: str, module: str) -> Iterator[tuple[str, bool]]:
    """(absolute dotted name, whether it is imported when the module is loaded) of each import in `source`."""
    package = [PACKAGE, *module.split(".")[:-1]]

    def walk(node: ast.AST, loading: bool) -> Iterator[tuple[str, bool]]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, loading
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            start = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield f"{start}.{alias.name}", loading
        inside = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in ast.iter_child_nodes(node):
            yield from walk(child, loading and not inside)

    yield from walk(ast.parse(source), True)


def within(module: str, places: tuple[str, ...]) -> bool:
    return any(module == place or module.startswith(f"{place}.") for place in places)


def violations(source: str, module: str) -> list[str]:
    """What is wrong with the imports of a module, in words."""
    top = module.split(".")[0]
    if top not in RANK and top != "__init__":
        return [f"{module}: add {top!r} to LAYERS in {Path(__file__).name}"]
    found = []
    for name, loading in imports(source, module):
        root, _, rest = name.partition(".")
        if root == PACKAGE:
            found += _inside(module, top, rest.split(".")[0])
        else:
            found += _outside(module, top, "ros" if _ROS.fullmatch(root) else root, name, loading)
    return found


def _inside(module: str, top: str, target: str) -> list[str]:
    if top in ALONE:
        return [f"{module} imports {target or PACKAGE}: it must import nothing of the package"]
    if target.startswith("__") or not target:  # __version__, or the package itself, which imports nothing
        return []
    if target not in RANK:
        return [f"{module} imports {target}: add {target!r} to LAYERS in {Path(__file__).name}"]
    if RANK[target] > RANK[top]:
        return [f"{module} imports {target}, which is in a higher layer"]
    return []


def _outside(module: str, top: str, library: str, name: str, loading: bool) -> list[str]:
    found = []
    homes = HOMES.get(library)
    if homes is not None and not within(module, homes):
        found.append(f"{module} imports {name}: only {', '.join(homes)} may")
    if loading and library in EAGER_HOMES and not within(module, EAGER_HOMES[library]):
        found.append(f"{module} imports {name} when it is loaded: import it in the function that needs it")
    if top == "laws" and library in NOT_IN_LAWS:
        found.append(f"{module} imports {name}: a law knows neither clock, logger nor ROS")
    return found


@pytest.mark.parametrize("module", modules())
def test_every_import_points_downward_and_stays_in_its_place(module):
    assert violations(modules()[module].read_text(encoding="utf-8"), module) == []


def test_the_modules_are_really_found():
    assert {"errors", "__init__", "laws.law", "laws.__init__", "plants.mujoco", "nodes.controller"} <= set(modules())


# --- the check itself ---


@pytest.mark.parametrize(
    ("module", "source", "words"),
    [
        ("model", "from .loop import ControlLoop", "model imports loop, which is in a higher layer"),
        ("model", "from . import loop", "model imports loop, which is in a higher layer"),
        ("model", "from robot_control_ros import loop", "model imports loop, which is in a higher layer"),
        ("model", "import robot_control_ros.loop as l", "model imports loop, which is in a higher layer"),
        ("model", "def f():\n    from .loop import x", "model imports loop, which is in a higher layer"),
        ("model", "if True:\n    from .plants.mujoco import x", "model imports plants, which is in a higher layer"),
        ("types", "from .spatial import skew", "types imports spatial, which is in a higher layer"),
        ("laws.law", "from ..simulate import simulate", "laws.law imports simulate, which is in a higher layer"),
        ("laws.__init__", "from ..loop import x", "laws.__init__ imports loop, which is in a higher layer"),
        ("plants.ethercat.bus", "from ...nodes.x import y", "bus imports nodes, which is in a higher layer"),
        ("errors", "from .types import Array", "must import nothing of the package"),
        ("__init__", "from .types import Array", "must import nothing of the package"),
        ("novel", "", "novel: add 'novel' to LAYERS"),
        ("novel.part", "", "novel.part: add 'novel' to LAYERS"),
        ("loop", "from .novel import x", "loop imports novel: add 'novel' to LAYERS"),
        ("loop", "import rclpy", "loop imports rclpy: only nodes may"),
        ("loop", "from rclpy.node import Node", "only nodes may"),
        ("bringup", "def f():\n    from geometry_msgs.msg import Pose", "only nodes may"),
        ("cli", "from std_srvs.srv import Trigger", "only nodes may"),
        ("wrench", "import pinocchio as pin", "only model, spatial may"),
        ("laws.impedance", "def f():\n    import pinocchio", "only model, spatial may"),
        ("simulate", "def f():\n    import mujoco", "only plants.mujoco may"),
        ("plants.mujoco", "import mujoco", "import it in the function that needs it"),
        ("plants.mujoco", "try:\n    import mujoco\nexcept ImportError:\n    pass", "in the function that needs it"),
        ("plants.mujoco", "class A:\n    from mujoco import viewer", "import it in the function that needs it"),
        ("nodes.dashboard", "import viser", "only dashboard may"),
        ("cli", "import pysoem", "only plants.ethercat may"),
        ("log", "from matplotlib.figure import Figure", "import it in the function that needs it"),
        ("laws.impedance", "import time", "neither clock, logger nor ROS"),
        ("laws.impedance", "from logging import getLogger", "neither clock, logger nor ROS"),
        ("laws.impedance", "def f():\n    import rclpy", "neither clock, logger nor ROS"),
    ],
)
def test_the_check_sees_a_wrong_import(module, source, words):
    assert any(words in violation for violation in violations(source, module))


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("loop", "import time\nimport numpy as np\nfrom .laws.law import ControlLaw\nfrom . import model"),
        ("laws.impedance", "from ..gains import gain\nfrom .law import register\nfrom scipy.linalg import lapack"),
        ("laws.__init__", "from .law import register\nfrom . import impedance"),
        ("simulate", "from .plants.mujoco import MujocoPlant\nfrom .log import Log"),
        ("plants.mujoco", "def f():\n    import mujoco"),
        ("plants.ethercat.bus", "import pysoem\nfrom ...errors import HardwareFault\nfrom ..plant import Plant"),
        ("nodes.controller", "import rclpy\nfrom sensor_msgs.msg import JointState\nfrom ..loop import ControlLoop"),
        ("log", "def f():\n    from matplotlib.figure import Figure"),
        ("cli", "from . import __version__\nfrom .bringup import start"),
    ],
)
def test_the_check_lets_a_right_import_pass(module, source):
    assert violations(source, module) == []


# --- and in a running interpreter ---


def loaded_by(statement: str) -> set[str]:
    """Top-level modules in a fresh interpreter after `statement`."""
    path = os.pathsep.join([str(FOLDER.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    program = f"import sys\n{statement}\nprint(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.split(".")[0] for name in result.stdout.split()}


def test_importing_simulate_loads_no_optional_library():
    loaded = loaded_by("import robot_control_ros.simulate")
    assert {PACKAGE, "pinocchio"} <= loaded
    assert loaded & {"rclpy", "mujoco", "matplotlib", "viser", "pysoem", "sensor_msgs"} == set()


def test_importing_the_package_loads_nothing_outside_the_standard_library():
    assert loaded_by("import robot_control_ros") & {"numpy", "scipy", "pinocchio", "yaml", "rclpy", "mujoco"} == set()
