"""What commands have in common: their parser, the options that several have, and the types of options."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from ..core.errors import ConfigError, refused
from ..core.output_paths import writable_file, writable_folder

ROBOT = {"default": "ur5", "help": "name, or path of a YAML file (default: ur5)"}
LAW = {"default": "impedance", "help": "name, or package.module:Class (default: impedance)"}
SCENE = {"default": "", "help": "what stands around the robot: name, or path of a YAML file"}
GRIPPER = {"default": "", "metavar": "NAME", "help": "on the robot's tip: name, or path of a YAML file"}
IMPERFECTIONS = {"default": "", "metavar": "NAME", "help": "of the simulated arm: name, or path of a YAML file"}
WORKCELL = {"default": "", "metavar": "NAME", "help": "several arms in place of --robot: name, or path of a YAML file"}
TOPOLOGY = {"default": "", "help": "name, or path of a YAML file (default: the robot's)"}

SCHEDULER: dict[str, Any] = {
    "default": "",
    "metavar": "ADDRESS",
    "help": "instead: Dask's workers, as in tcp://10.0.0.5:8786",
}

VALUES = "one number, numbers with commas, true, false or a word"

_T = TypeVar("_T")


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors are one line, and which gets its arguments when they are needed.

    Args:
        fill: adds the arguments; for modules that take long to import.
        settings: of argparse.
    """

    def __init__(self, *, fill: Callable[[argparse.ArgumentParser], None] | None = None, **settings: Any) -> None:
        super().__init__(**settings)
        self._fill = fill

    def filled(self) -> CommandParser:
        """The parser itself, with its arguments."""
        fill = self._fill
        self._fill = None
        if fill is not None:
            fill(self)
        return self

    def actions(self) -> list[argparse.Action]:
        """Its arguments, in their order."""
        return self.filled()._actions

    def subcommands(self) -> dict[str, CommandParser]:
        """The parsers of its subcommands by name; empty where there are none."""
        found = [action.choices for action in self.actions() if isinstance(action, argparse._SubParsersAction)]
        return dict(found[0]) if found else {}

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self.filled()
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """End with exit status 2."""
        self.exit(2, f"{self.prog}: {message}; --help lists the options\n")


def add_command(
    commands: Any, name: str, text: str, run: Callable[[argparse.Namespace], int]
) -> Callable[..., argparse.Action]:
    """Add a command that `run` executes; returns the function that adds an argument to it."""
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text)
    parser.set_defaults(run=run)
    return parser.add_argument


def run_of(module: str) -> Callable[[argparse.Namespace], int]:
    """What executes a command: `run` of a module of this folder, which is imported then."""
    return lambda options: int(import_module(module, __package__).run(options))


def option_type(check: Callable[[str], _T]) -> Callable[[str], _T]:
    """A type for argparse: what `check` makes of a text, and its ConfigError as argparse's own."""

    def convert(text: str) -> _T:
        try:
            return check(text)
        except ConfigError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    convert.__name__ = check.__name__  # argparse names it where the text is no number
    return convert


def number(lower: float = -math.inf, *, above: float = -math.inf) -> Callable[[str], float]:
    """The type of finite numbers from `lower` on, or `above` a bound."""

    def number(text: str) -> float:
        value = float(text)
        if not (math.isfinite(value) and value >= lower and value > above):
            bound = f" above {above:g}" if above > -math.inf else f", {lower:g} or more" if lower > -math.inf else ""
            raise refused("number", value, f"must be finite{bound}", max(lower, above))
        return value

    return option_type(number)


def whole(lower: int, upper: int) -> Callable[[str], int]:
    """The type of whole numbers within bounds."""

    def whole_number(text: str) -> int:
        value = int(text, 0)
        if not lower <= value <= upper:
            raise refused("number", value, f"must be within [{lower}, {upper}]", (lower, upper))
        return value

    return option_type(whole_number)


def gain_value(text: str) -> tuple[str, Any]:
    """Name and value of GAIN=VALUE."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"{text}: must be GAIN=VALUE", name=text, value=text)
    if value in ("true", "false"):
        return name, value == "true"
    try:
        numbers = [float(part) for part in value.split(",")]
    except ValueError:
        return name, value  # for a gain that is one of some words
    return name, numbers[0] if len(numbers) == 1 else numbers


def output_file(*endings: str) -> Callable[[str], Path]:
    """The type of a file that is to be written, with the endings of its kind."""

    def output_file(text: str) -> Path:
        return writable_file(text, *endings)

    return option_type(output_file)


@option_type
def picture(text: str) -> Path:
    """The type of a picture that is to be written."""
    from ..simulation.log import picture_path

    return picture_path(text)


NOT_NEGATIVE = number(0.0)
POSITIVE = number(above=0.0)
FINITE = number()
PORT = whole(1, 65535)
WORKERS: dict[str, Any] = {
    "type": whole(0, 1000),
    "default": 0,
    "help": "processes of this machine (default: this one alone)",
}
OUTPUT_FOLDER = option_type(writable_folder)
