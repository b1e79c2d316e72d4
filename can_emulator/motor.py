"""A motor in MIT mode: what it was commanded, the torque that it gives, its faults. Its frames are
its maker's (:mod:`.makers`).
"""

from __future__ import annotations

from dataclasses import dataclass

from .frame import Frame

AMBIENT = 25.0  # °C


@dataclass(frozen=True)
class Model:
    """Ranges of a model's frames, and what its motor can do.

    Attributes:
        position, velocity, torque: of the frames, from minus to plus [rad, rad/s, N·m].
        peak_torque: that the motor gives at most [N·m].
        stiffness, damping: of the frames, from 0 [N·m/rad, N·m·s/rad].
        friction: of the gear where the motor has no current [N·m·s/rad].
    """

    position: float
    velocity: float
    torque: float
    peak_torque: float
    stiffness: float = 500.0
    damping: float = 5.0
    friction: float = 0.05


@dataclass(frozen=True)
class MitCommand:
    """The last command: torque = stiffness (position - q) + damping (velocity - v) + torque."""

    position: float = 0.0
    velocity: float = 0.0
    stiffness: float = 0.0
    damping: float = 0.0
    torque: float = 0.0


class Motor:
    """A motor that moves one joint.

    Args:
        motor: identity that it listens to.
        reply: identity that it sends to.
        model: its ranges.
        timeout: time without a frame after which it lets go [s]; 0 never does.

    Attributes:
        position, velocity: of its shaft, as its encoder counts them [rad, rad/s].
        torque: that it gives [N·m].
        temperature: of its winding [°C].
        driver_temperature: of its driver [°C].
        enabled: whether it follows commands.
        error: code of its maker; 0 for none.
        powered: whether it has power; without, it neither moves nor answers.
        muted: number of answers that get lost; negative for all of them.
        frames: number of frames that were addressed to it.
    """

    name = "motor"
    over_temperature = 1  # the maker's code
    warm = 100.0  # °C from which it gives up

    def __init__(self, motor: int, reply: int, model: Model, timeout: float = 0.0) -> None:
        self.motor = motor
        self.reply = reply
        self.model = model
        self.timeout = timeout
        self.position = 0.0
        self.velocity = 0.0
        self.torque = 0.0
        self.temperature = AMBIENT
        self.driver_temperature = AMBIENT
        self.enabled = False
        self.error = 0
        self.powered = True
        self.muted = 0
        self.frames = 0
        self.zero = 0.0
        self.command = MitCommand()
        self._heard_at = 0.0

    # --- frames ---

    def receive(self, frame: Frame, now: float) -> list[Frame]:
        """Take a frame from the bus; returns the answers."""
        if not self.powered or not self.hears(frame):
            return []
        self.frames += 1
        self._heard_at = now
        answers = self.answer(frame)
        if self.muted and answers:
            self.muted -= 1 if self.muted > 0 else 0
            return []
        return answers

    def hears(self, frame: Frame) -> bool:
        """Whether a frame is addressed to it."""
        raise NotImplementedError

    def answer(self, frame: Frame) -> list[Frame]:
        """Do what a frame says; returns the answers."""
        raise NotImplementedError

    # --- motion ---

    def enable(self) -> None:
        """Follow commands, unless there is an error; begin without torque."""
        if not self.error:
            if not self.enabled:
                self.command = MitCommand()
            self.enabled = True

    def disable(self) -> None:
        """Let go."""
        self.enabled = False
        self.command = MitCommand()

    def fail(self, error: int) -> None:
        """Let go because of an error, which stays until it is cleared."""
        self.disable()
        self.error = error

    def clear(self) -> None:
        """Forget the error."""
        self.error = 0

    def set_zero(self) -> None:
        """Make the present position 0."""
        self.zero += self.position
        self.position = 0.0

    def drive(self, q: float, v: float, now: float) -> float:
        """The torque at a joint angle and velocity [rad, rad/s]; [N·m]."""
        self.position = q - self.zero
        self.velocity = v
        if self.powered and self.temperature > self.warm and not self.error:
            self.fail(self.over_temperature)
        if self.timeout and self.enabled and now - self._heard_at > self.timeout:
            self.time_out()
        if not (self.powered and self.enabled):
            self.torque = 0.0
            return -self.model.friction * v
        command = self.command
        wanted = (
            command.stiffness * (command.position - self.position)
            + command.damping * (command.velocity - v)
            + command.torque
        )
        peak = self.model.peak_torque
        self.torque = min(max(wanted, -peak), peak)
        return self.torque - self.model.friction * v

    def time_out(self) -> None:
        """Let go because no frame came in time."""
        self.disable()


def unsigned(value: float, lower: float, upper: float, bits: int) -> int:
    """The number of steps of a value in a range, cut off as the makers do."""
    value = min(max(value, lower), upper)
    return int((value - lower) * ((1 << bits) - 1) / (upper - lower))


def real(steps: int, lower: float, upper: float, bits: int) -> float:
    """The value of a number of steps in a range."""
    return steps * (upper - lower) / ((1 << bits) - 1) + lower


def packed_command(data: bytes, model: Model) -> MitCommand:
    """The command in the eight bytes that Damiao and MyActuator share."""
    kp = (data[3] & 0xF) << 8 | data[4]
    kd = data[5] << 4 | data[6] >> 4
    return MitCommand(
        real(data[0] << 8 | data[1], -model.position, model.position, 16),
        real(data[2] << 4 | data[3] >> 4, -model.velocity, model.velocity, 12),
        real(kp, 0.0, model.stiffness, 12),
        real(kd, 0.0, model.damping, 12),
        real((data[6] & 0xF) << 8 | data[7], -model.torque, model.torque, 12),
    )


def packed_state(motor: Motor) -> bytes:
    """Position, velocity and torque in the five bytes that Damiao and MyActuator share."""
    model = motor.model
    q = unsigned(motor.position, -model.position, model.position, 16)
    v = unsigned(motor.velocity, -model.velocity, model.velocity, 12)
    torque = unsigned(motor.torque, -model.torque, model.torque, 12)
    return bytes([q >> 8, q & 0xFF, v >> 4, (v & 0xF) << 4 | torque >> 8, torque & 0xFF])
