"""Laws that turn joints on and on, by positions or by velocities."""

from dataclasses import dataclass

from robot_control_ros import Array, Command, CommandMode
from robot_control_ros.core.gains import JOINT, gain


class Advance:
    """Turns the joints with constant velocities, by positions."""

    mode = CommandMode.POSITION

    @dataclass(frozen=True, eq=False)
    class Gains:
        rate: Array = gain(0.0, size=JOINT, unit="rad/s", lower=-2.0, upper=2.0, doc="Velocity.")

    def __init__(self):
        self.terms = {}

    def reset(self, state, kin):
        self.q = state.q

    def compute(self, state, kin, reference, gains, dt):
        self.q = self.q + dt * gains.rate
        return Command(self.mode, self.q if self.mode is CommandMode.POSITION else gains.rate)


class AdvanceByVelocity(Advance):
    """The same by velocities."""

    mode = CommandMode.VELOCITY
