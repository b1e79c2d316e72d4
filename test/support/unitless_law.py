"""Joint springs of users, whose gains have no unit of the package: with a role, and without one."""

from dataclasses import dataclass

from robot_control_ros import Array, Command, CommandMode
from robot_control_ros.core.gains import JOINT, gain


class _Springs:
    mode = CommandMode.EFFORT

    def __init__(self):
        self.terms = {}

    def reset(self, state, kin):
        """It remembers nothing."""

    def compute(self, state, kin, reference, gains, dt):
        self.terms = {
            "spring": gains.p * (reference.q - state.q) - gains.d * state.v,
            "gravity": kin.gravity,
        }
        return Command(self.mode, sum(self.terms.values()))


class WithRoles(_Springs):
    @dataclass(frozen=True, eq=False)
    class Gains:
        p: Array = gain(400.0, size=JOINT, unit="Nm/turn", upper=1e4, role="stiffness", doc="P.")
        d: Array = gain(20.0, size=JOINT, unit="Nm·s/turn", upper=1e3, role="damping", doc="D.")


class WithoutRoles(_Springs):
    @dataclass(frozen=True, eq=False)
    class Gains:
        p: Array = gain(400.0, size=JOINT, unit="Nm/turn", upper=1e4, doc="P.")
        d: Array = gain(20.0, size=JOINT, unit="Nm·s/turn", upper=1e3, doc="D.")


class WithNothingToSoften(_Springs):
    @dataclass(frozen=True, eq=False)
    class Gains:
        p: Array = gain(400.0, size=JOINT, unit="Nm/turn", upper=1e4, role="other", doc="P.")
        d: Array = gain(20.0, size=JOINT, unit="Nm·s/turn", upper=1e3, role="other", doc="D.")
