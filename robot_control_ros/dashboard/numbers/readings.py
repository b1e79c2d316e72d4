"""What a robot measures, as rows of numbers in the chosen units, and as a table."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.types import Array
from ...robot.model import RobotModel
from ..link import RobotTelemetry
from ..markup import block, table
from .units import Units, write_row

TIP = "Pose"
JOINTS = "Joints"
TWIST = "Velocity"
WRENCH = "Wrench"
XYZ = "x, y, z"
UNKNOWN = "–"


@dataclass(frozen=True, eq=False)
class Readings:
    """The numbers of one moment, in the units of `units`; None where nothing is measured.

    Attributes:
        units: Units of all numbers.
        joints: Names of the joints, for a person.
        joint_units: Units of SI, by joint: rad or m.
        pose: (6,) or (7,) pose of the tip in the base.
        angles, lower, upper: (n,) angles of the joints, and their limits.
        speeds, torques: (n,) speeds and torques of the joints.
        twist: (6,) twist of the tip, base axes.
        wrench: (6,) wrench on the tip, base axes.
    """

    units: Units
    joints: Sequence[str]
    joint_units: Sequence[str]
    pose: Array
    angles: Array
    lower: Array
    upper: Array
    speeds: Array | None = None
    torques: Array | None = None
    twist: Array | None = None
    wrench: Array | None = None

    @classmethod
    def of(
        cls,
        telemetry: RobotTelemetry,
        model: RobotModel,
        joint_units: Sequence[str],
        units: Units,
        *,
        fresh: bool,
    ) -> Readings | None:
        """The newest numbers; None before the first joint angles.

        `fresh` is True where the controller sends its state.
        """
        q = telemetry.q
        if q is None:
            return None
        factors = units.factors(joint_units)
        limits = model.limits
        blocks = telemetry.blocks if fresh else {}
        speeds = blocks.get("velocity")
        twist = blocks.get("twist")
        return cls(
            units,
            [name.removesuffix("_joint").replace("_", " ") for name in model.joints],
            joint_units,
            units.row(model.at(q).pose),
            q * factors,
            limits.lower * factors,
            limits.upper * factors,
            None if speeds is None else speeds * factors,
            blocks.get("effort"),
            None if twist is None else twist * np.repeat(units.factors(("m", "rad")), 3),
            telemetry.wrench if fresh else None,
        )

    def lines(self) -> Mapping[str, str]:
        """Rows of numbers that can be copied, by name."""
        rows = {TIP: self.pose, JOINTS: self.angles, TWIST: self.twist, WRENCH: self.wrench}
        return {name: "" if row is None else write_row(row) for name, row in rows.items()}

    def content(self) -> str:
        """Tables as HTML; what can be copied is in hidden elements whose identifiers
        are :func:`line_id`.
        """
        hidden = (
            f'<span id="{line_id(name)}" hidden>{html.escape(row)}</span>'
            for name, row in self.lines().items()
        )
        return block(table(self._tip_rows()) + table(self._joint_rows()) + "".join(hidden))

    def _tip_rows(self) -> list[tuple[str, str]]:
        units = self.units
        twist = self.twist
        wrench = self.wrench
        turned = "x, y, z, w" if units.quaternion else f"roll, pitch, yaw [{units.angle}]"
        return [
            (f"Tip {XYZ} [{units.length}]", _numbers(self.pose[:3], units.length)),
            (f"Tip {turned}", _numbers(self.pose[3:], "" if units.quaternion else units.angle)),
            (
                f"Velocity [{units.unit('m/s')}]",
                _numbers(None if twist is None else twist[:3], units.length),
            ),
            (
                f"Turning [{units.unit('rad/s')}]",
                _numbers(None if twist is None else twist[3:], units.angle),
            ),
            ("Force [N]", _numbers(None if wrench is None else wrench[:3], "N")),
            ("Torque [N·m]", _numbers(None if wrench is None else wrench[3:], "N·m")),
        ]

    def _joint_rows(self) -> list[tuple[str, ...]]:
        names = [self.units.unit(unit) for unit in self.joint_units]
        several = "" if len(set(names)) > 1 else names[0]
        rows: list[tuple[str, ...]] = [
            ("Joint", several or "angle", "limits", f"{several or '1'}/s", "N·m")
        ]
        for i, (name, unit) in enumerate(zip(self.joints, names, strict=True)):
            label = name if several else f"{name} [{unit}]"
            limits = f"{_number(self.lower[i], unit, 1)} … {_number(self.upper[i], unit, 1)}"
            speed, torque = (None if row is None else row[i] for row in (self.speeds, self.torques))
            rows.append(
                (
                    label,
                    _number(self.angles[i], unit),
                    limits,
                    _number(speed, unit, 1),
                    _number(torque, "N·m", 1),
                )
            )
        return rows


def line_id(name: str) -> str:
    """Identifier of the element that holds a line to copy."""
    return f"copy-{name.lower()}"


def _numbers(row: Array | None, unit: str) -> str:
    return UNKNOWN if row is None else ", ".join(_number(number, unit) for number in row)


def _number(value: float | None, unit: str, fewer: int = 0) -> str:
    """A number with as many digits as a person reads in the unit."""
    digits = max({"m": 4, "mm": 1, "rad": 3, "deg": 1, "N": 1, "N·m": 2}.get(unit, 4) - fewer, 0)
    if value is None or np.isnan(value):
        return UNKNOWN
    if np.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{round(float(value), digits) + 0.0:.{digits}f}"
