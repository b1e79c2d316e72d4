"""What a law remembers is its row: a law that goes on from a copy of it commands the
same, to the last bit.
"""

import copy

import numpy as np
import pytest

from robot_control_ros.core.gains import make_gains
from robot_control_ros.core.spatial import make_pose, rotation_exp
from robot_control_ros.core.types import Reference, SensedState
from robot_control_ros.laws import law_class
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

DT = 0.002
CHANGED, SAVED, END = 10, 20, 60  # cycles: the gains change, the memory is saved, and the law ends
PRESSES = {"force": [0.0, 0.0, -10.0, 0.0, 0.0, 0.0], "force_axes": [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]}
STIFF = {"stiffness": [900.0, 300.0, 500.0, 30.0, 50.0, 20.0]}
CASES = {
    "impedance": ("impedance", {}, {"stiffness": 2000.0}),
    "impedance, from one link to another": (
        "impedance",
        {"frame": "forearm_link"},
        {"frame": "wrist_1_link"},
    ),
    "admittance": ("admittance", {}, {"stiffness": 20000.0}),
    "admittance, from one link to another": (
        "admittance",
        {"frame": "forearm_link", **STIFF},
        {"frame": "wrist_1_link"},
    ),
    "admittance that enters the tip's axes": ("admittance", STIFF, {"frame": "tip"}),
    "force with torques": ("force_control", {}, PRESSES),
    "force with positions": (
        "force_control",
        {**PRESSES, "output": "position", "frame": "tip"},
        {"force_i": 20.0},
    ),
    "from torques to positions": ("force_control", PRESSES, {"output": "position"}),
}


class Moves:
    """A UR5e that moves about, pushed by a wrench; what a law sees of it."""

    def __init__(self):
        robot = load_robot("ur5e")
        self.model, self.home = RobotModel.of(robot), np.array(robot.home)
        self.rest = self.model.at(self.home).pose

    def sample(self, k):
        phase = 0.05 * k
        q = self.home + 0.1 * np.sin(phase + np.arange(6))
        v = 0.1 * 0.05 / DT * np.cos(phase + np.arange(6))
        wrench = np.array([10.0, -5.0, 8.0, 0.5, 0.3, -0.4]) * np.sin(0.1 * k + 1.0)
        pose = make_pose(
            self.rest[:3, 3] + 0.01 * np.sin(phase),
            rotation_exp(0.1 * np.sin([phase, 1.0, 2.0])) @ self.rest[:3, :3],
        )
        state = SensedState(DT * k, q, v, np.zeros(6), None, wrench_on_tip=wrench)
        return state, self.model.at(q, v), Reference(pose=pose, twist=0.01 * np.ones(6))


def commands(law, moves, gains, first, end):
    found = []
    for k in range(first, end):
        state, kin, reference = moves.sample(k)
        command = law.compute(state, kin, reference, gains[k >= CHANGED], DT)
        velocity = [] if command.velocity is None else command.velocity
        found.append(np.concatenate((command.values, velocity)))
    return found


@pytest.mark.parametrize(("name", "values", "changes"), CASES.values(), ids=CASES)
def test_a_law_goes_on_from_a_copy_of_its_memory_to_the_last_bit(name, values, changes):
    kind, moves = law_class(name), Moves()
    gains = [make_gains(kind.Gains, each, 6) for each in (values, {**values, **changes})]
    law, other = kind(), kind()
    state, kin, _ = moves.sample(0)
    law.reset(state, kin)
    commands(law, moves, gains, 0, SAVED)
    state, kin, _ = moves.sample(SAVED)
    other.restore(law.save(), state, kin, gains[1])
    expected = commands(law, moves, gains, SAVED, END)
    np.testing.assert_array_equal(commands(other, moves, gains, SAVED, END), expected)


def test_a_compiled_law_is_not_copied_apart_from_its_row():
    with pytest.raises(TypeError):
        copy.deepcopy(law_class("impedance")())
