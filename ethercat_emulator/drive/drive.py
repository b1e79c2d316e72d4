"""A CiA 402 drive: states, modes and faults around a servo.

Source: CiA 402-2 and -3 (IEC 61800-7-201), ETG.6010 (implementation directive for CiA 402).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence

from ..coe.dictionary import Dictionary, key
from .mechanics import Mechanics
from .objects import (
    ABORT_DISABLE,
    ABORT_FAULT,
    ABORT_NOTHING,
    POSITION,
    TORQUE,
    VELOCITY,
    DriveSettings,
)
from .power_states import MOVING, Power, PowerStates
from .servo import Servo

FOLLOWING_ERROR = 0x8611
COMMUNICATION = 0x8130

_COAST = 0  # how a drive stops (0x605A, 0x605E)
_QUICK_STOP = 0x0002  # control word

_CONTROL = key(0x6040)
_STATUS = key(0x6041)
_MODE = key(0x6060)
_MODE_SHOWN = key(0x6061)
_ERROR_CODE = key(0x603F)
_ERROR_REGISTER = key(0x1001)
_POSITION = key(0x6064)
_VELOCITY = key(0x606C)
_TORQUE = key(0x6077)
_POSITION_ERROR = key(0x60F4)
_TARGET_POSITION = key(0x607A)
_TARGET_VELOCITY = key(0x60FF)
_TARGET_TORQUE = key(0x6071)
_VELOCITY_OFFSET = key(0x60B1)
_TORQUE_OFFSET = key(0x60B2)
_MAX_TORQUE = key(0x6072)
_ERROR_WINDOW = key(0x6065)
_ERROR_TIME = key(0x6066)
_QUICK_STOP_OPTION = key(0x605A)
_FAULT_OPTION = key(0x605E)
_ABORT_OPTION = key(0x6007)
_QUICK_STOP_DECELERATION = key(0x6085)

# Bits of the status word beyond the state.
_VOLTAGE = 1 << 4
_REMOTE = 1 << 9
_LIMIT = 1 << 11
_FOLLOWS = 1 << 12
_FOLLOWING_ERROR = 1 << 13
_NO_WINDOW = 0xFFFFFFFF
_AT_REST = 0.002  # rad/s


class Drive:
    """One axis.

    Args:
        settings: of the drive.
        dictionary: with :func:`drive_objects` and the error register (0x1001); the drive computes
            with its values.

    Attributes:
        emergencies: (error code, error register) not yet sent; code 0 where the error is gone.
        position_frozen: whether the actual position (0x6064) stays as it is.
        refused_modes: modes of operation that it doesn't change to.
    """

    def __init__(self, settings: DriveSettings, dictionary: Dictionary) -> None:
        motor = settings.motor
        self.settings = settings
        self.emergencies: deque[tuple[int, int]] = deque()
        self.position_frozen = False
        self.refused_modes: set[int] = set()
        self._values = dictionary.values
        self._counts = motor.counts_per_radian
        self._speed = motor.velocity_per_radian
        self._per_mille = motor.torque_per_mille
        self._strongest = 1000.0 * motor.max_torque * abs(self._per_mille)
        self._servo = Servo(motor)
        self._fault_present = False
        self.reset()

    @property
    def power(self) -> Power:
        """The state of its power."""
        return self._power.state

    @property
    def braked(self) -> bool:
        """Whether the holding brake is closed."""
        return self._power.state not in MOVING

    @property
    def torque(self) -> float:
        """At the joint [N·m]."""
        return self._servo.torque

    def reset(self) -> None:
        """As after power-up; the dictionary is reset by its owner."""
        self._power = PowerStates()
        self._servo.reset()
        self._outside_since = -1.0
        self._stopping_at = 0.0
        self._time = 0.0
        self._velocity = 0.0
        self.emergencies.clear()

    def fault(self, code: int, *, lasting: bool = False, at_once: bool = False) -> None:
        """Fail.

        Args:
            code: error code (0x603F).
            lasting: a reset has no effect until :meth:`mend`.
            at_once: the torque goes off without a stop before.
        """
        at_once = at_once or self._values[_FAULT_OPTION] == _COAST
        self._fault_present = lasting
        self._stopping_at = self._velocity
        self._power.fail(at_once=at_once)
        self._values[_ERROR_CODE] = code
        self._values[_ERROR_REGISTER] = 0x01
        self.emergencies.append((code, 0x01))

    def mend(self) -> None:
        """Take away the cause of a lasting fault; it can be reset then."""
        self._fault_present = False

    def disconnect(self) -> None:
        """The master is gone: do what 0x6007 asks for. Its last control word no longer counts."""
        option = self._values[_ABORT_OPTION]
        if option == ABORT_NOTHING:
            return
        if self._power.state in MOVING:
            if option == ABORT_FAULT:
                self.fault(COMMUNICATION, at_once=True)
            elif option == ABORT_DISABLE:
                self._power.disable()
            else:
                self._stopping_at = self._velocity
                self._power.quick_stop()
        self._values[_CONTROL] = _QUICK_STOP if self._power.state in MOVING else 0

    def step(self, position: float, velocity: float, dt: float) -> None:
        """One cycle of the control loops: from the joint's position [rad] and velocity
        [rad/s] to a torque.
        """
        values = self._values
        self._time += dt
        option = self._values[_QUICK_STOP_OPTION]
        was_enabled = self._power.state is Power.OPERATION_ENABLED
        if self._power.command(self._values[_CONTROL], option, fault_present=self._fault_present):
            values[_ERROR_CODE] = values[_ERROR_REGISTER] = 0
            self.emergencies.append((0, 0))
        state = self._power.state
        if was_enabled and state is Power.QUICK_STOP_ACTIVE:
            self._stopping_at = velocity
        mode = self._values[_MODE]
        if mode in self.settings.modes and mode not in self.refused_modes:
            values[_MODE_SHOWN] = mode
        self._servo.limit = min(values[_MAX_TORQUE] * abs(self._per_mille), self._strongest)
        if state is Power.OPERATION_ENABLED:
            self._control(position, velocity, dt)
        elif state in MOVING:
            self._stop(velocity, dt)
        else:
            self._servo.release(dt)
        self._velocity = velocity

    def sense(self, position: float, velocity: float) -> None:
        """Put the joint's position and velocity [rad, rad/s] and the drive's state where
        the master reads them.
        """
        values = self._values
        if not self.position_frozen:
            values[_POSITION] = _wrap(round(position * self._counts) + self.settings.motor.zero)
        values[_VELOCITY] = _clip(round(velocity * self._speed), 0x7FFFFFFF)
        values[_TORQUE] = _clip(round(self._servo.torque / self._per_mille), 0x7FFF)
        values[_STATUS] = self._status()

    def _control(self, position: float, velocity: float, dt: float) -> None:
        mode = self._values[_MODE_SHOWN]
        speed = self._values[_VELOCITY_OFFSET] / self._speed
        torque = self._values[_TORQUE_OFFSET] * self._per_mille
        servo = self._servo
        if mode == POSITION:
            actual = round(position * self._counts) + self.settings.motor.zero
            error = _wrap(self._values[_TARGET_POSITION] - actual)
            self._values[_POSITION_ERROR] = error
            if self._watch(abs(error)):
                servo.hold_position(error / self._counts, velocity, (speed, torque), dt)
        elif mode == VELOCITY:
            servo.hold_velocity(
                self._values[_TARGET_VELOCITY] / self._speed + speed - velocity, torque, dt
            )
        elif mode == TORQUE:
            servo.drive(self._values[_TARGET_TORQUE] * self._per_mille + torque, dt)
        else:
            servo.release(dt)

    def _watch(self, error: int) -> bool:
        """Whether the following error is within its window, or hasn't been without for long."""
        window = self._values[_ERROR_WINDOW]
        if error <= window or window == _NO_WINDOW:
            self._outside_since = -1.0
            return True
        if self._outside_since < 0.0:
            self._outside_since = self._time
        if 1000.0 * (self._time - self._outside_since) < self._values[_ERROR_TIME]:
            return True
        self._outside_since = -1.0
        self.fault(FOLLOWING_ERROR)
        return False

    def _stop(self, velocity: float, dt: float) -> None:
        step = self._values[_QUICK_STOP_DECELERATION] / abs(self._speed) * dt
        wanted = self._stopping_at
        self._stopping_at = math.copysign(max(abs(wanted) - step, 0.0), wanted)
        self._servo.hold_velocity(self._stopping_at - velocity, 0.0, dt)
        if self._stopping_at == 0.0 and abs(velocity) < _AT_REST:
            self._power.stopped(self._values[_QUICK_STOP_OPTION])

    def _status(self) -> int:
        state = self._power.state
        word = state | _VOLTAGE | _REMOTE
        if state is Power.OPERATION_ENABLED and self._values[_MODE_SHOWN]:
            word |= _FOLLOWS
        if self._servo.limited:
            word |= _LIMIT
        if self._values[_ERROR_CODE] == FOLLOWING_ERROR:
            word |= _FOLLOWING_ERROR
        return word


