"""`robot_control init-law`: a law of one's own that runs, and its test, as two files to change."""

from __future__ import annotations

import argparse
import importlib.util
import keyword
from pathlib import Path
from string import Template

from ..core.errors import refused
from ..core.output_files import write_text
from ..laws import law_names

_LAW = Template('''\
"""$text: made by `robot_control init-law`. Change gains, terms and this text.

Typed in this folder:

    robot_control simulate --law $name:$title --push 20 0 0
"""

from dataclasses import dataclass

import numpy as np

from robot_control_ros import Array, Command, CommandMode, Reference, RobotDynamics, RobotState, gain


class $title:
    """tau = J^T [K (x_d - x), 0] - D qdot + g: a spring at the tip, damped joints, gravity compensation."""

    @dataclass(frozen=True, eq=False)
    class Gains:
        """What can be tuned while the law runs."""

        stiffness: float = gain(200.0, unit="N/m", upper=2000.0, doc="Spring K at the tip; 0 lets go.")
        damping: float = gain(10.0, unit="N·m·s/rad", upper=100.0, doc="Damper D of each joint; 0 lets the arm swing.")
        gravity: float = gain(True, doc="Compensate gravity; off by itself where the robot does it.")

    mode = CommandMode.EFFORT  # what Command holds: n joint torques [N·m]

    def __init__(self) -> None:
        self.terms: dict[str, Array] = {}  # (n,) [N·m] each; curves of the page, and topics

    def reset(self, state: RobotState, kin: RobotDynamics) -> None:
        """Forget the past, for the next cycle is the first. This law has none."""

    def compute(self, state: RobotState, kin: RobotDynamics, reference: Reference, gains: Gains, dt: float) -> Command:
        """The command of one cycle.

        Args:
            state: q (n,) [rad], v (n,) [rad/s], both measured.
            kin: pose (4, 4) and jacobian (6, n) of the tip in the base; gravity (n,) [N·m]; mass (n, n).
            reference: pose (4, 4) where the tip should be.
            gains: those in force.
            dt: since the last cycle [s].
        """
        pull = np.zeros(6)
        pull[:3] = gains.stiffness * (reference.pose[:3, 3] - kin.pose[:3, 3])
        self.terms = {
            "spring": kin.jacobian.T @ pull,
            "damping": -gains.damping * state.v,
            "gravity": gains.gravity * kin.gravity,
        }
        return Command(self.mode, sum(self.terms.values()))
''')

_COMPILED_LAW = Template('''\
"""$text: made by `robot_control init-law --compiled`. Change gains, terms and this text.

Typed in this folder:

    robot_control simulate --law $name:$title --push 20 0 0

With NUMBA_DISABLE_JIT=1 in front the same text runs as Python: for breakpoints.
"""

from dataclasses import dataclass

from robot_control_ros import Array, CommandMode, RobotDynamics, RobotState, gain
from robot_control_ros.core.compiled import compiled
from robot_control_ros.core.cycle import cycle_at
from robot_control_ros.core.gain_rows import gains_record, gains_row
from robot_control_ros.core.record import Field, Record
from robot_control_ros.laws.compiled_law import CompiledLaw

SPRING, DAMPING, GRAVITY = range(3)  # its terms


class $title(CompiledLaw):
    """tau = J^T [K (x_d - x), 0] - D qdot + g: a spring at the tip, damped joints, gravity compensation."""

    @dataclass(frozen=True, eq=False)
    class Gains:
        """What can be tuned while the law runs."""

        stiffness: float = gain(200.0, unit="N/m", upper=2000.0, doc="Spring K at the tip; 0 lets go.")
        damping: float = gain(10.0, unit="N·m·s/rad", upper=100.0, doc="Damper D of each joint; 0 lets the arm swing.")
        gravity: float = gain(True, doc="Compensate gravity; off by itself where the robot does it.")

    mode = CommandMode.EFFORT  # what is asked for: n joint torques [N·m]
    term_names = ("spring", "damping", "gravity")  # curves of the page, and topics
    memory = Record("${title}Memory", (Field("active", (3,), "", "1 for each term that the command is summed from."),))

    def start(self, state: RobotState, kin: RobotDynamics) -> None:
        """Forget the past, for the next cycle is the first. This law has none; all its terms count."""
        self._memory["active"] = 1.0

    def run(self, cycles: Array, k: int, kin: RobotDynamics, gains: Gains, dt: float) -> None:
        """The command of one cycle.

        Args:
            cycles, k: records, and the number of this cycle's: `robot_control docs --cycle` lists most of its fields.
            kin: mass (n, n) and more, for what the record doesn't have.
            gains: those in force.
            dt: since the last cycle [s].
        """
        compute(cycles, k, gains_row(gains, self._n), self._n)


gains_at = gains_record($title.Gains).views


@compiled
def compute(cycles: Array, k: int, gains: Array, n: int) -> None:
    """Write the terms of a cycle, and their sum."""
    cycle = cycle_at(cycles[k], n)
    gain = gains_at(gains, n)
    for joint in range(n):
        pull = 0.0
        for axis in range(3):
            error = cycle.target_pose[axis, 3] - cycle.pose[axis, 3]
            pull += cycle.jacobian[axis, joint] * gain.stiffness[0] * error
        cycle.terms[SPRING, joint] = pull
        cycle.terms[DAMPING, joint] = -gain.damping[0] * cycle.v[joint]
        cycle.terms[GRAVITY, joint] = gain.gravity[0] * cycle.gravity[joint]
        cycle.asked[joint] = pull + cycle.terms[DAMPING, joint] + cycle.terms[GRAVITY, joint]
''')

