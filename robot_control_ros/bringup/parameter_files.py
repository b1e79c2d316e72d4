"""What arguments name: files, ROS parameter files and what they give to a node, numbers."""

from __future__ import annotations

import atexit
import tempfile
from pathlib import Path
from typing import Any

import yaml

from ..core.errors import refused
from ..robot.configuration import equipped, split_gripper
from ..robot.description import prefixed
from ..robot.files import by_full_name
from ..robot.workcell import MARK


def parameter_file(argument: str, path: str | Path) -> Path:
    """The file that an argument names, by its absolute path.

    Raises:
        ConfigError: it doesn't exist.
    """
    found = Path(path).resolve()
    if not found.is_file():
        raise refused(argument, str(found), "no such file")
    return found


def with_prefix(path: Path, prefix: str) -> Path:
    """One of the package's files for controller managers, with a prefix at joints and frames.

    That is a copy, which is there until this process ends; without a prefix the file itself.
    """
    if not prefix:
        return path
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    for parameters in (section["ros__parameters"] for section in content.values()):
        if "joints" in parameters:
            parameters["joints"] = [prefixed(joint, prefix) for joint in parameters["joints"]]
        if "frame_id" in parameters:
            parameters["frame_id"] = prefixed(parameters["frame_id"], prefix)
    with tempfile.NamedTemporaryFile(
        "w", suffix=".yaml", prefix=f"{path.stem}_", encoding="utf-8", delete=False
    ) as file:
        yaml.safe_dump(content, file)
    copy = Path(file.name)
    atexit.register(copy.unlink, missing_ok=True)
    return copy


def node_parameters(argument: str, path: Path, node: str, namespace: str = "") -> dict[str, Any]:
    """What a ROS parameter file has for a node, by full names such as impedance.stiffness.

    Args:
        argument: that named the file, for errors.
        path: of the file.
        node: its name.
        namespace: that it is in; empty for the root.

    Raises:
        ConfigError: it can't be read, or isn't a parameter file.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise refused(argument, str(path), f"can't be read as YAML: {error}") from error
    found: dict[str, Any] = {}
    own = (f"/{namespace}/{node}",) if namespace else (node, f"/{node}")
    for name in ("/**", f"/**/{node}", *own):  # later ones prevail
        section = _entries(argument, path, _entries(argument, path, content).get(name))
        found |= by_full_name(_entries(argument, path, section.get("ros__parameters")))
    return found


def gain_parameters(gains: str, namespace: str = "") -> dict[str, Any]:
    """What the file of the gains has for the controller in a namespace; nothing where there is no file."""
    return node_parameters("gains", parameter_file("gains", gains), "controller", namespace) if gains else {}


def _entries(argument: str, path: Path, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict | None):
        form = "node, then ros__parameters, then law or parameter"
        raise refused(argument, str(path), f"{value!r}: must be a mapping: {form}")
    return value or {}


def portable(name: str) -> str:
    """A name as it is, a path made absolute: nodes may run elsewhere; so before an arm, and with robot and gripper."""
    robot, gripper = split_gripper(name)
    if gripper:
        return equipped(portable(robot), portable(gripper))
    file, mark, arm = name.partition(MARK)
    return f"{Path(file).resolve()}{mark}{arm}" if file.endswith((".yaml", ".yml")) else name


def number(name: str, value: float | str) -> float:
    """A number from a launch argument; its bounds are the nodes'."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise refused(name, value, "must be a number") from None
