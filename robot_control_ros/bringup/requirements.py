"""Requirements of a system on this machine: packages and programs, looked up before it starts."""

from __future__ import annotations

import os
import shutil

from ..core.errors import ConfigError
from ..robot.files import ament_prefixes, has_package
from .system import PACKAGE, Program, System, Xacro


def check_requirements(system: System) -> None:
    """See that all is installed that a system is made of, and that it can start now.

    Raises:
        ConfigError: something is missing; names all of it, and what to type. Or the system's own
            check fails.
    """
    needed = {part.command[0]: part.package for part in system.parts if isinstance(part, Program)}
    if any(
        isinstance(value, Xacro) for node in system.nodes() for value in node.parameters.values()
    ):
        needed["xacro"] = "xacro"
    programs = {name: package for name, package in needed.items() if shutil.which(name) is None}
    wanted = {part.package for part in system.parts if not isinstance(part, Program)}.union(
        system.plugins
    )
    wanted -= {
        PACKAGE,
        *(name for prefix in ament_prefixes() for name in wanted if has_package(prefix, name)),
    }
    packages = sorted(wanted)
    if programs or packages:
        lists = {"program": programs, "ROS package": packages}
        named = "; ".join(f"{kind} {', '.join(names)}" for kind, names in lists.items() if names)
        distro = os.environ.get("ROS_DISTRO", "$ROS_DISTRO")
        debian = [
            f"ros-{distro}-{package.replace('_', '-')}"
            for package in sorted({*packages, *programs.values()})
        ]
        raise ConfigError(
            f"not installed here: {named}. Install them with: sudo apt-get install {' '.join(debian)}. "
            "If they are installed elsewhere, source the setup.bash there first"
        )
    for check in system.checks:
        check()
