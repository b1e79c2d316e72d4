"""Where results are to be written, checked before they are computed."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import refused


def state_folder() -> Path:
    """The user's folder for what this package keeps between two runs; it need not exist yet.

    Raises:
        RuntimeError: the user has no home.
    """
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "robot_control_ros"


def writable_file(path: str | Path) -> Path:
    """The path of a file that can be written.

    Raises:
        ConfigError: its folder isn't there, or it or its folder can't be written.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise refused("file", str(path), f"its folder {target.parent} must exist")
    if target.is_dir() or not os.access(target if target.exists() else target.parent, os.W_OK):
        raise refused("file", str(path), "must be a file that can be written")
    return target


def writable_folder(path: str | Path) -> Path:
    """The path of a folder that can be written, or made.

    Raises:
        ConfigError: it or the folder above it can't be written, or is a file.
    """
    target = Path(path)
    nearest = next(folder for folder in (target, *target.absolute().parents) if folder.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise refused("folder", str(path), f"{nearest} must be a folder that can be written")
    return target
