"""Process data: from bytes on the bus to SI units at the joints, and back. No I/O.

Drives may order their objects as they like. On their way in and out all bytes of all drives are put
in another order at once: into, and out of, one array per object.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import ConfigError
from ...core.types import Array
from . import pdo
from .cia402 import Mode, TargetSource
from .pdo import Image
from .scale import Scale, Scales

# The largest first, so that each array begins where its numbers may.
_INPUTS = (
    *(pdo.ACTUAL_POSITION, pdo.ACTUAL_VELOCITY, pdo.FOLLOWING_ERROR),
    *(pdo.STATUS_WORD, pdo.ERROR_CODE, pdo.ACTUAL_TORQUE),
    pdo.MODE_DISPLAY,
)
_OUTPUTS = (
    *(pdo.TARGET_POSITION, pdo.TARGET_VELOCITY, pdo.VELOCITY_OFFSET),
    *(pdo.CONTROL_WORD, pdo.TARGET_TORQUE, pdo.TORQUE_OFFSET),
    pdo.MODE,
)
_FILLED = (
    pdo.TARGET_POSITION,
    pdo.TARGET_VELOCITY,
    pdo.TARGET_TORQUE,
    pdo.VELOCITY_OFFSET,
    pdo.TORQUE_OFFSET,
)


@dataclass(frozen=True)
class Axis:
    """One drive's process data behind a joint: the layouts of what it takes (rx), and of
    what it sends (tx).
    """

    scale: Scale
    rx: Image
    tx: Image

    def check_sizes(self, output_size: int, input_size: int) -> None:
        """Compare the sizes [bytes] that the bus has mapped with the layout's; a
        ConfigError where they differ.
        """
        mapped = (output_size, input_size)
        here = (self.rx.size, self.tx.size)
        if mapped != here:
            raise ConfigError(
                f"{self.scale.joint}: the drive has mapped {mapped[0]} bytes of outputs and {mapped[1]} of inputs; its "
                f"drive file has {here[0]} and {here[1]}",
                name=self.scale.joint,
                value=mapped,
                bound=here,
            )


class _Block:
    """Objects of all drives: an array per object, all in one row of bytes, and a zero at its end.

    Attributes:
        bytes: Row of bytes that holds all objects, and a zero at its end.
        values: Array (n,) of each object, by index; views of the row.
        places: Place of each byte of the row among the bytes of all slaves, one slave's behind the
            other's. A byte that no slave maps has the place behind the last one.
    """

    def __init__(self, objects: Sequence[int], images: Sequence[Image]) -> None:
        n = len(images)
        at = 0
        ends = [0, *np.cumsum([image.size for image in images]).tolist()]
        sizes = {index: pdo.TYPES[pdo.OBJECT_TYPES[index]] // 8 for index in objects}
        self.bytes = np.zeros(n * sum(sizes.values()) + 1, np.uint8)
        self.values: dict[int, NDArray[Any]] = {}
        places: list[int] = []
        for index, size in sizes.items():
            self.values[index] = self.bytes[at : at + n * size].view(
                f"<{pdo.OBJECT_TYPES[index][0]}{size}"
            )
            at += n * size
            for image, begin in zip(images, ends[:-1], strict=True):
                place = image.place(index)
                places += (
                    [ends[-1]] * size
                    if place is None
                    else range(begin + place, begin + place + size)
                )
        self.places = np.array([*places, ends[-1]])


class ProcessData:
    """All drives of a robot, in the order of its joints.

    :meth:`read` takes what the drives sent, :meth:`write` fills :attr:`outputs`, which the bus
    sends.

    Attributes:
        axes: Process data layouts and scales, one per joint.
        outputs: Bytes for each drive, in the robot's order.
        q, v, effort: (n,) joint angles [rad], velocities [rad/s], torques [N·m]; an effort is NaN
            where 0x6077 isn't mapped. New arrays with each :meth:`read`.
        status_words, mode_displays, error_codes: 0x6041, 0x6061, 0x603F of each drive; where the
            last isn't mapped, what :meth:`set_error_code` was given.
    """

    def __init__(self, axes: Sequence[Axis]) -> None:
        self.axes = tuple(axes)
        n = len(self.axes)
        self._scales = Scales([axis.scale for axis in axes])
        self._torque = np.where(
            [axis.tx.place(pdo.ACTUAL_TORQUE) is None for axis in axes],
            math.nan,
            self._scales.torque,
        )
        self.q, self.v, self.effort = (np.full(n, math.nan) for _ in range(3))
        self.status_words, self.mode_displays, self.error_codes = ([0] * n for _ in range(3))
        self._unmapped_codes = {
            i: 0 for i, axis in enumerate(axes) if axis.tx.place(pdo.ERROR_CODE) is None
        }
        self._in = _Block(_INPUTS, [axis.tx for axis in axes])
        self._out = _Block(_OUTPUTS, [axis.rx for axis in axes])
        self._input_size = sum(axis.tx.size for axis in axes)
        ends = np.cumsum([axis.rx.size for axis in axes]).tolist()
        self._slices = [
            slice(end - axis.rx.size, end) for axis, end in zip(axes, ends, strict=True)
        ]
        self.outputs = [bytes(axis.rx.size) for axis in axes]
        # of each byte of the outputs, in the block
        self._sources = np.full(ends[-1] + 1, len(self._out.bytes) - 1)
        self._sources[self._out.places] = np.arange(len(self._out.bytes))
        self._targets = [self._out.values[index] for index in _FILLED]
        self._control_words = [0] * n
        self._mode = Mode.NONE
        self._zeros = np.zeros(n)

    @property
    def position_counts(self) -> list[int]:
        """0x6064 of each drive."""
        return list(self._in.values[pdo.ACTUAL_POSITION].tolist())

    @property
    def following_error(self) -> Array:
        """0x60F4 at the joints (n,) [rad]; 0 where it isn't mapped."""
        return np.asarray(self._in.values[pdo.FOLLOWING_ERROR] / self._scales.position)

    @property
    def unmapped_errors(self) -> tuple[int, ...]:
        """Indices of the drives that don't map 0x603F."""
        return tuple(self._unmapped_codes)

    def set_error_code(self, i: int, code: int) -> None:
        """Set the error code of a drive that doesn't map it."""
        self._unmapped_codes[i] = code
        self.error_codes[i] = code

    def read(self, inputs: Sequence[bytes]) -> None:
        """Take what the drives sent, one after the other; a ValueError where it isn't as many
        bytes as they send.
        """
        joined = b"".join((*inputs, b"\0"))
        if len(joined) != self._input_size + 1:
            raise ValueError(f"{len(joined) - 1} bytes from the drives: must be {self._input_size}")
        np.frombuffer(joined, np.uint8).take(self._in.places, out=self._in.bytes, mode="clip")
        values = self._in.values
        scales = self._scales
        self.q = values[pdo.ACTUAL_POSITION] / scales.position + scales.offset
        self.v = values[pdo.ACTUAL_VELOCITY] / scales.velocity
        self.effort = values[pdo.ACTUAL_TORQUE] / self._torque
        self.status_words = values[pdo.STATUS_WORD].tolist()
        self.mode_displays = values[pdo.MODE_DISPLAY].tolist()
        codes = values[pdo.ERROR_CODE].tolist()
        for i, code in self._unmapped_codes.items():
            codes[i] = code
        self.error_codes = codes

    def write(
        self,
        control_words: Sequence[int],
        mode: Mode,
        targets: Sequence[TargetSource],
        values: Array,
        velocities: Array | None = None,
        torques: Array | None = None,
    ) -> None:
        """Fill the outputs after a :meth:`read`.

        Targets of the modes that aren't commanded are the measured position, no velocity and the
        measured torque: what the drive finds there when it changes its mode makes it neither jump
        nor fall.

        Args:
            control_words, mode: Control word (0x6040) of each drive, and mode of operation (0x6060)
                of all.
            targets: Source of what goes into each drive's target objects; the values below count
                for TargetSource.COMMAND only.
            values: (n,) targets of the mode, at the joints [rad, rad/s or N·m].
            velocities: (n,) offsets that go with positions [rad/s].
            torques: (n,) offsets that go with positions or velocities [N·m].

        Raises:
            ConfigError: a value isn't a finite number; the outputs stay as they were.
        """
        commanded = targets.count(TargetSource.COMMAND)
        if commanded:
            filled = self._commanded(mode, values, velocities, torques)
            rows: Any = slice(None)
            if commanded < len(targets):
                rows = [i for i, each in enumerate(targets) if each is TargetSource.COMMAND]
            for target, counts in zip(self._targets, filled, strict=True):
                target[rows] = counts[rows]
        if commanded < len(targets):
            self._rest(targets)
        if control_words != self._control_words:
            self._control_words = list(control_words)
            self._out.values[pdo.CONTROL_WORD][:] = control_words
        if mode is not self._mode:
            self._mode = mode
            self._out.values[pdo.MODE][:] = mode
        joined = self._out.bytes.take(self._sources, mode="clip").tobytes()
        self.outputs = [joined[each] for each in self._slices]

    def _commanded(
        self, mode: Mode, values: Array, velocities: Array | None, torques: Array | None
    ) -> tuple[NDArray[Any], ...]:
        """Counts (n,) for each object of _FILLED."""
        scales = self._scales
        none = self._zeros
        position = self._in.values[pdo.ACTUAL_POSITION]
        torque = self._in.values[pdo.ACTUAL_TORQUE]
        if mode is Mode.TORQUE:
            return position, none, scales.torque_counts(values), none, none
        extra = none if torques is None else scales.torque_counts(torques)
        if mode is Mode.VELOCITY:
            return position, scales.velocity_counts(values), torque, none, extra
        speed = none if velocities is None else scales.velocity_counts(velocities)
        return scales.position_counts(values), none, torque, speed, extra

    def _rest(self, targets: Sequence[TargetSource]) -> None:
        """Fill the target objects of drives that aren't commanded."""
        position, *others = self._targets
        for i, each in enumerate(targets):
            if each is TargetSource.FOLLOW:
                position[i] = self._in.values[pdo.ACTUAL_POSITION][i]
            if each is TargetSource.FOLLOW or each is TargetSource.HALT:
                for target in others:
                    target[i] = 0
