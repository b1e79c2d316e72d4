"""The objects of CiA 402 that a drive has, and the settings that distinguish one drive from
another.

Source: CiA 402-2 and -3 (IEC 61800-7-201), ETG.6010 (implementation directive for CiA 402).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ..coe.dictionary import (
    INTEGER8,
    INTEGER16,
    INTEGER32,
    UNSIGNED8,
    UNSIGNED16,
    UNSIGNED32,
    Entry,
    Object,
    record,
    variable,
)
from .servo import Motor

# cyclic synchronous modes
POSITION = 8
VELOCITY = 9
TORQUE = 10
# 0x6007: when the master is gone
ABORT_NOTHING, ABORT_FAULT, ABORT_DISABLE, ABORT_QUICK_STOP = range(4)


@dataclass(frozen=True)
class DriveSettings:
    """What distinguishes one drive from another.

    Attributes:
        motor: with gear and encoder.
        modes: that it has.
        following_error: window [rad at the joint], and how long it may be left [ms].
        deceleration: of the quick stop, at the joint [rad/s²].
        rated_torque_unit: what 0x6076 counts in [N·m].
        abort_option: what happens when the slave leaves OP (0x6007): 0 nothing, 1 a fault, 2 the
            voltage goes off,
            3 quick stop.
    """

    motor: Motor = field(default_factory=Motor)
    modes: tuple[int, ...] = (POSITION, VELOCITY, TORQUE)
    following_error: float = 0.2
    following_error_time: int = 0
    deceleration: float = 10.0
    rated_torque_unit: float = 0.001
    abort_option: int = ABORT_DISABLE


def drive_objects(settings: DriveSettings) -> list[Object]:
    """The objects of CiA 402 that a drive has, with its own values."""
    motor = settings.motor
    window = round(settings.following_error * abs(motor.counts_per_radian))
    deceleration = round(settings.deceleration * abs(motor.velocity_per_radian))
    supported = sum(1 << (mode - 1) for mode in settings.modes)
    unit = _velocity_unit(motor.velocity_unit)
    rx = "rx"
    tx = "tx"
    return [
        variable(
            0x6007,
            INTEGER16,
            settings.abort_option,
            "Abort connection option",
            writable=True,
            allowed=range(4),
        ),
        variable(0x603F, UNSIGNED16, 0, "Error code", mapped=tx),
        variable(0x6040, UNSIGNED16, 0, "Controlword", mapped=rx),
        variable(0x6041, UNSIGNED16, 0, "Statusword", mapped=tx),
        variable(0x605A, INTEGER16, 2, "Quick stop option", writable=True, allowed=(0, 1, 2, 5, 6)),
        variable(0x605E, INTEGER16, 2, "Fault reaction option", writable=True, allowed=(0, 1, 2)),
        variable(0x6060, INTEGER8, 0, "Modes of operation", mapped=rx),
        variable(0x6061, INTEGER8, 0, "Modes of operation display", mapped=tx),
        variable(0x6064, INTEGER32, 0, "Position actual value", mapped=tx),
        variable(0x6065, UNSIGNED32, window, "Following error window", writable=True),
        variable(
            0x6066,
            UNSIGNED16,
            settings.following_error_time,
            "Following error time out",
            writable=True,
        ),
        variable(0x606C, INTEGER32, 0, "Velocity actual value", mapped=tx),
        variable(0x6071, INTEGER16, 0, "Target torque", mapped=rx),
        variable(0x6072, UNSIGNED16, round(1000 * motor.max_torque), "Max torque", mapped=rx),
        variable(
            0x6076,
            UNSIGNED32,
            round(motor.rated_torque / settings.rated_torque_unit),
            "Motor rated torque",
        ),
        variable(0x6077, INTEGER16, 0, "Torque actual value", mapped=tx),
        variable(0x607A, INTEGER32, 0, "Target position", mapped=rx),
        variable(
            0x6085,
            UNSIGNED32,
            deceleration,
            "Quick stop deceleration",
            writable=True,
            allowed=range(1, 1 << 32),
        ),
        *_encoder_and_gear(motor),
        variable(0x60A9, UNSIGNED32, unit, "SI unit velocity", writable=True, allowed=(unit,)),
        variable(0x60B1, INTEGER32, 0, "Velocity offset", mapped=rx),
        variable(0x60B2, INTEGER16, 0, "Torque offset", mapped=rx),
        record(
            0x60C2,
            "Interpolation time period",
            Entry(1, UNSIGNED8, 1, "Interpolation time period value", True),
            Entry(2, INTEGER8, -3, "Interpolation time index", True, allowed=range(-6, 1)),
        ),
        variable(0x60F4, INTEGER32, 0, "Following error actual value", mapped=tx),
        variable(0x60FF, INTEGER32, 0, "Target velocity", mapped=rx),
        variable(0x6502, UNSIGNED32, supported, "Supported drive modes"),
    ]


def _encoder_and_gear(motor: Motor) -> list[Object]:
    return [
        record(
            0x608F,
            "Position encoder resolution",
            Entry(1, UNSIGNED32, motor.counts, "Encoder increments"),
            Entry(2, UNSIGNED32, 1, "Motor revolutions"),
        ),
        record(
            0x6091,
            "Gear ratio",
            Entry(1, UNSIGNED32, round(1000 * abs(motor.gear)), "Motor revolutions"),
            Entry(2, UNSIGNED32, 1000, "Shaft revolutions"),
        ),
    ]


def _velocity_unit(rpm: float) -> int:
    """As 0x60A9 has it: a power of ten, increments or revolutions, per second or minute
    (Synapticon, Nanotec).
    """
    if rpm == 0.0:
        return 0x00B50300
    return (round(math.log10(rpm)) & 0xFF) << 24 | 0x00B44700
