"""Motors on a bus, and the mechanics that they turn."""

from __future__ import annotations

from collections.abc import Sequence

from ethercat_emulator import Mechanics

from .frame import BUS_OFF, Frame
from .motor import Motor

STEP = 0.001  # s, of the mechanics at most; the motors' torque changes with each step
LONGEST = 0.02  # s that pass at once; a machine that stalls for longer slows the clock down


class Bus:
    """Motors on one bus; the first joint of the mechanics is the first motor's.

    Args:
        motors: one for each joint.
        mechanics: what they turn.
        supported: whether something holds each joint until its motor is enabled for the first time,
            as a stand holds an arm without brakes.

    Attributes:
        motors: on the bus, also those that were added to it later.
        mechanics: what the first ones turn.
        off: whether the host's controller has left the bus: no frame comes to a motor.
        time: of the mechanics [s].
    """

    def __init__(
        self, motors: Sequence[Motor], mechanics: Mechanics, supported: bool = False
    ) -> None:
        if len(motors) != len(mechanics.position):
            raise ValueError(f"{len(motors)} motors for {len(mechanics.position)} joints")
        self.motors = list(motors)
        self.mechanics = mechanics
        self.off = False
        self.time = 0.0
        self._joints = len(motors)
        self._supported = [supported] * len(motors)
        self._now: float | None = None
        self._pending: list[Frame] = []
        for motor, q in zip(motors, mechanics.position, strict=True):
            motor.position = q

    def process(self, frame: Frame, now: float) -> list[Frame]:
        """Take a frame of the host at a time [s]; returns what the motors answer."""
        self.advance(now)
        if self.off:
            return [Frame(BUS_OFF, bytes(8), error=True)]
        answers = self._pending
        self._pending = []
        for motor in self.motors:
            answers += motor.receive(frame, now)
        return answers

    def utter(self, frame: Frame) -> None:
        """Have a frame on the bus that nobody asked for: it comes with the next answers."""
        self._pending.append(frame)

    def advance(self, now: float) -> None:
        """Let time pass until a time [s]."""
        if self._now is None:
            self._now = now
        left = min(now - self._now, LONGEST)
        self._now = now
        while left > 1e-9:
            dt = min(STEP, left)
            left -= dt
            self.time += dt
            self._step(now - left, dt)

    def _step(self, now: float, dt: float) -> None:
        mechanics = self.mechanics
        torques = [
            motor.drive(q, v, now)
            for motor, q, v in zip(
                self.motors, mechanics.position, mechanics.velocity, strict=False
            )
        ]
        for extra in self.motors[self._joints :]:  # it lies beside the arm, and turns nothing
            extra.drive(extra.position + extra.zero, 0.0, now)
        for n, motor in enumerate(self.motors[: self._joints]):
            self._supported[n] = self._supported[n] and not motor.enabled
        mechanics.advance(torques, self._supported, dt)
