"""Bounds of the gains at the arm's posture, computed in a thread of their own."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from ...control.controller import Controller
from ...control.gain_report import GainReport, gain_report

MOVED = 0.1  # rad, of any joint, after which the bounds are computed anew


class GainMonitor:
    """Keeps the bounds of the running law's gains up to date.

    They are computed again after a change of a gain, the payload or the body stiffness of contacts.
    A joint that has moved by more than 0.1 rad is a reason, too. Eigenvalues are computed without
    Python's lock, so that control cycles go on meanwhile.

    Args:
        loop: Control loop whose running law is examined.

    Attributes:
        report: Result of the last computation; empty before the first.
    """

    def __init__(self, loop: Controller) -> None:
        self._loop = loop
        self._worker = ThreadPoolExecutor(1, "gain bounds")
        self._pending: Future[GainReport] | None = None
        self._reported_for: tuple[object, object, float] | None = None  # gains, payload and wall
        self._posture = np.full(loop.robot.n, np.inf)
        self.report = GainReport({}, "")

    def look(self) -> str:
        """Begin or end a computation, without waiting; returns a warning that is new,
        else an empty text.
        """
        before = self.report.warning
        pending = self._pending
        kin = self._loop.kin
        if pending is not None and pending.done():
            self.report = pending.result()
            self._pending = None
        if self._pending is None and kin is not None:
            wall = self._loop.contact.settings.target.body_stiffness
            reported_for = self._loop.running.gains.target, self._loop.model.payload, wall
            if reported_for != self._reported_for or np.abs(kin.q - self._posture).max() > MOVED:
                self._reported_for = reported_for
                self._posture = kin.q
                assert kin.mass.size  # computes the mass matrix: the thread may not use the model
                self._pending = self._worker.submit(
                    gain_report, self._loop.running, kin, self._load(), None, wall
                )
        return self.report.warning if self.report.warning != before else ""

    def _load(self) -> float:
        """Mass beyond the sensor whose weight is in the sensor's wrench [kg]."""
        settings = self._loop.wrench.settings.target
        shown = settings.source == "sensor" and settings.payload_in_wrench
        return self._loop.model.body_beyond(self._loop.robot.wrench_frame).mass if shown else 0.0

    def values(self) -> dict[str, str]:
        """Bounds of the gains by name, as values for /diagnostics."""
        return {f"bound of {name}": text for name, text in self.report.bounds.items()}

    def close(self) -> None:
        """End the thread; what it still has to compute is dropped."""
        self._worker.shutdown(wait=False, cancel_futures=True)
