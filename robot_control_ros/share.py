"""Where config/, urdf/ and launch/ are, whichever way the package was installed, and the files of config/."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import yaml

from .errors import ConfigError

PACKAGE = "robot_control_ros"


def share_directory() -> Path:
    """The folder that holds config/, urdf/ and launch/.

    In this order: the ament index (colcon, or ``pip install`` with AMENT_PREFIX_PATH set), the source tree that this
    module is in (``pip install -e``), the prefix of the running interpreter (``pip install``).

    Raises:
        ConfigError: it is nowhere; lists what was tried.
    """
    prefixes = [Path(p) for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    marker = Path("share/ament_index/resource_index/packages") / PACKAGE
    installed = [prefix / "share" / PACKAGE for prefix in prefixes if (prefix / marker).is_file()]
    candidates = [*installed, Path(__file__).resolve().parents[1], Path(sys.prefix) / "share" / PACKAGE]
    for folder in candidates:
        if (folder / "package.xml").is_file():
            return folder
    tried = ", ".join(str(folder) for folder in candidates)
    raise ConfigError(f"the share folder of {PACKAGE} is missing; tried: {tried}")


def config_names(folder: str) -> list[str]:
    """Names of the YAML files that the package brings in config/<folder>."""
    return sorted(path.stem for path in (share_directory() / "config" / folder).glob("*.yaml"))


def read_config(kind: str, name: str) -> tuple[Path, Any]:
    """Path and content of a YAML file: one of the package's, in config/<kind>s, or one of the user's.

    Args:
        kind: "robot", "scene": for the folder, and for people.
        name: of the package's file, or the path of another, ending in .yaml or .yml.

    Raises:
        ConfigError: unknown name (lists the names), no such file, or not YAML.
    """
    known = config_names(f"{kind}s")
    if name.endswith((".yaml", ".yml")):
        path = Path(name).expanduser()
        if not path.is_file():
            raise ConfigError(f"{kind} {name!r}: no such file")
    elif name in known:
        path = share_directory() / "config" / f"{kind}s" / f"{name}.yaml"
    else:
        raise ConfigError(f"unknown {kind} {name!r}; {kind}s: {', '.join(known)}, or a path ending in .yaml")
    try:
        return path, yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid YAML: {error}") from error
