"""Process data: from bytes on the bus to SI units at the joints, and back. No I/O.

An :class:`Image` is the layout of one slave's process data in one direction, an :class:`Axis` a drive behind a joint:
it knows which object is where and, with its :class:`Scale`, what a count is worth. Everything is allocated once.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import ConfigError
from ...types import Array
from .cia402 import Mode, Targets

CONTROL_WORD, MODE, TARGET_TORQUE, TARGET_POSITION, TARGET_VELOCITY = 0x6040, 0x6060, 0x6071, 0x607A, 0x60FF
VELOCITY_OFFSET, TORQUE_OFFSET = 0x60B1, 0x60B2
TARGETS = {Mode.POSITION: TARGET_POSITION, Mode.VELOCITY: TARGET_VELOCITY, Mode.TORQUE: TARGET_TORQUE}
ERROR_CODE, STATUS_WORD, MODE_DISPLAY = 0x603F, 0x6041, 0x6061
ACTUAL_POSITION, ACTUAL_VELOCITY, ACTUAL_TORQUE, FOLLOWING_ERROR = 0x6064, 0x606C, 0x6077, 0x60F4
RATED_TORQUE = 0x6076
OBJECT_NAMES = {
    CONTROL_WORD: "control word",
    MODE: "mode of operation",
    TARGET_POSITION: "target position",
    TARGET_VELOCITY: "target velocity",
    TARGET_TORQUE: "target torque",
    VELOCITY_OFFSET: "velocity offset",
    TORQUE_OFFSET: "torque offset",
    STATUS_WORD: "status word",
    MODE_DISPLAY: "mode of operation display",
    ACTUAL_POSITION: "actual position",
    ACTUAL_VELOCITY: "actual velocity",
    ACTUAL_TORQUE: "actual torque",
    ERROR_CODE: "error code",
    FOLLOWING_ERROR: "following error",
}

# Bits and struct's letter. CiA 301's names: BOOLEAN, INTEGER8 … UNSIGNED32.
TYPES = {"i8": (8, "b"), "u8": (8, "B"), "i16": (16, "h"), "u16": (16, "H"), "i32": (32, "i"), "u32": (32, "I")}
SMALL_TYPES = ("bool", "pad")  # 1 bit, and any number of them

# What one unit of 0x606C, 0x60FF and 0x60B1 is worth, in revolutions per minute of the shaft the encoder is on.
# "counts/s": position counts per second.
VELOCITY_UNITS = {
    "counts/s": math.nan,
    "rpm": 1.0,
    "0.1 rpm": 0.1,
    "0.01 rpm": 1e-2,
    "0.001 rpm": 1e-3,
    "0.0001 rpm": 1e-4,
}
TORQUE_UNITS = {"N·m": 1.0, "mN·m": 1e-3, "µN·m": 1e-6}  # of 0x6076

_RPM = 60.0 / (2.0 * math.pi)  # min^-1 per rad/s
_I16, _I32 = (1 << 15) - 1, (1 << 31) - 1
_COMMAND, _POSITION, _TORQUE = Targets.COMMAND, Mode.POSITION, Mode.TORQUE  # an enumeration looks its members up


def bounds(kind: str) -> tuple[int, int]:
    """The smallest and the largest number of one of TYPES."""
    bits = TYPES[kind][0]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if kind.startswith("i") else (0, (1 << bits) - 1)


@dataclass(frozen=True)
class Entry:
    """One object in a PDO.

    Attributes:
        index, sub_index: of the object; 0 for a pad.
        type: one of TYPES or SMALL_TYPES.
        bits: its length.
    """

    index: int
    sub_index: int
    type: str
    bits: int

    @property
    def mapping(self) -> int:
        """What the PDO's mapping object (0x1600 …, 0x1A00 …) holds for it."""
        return self.index << 16 | self.sub_index << 8 | self.bits

    def __str__(self) -> str:
        return f"pad of {self.bits} bits" if self.type == "pad" else f"0x{self.index:04X}:{self.sub_index} {self.type}"


@dataclass(frozen=True)
class Pdo:
    """A PDO: the index of its mapping object, and the entries in order."""

    index: int
    entries: tuple[Entry, ...]


