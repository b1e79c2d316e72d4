"""Version of the package that a process has.

Workers on other machines must have the same one, or their results differ.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from ..core.errors import ConfigError
from ..core.version import VERSION

ROOT = Path(__file__).resolve().parents[1]
DIGITS = 12


@cache
def package_version() -> str:
    """Version and fingerprint of the package's Python files, such as ``0.1.0+3f2a91c07be4``.

    The fingerprint tells two checkouts apart that have the same version.
    """
    digest = hashlib.sha256()
    for path in sorted(ROOT.rglob("*.py")):
        digest.update(path.relative_to(ROOT).as_posix().encode())
        digest.update(path.read_bytes())
    return f"{VERSION}+{digest.hexdigest()[:DIGITS]}"


def check_same_version(expected: str, where: str) -> None:
    """Refuse to work with another version of the package.

    Args:
        expected: Version of the process that asks, see :func:`package_version`.
        where: Name of this process, for the message.

    Raises:
        ConfigError: this process has another version.
    """
    if package_version() != expected:
        rule = (
            f"must be {expected}, as where the study runs: install the same commit on each machine"
        )
        raise ConfigError(
            f"robot_control_ros {package_version()} on {where}: {rule}",
            name="version",
            value=package_version(),
            bound=expected,
        )
