"""How the control loop runs, as /diagnostics."""

from __future__ import annotations

import time

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from ..loop import ControlLoop

RECENT = 2.0  # s during which a refusal shows as a warning


class LoopMonitor:
    """Rate, latency, missed deadlines and the last refusal of one loop.

    Two latencies: the response, from the arrival of a joint state to its command being sent; and, where stamps are wall
    time, the age of the state when its command was sent, which is right where sender and controller share a clock.
    (The middleware's own time stamps would tell more, but the events executor of ROS 2 Kilted can't deliver them.)
    """

    SIZE = 2000
    LONGEST_AGE = 60.0  # s; beyond it the stamps are of another clock

    def __init__(self, loop: ControlLoop) -> None:
        self._loop = loop
        self._responses, self._ages = np.zeros(self.SIZE), np.zeros(self.SIZE)
        self.restart()

    def restart(self) -> None:
        """Begin counting anew."""
        self._cycles = 0
        self._counted, self._since = 0, time.monotonic()
        self._refusal, self._refused_at, self._refusals = "", -np.inf, 0

    def cycle(self, response: float, age: float) -> None:
        """One cycle is done: time since the joint state's arrival and since its stamp, by the wall clock [s]."""
        at = self._cycles % self.SIZE
        self._responses[at], self._ages[at] = response, age
        self._cycles += 1

    def refused(self, error: Exception) -> None:
        """Something was refused."""
        self._refusal, self._refused_at = str(error), time.monotonic()
        self._refusals += 1

    def message(self, node: Node) -> DiagnosticArray:
        """The present diagnosis; the rate is that since the last call."""
        now = time.monotonic()
        rate = (self._cycles - self._counted) / max(now - self._since, 1e-9)
        self._counted, self._since = self._cycles, now
        level, text = self._judge(rate, now)
        status = DiagnosticStatus(level=level, name=f"{node.get_name()}: control loop", message=text)
        status.hardware_id = self._loop.robot.name
        status.values = [KeyValue(key=key, value=value) for key, value in self._values(rate).items()]
        array = DiagnosticArray(status=[status])
        array.header.stamp = node.get_clock().now().to_msg()
        return array

    def _judge(self, rate: float, now: float) -> tuple[bytes, str]:
        nominal = self._loop.robot.profile.rate
        if now - self._refused_at < RECENT:
            return DiagnosticStatus.ERROR, self._refusal
        if rate == 0.0:
            return DiagnosticStatus.WARN, "no joint states"
        if rate < 0.9 * nominal:
            return DiagnosticStatus.WARN, f"{rate:.0f} Hz where {nominal:.0f} Hz are nominal"
        return DiagnosticStatus.OK, "running"

    def _values(self, rate: float) -> dict[str, str]:
        values = {"law": self._loop.law_name, "rate [Hz]": f"{rate:.1f}", "refusals": str(self._refusals)}
        values["wrench"] = self._loop.wrench_reason or "fresh"
        if self._refusal:
            values["last refusal"] = self._refusal
        filled = min(self._cycles, self.SIZE)
        for name, ring in (("response", self._responses), ("state age", self._ages)):
            if filled and abs(ring[filled - 1]) < self.LONGEST_AGE:
                p50, p99 = np.percentile(ring[:filled], (50, 99))
                values[f"{name} p50 [us]"], values[f"{name} p99 [us]"] = f"{p50 * 1e6:.0f}", f"{p99 * 1e6:.0f}"
        for name, value in self._loop.timing().items():
            timed = name not in ("cycles", "missed")
            label = f"{name} [us]" if timed else "missed deadlines" if name == "missed" else name
            values[label] = f"{value * 1e6:.0f}" if timed else f"{value:.0f}"
        return values
