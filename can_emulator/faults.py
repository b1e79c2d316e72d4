"""What can go wrong on a bus of motors. Each method is one fault; motors are numbered from 0."""

from __future__ import annotations

import copy

from .bus import Bus
from .frame import Frame
from .motor import Motor


class Faults:
    """Faults of a bus.

    Args:
        bus: where they happen.
    """

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    def lose_replies(self, motor: int, count: int) -> None:
        """Lose the next answers of a motor; -1 for all of them, 0 for none any more."""
        self._motor(motor).muted = count

    def power(self, motor: int, on: bool) -> None:
        """Take the power from a motor, or give it back: it is then disabled."""
        chosen = self._motor(motor)
        chosen.powered = on
        chosen.disable()

    def fail(self, motor: int, code: int) -> None:
        """Let a motor fail with its maker's error code: it lets go."""
        self._motor(motor).fail(code)

    def temperature(self, motor: int, celsius: float) -> None:
        """Heat or cool the winding of a motor; too hot, it fails."""
        self._motor(motor).temperature = celsius

    def bus_off(self, off: bool) -> None:
        """Let the host's controller leave the bus, or come back."""
        self._bus.off = off

    def second(self, motor: int) -> None:
        """Add another motor with the identity of one, at another position."""
        twin = copy.deepcopy(self._motor(motor))
        twin.position += 1.0
        twin.muted = 0
        self._bus.motors.append(twin)

    def identity(self, motor: int, own: int, reply: int) -> None:
        """Give a motor another identity."""
        chosen = self._motor(motor)
        chosen.motor = own
        chosen.reply = reply

    def stranger(self, identifier: int, extended: bool = False) -> None:
        """Have a frame of nobody on the bus."""
        self._bus.utter(Frame(identifier, bytes(8), extended).check())

    def timeout(self, motor: int, seconds: float) -> None:
        """Set the time without frames after which a motor lets go; 0 for never."""
        self._motor(motor).timeout = seconds

    def motion(self) -> str:
        """Tell position, velocity and torque of each motor, a line each."""
        return "\n".join(
            f"{n} {motor.position:.6f} {motor.velocity:.6f} {motor.torque:.4f} "
            f"{'enabled' if motor.enabled else 'disabled'} {motor.error}"
            for n, motor in enumerate(self._bus.motors)
        )

    def _motor(self, number: int) -> Motor:
        motors = self._bus.motors
        if not 0 <= number < len(motors):
            raise ValueError(f"motor {number}: must be from 0 to {len(motors) - 1}")
        return motors[number]
