"""The samples as a table with every column."""

from __future__ import annotations

from ...core.gains import AXES
from ...core.types import CommandMode
from ...robot.configuration import RobotConfig
from ..csv_file import TIME, csv
from .charts import UNITS, terms_in
from .history import Record

OF_AXES = {"pose_error": ("m", "rad"), "twist": ("m/s", "rad/s"), "wrench": ("N", "N·m")}
OF_JOINTS = {"position": "rad", "velocity": "rad/s", "effort": "N·m", "saturated": "0 or 1", "rate_limited": "0 or 1"}


def record_csv(record: Record, robot: RobotConfig, mode: CommandMode | None) -> bytes:
    """One row per sample of the controller's ~/state or /diagnostics; the header has each column's name and unit.

    Args:
        record: of it.
        robot: its joints name the columns.
        mode: of the command; None if unknown.
    """
    old_terms = {name for name in record.blocks if name.startswith("term.")} - set(terms_in(record))
    columns = {TIME: record.t}
    for block, values in record.blocks.items():
        if block != "time" and block not in old_terms:
            columns |= zip(_columns(block, values.shape[1], robot, mode), values.T, strict=True)
    return csv(columns)


def _columns(block: str, width: int, robot: RobotConfig, mode: CommandMode | None) -> list[str]:
    """Names, with units, of a block's columns."""
    if block in OF_AXES:
        return [f"{block}.{axis} [{OF_AXES[block][i // 3]}]" for i, axis in enumerate(AXES)]
    if block == "pose":
        return [f"pose.{row}{column}{' [m]' if column == 3 else ''}" for row in range(3) for column in range(4)]
    of_joints = {**OF_JOINTS, "command": UNITS[mode] if mode is not None else ""}
    if block in of_joints or block.startswith("term."):
        unit = of_joints.get(block, "N·m" if mode is CommandMode.EFFORT else "")
        return [f"{block}.{joint} [{unit}]" if unit else f"{block}.{joint}" for joint in robot.joints]
    return [block] if width == 1 else [f"{block}.{i}" for i in range(width)]
