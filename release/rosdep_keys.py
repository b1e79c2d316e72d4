"""The keys of package.xml, as bloom and rosdep resolve them: each must be a package of apt.

bloom makes a Debian package, which can only depend on packages of apt. A key that pip installs
stops it.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import yaml

from robot_control_ros.core.errors import ConfigError

ROOT = Path(__file__).resolve().parents[1]
# ROS distributions that a release is for, the first names first, and the Ubuntu of each.
DISTRIBUTIONS = {"jazzy": "noble", "lyrical": "resolute", "rolling": "resolute"}
RULES = ("rosdep/base.yaml", "rosdep/python.yaml")


def manifest_keys(manifest: Path = ROOT / "package.xml") -> list[str]:
    """Keys of all dependencies in a manifest, in its order."""
    package = ElementTree.parse(manifest).getroot()
    return [element.text or "" for element in package if element.tag.endswith("depend")]


def problems(rosdistro: Path, manifest: Path = ROOT / "package.xml") -> list[str]:
    """Keys that bloom refuses, each with the distribution and the reason.

    Args:
        rosdistro: Checkout of the repository ros/rosdistro.
        manifest: File package.xml with the keys.
    """
    rules: dict[str, Any] = {}
    for name in RULES:
        rules.update(_read(rosdistro / name))
    wrong = []
    for distribution, ubuntu in DISTRIBUTIONS.items():
        packages = released_packages(rosdistro, distribution)
        for key in manifest_keys(manifest):
            if key in packages:
                continue
            reason = _not_by_apt(rules[key], ubuntu) if key in rules else "no such key"
            if reason:
                wrong.append(f"{distribution}: {key}: {reason}")
    return wrong


def released_packages(rosdistro: Path, distribution: str) -> set[str]:
    """Names of the packages that a ROS distribution has released."""
    repositories = _read(rosdistro / distribution / "distribution.yaml")["repositories"]
    packages: set[str] = set()
    for name, repository in repositories.items():
        release = repository.get("release", {})
        if release.get("version"):
            packages.update(release.get("packages", [name]))
    return packages


def _not_by_apt(rule: dict[str, Any], ubuntu: str) -> str:
    """Reason why apt doesn't install what a key stands for; "" where it does."""
    by_system = rule.get("ubuntu")
    if isinstance(by_system, dict) and not {"pip", "apt"} & set(by_system):
        by_system = by_system.get(ubuntu, by_system.get("*"))
    if isinstance(by_system, dict) and "pip" in by_system:
        return "pip installs it, and bloom takes only apt's packages"
    return "" if by_system else f"nothing for Ubuntu {ubuntu}"


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise ConfigError(
            f"{path}: {error.strerror}; clone https://github.com/ros/rosdistro and name its folder",
            name="rosdistro",
            value=str(path),
        ) from error
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where it is built
    content = yaml.load(text, loader)
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: must be a mapping", name="rosdistro", value=str(path))
    return content
