"""``python -m evidence reproduce``."""

from __future__ import annotations

import argparse

from ..options import add_output_files
from . import CASES, reproduce


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the program's options to a parser."""
    parser.add_argument("source", choices=("all", *CASES), help="source whose experiments run")
    add_output_files(parser, "reproduction")


def run(options: argparse.Namespace) -> int:
    """Run the experiments; returns the exit status, 1 where a figure is out of its bounds."""
    return reproduce(
        CASES if options.source == "all" else (options.source,), options.output, options.page
    )
