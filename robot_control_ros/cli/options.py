"""Common parts of the commands: their parser, options that several have, and types of options."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from ..core.bounded import Bounded
from ..core.errors import ConfigError
from ..core.output_paths import writable_file, writable_folder

ROBOT = {"default": "ur5", "help": "name, or path of a YAML file (default: ur5)"}
LAW = {"default": "impedance", "help": "name, or package.module:Class (default: impedance)"}
SCENE = {"default": "", "help": "what stands around the robot: name, or path of a YAML file"}
GRIPPER = {
    "default": "",
    "metavar": "NAME",
    "help": "on the robot's tip: name, or path of a YAML file",
}
IMPERFECTIONS = {
    "default": "",
    "metavar": "NAME",
    "help": "of the simulated arm: name, or path of a YAML file",
}
WORKCELL = {
    "default": "",
    "metavar": "NAME",
    "help": "several arms in place of --robot: name, or path of a YAML file",
}
TOPOLOGY = {"default": "", "help": "name, or path of a YAML file (default: the robot's)"}

SCHEDULER: dict[str, Any] = {
    "default": "",
    "metavar": "ADDRESS",
    "help": "instead: Dask's workers, as in tcp://10.0.0.5:8786",
}

# how the name of an option, or that of its value, says its unit
UNIT_NAMES = {"s": "seconds", "min": "minutes"}
VALUES = "one number, numbers with commas, true, false or a word"

_T = TypeVar("_T")


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors are one line, and which gets its arguments when they are needed.

    Args:
        fill: Function that adds the arguments; for modules that take long to import.
        settings: Settings of argparse.ArgumentParser.
    """

    def __init__(
        self, *, fill: Callable[[argparse.ArgumentParser], None] | None = None, **settings: Any
    ) -> None:
        super().__init__(**settings)
        self._fill = fill

    def filled(self) -> CommandParser:
        """Return the parser itself, after its arguments were added."""
        fill = self._fill
        self._fill = None
        if fill is not None:
            fill(self)
        return self

    def actions(self) -> list[argparse.Action]:
        """Arguments of the parser, in their order."""
        return self.filled()._actions

    def subcommands(self) -> dict[str, CommandParser]:
        """Parsers of the subcommands by name; empty where there are none."""
        found = [
            action.choices
            for action in self.actions()
            if isinstance(action, argparse._SubParsersAction)
        ]
        return dict(found[0]) if found else {}

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self.filled()
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Print the message, and end the process with exit status 2."""
        self.exit(2, f"{self.prog}: {message}; --help lists the options\n")


def add_command(
    commands: Any, name: str, text: str, run: Callable[[argparse.Namespace], int]
) -> Callable[..., argparse.Action]:
    """Add a command that `run` executes; returns the function that adds an argument to it."""
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text)
    parser.set_defaults(run=run)
    return parser.add_argument


def run_of(module: str) -> Callable[[argparse.Namespace], int]:
    """Function that calls `run` of a module of this folder; the module is imported only then."""
    return lambda options: int(import_module(module, __package__).run(options))


def option_type(check: Callable[[str], _T]) -> Callable[[str], _T]:
    """Type for argparse that converts a text with `check`; ConfigError becomes argparse's error."""

    def convert(text: str) -> _T:
        try:
            return check(text)
        except ConfigError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    convert.__name__ = check.__name__  # argparse names it where the text is no number
    return convert


def add_number(
    add: Callable[..., argparse.Action],
    name: str,
    number: Bounded,
    *,
    default: str | None = None,
    **settings: Any,
) -> None:
    """Add an option, or an argument, that takes a declared number.

    Args:
        add: Function that adds an argument to a parser.
        name: Name of the option, such as `--rate`, or of the argument.
        number: Declaration of the number; the help is its `doc`, unit and default.
        default: Text of the default in the help, in place of the number's; empty for no text.
        settings: More settings of argparse, such as `metavar` and `nargs`.
    """

    def parse(text: str) -> int | float:
        return number.parse(name.lstrip("-"), text)

    words = re.findall(r"\w+", f"{name} {settings.get('metavar', '')}".lower())
    unit = number.unit if UNIT_NAMES.get(number.unit, number.unit.lower()) not in words else ""
    value = default
    if value is None and number.default is not None:
        value = f"{number.default:g}"
    text = f"{number.doc}, in {unit}" if unit else number.doc
    settings["help"] = f"{text} (default: {value})" if value else text
    add(name, type=option_type(parse), default=number.default, **settings)


def gain_value(text: str) -> tuple[str, Any]:
    """Name and value of a text GAIN=VALUE; the value is a number, numbers, a bool or a word."""
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
    """Type of a file that is to be written; its name must have one of the endings."""

    def output_file(text: str) -> Path:
        return writable_file(text, *endings)

    return option_type(output_file)


@option_type
def picture(text: str) -> Path:
    """Type of a picture that is to be written."""
    from ..simulation.log import picture_path

    return picture_path(text)


WORKERS = Bounded(default=0, lower=0, upper=1000, whole=True, doc="processes of this machine")
OUTPUT_FOLDER = option_type(writable_folder)
