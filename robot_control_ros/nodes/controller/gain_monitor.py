"""Which gains the arm bears at its posture: computed in a thread of its own, beside the control cycles."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from ...control.controller import Controller
from ...control.gain_report import GainReport, gain_report

MOVED = 0.1  # rad, of any joint, after which the bounds are computed anew


class GainMonitor:
    """The bounds of the running law's gains, anew after each change of a gain or payload, and where the arm has moved.

    Eigenvalues are computed without Python's lock, so that control cycles go on meanwhile.

    Args:
        loop: whose law it is.

    Attributes:
        report: the last one.
    """

    def __init__(self, loop: Controller) -> None:
        self._loop = loop
        self._worker = ThreadPoolExecutor(1, "gain bounds")
        self._pending: Future[GainReport] | None = None
        self._reported_for: tuple[object, object, float] | None = None  # gains, payload and wall
        self._posture = np.full(loop.robot.n, np.inf)
        self.report = GainReport({}, "")

    def look(self) -> str:
        """Begin or end a computation, without waiting; returns a warning that is new, else an empty text."""
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
                assert kin.mass.size  # computed here, because the model is not the thread's
                self._pending = self._worker.submit(gain_report, self._loop.running, kin, self._load(), None, wall)
        return self.report.warning if self.report.warning != before else ""

    def _load(self) -> float:
        """Mass [kg] beyond the sensor that its wrench shows."""
        settings = self._loop.wrench.settings.target
        shown = settings.source == "sensor" and settings.payload_in_wrench
        return self._loop.model.body_beyond(self._loop.robot.wrench_frame).mass if shown else 0.0

    def values(self) -> dict[str, str]:
        """For /diagnostics: the bounds by gain."""
        return {f"bound of {name}": text for name, text in self.report.bounds.items()}

    def close(self) -> None:
        """Take no further work."""
        self._worker.shutdown(wait=False, cancel_futures=True)