class Image:
    """Layout of a slave's process data in one direction: one precompiled struct.

    Bits share bytes; everything else begins at a whole byte.

    Args:
        where: file and direction, for errors.
        pdos: in the order in which they are assigned (0x1C12, 0x1C13).

    Attributes:
        size: in bytes.

    Raises:
        ConfigError: an entry that isn't at a whole byte, or an object that is there twice.
    """

    def __init__(self, where: str, pdos: Sequence[Pdo]) -> None:
        self._slots: dict[tuple[int, int], tuple[int, int]] = {}  # object: place in the tuple, mask or 0
        letters, count, bit = ["<"], 0, 0
        for entry in (entry for pdo in pdos for entry in pdo.entries):
            key = entry.index, entry.sub_index
            if entry.type != "pad" and key in self._slots:
                raise ConfigError(f"{where}: {entry} is there twice")
            if entry.type in TYPES:
                if bit % 8:
                    raise ConfigError(f"{where}: {entry} begins at bit {bit % 8} of a byte: pad the bits before it")
                letters.append(TYPES[entry.type][1])
                self._slots[key] = count, 0
                count += 1
            else:
                if entry.type == "bool":
                    self._slots[key] = count - (1 if bit % 8 else 0), 1 << bit % 8
                new = (bit % 8 + entry.bits + 7) // 8 - (1 if bit % 8 else 0)
                letters.append("B" * new)
                count += new
            bit += entry.bits
        if bit % 8:
            raise ConfigError(f"{where}: {bit} bits: must be whole bytes; pad the last one")
        self._struct = struct.Struct("".join(letters))
        self._count = count
        self.size = self._struct.size
        self.unpack = self._struct.unpack  # bytes of exactly `size` to a tuple of raw values
        self.pack_into = self._struct.pack_into  # (buffer, 0, *raw values)

    def blank(self) -> list[int]:
        """Raw values, all 0, for :attr:`pack_into`."""
        return [0] * self._count

    def slot(self, index: int, sub_index: int = 0) -> int | None:
        """Where an object of a byte or more is among the raw values; None where it isn't mapped."""
        place, mask = self._slots.get((index, sub_index), (None, 0))
        return None if mask else place

    def bit(self, values: Sequence[int], index: int, sub_index: int) -> bool:
        """A bool among raw values.

        Raises:
            ConfigError: it isn't mapped.
        """
        place, mask = self._bool(index, sub_index)
        return bool(values[place] & mask)

    def set_bit(self, values: list[int], index: int, sub_index: int, value: bool) -> None:
        """Set a bool among raw values.

        Raises:
            ConfigError: it isn't mapped.
        """
        place, mask = self._bool(index, sub_index)
        values[place] = values[place] | mask if value else values[place] & ~mask

    def _bool(self, index: int, sub_index: int) -> tuple[int, int]:
        place, mask = self._slots.get((index, sub_index), (0, 0))
        if not mask:
            bools = ", ".join(f"0x{i:04X}:{s}" for (i, s), (_, m) in self._slots.items() if m)
            raise ConfigError(f"0x{index:04X}:{sub_index} isn't mapped as a bool; bools: {bools or 'none'}")
        return place, mask


@dataclass(frozen=True)
class Scale:
    """Counts of a drive per SI unit at its joint. All three carry the sign.

    A position count c is the joint angle c / position + offset.

    Attributes:
        joint: for errors.
        position: counts per rad.
        offset: joint angle at count 0 [rad].
        velocity: the drive's velocity units per rad/s.
        torque: thousandths of the motor's rated torque per N·m.
    """

    joint: str
    position: float
    offset: float
    velocity: float
    torque: float

    @classmethod
    def of_drive(
        cls,
        joint: str,
        *,
        counts_per_revolution: float,
        velocity_unit: str,
        rated_torque: float,
        gear_ratio: float = 1.0,
        sign: float = 1.0,
        offset: float = 0.0,
        encoder_on_joint: bool = False,
    ) -> Scale:
        """Scale from a drive's units and what is between motor and joint.

        Args:
            joint: for errors.
            counts_per_revolution: of the shaft that the encoder is on.
            velocity_unit: one of VELOCITY_UNITS, of that shaft.
            rated_torque: the motor's, to which thousandths refer: 0x6076 [N·m].
            gear_ratio: revolutions of the motor per revolution of the joint; losses in the gear aren't modelled.
            sign: 1, or -1 where the motor turns the other way.
            offset: joint angle at count 0 [rad].
            encoder_on_joint: where positions and velocities are those of the joint's shaft, behind the gear.
        """
        turns = sign * (1.0 if encoder_on_joint else gear_ratio)
        position = turns * counts_per_revolution / (2.0 * math.pi)
        unit = VELOCITY_UNITS[velocity_unit]
        velocity = position if math.isnan(unit) else turns * _RPM / unit
        return cls(joint, position, offset, velocity, sign * 1000.0 / (rated_torque * gear_ratio))

    def position_counts(self, angle: float) -> int:
        """Counts of a joint angle [rad]; saturates at 32 bits.

        Raises:
            ConfigError: not a finite number.
        """
        return self._counts("position", "rad", angle, (angle - self.offset) * self.position, _I32)

    def velocity_counts(self, velocity: float) -> int:
        """The drive's units of a joint velocity [rad/s]; saturates at 32 bits.

        Raises:
            ConfigError: not a finite number.
        """
        return self._counts("velocity", "rad/s", velocity, velocity * self.velocity, _I32)

    def torque_counts(self, torque: float) -> int:
        """Thousandths of the rated torque of a joint torque [N·m]; saturates at 16 bits.

        Raises:
            ConfigError: not a finite number.
        """
        return self._counts("torque", "N·m", torque, torque * self.torque, _I16)

    def angle(self, counts: int) -> float:
        """Joint angle of position counts [rad]."""
        return counts / self.position + self.offset

    def _counts(self, quantity: str, unit: str, value: float, counts: float, largest: int) -> int:
        if -largest <= counts <= largest:
            return round(counts)
        if not math.isfinite(value):
            raise ConfigError(f"{self.joint}: {quantity} = {value} {unit}: must be a finite number")
        return largest if counts > 0.0 else -largest


