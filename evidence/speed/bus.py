"""The cycles of an emulated EtherCAT bus, with the law in its process."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from robot_control_ros.core.errors import HardwareFault
from robot_control_ros.core.input_files import read_text

COMMAND = ("ethercat", "jitter", "--emulate", "--robot", "ur5", "--law", "impedance")


def bus_row(seconds: float) -> dict[str, float]:
    """What ``robot_control ethercat jitter`` measures on six emulated axes at 1 kHz [us].

    It has a process of its own: the emulated bus takes a network namespace.

    Raises:
        HardwareFault: the command failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "jitter.json"
        command = [
            sys.executable,
            "-m",
            "robot_control_ros.cli",
            *COMMAND,
            "--seconds",
            f"{seconds:g}",
        ]
        ended = subprocess.run(
            [*command, "--json", str(path)], capture_output=True, text=True, check=False
        )
        if ended.returncode:
            raise HardwareFault(
                f"{' '.join(COMMAND)} ended with status {ended.returncode}: {ended.stderr.strip()}"
            )
        figures: dict[str, Any] = json.loads(read_text("figures", path))
    compute, cycle = (
        1e6 * figures["times"][name]["p99"] for name in ("compute and pack", "whole cycle")
    )
    return {"on_time": figures["on_time"], "compute_p99_us": compute, "cycle_p99_us": cycle}


def print_bus(row: dict[str, float]) -> None:
    """One line."""
    times = f"p99 of compute and pack {row['compute_p99_us']:.0f} us, of the whole cycle {row['cycle_p99_us']:.0f} us"
    print(
        f"EtherCAT, six emulated axes at 1 kHz: {row['on_time']:.3%} of the cycles on time; {times}"
    )
