"""What a system needs on this machine: packages and programs, looked up before it starts; the environment."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from ..core.errors import ConfigError
from ..robot.files import ament_prefixes, has_package
from .system import PACKAGE, Program, System, Xacro


def check_requirements(system: System) -> None:
    """See that all is installed that a system is made of, and that it can start now.

    Raises:
        ConfigError: something is missing; names all of it, and what to type. Or the system's own check fails.
    """
    needed = {part.command[0]: part.package for part in system.parts() if isinstance(part, Program)}
    if any(isinstance(value, Xacro) for node in system.nodes() for value in node.parameters.values()):
        needed["xacro"] = "xacro"
    programs = {name: package for name, package in needed.items() if shutil.which(name) is None}
    wanted = {part.package for part in system.parts() if not isinstance(part, Program)}.union(system.plugins)
    wanted -= {PACKAGE, *(name for prefix in ament_prefixes() for name in wanted if has_package(prefix, name))}
    packages = sorted(wanted)
    if programs or packages:
        lists = {"program": programs, "ROS package": packages}
        named = "; ".join(f"{kind} {', '.join(names)}" for kind, names in lists.items() if names)
        distro = os.environ.get("ROS_DISTRO", "$ROS_DISTRO")
        debian = [f"ros-{distro}-{package.replace('_', '-')}" for package in sorted({*packages, *programs.values()})]
        raise ConfigError(
            f"not installed here: {named}. Install them with: sudo apt-get install {' '.join(debian)}. "
            "If they are installed elsewhere, source the setup.bash there first"
        )
    for check in system.checks:
        check()


def environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for ROS processes of this interpreter: `base` (this process's) with what is missing.

    The wheels of ROS 2 find their parts through AMENT_PREFIX_PATH, which nobody sets for them. Where neither a domain
    nor a discovery range is chosen, the system keeps to this machine and to a domain of its own.
    """
    result = dict(os.environ if base is None else base)
    if (Path(sys.prefix) / "share" / "ament_index").is_dir():
        others = [p for p in result.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p and p != sys.prefix]
        result["AMENT_PREFIX_PATH"] = os.pathsep.join([sys.prefix, *others])
    result.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    result.setdefault("ROS_DOMAIN_ID", str(1 + os.getpid() % 100))
    return result
