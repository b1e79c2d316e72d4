"""What the bus's process says of itself and its drives, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..supervisor import Action
from .pacing import Timing
from .protocol import BusStatus

FINE = 0
WARNING = 1
ERROR = 2


class BusDiagnosis(NamedTuple):
    """Diagnosis of the bus, or of a drive, as a diagnostic_msgs/DiagnosticStatus has it.

    Attributes:
        name: ``bus``, or the name of the drive's joint.
        level: FINE, WARNING or ERROR.
        message: What it does, or what is wrong.
        values: Texts by name.
    """

    name: str
    level: int
    message: str
    values: dict[str, str]


def diagnose(report: Mapping[str, Any], status: BusStatus, timing: Timing) -> list[BusDiagnosis]:
    """Diagnosis of the bus, then of each drive.

    Args:
        report: Report of the bus's process, see :meth:`~..driver.Driver.describe`.
        status: Status of the last cycle.
        timing: Record of how the cycles were kept.
    """
    return [_bus(report, status, timing), *_drives(report, status)]


def _bus(report: Mapping[str, Any], status: BusStatus, timing: Timing) -> BusDiagnosis:
    values = {
        **status.counters,
        **report["facts"],
        "cycles": status.cycle,
        "cycles left out": status.overruns,
        "on time [%]": f"{100.0 * timing.on_time:.3f}",
        "commanded by": "a loop in the bus's process" if status.in_process else "topics",
    }
    for name, (p50, p99) in timing.by_column().items():
        values[f"{name} p50 [us]"] = f"{p50 * 1e6:.0f}"
        values[f"{name} p99 [us]"] = f"{p99 * 1e6:.0f}"
    level = FINE if status.action is Action.RUN else WARNING
    return BusDiagnosis(
        "bus", ERROR if report["stopped"] else level, report["message"], _texts(values)
    )


def _drives(report: Mapping[str, Any], status: BusStatus) -> list[BusDiagnosis]:
    diagnoses = []
    for drive, position in zip(report["drives"], status.state.q.tolist(), strict=True):
        problem = drive["failure"] or drive["error"]
        values = {
            "state": drive["state"],
            "error code": drive["error"] or "none",
            "position [rad]": position,
            **drive["values"],
        }
        level = ERROR if problem else FINE
        diagnoses.append(
            BusDiagnosis(drive["joint"], level, problem or drive["state"], _texts(values))
        )
    return diagnoses


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: f"{value:.5f}" if isinstance(value, float) else str(value)
        for name, value in values.items()
    }
