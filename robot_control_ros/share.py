"""Where config/, urdf/ and launch/ are, whichever way the package was installed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

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
