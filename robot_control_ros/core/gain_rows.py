"""Gains as rows of numbers, for compiled functions, and what lies between two sets of gains."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .compiled import compiled
from .gains import JOINT, MATRIX, SCALAR, TASK, VECTOR, GainSpec, changed, gain_specs
from .record import Field, Record
from .types import Array

_SHAPES: dict[str, tuple[int | str, ...]] = {
    SCALAR: (),
    TASK: (6,),
    JOINT: ("n",),
    VECTOR: (3,),
    MATRIX: (6, 6),
}
_ROW = "_row"  # where a Gains object remembers its row


@lru_cache
def gains_record(gains_type: Any) -> Record:
    """The record of a Gains dataclass: a field for each gain. A choice is the number of its value, -1 for a link."""
    specs = gain_specs(gains_type)
    name = gains_type.__qualname__.replace(".", "")
    return Record(name, [Field(spec.name, _SHAPES[spec.size], spec.unit, spec.doc) for spec in specs])


def gains_row(gains: Any, joints: int) -> Array:
    """The numbers (k,) of a Gains object, as its record orders them; the same array at each call, not to be changed."""
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


def interpolate(old: Any, new: Any, fraction: float) -> Any:
    """Gains at a fraction (0 old, 1 new) of the way: linear, limits by their inverse, choices at once."""
    kind: Any = type(old)
    joints = _joints_of(new)
    mixed = np.empty_like(gains_row(new, joints))
    interpolate_row(gains_row(old, joints), gains_row(new, joints), fraction, _are_limits(kind, joints), mixed)
    values: dict[str, Any] = {}
    for name, size, first, last in _places(kind, joints):
        if size == SCALAR:
            values[name] = mixed.item(first)
        elif size == MATRIX:
            values[name] = mixed[first:last].reshape(6, 6)
        else:
            values[name] = mixed[first:last]
    gains = changed(new, values)
    _remember_row(gains, mixed)
    return gains


@compiled
def interpolate_row(old: Array, new: Array, fraction: float, are_limits: Array, mixed: Array) -> None:
    """Rows (k,) of gains at a fraction of the way, into mixed; see :func:`interpolate`."""
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
def _places(gains_type: Any, joints: int) -> tuple[tuple[str, str, int, int], ...]:
    """By gain that is no choice: its name, size, and the first and the last place in the row."""
    found = []
    end = 0
    for spec in gain_specs(gains_type):
        begin = end
        end += spec.length(joints)
        if not spec.choices:
            found.append((spec.name, spec.size, begin, end))
    return tuple(found)


@lru_cache(maxsize=256)
def _are_limits(gains_type: Any, joints: int) -> Any:
    """By place in the row, whether the gain is a limit."""
    return np.concatenate([np.full(spec.length(joints), spec.limit) for spec in gain_specs(gains_type)])


def _joints_of(gains: Any) -> int:
    """The number of joints of gains that were checked; 0 where none of them is one of the joints."""
    kind: Any = type(gains)
    name = _joint_gain(kind)
    return int(getattr(gains, name).size) if name else 0


@lru_cache(maxsize=256)
def _joint_gain(gains_type: Any) -> str:
    """The first gain that has a number for each joint; empty where there is none."""
    return next((spec.name for spec in gain_specs(gains_type) if spec.size == JOINT), "")