_TEST = Template('''\
"""$title on a simulated arm. In the folder of this file: python -m pytest test_$name.py"""

import numpy as np
import pytest

from robot_control_ros import Push, simulate

LAW = "$name:$title"


@pytest.mark.parametrize("stiffness", [200.0, 500.0])
def test_a_push_moves_the_tip_by_force_over_stiffness(stiffness):
    log = simulate("ur5", LAW, {"stiffness": stiffness}, push=Push(force=(0.0, 0.0, -10.0)), duration=5.0)
    np.testing.assert_allclose(log.pose_error[-1, :3], (0.0, 0.0, 10.0 / stiffness), atol=1e-3)  # m


def test_without_a_push_it_stands():
    log = simulate("ur5", LAW, duration=1.0)
    assert np.abs(log.pose_error[:, :3]).max() < 1e-4  # m
''')


def write_law(name: str, folder: Path, compiled: bool = False) -> str:
    """Write a law, a spring at the tip, and its test: `<name>.py` and `test_<name>.py`.

    Args:
        name: Name of the law's module.
        folder: Folder for the files.
        compiled: True for a law that computes over records in a compiled function; else it is plain
            Python.

    Returns:
        The value for `--law`: `<name>:<Class>`.

    Raises:
        ConfigError: The name is no new name for a Python module, or one of the files exists.
    """
    if (
        not name.isidentifier()
        or keyword.iskeyword(name)
        or name != name.lower()
        or name.startswith("_")
    ):
        raise refused("NAME", name, "must be a Python name in lower case, such as my_spring")
    files = {
        folder / f"{name}.py": _COMPILED_LAW if compiled else _LAW,
        folder / f"test_{name}.py": _TEST,
    }
    for file in files:
        if file.exists():
            raise refused("file", str(file), "must not be there yet")
    if name in law_names() or importlib.util.find_spec(name) is not None:
        raise refused(
            "NAME", name, "must not be the name of a law or of a Python module that is installed"
        )
    words = name.split("_")
    title = "".join(word.capitalize() for word in words)
    for file, template in files.items():
        text = template.substitute(name=name, title=title, text=" ".join(words).capitalize())
        write_text(file, text)
    return f"{name}:{title}"


def run(options: argparse.Namespace) -> int:
    """Write the files in the present folder, and say what to type next."""
    law = write_law(options.name, Path(), options.compiled)
    print(f"{options.name}.py: the law; test_{options.name}.py: its test")
    print(f"Next: robot_control simulate --law {law} --push 20 0 0")
    return 0
