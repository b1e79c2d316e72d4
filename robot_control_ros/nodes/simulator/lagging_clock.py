"""Stamps as ros2_control gives them in simulated time."""

from __future__ import annotations

import math

import numpy as np


class LaggingClock:
    """Stamps each sample with the time of /clock that was heard last, not with its own.

    ros2_control does so from Jazzy on (``trigger_update(this->now(), …)`` in
    controller_manager.cpp). A stamp is late by a part of a period then, and some samples carry the
    stamp of the one before. Here stamps are late by up to half a period, and no two samples in a
    row are repeats: steps are from 0 to 2.5 periods.

    Args:
        period: Period of the samples [s].
        repeats: Fraction of samples that repeat a stamp, from 0 to 0.5; 0 stamps each with its own
            time.
    """

    def __init__(self, period: float, repeats: float) -> None:
        self._lag = 0.5 * period
        self._repeats = repeats
        self._random = np.random.default_rng(1)
        self._last = -math.inf
        self._repeated = False

    def stamp(self, time: float) -> float:
        """Stamp [s] of a sample that was taken at `time` [s]; a time that goes back begins anew."""
        if self._repeats == 0.0:
            return time
        if time < self._last:
            self._last = -math.inf
            self._repeated = False
        fresh, lag = self._random.uniform(size=2)
        # of the samples that may repeat, those after one that didn't
        self._repeated = (
            not self._repeated
            and self._last > -math.inf
            and fresh < self._repeats / (1.0 - self._repeats)
        )
        if not self._repeated:
            self._last = max(self._last, time - lag * self._lag)
        return self._last
