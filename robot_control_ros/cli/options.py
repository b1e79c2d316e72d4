"""Common parts of the commands: their parser, options that several have, and types of options."""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from ..core.bounded import Bounded
from ..core.errors import ConfigError, did_you_mean, short, unknown
from ..core.output_files import write_text
from ..core.output_paths import writable_file, writable_folder

ROBOT = {"default": "ur5", "help": "robot: name, or path of a YAML file (default: ur5)"}
LAW = {"default": "impedance", "help": "law: name, or package.module:Class (default: impedance)"}
SCENE = {"default": "", "help": "objects around the robot: name, or path of a YAML file"}
GRIPPER = {
    "default": "",
    "metavar": "NAME",
    "help": "gripper on the robot's tip: name, or path of a YAML file",
}
IMPERFECTIONS = {
    "default": "",
    "metavar": "NAME",
    "help": "imperfections of the simulated arm: name, or path of a YAML file",
}
WORKCELL = {
    "default": "",
    "metavar": "NAME",
    "help": "work cell, several arms in place of --robot: name, or path of a YAML file",
}
TOPOLOGY = {
    "default": "",
    "help": "slaves on the bus: name, or path of a YAML file (default: the robot's)",
}
INTERFACE: dict[str, Any] = {
    "metavar": "NAME",
    "help": "network interface that the bus is on, such as eth1",
}
GAIN: dict[str, Any] = {
    "action": "append",
    "default": [],
    "metavar": "GAIN=VALUE",
}
SCHEDULER: dict[str, Any] = {
    "default": "",
    "metavar": "ADDRESS",
    "help": "Dask's scheduler, whose workers compute in place of this machine, "
    "as in tcp://10.0.0.5:8786",
}

# Name of an option's value that says its unit; the help doesn't repeat it.
UNIT_NAMES = {
    "s": "SECONDS",
    "min": "MINUTES",
    "ms": "MILLISECONDS",
    "Hz": "HZ",
    "MB": "MB",
    "kg": "KG",
}
VALUES = "one number, numbers with commas, true, false or a word"
STANDARD_OUTPUT = Path("-")  # in place of a file
EXAMPLES = ("Examples:", "Example:")  # first line of a command's examples: several, and one
NEGATIVE_NUMBER = re.compile(r"-(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$")  # no option, then

_T = TypeVar("_T")


class _Help(argparse.HelpFormatter):
    """Help whose examples stay as they are, a line each; all other text is filled."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith(EXAMPLES):
            return "".join(f"{indent}{line}\n" for line in text.splitlines())
        return super()._fill_text(text, width, indent)

    def _format_action(self, action: argparse.Action) -> str:
        text = super()._format_action(action)
        if isinstance(action, argparse._SubParsersAction):
            return text.partition("\n")[2]  # the title says what they are
        return text


class _Renamed(argparse.Action):
    """An option's former name, which is refused with the present one."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        parser.error(f"{option_string} is called {self.const} now")


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors are one line, and which gets its arguments when they are needed.

    Args:
        fill: Function that adds the arguments; for modules that take long to import.
        settings: Settings of argparse.ArgumentParser.
    """

    def __init__(
        self, *, fill: Callable[[argparse.ArgumentParser], None] | None = None, **settings: Any
    ) -> None:
        super().__init__(**{"formatter_class": _Help, **settings})
        self._negative_number_matcher = NEGATIVE_NUMBER
        self._fill = fill

    def filled(self) -> CommandParser:
        """Return the parser itself, after its arguments were added."""
        fill = self._fill
        self._fill = None
        if fill is not None:
            fill(self)
        return self

    def actions(self) -> list[argparse.Action]:
        """Arguments of the parser that its help shows, in their order."""
        return [each for each in self.filled()._actions if each.help != argparse.SUPPRESS]

    def subcommands(self) -> dict[str, CommandParser]:
        """Parsers of the subcommands by name; empty where there are none."""
        groups = [each for each in self.actions() if isinstance(each, argparse._SubParsersAction)]
        return dict(groups[0].choices) if groups else {}

    def add_commands(self, kind: str = "command") -> Any:
        """Let the parser have subcommands; returns what they are added to.

        Without a subcommand, the program prints the list of them.

        Args:
            kind: Word for one of them.
        """
        commands = self.add_subparsers(metavar=kind, title=f"{kind}s")
        self.set_defaults(run=self._print_list)
        return commands

    def _print_list(self, options: argparse.Namespace) -> int:
        self.print_help()
        return 0

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self.filled()
        options, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(self._unexpected(rest[0]))
        return options, rest

    def _unexpected(self, word: str) -> str:
        """Text on a word of the command line that no argument takes."""
        if not word.startswith("-"):
            return f"unexpected word {short(word)}"
        options = [name for each in self.actions() for name in each.option_strings]
        return f"unknown option {short(word)}{did_you_mean(word.partition('=')[0], options)}"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value that is none of the choices, with the one that was probably meant."""
        if action.choices is None or value in action.choices:
            return
        if isinstance(action, argparse._SubParsersAction):
            error: ConfigError = unknown(str(action.metavar), str(value), action.choices)
            raise argparse.ArgumentError(None, str(error))
        error = unknown(action.dest.removesuffix("s"), str(value), map(str, action.choices))
        raise argparse.ArgumentError(None, str(error))

    def error(self, message: str) -> NoReturn:
        """Print the message, and end the process with exit status 2."""
        kind = "commands" if self.subcommands() else "options"
        mark = "" if message.endswith("?") else ";"
        self.exit(2, f"{self.prog}: {message}{mark} --help lists the {kind}\n")


