"""Answers of a controller to its leaders outside: parameters, the ends of requests, and cycles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..core.types import Array

# prefixes of parameters that are no gains of the law, see settings_of() of control/controller.py
SETTINGS = (
    "payload.",
    "wrench.",
    "workspace.",
    "clearance.",
    "stream.",
    "contact.",
    "ringing.",
    "integral.",
    "limits.",
)
Value = bool | float | str | tuple[float, ...]


def split(name: str) -> tuple[str, str]:
    """A parameter's prefix, one of SETTINGS or empty for a gain, and the rest."""
    prefix = next((each for each in SETTINGS if name.startswith(each)), "")
    return prefix, name.removeprefix(prefix)


@dataclass(frozen=True)
class RequestResult:
    """The end of a request."""

    accepted: bool  # whether it was done
    message: str = ""  # why it was refused, or its result
    answered: bool = True  # whether anybody answered


Reply = Callable[[RequestResult], None]


@dataclass(frozen=True, eq=False)
class CycleAnswer:
    """Some cycles of the controller, at its full rate; as many as fit in one answer."""

    refusal: str = ""  # why there are none; empty where there are
    first: int = 0  # number of the first cycle, or of the next one where there is none yet
    end: int = 0  # number of the cycle that comes next to the controller
    values: Mapping[str, Array] = field(default_factory=dict)  # (N, width) of each field


CycleReply = Callable[[CycleAnswer], None]


@dataclass(frozen=True)
class Parameter:
    """A gain of the running law, or a setting of the wrench, the workspace, or ringing."""

    name: str  # without the law's name; settings with their prefix of SETTINGS
    value: Value  # a tuple if it has one number per axis or joint
    default: Value  # of this law on this robot; if unknown, the first value
    text: str = ""  # one sentence
    # of each value; two, separated by a comma, if the last three of six values are rotations
    unit: str = ""
    lower: float = 0.0  # bound of each number
    upper: float = 1.0  # bound of each number
    choices: tuple[str, ...] = ()  # of a text
    axes: tuple[str, ...] = ()  # names of the values, if known
