"""What the plots show, as files: a picture, and a table with every column."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np

from ...core.gains import AXES
from ...core.types import CommandMode
from ...robot.configuration import RobotConfig
from ...simulation.log import figure_class
from .charts import COMMANDS, Chart, terms_in
from .history import Record
from .thinning import interrupted, longest_step

DPI = 120
OF_AXES = {"pose_error": ("m", "rad"), "twist": ("m/s", "rad/s"), "wrench": ("N", "N·m")}
OF_JOINTS = {"position": "rad", "velocity": "rad/s", "effort": "N·m", "saturated": "0 or 1", "rate_limited": "0 or 1"}


def png(charts: Sequence[Chart], title: str) -> bytes:
    """A picture with all samples, over the time before the newest.

    Raises:
        ConfigError: matplotlib is not installed.
    """
    figure = figure_class()(figsize=(9.0, 1.2 + 2.3 * len(charts)), layout="constrained")
    rows = figure.subplots(len(charts), 1, sharex=True, squeeze=False)[:, 0]
    for axis, chart in zip(rows, charts, strict=True):
        t, values = interrupted(chart.t - chart.t[-1:], chart.values, longest_step(chart.t))
        for curve, column in zip(chart.curves, values.T, strict=True):
            style = "--" if curve.dashed else "-"
            axis.plot(t, column, style, color=curve.colour, linewidth=0.9 * curve.width, label=curve.name)
        axis.update_datalim([(0.0, bound) for bound in chart.shows], updatex=False)
        axis.autoscale_view()
        axis.set_ylabel(chart.label)
        axis.grid(True, alpha=0.3)
        axis.margins(x=0.0)
        axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    figure.align_ylabels()
    rows[-1].set_xlabel("time [s]")
    figure.suptitle(title)
    content = io.BytesIO()
    figure.savefig(content, dpi=DPI, format="png")
    return content.getvalue()


def csv(record: Record, robot: RobotConfig, mode: CommandMode | None) -> bytes:
    """One row per sample of the controller's ~/state or /diagnostics; the header has each column's name and unit.

    Args:
        record: of it.
        robot: whose joints name the columns.
        mode: of the command; None where nobody knows.
    """
    left_out = {"time"} | {name for name in record.blocks if name.startswith("term.")} - set(terms_in(record))
    blocks = {name: values for name, values in record.blocks.items() if name not in left_out}
    names = [column for name, values in blocks.items() for column in _columns(name, values.shape[1], robot, mode)]
    content = io.StringIO()
    np.savetxt(
        content,
        np.hstack([record.t[:, None], *blocks.values()]),
        fmt=["%.6f", *["%.9g"] * len(names)],
        delimiter=",",
        header=",".join(["time [s]", *names]),
        comments="",
    )
    return content.getvalue().encode()


def _columns(block: str, width: int, robot: RobotConfig, mode: CommandMode | None) -> list[str]:
    """Names, with units, of a block's columns."""
    if block in OF_AXES:
        return [f"{block}.{axis} [{OF_AXES[block][i // 3]}]" for i, axis in enumerate(AXES)]
    if block == "pose":
        return [f"pose.{row}{column}{' [m]' if column == 3 else ''}" for row in range(3) for column in range(4)]
    of_joints = {**OF_JOINTS, "command": COMMANDS[mode][1] if mode is not None else ""}
    if block in of_joints or block.startswith("term."):
        unit = of_joints.get(block, "N·m" if mode is CommandMode.EFFORT else "")
        return [f"{block}.{joint} [{unit}]" if unit else f"{block}.{joint}" for joint in robot.joints]
    return [block] if width == 1 else [f"{block}.{i}" for i in range(width)]