def add_command(
    commands: Any,
    name: str,
    sentence: str,
    run: Callable[[argparse.Namespace], int],
    *examples: str,
    details: str = "",
    fill: Callable[[argparse.ArgumentParser], None] | None = None,
    renamed: Mapping[str, str] | None = None,
) -> Callable[..., argparse.Action]:
    """Add a command; returns the function that adds an argument to it.

    Args:
        commands: Subcommands of a parser, see :meth:`CommandParser.add_commands`.
        name: Name of the command.
        sentence: Sentence that says what the command does. It stands in the list of commands, too.
        run: Function that executes the command; it returns the exit status.
        examples: Command lines to type, with a comment after `#` where it helps.
        details: More sentences for the command's own help.
        fill: Function that adds the arguments when they are needed.
        renamed: New names of options, by names that earlier versions had.
    """
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=sentence.rstrip("."),
        description=f"{sentence} {details}".rstrip(),
        epilog="\n  ".join([EXAMPLES[len(examples) == 1], *examples]),
        fill=fill,
    )
    parser.set_defaults(run=run)
    for former, present in (renamed or {}).items():
        parser.add_argument(
            former, action=_Renamed, nargs="?", const=present, help=argparse.SUPPRESS
        )
    return parser.add_argument


def add_group(commands: Any, name: str, sentence: str) -> Any:
    """Add a command that only has subcommands; returns what they are added to.

    Args:
        commands: Subcommands of a parser, see :meth:`CommandParser.add_commands`.
        name: Name of the command.
        sentence: Sentence that says what the subcommands do.
    """
    parser: CommandParser = commands.add_parser(
        name, help=sentence.rstrip("."), description=sentence
    )
    return parser.add_commands()


def add_emulator(commands: Any, module: str, sentence: str, example: str) -> None:
    """Add the command `emulate`; the emulator is imported when its options are asked for.

    Args:
        commands: Subcommands of a parser, see :meth:`CommandParser.add_commands`.
        module: Name of a module of `fieldbus/emulation`, with `add_arguments` and `run`.
        sentence: Sentence that says what the command does.
        example: Command line to type.
    """

    def program() -> Any:
        return import_module(f"..fieldbus.emulation.{module}", __package__)

    add_command(
        commands,
        "emulate",
        sentence,
        lambda options: int(program().run(options)),
        example,
        details="It ends by Ctrl-C.",
        fill=lambda parser: program().add_arguments(parser),
    )


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

    if name.startswith("-") and "nargs" not in settings:
        settings.setdefault("metavar", UNIT_NAMES.get(number.unit, "NUMBER"))
    unit = "" if settings.get("metavar") == UNIT_NAMES.get(number.unit) else number.unit
    value = default
    if value is None and number.default is not None:
        value = f"{number.default:g}"
    text = f"{number.doc}, in {unit}" if unit else number.doc
    settings["help"] = f"{text} (default: {value})" if value else text
    add(name, type=option_type(parse), default=number.default, **settings)


def add_json(add: Callable[..., argparse.Action], what: str) -> None:
    """Add `--json [FILE]`: results for programs, in place of the text or in a file beside it.

    Args:
        add: Function that adds an argument to a parser.
        what: Name of the results, in the help.
    """
    add(
        "--json",
        nargs="?",
        const=STANDARD_OUTPUT,
        type=output_file(".json"),
        metavar="FILE",
        help=f"{what} as JSON, in place of the text, or into FILE",
    )


def show_json(path: Path, data: Any) -> None:
    """Write data as JSON to a file, or to the standard output; what is no number becomes null."""
    text = json.dumps(plain(data), indent=2, allow_nan=False) + "\n"
    if path == STANDARD_OUTPUT:
        print(text, end="")
    else:
        write_text(path, text, ".json")


def plain(value: Any) -> Any:
    """Value as JSON has it: lists, dicts, texts and finite numbers; None for other numbers."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


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


WORKERS = Bounded(
    default=0, lower=0, upper=1000, whole=True, doc="number of processes of this machine"
)
OUTPUT_FOLDER = option_type(writable_folder)
