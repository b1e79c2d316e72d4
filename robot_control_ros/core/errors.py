"""Every error that this package raises on purpose.

Each one also inherits from the standard library's nearest type, so that callers who know nothing of
this package still catch what they expect.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

LONGEST = 500  # characters of a value in a message; a stranger's name may have a million

_E = TypeVar("_E", bound="RobotControlError")


class RobotControlError(Exception):
    """Base of all errors of this package.

    The message says what is wrong and what to do. The attributes have the same as data, where it is
    known.

    Attributes:
        name: Name of the gain, parameter, key, joint or frame that is wrong; "" where it is none of
            these.
        value: Value that it has; None where it has none.
        bound: Bound that the value breaks: a number, a pair (lower, upper), or the valid choices;
            None where there is none.
    """

    def __init__(self, message: str = "", *, name: str = "", value: Any = None, bound: Any = None):
        super().__init__(message)
        self.name = name
        self.value = value
        self.bound = bound


class ConfigError(RobotControlError, ValueError):
    """A gain, a parameter or a configuration file holds a value that can't be used."""


class ModelError(RobotControlError, ValueError):
    """The robot description can't be read, or lacks a joint or a frame."""


class StaleStateError(RobotControlError, TimeoutError):
    """No fresh robot state arrived within the limit."""


class NotReached(RobotControlError, TimeoutError):
    """A motion ended before its goal, or a wait before its condition.

    The part that was left of it may be in `value`.
    """


class HardwareFault(RobotControlError, RuntimeError):
    """A robot, drive, simulator or disk can't go on."""


def refused(
    name: str, value: Any, rule: str, bound: Any = None, *, where: str = "", unit: str = ""
) -> ConfigError:
    """The error for a value: `<where><name> = <value> <unit>: <rule>`.

    Args:
        name, value, bound: Data of the error, see :class:`RobotControlError`.
        rule: Rule for valid values, "must be …".
        where: Text before the name, such as the file or object that the value belongs to.
        unit: Unit of the value.
    """
    shown = f"{_shown(value)} {unit}".rstrip()
    return ConfigError(f"{where}{name} = {shown}: {rule}", name=name, value=value, bound=bound)


def unknown(
    kind: str,
    value: str,
    valid: Iterable[str],
    error: type[_E] = ConfigError,  # type: ignore[assignment]
    hint: str = "",
) -> _E:
    """The error for an unknown name.

    It lists the valid names, then the hint, and has the names as `bound`.
    """
    names = tuple(map(str, valid))
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    message = f"unknown {kind} {_shown(value)}; {plural}: {', '.join(names) or 'none'}{hint}"
    return error(message, name=kind, value=value, bound=names)


def missing_extra(user: str, library: str, extra: str) -> ConfigError:
    """The error where a library that `user` needs isn't installed.

    It names the extra of setup.py that brings the library.
    """
    return ConfigError(
        f"{user} needs {library}: pip install '.[{extra}]' in the repository", name=library
    )


def _shown(value: Any) -> str:
    if hasattr(value, "tolist"):
        value = value.tolist()
    return f"{value:g}" if isinstance(value, float) else short(value)


def short(value: Any, most: int = LONGEST) -> str:
    """Text of a value for people: its repr, cut off behind `most` characters."""
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]} … ({len(text)} characters)"
