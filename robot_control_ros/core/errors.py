"""Every error that this package raises on purpose.

Each one also inherits from the standard library's nearest type, so that callers who know nothing of
this package still catch what they expect.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

LONGEST = 500  # characters of a value in a message; a stranger's name may have a million
SIMILAR = 0.6  # ratio of equal characters, from which on a name may have been meant

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

    It lists the valid names, then the hint, then the name that was probably meant. It has the names
    as `bound`.
    """
    names = tuple(map(str, valid))
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    message = f"unknown {kind} {_shown(value)}; {plural}: {', '.join(names) or 'none'}{hint}"
    return error(f"{message}{did_you_mean(value, names)}", name=kind, value=value, bound=names)


def did_you_mean(value: object, valid: Iterable[str]) -> str:
    """End of a message that names the valid name most like a value; empty where none is like it."""
    from difflib import get_close_matches

    similar = get_close_matches(str(value)[:LONGEST], list(valid), n=1, cutoff=SIMILAR)
    return f"; did you mean {similar[0]}?" if similar else ""


def missing_extra(user: str, library: str, extra: str) -> ConfigError:
    """The error where a library that `user` needs isn't installed.

    It names the extra of setup.py that brings the library, and the command that installs it. In a
    checkout of the repository that is the command of an editable installation, as the other kind
    would put a copy in its place.
    """
    python = sys.executable or "python3"
    checkout = Path(__file__).resolve().parents[2]
    if (checkout / "setup.py").is_file():
        command = f"{python} -m pip install -e '{checkout}[{extra}]'"
    else:
        command = f"{python} -m pip install '.[{extra}]' in the repository"
    return ConfigError(f"{user} needs {library}: {command}", name=library)


def _shown(value: Any) -> str:
    if hasattr(value, "tolist"):
        value = value.tolist()
    return f"{value:g}" if isinstance(value, float) else short(value)


def short(value: Any, most: int = LONGEST) -> str:
    """Text of a value for people: its repr, cut off behind `most` characters."""
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]} … ({len(text)} characters)"
