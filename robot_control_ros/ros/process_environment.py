"""The environment variables that a process of this interpreter needs before ROS is imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for ROS processes of this interpreter: `base` and the variables it lacks.

    `base` is by default the environment of this process. The wheels of ROS 2 find their parts
    through AMENT_PREFIX_PATH, which nobody sets for them. Without a discovery range the system
    keeps to this machine; without a domain it has one of its own.
    """
    result = dict(os.environ if base is None else base)
    if (Path(sys.prefix) / "share" / "ament_index").is_dir():
        others = [
            p
            for p in result.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
            if p and p != sys.prefix
        ]
        result["AMENT_PREFIX_PATH"] = os.pathsep.join([sys.prefix, *others])
    result.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    result.setdefault("ROS_DOMAIN_ID", str(1 + os.getpid() % 100))
    return result
