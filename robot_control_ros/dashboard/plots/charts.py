"""The samples as curves for the plots, and as a table; with names and units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.gains import AXES
from ...core.types import Array, CommandMode
from ...robot.configuration import RobotConfig
from ...robot.model import JointLimits
from ..chart import TIME, Chart, Curve, csv
from ..theme import CURVE_GREY, CURVE_RED, CURVES
from .history import History

POSE = "Pose error"
WRENCH = "Force and torque"
COMMAND = "Command and its terms"
POSITIONS = "Joint positions"
LOOP = "Control loop"
QUANTITIES = (POSE, WRENCH, COMMAND, POSITIONS, LOOP)
OF_ONE_JOINT = (COMMAND, POSITIONS)  # have a chart of the chosen joint
UNITS = {CommandMode.EFFORT: "N·m", CommandMode.POSITION: "rad", CommandMode.VELOCITY: "rad/s"}
FORCE = ("N", "N·m")
OF_AXES = {
    "pose_error": ("m", "rad"),
    "twist": ("m/s", "rad/s"),
    "wrench": FORCE,
    "target_wrench": FORCE,
}
OF_JOINTS = {"position": "rad", "velocity": "rad/s", "effort": "N·m"}
OF_JOINTS |= dict.fromkeys(("saturated", "rate_limited", "soft_limited"), "0 or 1")
PERCENTILES = {"p50": "median", "p99": "99 %"}


class Charts:
    """Makes charts of records."""

    def __init__(self, robot: RobotConfig, limits: JointLimits) -> None:
        self._limits = limits
        self._rate = robot.profile.rate
        self._linear, self._angular = (
            [i for i in part if robot.axes[i]] for part in (range(3), range(3, 6))
        )
        self.joints = tuple(name.removesuffix("_joint").replace("_", " ") for name in robot.joints)

    def of(
        self, quantity: str, joint: str, mode: CommandMode | None, record: History
    ) -> tuple[Chart, ...]:
        """Charts of a quantity that have curves.

        Args:
            quantity: Quantity that is plotted, of QUANTITIES.
            joint: Name of a joint, of `joints`, for those OF_ONE_JOINT.
            mode: Mode of the command; None if unknown.
            record: Samples of the controller's ~/state; for LOOP of its /diagnostics.
        """
        index = self.joints.index(joint)
        makers = {
            POSE: lambda: self._pose_error(record),
            WRENCH: lambda: self._wrench(record),
            COMMAND: lambda: self._command(record, index, mode),
            POSITIONS: lambda: self._positions(record, index),
            LOOP: lambda: self._loop(record),
        }
        return tuple(chart for chart in makers[quantity]() if chart.curves)

    def _pose_error(self, record: History) -> Sequence[Chart]:
        error = record.block("pose_error", 6)
        return (
            _of_axes("position error [mm]", record, 1e3 * error, self._linear, 0.1),
            _of_axes("rotation error [deg]", record, np.degrees(error), self._angular, 0.01),
        )

    def _wrench(self, record: History) -> Sequence[Chart]:
        wrench = record.block("wrench", 6)
        missing = ": no sensor" if len(wrench) and not np.isfinite(wrench).any() else ""
        return (
            _of_axes(f"force on the tip [N]{missing}", record, wrench, range(3), 1.0),
            _of_axes(f"torque on the tip [N·m]{missing}", record, wrench, range(3, 6), 0.1),
        )

    def _command(self, record: History, index: int, mode: CommandMode | None) -> Sequence[Chart]:
        joint = self.joints[index]
        n = len(self.joints)
        command = record.block("command", n)
        names = [name for name in record.widths if name.startswith("term.")]
        terms = [
            Curve(
                name.removeprefix("term.").replace("_", " "),
                record.block(name, n)[:, index],
                _colour(i),
            )
            for i, name in enumerate(names)
        ]
        of_joint = f"{joint}: terms"
        of_all = "command"
        if mode is CommandMode.EFFORT:
            terms.insert(0, Curve("total", command[:, index], CURVE_GREY, width=2.5))
            of_joint = f"{joint}: torque [N·m]"
            of_all = "total torque [N·m]"
        elif mode is not None:
            of_all = f"commanded {mode.value} [{UNITS[mode]}]"
        return (
            Chart(of_joint, record.t, tuple(terms), (-0.1, 0.1)),
            Chart(of_all, record.t, self._of_joints(command), (-0.1, 0.1)),
        )

    def _positions(self, record: History, index: int) -> Sequence[Chart]:
        q = record.block("position", len(self.joints))
        lower = self._limits.lower
        upper = self._limits.upper
        limited = np.isfinite(upper - lower)
        curves = [Curve("position", q[:, index], _colour(index))]
        if limited[index]:
            curves += [
                Curve(f"{word} limit", np.full(len(q), bound[index]), CURVE_RED, dashed=True)
                for word, bound in (("upper", upper), ("lower", lower))
            ]
        percent = 100.0 * (q - lower) / np.where(limited, upper - lower, np.nan)
        within = tuple(
            curve
            for curve, is_limited in zip(self._of_joints(percent), limited, strict=True)
            if is_limited
        )
        unit = self._limits.unit(index).position
        return (
            Chart(f"{self.joints[index]} [{unit}]", record.t, tuple(curves), (-0.1, 0.1)),
            Chart("lower to upper limit [%]", record.t, within, (0.0, 100.0)),
        )

    def _loop(self, record: History) -> Sequence[Chart]:
        t = record.t
        rate = record.block("rate [Hz]", 1)[:, 0]
        nominal = Curve("nominal", np.full(len(rate), self._rate), CURVE_GREY, dashed=True)
        near = 0.9 * self._rate, 1.1 * self._rate
        period = _percentiles(record, {"period": "period"})
        latency = _percentiles(
            record, {"response": "response", "compute": "computing", "state age": "age of state"}
        )
        return (
            Chart("rate [Hz]", t, (Curve("rate", rate, _colour(2)), nominal), near),
            Chart("period [ms]", t, period, (0.0, 2e3 / self._rate)),
            Chart("latency [ms]", t, latency, (0.0, 0.1)),
        )

    def _of_joints(self, values: Array) -> tuple[Curve, ...]:
        return tuple(Curve(name, values[:, i], _colour(i)) for i, name in enumerate(self.joints))


def _colour(number: int) -> str:
    return CURVES[number % len(CURVES)]


def _of_axes(
    label: str, record: History, values: Array, axes: Sequence[int], least: float
) -> Chart:
    return Chart(
        label,
        record.t,
        tuple(Curve(AXES[i], values[:, i], _colour(i % 3)) for i in axes),
        (-least, least),
    )


def _percentiles(record: History, kinds: dict[str, str]) -> tuple[Curve, ...]:
    """Medians and 99th percentiles [ms], from the µs of /diagnostics; the two of a
    kind have one colour.
    """
    known = record.widths
    return tuple(
        Curve(
            f"{word} {name}",
            1e-3 * record.block(key, 1)[:, 0],
            _colour(i),
            dashed=percentile == "p50",
        )
        for i, (kind, word) in enumerate(kinds.items())
        for percentile, name in PERCENTILES.items()
        for key in (f"{kind} {percentile} [us]", f"{kind}_{percentile} [us]")
        if key in known
    )


def record_csv(record: History, robot: RobotConfig, mode: CommandMode | None) -> bytes:
    """One row per sample of the controller's ~/state or /diagnostics; the header has each column's
    name and unit.

    Args:
        record: Samples of ~/state or /diagnostics.
        robot: Robot whose joints name the columns.
        mode: Mode of the command; None if unknown.
    """
    columns = {TIME: record.t}
    for block, width in record.widths.items():
        if block != "time":
            columns |= zip(
                _columns(block, width, robot, mode), record.block(block, width).T, strict=True
            )
    return csv(columns)


def _columns(block: str, width: int, robot: RobotConfig, mode: CommandMode | None) -> list[str]:
    """Names, with units, of a block's columns."""
    if block in OF_AXES:
        return [f"{block}.{axis} [{OF_AXES[block][i // 3]}]" for i, axis in enumerate(AXES)]
    if block == "pose":
        return [
            f"pose.{row}{column}{' [m]' if column == 3 else ''}"
            for row in range(3)
            for column in range(4)
        ]
    of_joints = {**OF_JOINTS, "command": UNITS[mode] if mode is not None else ""}
    if block in of_joints or block.startswith("term."):
        unit = of_joints.get(block, "N·m" if mode is CommandMode.EFFORT else "")
        return [
            f"{block}.{joint} [{unit}]" if unit else f"{block}.{joint}" for joint in robot.joints
        ]
    return [block] if width == 1 else [f"{block}.{i}" for i in range(width)]