class Axis:
    """One drive's process data.

    :meth:`read` takes what the drive sent, :meth:`write` fills :attr:`output`, which the bus sends.

    Attributes:
        scale: of the joint.
        output: the bytes for the drive.
        input_size: how many it sends.
        modes: of operation whose targets are mapped.
        status_word, mode_display, error_code: 0x6041, 0x6061, 0x603F (0 where it isn't mapped).
        q, v, effort: joint angle [rad], velocity [rad/s], torque [N·m]; effort is NaN where 0x6077 isn't mapped.
        following_error: 0x60F4 at the joint [rad]; 0 where it isn't mapped.
        position_counts: 0x6064.
        takes_velocity_offset, takes_torque_offset: whether 0x60B1, 0x60B2 are mapped.
        tells_error: whether 0x603F is mapped.
        saturated: whether a value of the last command was beyond what its object holds.
    """

    def __init__(self, scale: Scale, rx: Image, tx: Image) -> None:
        self.scale = scale
        self.output = bytearray(rx.size)
        self.input_size = tx.size
        self.modes = tuple(mode for mode, target in TARGETS.items() if rx.slot(target) is not None)
        self.status_word = self.mode_display = self.error_code = self.position_counts = self._effort_counts = 0
        self.q = self.v = self.effort = math.nan
        self.following_error = 0.0
        self.saturated = False
        self._unpack, self._pack_into = tx.unpack, rx.pack_into
        self._status, self._display = _mapped(scale, tx, STATUS_WORD), _mapped(scale, tx, MODE_DISPLAY)
        self._position, self._velocity = _mapped(scale, tx, ACTUAL_POSITION), _mapped(scale, tx, ACTUAL_VELOCITY)
        self._effort, self._error = tx.slot(ACTUAL_TORQUE), tx.slot(ERROR_CODE)
        self._following = tx.slot(FOLLOWING_ERROR)
        self._control, self._mode = _mapped(scale, rx, CONTROL_WORD), _mapped(scale, rx, MODE)
        # Objects that aren't mapped are written to a place behind the ones that are.
        self._count = len(rx.blank())
        self._values = [*rx.blank(), 0]
        self._target_position = self._place(rx, TARGET_POSITION)
        self._target_velocity = self._place(rx, TARGET_VELOCITY)
        self._target_torque = self._place(rx, TARGET_TORQUE)
        self._velocity_offset = self._place(rx, VELOCITY_OFFSET)
        self._torque_offset = self._place(rx, TORQUE_OFFSET)
        self.takes_velocity_offset = rx.slot(VELOCITY_OFFSET) is not None
        self.tells_error = self._error is not None
        self.takes_torque_offset = rx.slot(TORQUE_OFFSET) is not None

    def _place(self, rx: Image, index: int) -> int:
        slot = rx.slot(index)
        return self._count if slot is None else slot

    def check_sizes(self, output_size: int, input_size: int) -> None:
        """Compare the sizes that the bus has mapped with the layout's.

        Raises:
            ConfigError: they differ.
        """
        mapped, here = (output_size, input_size), (len(self.output), self.input_size)
        if mapped != here:
            raise ConfigError(
                f"{self.scale.joint}: the drive has mapped {mapped[0]} bytes of outputs and {mapped[1]} of inputs; its "
                f"drive file has {here[0]} and {here[1]}"
            )

    def read(self, data: bytes | bytearray | memoryview) -> None:
        """Take what the drive sent."""
        values, scale = self._unpack(data), self.scale
        self.status_word = values[self._status]
        self.mode_display = values[self._display]
        self.position_counts = counts = values[self._position]
        self.q = counts / scale.position + scale.offset
        self.v = values[self._velocity] / scale.velocity
        if self._effort is not None:
            self._effort_counts = values[self._effort]
            self.effort = self._effort_counts / scale.torque
        if self._error is not None:
            self.error_code = values[self._error]
        if self._following is not None:
            self.following_error = values[self._following] / scale.position

    def write(
        self,
        control_word: int,
        mode: Mode,
        targets: Targets,
        value: float = 0.0,
        velocity: float = 0.0,
        torque: float = 0.0,
    ) -> None:
        """Fill :attr:`output` after a :meth:`read`.

        Targets of the modes that aren't commanded are the measured position, no velocity and the measured torque: what
        the drive finds there when it changes its mode makes it neither jump nor fall.

        Args:
            control_word, mode: for 0x6040 and 0x6060.
            targets: what goes into the target objects; the rest is looked at for Targets.COMMAND only.
            value: of the mode, at the joint [rad, rad/s or N·m].
            velocity: offset that goes with a position [rad/s].
            torque: offset that goes with a position or a velocity [N·m].

        Raises:
            ConfigError: a value isn't a finite number; the output stays as it was.
        """
        values, scale = self._values, self.scale
        if targets is _COMMAND:
            position, speed, effort = self.position_counts, 0, self._effort_counts
            velocity_offset = torque_offset = 0
            if mode is _TORQUE:
                effort = scale.torque_counts(value)
                extreme = abs(effort) == _I16
            else:
                torque_offset = scale.torque_counts(torque)
                if mode is _POSITION:
                    position = scale.position_counts(value)
                    velocity_offset = scale.velocity_counts(velocity)
                else:
                    speed = scale.velocity_counts(value)
                extreme = abs(torque_offset) == _I16 or _I32 in (abs(position), abs(speed), abs(velocity_offset))
            self.saturated = extreme
            values[self._target_position], values[self._target_velocity] = position, speed
            values[self._target_torque] = effort
            values[self._velocity_offset], values[self._torque_offset] = velocity_offset, torque_offset
        elif targets is not Targets.KEEP:
            if targets is Targets.FOLLOW:
                values[self._target_position] = self.position_counts
            values[self._target_velocity] = values[self._target_torque] = 0
            values[self._velocity_offset] = values[self._torque_offset] = 0
        values[self._control], values[self._mode] = control_word, mode
        self._pack_into(self.output, 0, *values[: self._count])


