"""Files and ROS parameter files that arguments name."""

from __future__ import annotations

import atexit
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

from ..core.errors import refused
from ..robot.configuration import equipped, split_gripper
from ..robot.description import prefixed
from ..robot.ros_parameter_file import ParameterFile
from ..robot.workcell import MARK
from ..robot.yaml_files import read_yaml, yaml_text


def parameter_file(argument: str, path: str | Path) -> Path:
    """The file that an argument names, by its absolute path.

    Raises:
        ConfigError: it doesn't exist, or is no regular file.
    """
    target = Path(os.path.abspath(path))
    try:
        mode = target.stat().st_mode
    except FileNotFoundError as error:
        raise refused(argument, str(target), "no such file") from error
    except (OSError, ValueError) as error:  # a loop of links; a text that is no path
        raise refused(
            argument, str(target), f"can't be read: {getattr(error, 'strerror', None) or error}"
        ) from error
    if not stat.S_ISREG(mode):
        raise refused(argument, str(target), "must be a regular file")
    return target.resolve()


def with_prefix(path: Path, prefix: str) -> Path:
    """One of the package's files for controller managers, with a prefix at joints and frames.

    That is a copy, which is there until this process ends; without a prefix the file itself.
    """
    if not prefix:
        return path
    content = read_yaml("file", path).data
    for parameters in (section["ros__parameters"] for section in content.values()):
        if "joints" in parameters:
            parameters["joints"] = [prefixed(joint, prefix) for joint in parameters["joints"]]
        if "frame_id" in parameters:
            parameters["frame_id"] = prefixed(parameters["frame_id"], prefix)
    with tempfile.NamedTemporaryFile(
        "w", suffix=".yaml", prefix=f"{path.stem}_", encoding="utf-8", delete=False
    ) as file:
        file.write(yaml_text(content))
    copy = Path(file.name)
    atexit.register(copy.unlink, missing_ok=True)
    return copy


def node_parameters(
    argument: str, path: Path, node: str, namespace: str = "", *, needed: bool = True
) -> dict[str, Any]:
    """Parameters that a ROS parameter file has for a node, by full names.

    Such a name is impedance.stiffness, for example.

    Args:
        argument: Name of the argument that named the file, for errors.
        path: Path of the file.
        node: Name of the node.
        namespace: Namespace that the node is in; empty for the root.
        needed: True where the file must have something for the node.

    Raises:
        ConfigError: it can't be read, isn't a parameter file, or has nothing for the node; names
            line and key.
    """
    return ParameterFile.read(argument, path).of(node, namespace, needed=needed)


def gain_parameters(gains: str, namespace: str = "") -> dict[str, Any]:
    """Parameters of the file of the gains for the controller in a namespace.

    They are empty where there is no file.
    """
    return (
        node_parameters("gains", parameter_file("gains", gains), "controller", namespace)
        if gains
        else {}
    )


def portable(name: str) -> str:
    """A name as it is, or a path made absolute: nodes may run elsewhere.

    A path before an arm, and paths of robot and gripper, are made absolute, too.
    """
    robot, gripper = split_gripper(name)
    if gripper:
        return equipped(portable(robot), portable(gripper))
    file, mark, arm = name.partition(MARK)
    return f"{Path(file).resolve()}{mark}{arm}" if file.endswith((".yaml", ".yml")) else name
