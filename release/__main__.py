"""Release of the package: ``python -m release NAME`` in a checkout of the repository."""

from __future__ import annotations

import argparse
import datetime
import difflib
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from robot_control_ros.cli.command_runner import run_command
from robot_control_ros.cli.options import CommandParser

from . import rosdep_keys, support, versions


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the commands; returns the exit status, which is 2 for what is refused."""
    return run_command(command_parser(), "release", arguments)


def command_parser() -> CommandParser:
    """The parser of all commands."""
    parser = CommandParser(prog="python -m release", description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True, metavar="name")

    version = commands.add_parser(
        "version", help="write one version into all files, commit and tag; nothing is pushed"
    )
    version.add_argument("version", help="X.Y.Z, or the part to raise: major, minor or patch")
    version.add_argument(
        "--dry-run", action="store_true", help="print what would change, and change nothing"
    )
    version.set_defaults(run=_version)

    agree = commands.add_parser("check", help="print the version on which all files agree")
    agree.set_defaults(run=_check)

    keys = commands.add_parser("keys", help="resolve the keys of package.xml as bloom does")
    keys.add_argument(
        "--rosdistro", type=Path, required=True, metavar="FOLDER", help="checkout of ros/rosdistro"
    )
    keys.set_defaults(run=_keys)

    matrix = commands.add_parser("support", help="write the support matrix")
    matrix.add_argument("--page", type=Path, default=support.PAGE, metavar="FILE")
    matrix.set_defaults(run=_support)
    return parser


def _version(options: argparse.Namespace) -> int:
    release = versions.prepare(options.version, datetime.date.today())
    if not options.dry_run:
        versions.carry_out(release)
        print(f"Committed and tagged {release.version}. Publish it: git push --follow-tags")
        return 0
    for name, text in release.files.items():
        present = (versions.ROOT / name).read_text("utf-8")
        lines = difflib.unified_diff(
            present.splitlines(), text.splitlines(), name, name, lineterm="", n=1
        )
        print(*lines, sep="\n")
    for command in release.commands:
        print("$", shlex.join(command))
    return 0


def _check(_: argparse.Namespace) -> int:
    print(versions.agreed())
    return 0


def _keys(options: argparse.Namespace) -> int:
    problems = rosdep_keys.problems(options.rosdistro)
    print(*problems, sep="\n", end="\n" if problems else "")
    distributions = ", ".join(rosdep_keys.DISTRIBUTIONS)
    print(f"{len(rosdep_keys.manifest_keys())} keys for {distributions}: {len(problems)} problems")
    return int(bool(problems))


def _support(options: argparse.Namespace) -> int:
    options.page.write_text(support.page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