def _mapped(scale: Scale, image: Image, index: int) -> int:
    slot = image.slot(index)
    if slot is None:
        raise ConfigError(f"{scale.joint}: object 0x{index:04X} must be in the drive's process data")
    return slot


class ProcessData:
    """All drives of a robot, in the order of its joints.

    Attributes:
        axes: one per joint.
        q, v, effort: (n,) [rad, rad/s, N·m], of the last :meth:`read`.
    """

    def __init__(self, axes: Sequence[Axis]) -> None:
        self.axes = tuple(axes)
        self.q, self.v, self.effort = (np.full(len(self.axes), math.nan) for _ in range(3))

    def read(self, inputs: Sequence[bytes | bytearray | memoryview]) -> None:
        """Take what the drives sent, one buffer per joint."""
        for i, (axis, data) in enumerate(zip(self.axes, inputs, strict=True)):
            axis.read(data)
            self.q[i], self.v[i], self.effort[i] = axis.q, axis.v, axis.effort

    def write(
        self,
        control_words: Sequence[int],
        mode: Mode,
        targets: Sequence[Targets],
        values: Array,
        velocities: Array | None = None,
        torques: Array | None = None,
    ) -> None:
        """Fill every axis' output; see :meth:`Axis.write`.

        Args:
            control_words, targets: one per joint.
            mode: of all.
            values, velocities, torques: (n,) at the joints.

        Raises:
            ConfigError: a value isn't a finite number.
        """
        rest = [0.0] * len(self.axes)
        speeds = rest if velocities is None else velocities.tolist()
        efforts = rest if torques is None else torques.tolist()
        for axis, word, target, value, speed, effort in zip(
            self.axes, control_words, targets, values.tolist(), speeds, efforts, strict=True
        ):
            axis.write(word, mode, target, value, speed, effort)
