"""What a system needs on this machine: looked up before anything of it starts."""

from __future__ import annotations

import os
import shutil

from ..core.errors import ConfigError
from ..robot.files import ament_prefixes, has_package
from .system import PACKAGE, Program, System, Xacro


def check_requirements(system: System) -> None:
    """See that all is installed that a system is made of, and that it can start now.

    Raises:
        ConfigError: something is missing; names all of it, and what to type. Or the system's own check fails.
    """
    programs, packages = missing_programs(system), missing_packages(system)
    if programs or packages:
        lists = [("program", list(programs)), ("ROS package", packages)]
        named = "; ".join(f"{kind} {', '.join(names)}" for kind, names in lists if names)
        distro = os.environ.get("ROS_DISTRO", "$ROS_DISTRO")
        wanted = sorted({*packages, *programs.values()})
        debian = " ".join(f"ros-{distro}-{package.replace('_', '-')}" for package in wanted)
        raise ConfigError(
            f"not installed here: {named}. Install them with: sudo apt-get install {debian}. "
            "What is installed elsewhere is found after its setup.bash was sourced"
        )
    for check in system.checks:
        check()


def missing_programs(system: System) -> dict[str, str]:
    """The programs that aren't on the search path, and the ROS packages that bring them."""
    needed = {part.command[0]: part.package for part in system.parts() if isinstance(part, Program)}
    if any(isinstance(value, Xacro) for node in system.nodes() for value in node.parameters.values()):
        needed["xacro"] = "xacro"
    return {name: package for name, package in needed.items() if shutil.which(name) is None}


def missing_packages(system: System) -> list[str]:
    """The ROS packages that aren't installed, without the one that this module belongs to."""
    needed = {part.package for part in system.parts() if not isinstance(part, Program)}
    needed = (needed | {*system.plugins}) - {PACKAGE}
    return sorted(name for name in needed if not any(has_package(prefix, name) for prefix in ament_prefixes()))
