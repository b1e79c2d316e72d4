"""Gains as rows of numbers, for compiled functions, and the fade between two sets of gains."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np

from .compiled import compiled
from .gains import JOINT, MATRIX, SCALAR, TASK, TENSOR, VECTOR, GainSpec, gain_specs
from .record import Field, Record
from .types import Array

_SHAPES: dict[str, tuple[int | str, ...]] = {
    SCALAR: (),
    TASK: (6,),
    JOINT: ("n",),
    VECTOR: (3,),
    TENSOR: (6,),
    MATRIX: (6, 6),
}
_ROW = "_row"  # where a Gains object remembers its row


@lru_cache
def gains_record(gains_type: Any) -> Record:
    """The record of a Gains dataclass, with a field for each gain.

    A choice is the number of its value, or -1 for a link.
    """
    specs = gain_specs(gains_type)
    name = gains_type.__qualname__.replace(".", "")
    return Record(
        name, [Field(spec.name, _SHAPES[spec.size], spec.unit, spec.doc) for spec in specs]
    )


def gains_row(gains: Any, joints: int) -> Array:
    """The numbers (k,) of a Gains object, in the order of its record.

    Each call returns the same array, which must not be changed.
    """
    row: Array | None = getattr(gains, _ROW, None)
    if row is None:
        specs = gain_specs(type(gains))
        parts = [np.ravel(_number(spec, getattr(gains, spec.name), joints)) for spec in specs]
        row = np.concatenate(parts) if parts else np.zeros(0)
        _remember_row(gains, row)
    return row


def _remember_row(gains: Any, row: Array) -> None:
    """Let a Gains object keep its row; one with slots can't, and gets a new row at each call."""
    if hasattr(gains, "__dict__"):
        vars(gains)[_ROW] = row


def _number(spec: GainSpec, value: Any, joints: int) -> Any:
    """A gain as an array of its size, or as one number."""
    if isinstance(value, str):
        return float(spec.choices.index(value)) if value in spec.choices else -1.0
    if spec.size == SCALAR:
        return float(value)
    shape = (6, 6) if spec.size == MATRIX else (spec.length(joints),)
    return np.broadcast_to(np.asarray(value, dtype=float), shape)


class Fade:
    """The fade from one set of gains to another: linear, limits by their inverse, choices at once.

    Args:
        old, new: Two Gains of one dataclass, checked.
    """

    def __init__(self, old: Any, new: Any) -> None:
        kind: Any = type(new)
        joints = _joints_of(new)
        self._kind = _kind_between(kind, joints)
        self._rows = gains_row(old, joints), gains_row(new, joints)
        self._are_limits = _are_limits(kind, joints)
        self._choices = {
            spec.name: getattr(new, spec.name) for spec in gain_specs(kind) if spec.choices
        }
        self._completes = hasattr(kind, "__post_init__")

    def at(self, fraction: float) -> Any:
        """The gains at a fraction of the fade: 0 gives the old ones, and 1 the new ones."""
        old, new = self._rows
        mixed = new.copy()
        interpolate_row(old, new, fraction, self._are_limits, mixed)
        gains = object.__new__(self._kind)
        members = vars(gains)
        members.update(self._choices)
        members[_ROW] = mixed
        if self._completes:
            gains.__post_init__()
        return gains


class _GainBetween:
    """One gain of faded gains, which is read from their row at its first use.

    Args:
        spec: Declaration of the gain.
        first: Place in the row at which it begins.
        last: Place in the row before which it ends.
    """

    def __init__(self, spec: GainSpec, first: int, last: int) -> None:
        self._name = spec.name
        self._size = spec.size
        self._place = slice(first, last)

    def __get__(self, gains: Any, kind: Any) -> Any:
        if gains is None:
            return self
        row = vars(gains)[_ROW]
        value: Any
        if self._size == SCALAR:
            value = row.item(self._place.start)
        elif self._size == MATRIX:
            value = row[self._place].reshape(6, 6)
        else:
            value = row[self._place]
        vars(gains)[self._name] = value
        return value


@lru_cache(maxsize=256)
def _kind_between(kind: Any, joints: int) -> Any:
    """The class of faded gains of a Gains dataclass: a subclass, with numbers from a row."""
    members: dict[str, Any] = {"__module__": kind.__module__, "__reduce__": _reduce}
    first = 0
    for spec in gain_specs(kind):
        last = first + spec.length(joints)
        if not spec.choices:
            members[spec.name] = _GainBetween(spec, first, last)
        first = last
    return type(kind.__name__, (kind,), members)


def _reduce(gains: Any) -> Any:
    """Reduce faded gains to the dataclass itself for pickle, which doesn't find their class."""
    kind = type(gains).__bases__[0]
    return partial(kind, **{spec.name: getattr(gains, spec.name) for spec in gain_specs(kind)}), ()


@compiled
def interpolate_row(
    old: Array, new: Array, fraction: float, are_limits: Array, mixed: Array
) -> None:
    """Write the row (k,) of gains at a fraction of the fade into `mixed`; see :class:`Fade`."""
    for i in range(len(old)):
        if not are_limits[i]:
            mixed[i] = old[i] + fraction * (new[i] - old[i])
            continue
        inverse = 0.0
        if old[i] != 0.0:
            inverse += (1.0 - fraction) / old[i]
        if new[i] != 0.0:
            inverse += fraction / new[i]
        mixed[i] = 1.0 / inverse if inverse != 0.0 else 0.0


@lru_cache(maxsize=256)
def _are_limits(gains_type: Any, joints: int) -> Any:
    """Mask (k,) of a row: True at each place of a gain that is a limit."""
    return np.concatenate(
        [np.full(spec.length(joints), spec.limit) for spec in gain_specs(gains_type)]
    )


def _joints_of(gains: Any) -> int:
    """The number of joints of checked gains; 0 where no gain has a value for each joint."""
    kind: Any = type(gains)
    name = _joint_gain(kind)
    return int(getattr(gains, name).size) if name else 0


@lru_cache(maxsize=256)
def _joint_gain(gains_type: Any) -> str:
    """The first gain that has a number for each joint; empty where there is none."""
    return next((spec.name for spec in gain_specs(gains_type) if spec.size == JOINT), "")
