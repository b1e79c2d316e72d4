"""Completion of the command line in bash, zsh and fish: commands, options and their
values, by argcomplete.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from typing import Any

from ..core.errors import RobotControlError


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer a shell that asks for completion, and end; else do nothing.

    docs/installation.md says how to switch completion on.
    """
    if "_ARGCOMPLETE" not in os.environ:
        return
    import argcomplete

    finder: Any = argcomplete.autocomplete
    finder(parser, default_completer=_values)


def _values(
    *, prefix: str, action: argparse.Action, parsed_args: argparse.Namespace, **_: Any
) -> Iterable[str]:
    """Values that complete an argument: names that the package knows, else files."""
    from argcomplete.completers import FilesCompleter

    try:
        names = _names(action.dest, str(getattr(parsed_args, "robot", None) or "ur5"))
    except RobotControlError:
        return ()
    return FilesCompleter()(prefix) if names is None else names


def _names(option: str, robot: str) -> Iterable[str] | None:
    """Names that an option takes; None where it takes something else."""
    if option == "law":
        from ..laws import law_names

        return law_names()
    if option == "gain":
        from ..core.gains import gain_specs
        from ..laws import law_class, law_names

        return sorted(
            {spec.name for law in law_names() for spec in gain_specs(law_class(law).Gains)}
        )
    from ..robot.files import config_names, read_extended

    if option == "profile":
        return sorted(read_extended("robot", robot)[1]["profiles"])
    kinds = ("robot", "gripper", "scene", "workcell")
    folders = {**{kind: f"{kind}s" for kind in kinds}, "imperfections": "imperfections"}
    return config_names(folders[option]) if option in folders else None
