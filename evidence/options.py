"""Options that several programs of evidence have."""

from __future__ import annotations

import argparse

from robot_control_ros.cli.options import OUTPUT_FOLDER, output_file

FIGURES = "figures"  # name of the folder beside a page that has its pictures


def add_output_files(parser: argparse.ArgumentParser, output: str) -> None:
    """Add `--output` and `--page` to a parser.

    Args:
        parser: Parser of the program.
        output: Folder that is written to by default.
    """
    parser.add_argument(
        "--output",
        default=output,
        type=OUTPUT_FOLDER,
        metavar="FOLDER",
        help="for figures and CSV files",
    )
    text = f"write a Markdown page, too, with its pictures in the folder {FIGURES} beside it"
    parser.add_argument("--page", type=output_file(".md"), metavar="FILE", help=text)
