"""Compliant control of robot arms in ROS 2, in Python.

A control law reads joint states and a wrench, and commands the joints of an arm. The same law runs
in a ROS 2 node, on EtherCAT drives, and in an embedded MuJoCo simulation.

Units are SI, angles are in radians. n is the number of joints; joint arrays have the order of
RobotConfig.joints. Twists, wrenches and Jacobians have three linear rows, then three angular rows,
in base axes at the tip origin. A wrench is exerted by the environment on the robot.

A first example. It needs no ROS: ``pip install '.[sim]'`` in the repository.

    from robot_control_ros import Push, simulate

    log = simulate("ur5", "impedance", {"stiffness": 500.0}, push=Push(force=(20.0, 0.0, 0.0)), duration=3.0)
    print(log.pose_error[-1, 0])  # -0.04 m: 20 N against 500 N/m

Read on: docs/index.md lists the pages. docs/architecture.md shows where to find
what in the code. CONTRIBUTING.md shows how to add a law, a robot, a plant.
"""

import re
from importlib import import_module
from pathlib import Path

from .core.version import VERSION

__version__ = VERSION

_IMPORT = re.compile(r"from \.([\w.]+) import (.+)")


def _read_stub() -> tuple[dict[str, str], str]:
    """The module of each public name, and the list of names for people, from ``__init__.pyi``."""
    modules: dict[str, str] = {}
    page: list[str] = []
    meaning = ""
    for line in Path(__file__).with_name("__init__.pyi").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            page += ["", f"{line[3:]}:"]
        elif line.startswith("# "):
            meaning = line[2:]
        elif imported := _IMPORT.match(line):
            names = [alias.split(" as ")[0] for alias in imported[2].split(", ")]
            modules |= dict.fromkeys(names, imported[1])
            page.append(f"    {', '.join(names):<28} {meaning}")
    return modules, "\n".join(page)


_MODULES, _LIST = _read_stub()
__all__ = sorted(_MODULES)
__doc__ = f"{__doc__}{_LIST}\n"


def __getattr__(name: str) -> object:
    """A public name, imported when it is first used (PEP 562)."""
    if name == "gym":  # for one release
        raise ImportError(
            "robot_control_ros.gym is now robot_control_learning: pip install ./robot_control_learning"
        )
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
