"""What is loaded by what, in a running interpreter. Who may import whom stands in
pyproject.toml: `make lint`.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import robot_control_ros

pytestmark = pytest.mark.starts("imports in a fresh interpreter")
PACKAGE = "robot_control_ros"
ROOT = Path(robot_control_ros.__file__).resolve().parents[1]
OPTIONAL = {"rclpy", "mujoco", "matplotlib", "viser", "pysoem", "sensor_msgs", "std_msgs"}


def environment():
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}


def loaded_by(statement):
    """Top-level modules in a fresh interpreter after `statement`."""
    program = f"import sys\n{statement}\nprint(*sys.modules)"
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in result.stdout.splitlines()[-1].split()}


@pytest.mark.parametrize("statement", [f"import {PACKAGE}", "import ethercat_emulator.program"])
def test_importing_the_package_loads_nothing_outside_the_standard_library(statement):
    assert loaded_by(statement) & ({"numpy", "scipy", "pinocchio", "yaml"} | OPTIONAL) == set()


@pytest.mark.parametrize(
    ("modules", "needed"),
    [
        (("core.types", "core.gains", "core.errors"), {"numpy"}),
        (
            ("simulation.in_process", "simulation.scene", "control.command_watchdog", "laws"),
            {"pinocchio"},
        ),
        (("cli.main", "bringup.package_nodes", "bringup.ros2_control"), {"yaml"}),
    ],
)
def test_no_optional_library_is_loaded_before_it_is_needed(modules, needed):
    loaded = loaded_by("\n".join(f"import {PACKAGE}.{module}" for module in modules))
    assert needed <= loaded
    assert loaded & OPTIONAL == set()


@pytest.mark.parametrize("arguments", [["--help"], ["status", "--help"], ["simulate", "--help"]])
def test_a_command_that_controls_nothing_does_not_load_the_compiler(arguments):
    command = f"from {PACKAGE}.cli.main import main\ntry:\n    main({arguments})\nexcept SystemExit:\n    pass"
    loaded = loaded_by(command)
    assert PACKAGE in loaded
    assert loaded & {"numba", "llvmlite"} == set()
