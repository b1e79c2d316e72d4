"""What commands have in common: how one is added, and the options that several have."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

ROBOT = {"default": "ur5", "help": "name, or path of a YAML file (default: ur5)"}
LAW = {"default": "impedance", "help": "name, or package.module:Class (default: impedance)"}
SCENE = {"default": "", "help": "what stands around the robot: name, or path of a YAML file"}
TOPOLOGY = {"default": "", "help": "name, or path of a YAML file (default: the robot's)"}


def add_command(
    commands: Any, name: str, text: str, run: Callable[[argparse.Namespace], int]
) -> Callable[..., argparse.Action]:
    """Add a command that `run` executes; returns the function that adds an argument to it."""
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text)
    parser.set_defaults(run=run)
    return parser.add_argument
