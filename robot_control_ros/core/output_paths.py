"""Checks of the paths of results, before these are computed."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import refused


def state_folder() -> Path:
    """The user's folder for data that this package keeps between two runs; it need not exist yet.

    Raises:
        RuntimeError: the user has no home.
    """
    return (
        Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
        / "robot_control_ros"
    )


def writable_file(path: str | Path, *endings: str) -> Path:
    """Check that a file can be written, and return its path.

    Args:
        path: Path of the file.
        endings: Endings of the kind that is to be written, such as ".csv". A file with another
                ending is of another kind, and never overwritten. Without endings, any file may be.

    Raises:
        ConfigError: its folder isn't there, it or its folder can't be written, or a file of another
            kind is there.
    """
    given = Path(path)
    target = Path(os.path.realpath(given))
    folder = target.parent if given.is_symlink() else given.parent
    if not folder.is_dir():
        raise refused("file", str(path), f"its folder {folder} must exist")
    # a device is written to; a file gets a new one in its folder
    replaced = target.is_file() or not target.exists()
    writable = os.access(target.parent, os.W_OK) and (
        not target.exists() or os.access(target, os.W_OK)
    )
    if (
        target.is_dir()
        or target.is_symlink()
        or not (writable if replaced else os.access(target, os.W_OK))
    ):
        raise refused("file", str(path), "must be a file that can be written")
    if (
        endings
        and target.is_file()
        and target.stat().st_size
        and target.suffix.lower() not in endings
    ):
        rule = f"is there, and doesn't end in {' or '.join(endings)}: a file of another kind isn't overwritten"
        raise refused("file", str(path), rule, endings)
    return given


def writable_folder(path: str | Path) -> Path:
    """Check that a folder can be written, or made, and return its path.

    Raises:
        ConfigError: it or the folder above it can't be written, or is a file.
    """
    target = Path(path)
    nearest = next(folder for folder in (target, *target.absolute().parents) if folder.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise refused("folder", str(path), f"{nearest} must be a folder that can be written")
    return target
