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
        help=f"folder for figures and CSV files (default: {output})",
    )
    text = f"Markdown page to write, with its pictures in the folder {FIGURES} beside it"
    parser.add_argument("--page", type=output_file(".md"), metavar="FILE", help=text)