class Machine:
    """Drives on their mechanics.

    Args:
        drives: one per joint, in the mechanics' order.
        mechanics: what they turn.

    Attributes:
        watchers: called after each cycle.

    Raises:
        ValueError: not as many drives as joints.
    """

    def __init__(self, drives: Sequence[Drive], mechanics: Mechanics) -> None:
        if len(drives) != len(mechanics.position):
            raise ValueError(
                f"{len(drives)} drives: the mechanics have {len(mechanics.position)} joints"
            )
        self.drives = tuple(drives)
        self.mechanics = mechanics
        self.watchers: list[Callable[[], None]] = []
        self._sense()

    def advance(self, dt: float) -> None:
        """One cycle of all drives, and what the joints do meanwhile [s]."""
        mechanics = self.mechanics
        position = mechanics.position
        velocity = mechanics.velocity
        for n, drive in enumerate(self.drives):
            drive.step(position[n], velocity[n], dt)
        mechanics.advance(
            [drive.torque for drive in self.drives], [drive.braked for drive in self.drives], dt
        )
        self._sense()
        for watcher in self.watchers:
            watcher()

    def _sense(self) -> None:
        position = self.mechanics.position
        velocity = self.mechanics.velocity
        for n, drive in enumerate(self.drives):
            drive.sense(position[n], velocity[n])


def _wrap(counts: int) -> int:
    """An encoder's 32 bits, with a sign."""
    return (counts + 0x80000000 & 0xFFFFFFFF) - 0x80000000


def _clip(value: int, limit: int) -> int:
    return max(-limit, min(limit, value))
