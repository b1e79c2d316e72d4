"""Trials of gains: by two of Dask's workers beside one, in turns; and what store and
engine add to a trial.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from robot_control_ros.core.errors import HardwareFault
from robot_control_ros.tuning.gain_study import GainStudy

STUDY = GainStudy("ur5", "impedance", "track,contact")
TRIALS = 8  # in a turn
TURNS = 3  # the median counts
WORKERS = (1, 2)


def tuning_rows() -> dict[str, Any]:
    """Trials in a minute of one worker and of two, and the share of a trial's time
    that isn't computing.
    """
    with tempfile.TemporaryDirectory() as folder:
        overheads = {
            "in memory, here": _overhead(lambda turn: {}),
            "journal, here": _overhead(
                lambda turn: {"storage": f"journal://{Path(folder) / f'{turn}.journal'}"}
            ),
            "journal, a process": _overhead(
                lambda turn: {
                    "storage": f"journal://{Path(folder) / f'process{turn}.journal'}",
                    "workers": 1,
                }
            ),
        }
    return {"workers": _dask_workers(), "overhead": overheads}


def print_tuning(rows: Mapping[str, Any]) -> None:
    """A line for each."""
    found = rows["workers"]
    one, two = (found[f"{count}_in_a_minute"] for count in WORKERS)
    print(
        f"trials of {STUDY.objective} on {STUDY.arms} arms in a minute, by Dask's workers: one {one:.1f}, two {two:.1f}"
    )
    print(f"  ratio {found['ratio']:.2f}")
    for name, row in rows["overhead"].items():
        print(
            f"{name}: {row['seconds']:.2f} s a trial, {100.0 * row['share']:.1f} % of it overhead"
        )


def _dask_workers() -> dict[str, float]:
    clusters = [_cluster(count) for count in WORKERS]
    try:
        addresses = [str(each.scheduler_address) for each in clusters]
        times = np.empty((TURNS + 1, len(WORKERS)))
        for turn in times:
            for column, address in enumerate(addresses):
                turn[column] = _wall_time(scheduler=address)[0]
    finally:
        for each in clusters:
            each.close()
    taken = times[1:]  # before, each has loaded what it needs
    return {
        "1_in_a_minute": 60.0 * TRIALS / float(np.median(taken[:, 0])),
        "2_in_a_minute": 60.0 * TRIALS / float(np.median(taken[:, 1])),
        "ratio": float(np.median(taken[:, 0] / taken[:, 1])),
    }


def _cluster(count: int) -> Any:
    distributed: Any = import_module("distributed")
    make = distributed.LocalCluster
    return make(n_workers=count, threads_per_worker=1, dashboard_address=":0", memory_limit=0)


def _overhead(settings: Callable[[int], Mapping[str, Any]]) -> dict[str, float]:
    """Seconds of a trial, all in all, and the share of it that isn't the objective's."""
    walls = np.empty(TURNS + 1)
    shares = np.empty(TURNS + 1)
    for turn in range(TURNS + 1):
        walls[turn], computing = _wall_time(**settings(turn))
        shares[turn] = 1.0 - computing / walls[turn]
    return {"seconds": float(np.median(walls[1:])) / TRIALS, "share": float(np.median(shares[1:]))}


def _wall_time(**settings: Any) -> tuple[float, float]:
    """Seconds of all trials, without the start of the engine; and those of computing them."""
    ends: list[float] = []
    tuned = STUDY.run(
        TRIALS, progress=lambda progress: ends.append(time.perf_counter()), **settings
    )
    if any(row.failed for row in tuned.rows):
        raise HardwareFault("a trial failed", name="trials")
    return ends[-1] - ends[0], sum(row.seconds for row in tuned.rows)
