"""Runs the command of a command line; an error becomes one printed line and an exit status."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Sequence

from ..core.errors import ConfigError, ModelError, RobotControlError
from .options import CommandParser


def run_command(parser: CommandParser, name: str, arguments: Sequence[str] | None) -> int:
    """Run the command that arguments name.

    Args:
        parser: Parser whose subcommands set `run`: a function of the parsed options that returns
            the exit status.
        name: Name of the program, which stands before the line of an error.
        arguments: Words of the command line; None for those of this process.

    Returns:
        The exit status: 2 for a refused value, 1 for another error, 130 after Ctrl-C.
    """
    options = parser.parse_args(arguments)
    try:
        status = int(options.run(options))
        sys.stdout.flush()
        return status
    except (RobotControlError, OSError) as error:
        if isinstance(error, BrokenPipeError) and _reader_has_gone():
            return 1
        print(f"{name}: {error}", file=sys.stderr)
        return 2 if isinstance(error, (ConfigError, ModelError)) else 1
    except KeyboardInterrupt:
        return 130


def _reader_has_gone() -> bool:
    """Return True where nobody reads the output any more, as after `head` has read enough.

    Further output is thrown away then.
    """
    output = sys.stdout.fileno()
    state = select.poll()
    state.register(output, 0)
    gone = any(event & select.POLLERR for _, event in state.poll(0))
    if gone:
        os.dup2(os.open(os.devnull, os.O_WRONLY), output)
    return gone
