"""Sweeps over a grid and searches for gains: on one core, on many, and on many machines.

sweep       a function at each point of a grid
tune        a search for the parameters that make values best
Range       what a parameter may be
Goal        what an objective's value should be
TrialOutcome     what a trial gives, where numbers alone don't say it
Tuned       the trials: a table, the Pareto front, the best one
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..core.errors import missing_extra

if TYPE_CHECKING:
    from .grid import Point, Sweep, sweep
    from .proposals import Range
    from .results import Goal, TrialOutcome, TrialRow, Tuned
    from .search import SearchProgress, tune

_PLACES = {
    "Goal": ".results",
    "TrialOutcome": ".results",
    "Point": ".grid",
    "SearchProgress": ".search",
    "Range": ".proposals",
    "Sweep": ".grid",
    "TrialRow": ".results",
    "Tuned": ".results",
    "sweep": ".grid",
    "tune": ".search",
}

__all__ = [
    "Goal",
    "Point",
    "Range",
    "SearchProgress",
    "Sweep",
    "TrialOutcome",
    "TrialRow",
    "Tuned",
    "sweep",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_PLACES[name], __name__), name)
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] == "optuna":
            raise missing_extra(name, "optuna", "tuning") from error
        raise
