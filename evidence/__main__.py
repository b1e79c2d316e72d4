"""The command line: ``python -m evidence faults``, and the others; all of them by ``--help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from robot_control_ros.core.errors import RobotControlError

NAMES = {
    "faults": (".faults.table", "inject each fault of the ROS side, and print what became of the arm"),
    "speed": (".speed.report", "how fast it all is, as ratios within one run"),
    "soak": (".soak.demonstration", "run the demonstration for long, and print what its processes take and miss"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of them; returns the exit status, which is 2 for what is refused."""
    parser = argparse.ArgumentParser(prog="python -m evidence", description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="name", required=True)
    for name, (module, text) in NAMES.items():
        import_module(module, "evidence").add_arguments(commands.add_parser(name, help=text))
    options = parser.parse_args(arguments)
    try:
        module, _ = NAMES[options.name]
        return int(import_module(module, "evidence").run(options))
    except RobotControlError as error:
        print(f"evidence: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
