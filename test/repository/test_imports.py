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


def test_importing_the_package_loads_nothing_outside_the_standard_library():
    loaded = loaded_by(f"import {PACKAGE}, ethercat_emulator.program")
    assert PACKAGE in loaded
    assert loaded & ({"numpy", "scipy", "pinocchio", "yaml"} | OPTIONAL) == set()


def test_no_optional_library_is_loaded_before_it_is_needed():
    modules = (
        "core.types",
        "core.gains",
        "core.errors",
        "simulation.in_process",
        "simulation.scene",
        "control.command_watchdog",
        "laws",
        "cli.main",
        "bringup.package_nodes",
        "bringup.ros2_control",
    )
    loaded = loaded_by("\n".join(f"import {PACKAGE}.{module}" for module in modules))
    assert loaded >= {"numpy", "pinocchio", "yaml"}
    assert loaded & OPTIONAL == set()


def test_a_command_that_controls_nothing_does_not_load_the_compiler():
    commands = [["--help"], ["status", "--help"], ["simulate", "--help"]]
    loaded = loaded_by(
        f"from {PACKAGE}.cli.main import main\n"
        f"for arguments in {commands}:\n"
        "    try:\n        main(arguments)\n    except SystemExit:\n        pass"
    )
    assert PACKAGE in loaded
    assert loaded & {"numba", "llvmlite"} == set()
