"""How the control loop runs, as /diagnostics."""

from __future__ import annotations

import time

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from ...control.controller import Controller

RECENT = 2.0  # s during which a refusal or a start anew shows
_COUNTERS = {"cycles": "cycles", "repeated": "repeated stamps", "missed": "missed deadlines"}


class LoopMonitor:
    """Rate, latency, missed deadlines and the last refusal of one loop.

    Rates are per second of the clock in force: in simulated time that of the stamps, or a slow simulation would seem to
    be a slow controller.

    Two latencies: the response, from the arrival of a joint state to its command being sent; and, where stamps are wall
    time, the age of the state when its command was sent, which is right where sender and controller share a clock.
    (The middleware's own time stamps would tell more, but the events executor of ROS 2 Kilted can't deliver them.)
    """

    SIZE = 2000
    MAX_AGE = 60.0  # s; beyond it the stamps are of another clock

    def __init__(self, loop: Controller, simulated: bool) -> None:
        self._loop, self._simulated, self._rest_reason = loop, simulated, ""
        self._responses, self._ages = np.zeros(self.SIZE), np.zeros(self.SIZE)
        self.restart()

    def restart(self) -> None:
        """Begin counting anew."""
        self._cycles = 0
        self._counted, self._since = 0, time.monotonic()
        self._stamp: float | None = None
        self._stamp_since: float | None = None
        self._refusal, self._refused_at, self._refusals = "", -np.inf, 0
        self._restart, self._restarted_at = "", -np.inf

    def cycle(self, response: float, stamp: float) -> None:
        """One cycle is done: time since the joint state's arrival, and its stamp [s]."""
        at = self._cycles % self.SIZE
        self._responses[at], self._ages[at] = response, time.time() - stamp
        self._stamp = stamp
        self._cycles += 1

    def refused(self, error: Exception) -> None:
        """Something was refused."""
        self._refusal, self._refused_at = str(error), time.monotonic()
        self._refusals += 1

    def rests(self, reason: str) -> None:
        """The law rests for a reason; empty where it doesn't."""
        self._rest_reason = reason

    def restarted(self, reason: str) -> None:
        """The loop has started anew."""
        self._restart, self._restarted_at = reason, time.monotonic()

    def message(self, node: Node) -> DiagnosticArray:
        """The present diagnosis; rates are those since the last call."""
        now = time.monotonic()
        passed, speed = self._passed(now)
        rate = (self._cycles - self._counted) / passed
        self._counted, self._since, self._stamp_since = self._cycles, now, self._stamp
        level, text = self._judge(rate, now)
        status = DiagnosticStatus(level=level, name=f"{node.get_name()}: control loop", message=text)
        status.hardware_id = self._loop.robot.name
        status.values = [KeyValue(key=key, value=value) for key, value in self._values(rate, speed).items()]
        array = DiagnosticArray(status=[status])
        array.header.stamp = node.get_clock().now().to_msg()
        return array

    def _passed(self, now: float) -> tuple[float, float]:
        """Time since the last message, by the clock in force [s], and how fast that clock goes."""
        wall = max(now - self._since, 1e-9)
        if not self._simulated or self._stamp is None or self._stamp_since is None:
            return wall, 1.0
        simulated = self._stamp - self._stamp_since
        return (simulated, simulated / wall) if simulated > 0.0 else (wall, 0.0)

    def _judge(self, rate: float, now: float) -> tuple[bytes, str]:
        nominal = self._loop.robot.profile.rate
        if now - self._refused_at < RECENT:
            return DiagnosticStatus.ERROR, self._refusal
        if now - self._restarted_at < RECENT:
            return DiagnosticStatus.WARN, self._restart
        if rate == 0.0:
            return DiagnosticStatus.WARN, "no joint states"
        if self._rest_reason:
            return DiagnosticStatus.WARN, f"the law rests: {self._rest_reason}"
        if rate < 0.9 * nominal:
            return DiagnosticStatus.WARN, f"{rate:.0f} Hz where {nominal:.0f} Hz are nominal"
        return DiagnosticStatus.OK, "running"

    def _values(self, rate: float, speed: float) -> dict[str, str]:
        values = {"law": self._loop.running.name, "rate [Hz]": f"{rate:.1f}", "refusals": str(self._refusals)}
        if self._simulated:
            values["real time factor"] = f"{speed:.2f}"
        values["restarts"] = str(self._loop.restarts)
        if self._loop.restart_reason:
            values["last restart"] = self._loop.restart_reason
        values["wrench"] = self._loop.wrench.reason or "fresh"
        if self._refusal:
            values["last refusal"] = self._refusal
        filled = min(self._cycles, self.SIZE)
        for name, ring in (("response", self._responses), ("state age", self._ages)):
            if filled and abs(ring[filled - 1]) < self.MAX_AGE:
                p50, p99 = np.percentile(ring[:filled], (50, 99))
                values[f"{name} p50 [us]"], values[f"{name} p99 [us]"] = f"{p50 * 1e6:.0f}", f"{p99 * 1e6:.0f}"
        for name, value in self._loop.timing().items():
            label = _COUNTERS.get(name)
            values[label or f"{name} [us]"] = f"{value if label else value * 1e6:.0f}"
        return values
