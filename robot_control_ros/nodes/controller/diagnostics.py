"""Report on the control loop: rates, refusals, faults and restarts, in the log and /diagnostics."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from ...control.controller import Controller
from ...control.cycle_times import TimeRing
from ...control.impact import Blow, driven_speed, expected_blow
from ...core.types import CommandMode
from ...laws.softening import describe_softening
from ...ros.entities import full_name

FAULT_PERIOD = 10.0  # s between two lines of the log on a fault that lasts
MAX_AGE = 60.0  # s; beyond it the stamps are of another clock
RECENT = 2.0  # s during which a refusal or a restart shows
RING_SIZE = 2000  # cycles whose latencies are kept
SHORTEST_WINDOW = 0.75  # s; over a shorter one a rate says little
TOO_OFTEN = 1.5  # times the nominal rate, from which on joint states come too often
_COUNTERS = {"cycles": "cycles", "repeated": "repeated stamps", "missed": "missed deadlines"}


class LoopMonitor:
    """Reports on one loop: its rate, latency, missed deadlines, and its last refusal.

    In simulated time rates are per second of the stamps, else per second of the steady clock.
    Otherwise a slow simulation would look like a slow controller.

    There are two latencies. The response is the time from the arrival of a joint state until its
    command is sent. The state age is the age of the joint state by its stamp when the command is
    sent. It is only right where stamps are wall time, and sender and controller share a clock.
    (The middleware's own time stamps would show more, but the events executor of ROS 2 Kilted can't
    deliver them.)

    Attributes:
        senders: Names of the nodes that publish joint states, where there are several; else empty.
    """

    def __init__(self, node: Node, loop: Controller, simulated: bool) -> None:
        self._node = node
        self._log = node.get_logger()
        self._loop = loop
        self._simulated = simulated
        self._fault_at = -math.inf
        self._restarts = 0
        self._rest_reason = ""
        self._logged_rest = ""
        self.senders = ""
        self.restart()

    def restart(self) -> None:
        """Begin counting anew."""
        self._latencies = TimeRing(2, RING_SIZE)  # response, and age of the state
        self._counted = 0  # joint states until the last diagnosis
        self._repeated = 0  # joint states since the last diagnosis that repeat a stamp
        self._since = time.monotonic()
        self._stamp: float | None = None
        self._stamp_since: float | None = None
        self._refusal = ""
        self._refused_at = -math.inf
        self._refusals = 0
        self._restart = ""
        self._restarted_at = -math.inf
        self._rates: tuple[float, float, float] | None = None  # see _measure
        self._late_count = self._loop.late_samples  # as the last diagnosis had it
        self._late = ""
        self._late_at = -math.inf

    def begins_late(self) -> bool:
        """Return True where joint states come late now, and the last diagnosis doesn't say so."""
        return (
            self._loop.late_samples > self._late_count and time.monotonic() - self._late_at > RECENT
        )

    def refuse(self, error: Exception) -> None:
        """Report a refused message or request, in the log and in the next diagnosis."""
        self._refused(str(error))
        self._log.error(str(error), throttle_duration_sec=1.0)

    def cycle(self, arrived: float, stamp: float) -> None:
        """Count a cycle that has just ended, and log faults and restarts.

        A fault is logged when it begins, every 10 s while it lasts, and when it ends.

        Args:
            arrived: Time when the joint state came, by the steady clock [s].
            stamp: Stamp of the joint state [s].
        """
        self._latencies.add(time.monotonic() - arrived, time.time() - stamp)
        self._stamp = stamp
        loop = self._loop
        self._repeated += loop.repeats > 0
        if loop.fault:
            self._refused(loop.fault)
            if arrived - self._fault_at > FAULT_PERIOD:
                self._fault_at = arrived
                self._log.error(loop.fault)
        elif self._fault_at > -math.inf:
            self._fault_at = -math.inf
            self._log.info(f"law {loop.running.name} controls the robot again")
        if loop.restarts != self._restarts:
            self._restarts = loop.restarts
            self._restart = loop.restart_reason
            self._restarted_at = time.monotonic()
            self._log.warning(loop.restart_reason, throttle_duration_sec=1.0)

    def rests(self, reason: str, active: bool, begun: bool) -> None:
        """Take the reason why the law rests, and log each new one.

        Args:
            reason: Reason; empty where the law commands.
            active: True while the controller is active: else nothing is logged.
            begun: True where the law had commanded before. A rest is a warning then. At a start it
                is no warning: the forward controller is activated last.
        """
        self._rest_reason = reason
        if not active or reason == self._logged_rest:
            return
        self._logged_rest = reason
        law = f"law {self._loop.running.name}"
        if reason and begun:
            self._log.warning(f"{law} rests: {reason}")
        elif reason:  # rclpy takes one severity from one call
            self._log.info(f"{law} rests: {reason}")
        else:
            self._log.info(f"{law} begins where the robot is: its commands are executed")

    def message(
        self, more: Mapping[str, str], warning: str, inactive: str, watchdog: str = ""
    ) -> DiagnosticArray:
        """The present diagnosis; rates are those since the last call.

        Args:
            more: Further values by name; empty ones are left out.
            warning: Warning of the gains, told where nothing is worse; or empty.
            inactive: Reason why the controller commands nothing; empty while it is active.
            watchdog: Text that says that the watchdog has gone; empty while it hasn't.
        """
        now = time.monotonic()
        if self._rates is None or now - self._since >= SHORTEST_WINDOW:
            self._rates = self._measure(now)
        rate, repeated, speed = self._rates
        self._look_for_late(now)
        level, text = self._judge(
            rate, self._too_often(rate, repeated), now, warning, inactive, watchdog
        )
        status = DiagnosticStatus(
            level=level, name=f"{full_name(self._node)}: control loop", message=text
        )
        status.hardware_id = self._loop.robot.name
        values = self._values(rate, speed) | {key: value for key, value in more.items() if value}
        status.values = [KeyValue(key=key, value=value) for key, value in values.items()]
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        return array

    def _refused(self, message: str) -> None:
        self._refusal = message
        self._refused_at = time.monotonic()
        self._refusals += 1

    def _measure(self, now: float) -> tuple[float, float, float]:
        """Rates of joint states and of repeated stamps since the last call [Hz], and clock speed.

        The speed is simulated time over real time; 1 without simulated time.
        """
        passed, speed = self._passed(now)
        rate = (self._latencies.count - self._counted) / passed
        repeated = self._repeated / passed
        self._repeated = 0
        self._counted = self._latencies.count
        self._since = now
        self._stamp_since = self._stamp
        return rate, repeated, speed

    def _look_for_late(self, now: float) -> None:
        """Report joint states that were dropped since the last diagnosis."""
        new = self._loop.late_samples - self._late_count
        self._late_count = self._loop.late_samples
        if new <= 0:
            return
        publishers = f"; they come from {self.senders}" if self.senders else ""
        self._late_at = now
        self._late = (
            f"of the joint states since the last report {new} came after a newer one and were dropped: "
            f"is there a second publisher, or a relay?{publishers}"
        )
        self._log.warning(self._late, throttle_duration_sec=FAULT_PERIOD)

    def _passed(self, now: float) -> tuple[float, float]:
        """Time since the last measurement [s], and the speed of the clock that it is measured by.

        In simulated time the stamps are that clock, and the speed is simulated over real time.
        """
        wall = max(now - self._since, 1e-9)
        if not self._simulated or self._stamp is None or self._stamp_since is None:
            return wall, 1.0
        simulated = self._stamp - self._stamp_since
        return (simulated, simulated / wall) if simulated > 0.0 else (wall, 0.0)

    def _too_often(self, rate: float, repeated: float) -> str:
        """Text that says that joint states come too often; empty where they don't.

        `rate` is that of all joint states [Hz], `repeated` that of repeated stamps among them [Hz].
        In simulated time these don't count: ros2_control repeats stamps where a simulation is slow.
        """
        nominal = self._loop.robot.profile.rate
        if self._simulated:
            rate = rate - repeated
            repeated = 0.0
        if rate <= TOO_OFTEN * nominal:
            return ""
        text = f"joint states come at {rate:.0f} Hz where {nominal:.0f} Hz are nominal"
        if repeated > 0.25 * rate:
            publishers = f" ({self.senders})" if self.senders else ""
            stamps = f"{repeated / rate:.0%} of them with the stamp of the one before"
            return f"{text}, {stamps}: do two nodes publish them?{publishers}"
        return f"{text}: set the parameter rate, or let the driver publish them less often"

    def _judge(
        self, rate: float, too_often: str, now: float, warning: str, inactive: str, watchdog: str
    ) -> tuple[bytes, str]:
        nominal = self._loop.robot.profile.rate
        if now - self._refused_at < RECENT:
            return DiagnosticStatus.ERROR, "; ".join(filter(None, (too_often, self._refusal)))
        if watchdog:
            return DiagnosticStatus.ERROR, watchdog
        if now - self._restarted_at < RECENT:
            return DiagnosticStatus.WARN, self._restart
        if inactive:
            return DiagnosticStatus.WARN, inactive
        if rate == 0.0:
            return DiagnosticStatus.WARN, "no joint states"
        if self._rest_reason:
            return DiagnosticStatus.WARN, f"the law rests: {self._rest_reason}"
        if now - self._late_at < RECENT:
            return DiagnosticStatus.WARN, self._late
        if too_often:  # a controller that can't keep up sees them late
            return DiagnosticStatus.WARN, too_often
        if warning := self._loop.warning or warning:
            return DiagnosticStatus.WARN, warning
        if rate < 0.9 * nominal:
            return DiagnosticStatus.WARN, f"{rate:.0f} Hz where {nominal:.0f} Hz are nominal"
        return DiagnosticStatus.OK, "running"

    def _values(self, rate: float, speed: float) -> dict[str, str]:
        values = {
            "profile": self._loop.robot.profile_name,
            "law": self._loop.running.name,
            "rate [Hz]": f"{rate:.1f}",
            "refusals": str(self._refusals),
        }
        if self._simulated:
            values["real time factor"] = f"{speed:.2f}"
        values["restarts"] = str(self._loop.restarts)
        if self._loop.restart_reason:
            values["last restart"] = self._loop.restart_reason
        values["late joint states"] = str(self._loop.late_samples)
        if self.senders:
            values["joint states from"] = self.senders
        values["wrench"] = self._loop.wrench.reason or "fresh"
        if self._loop.state is not None:
            values |= _margins(self._loop)
        if self._refusal:
            values["last refusal"] = self._refusal
        if self._latencies.count:
            newest = self._latencies.samples()[:, (self._latencies.count - 1) % RING_SIZE]
            percentiles = self._latencies.percentiles((50.0, 99.0))
            for name, last, (p50, p99) in zip(
                ("response", "state age"), newest, percentiles, strict=True
            ):
                if abs(last) < MAX_AGE:
                    values[f"{name} p50 [us]"] = f"{p50 * 1e6:.0f}"
                    values[f"{name} p99 [us]"] = f"{p99 * 1e6:.0f}"
        for name, value in self._loop.timing().items():
            label = _COUNTERS.get(name)
            values[label or f"{name} [us]"] = f"{value if label else value * 1e6:.0f}"
        return values


def _margins(loop: Controller) -> dict[str, str]:
    """Values for /diagnostics: margins of spring and ringing, softening, blow, age of the zero."""
    report = loop.report()
    values = {"ringing margin": f"{report.ringing_margin:.0%}"}
    if loop.running.needs_wrench:
        never = math.isnan(report.since_zero)
        values["wrench zeroed"] = "never" if never else f"{report.since_zero:.0f} s ago"
    if report.spring_load > 0.0:
        values["spring load"] = f"{report.spring_load:.0%}"
    if report.ringing_scale < 1.0:
        values["softened by ringing"] = describe_softening(
            loop.running.gains.target, report.ringing_scale
        )
    blow = _blow(loop)
    if blow is not None:
        values["blow"] = str(blow)
    return values


def _blow(loop: Controller) -> Blow | None:
    """The blow that a collision would give at the present posture; None where none is bounded."""
    settings = loop.contact.settings.target
    if loop.kin is None or settings.max_impact <= 0.0:
        return None
    speed = min(loop.robot.tip_speed[0], loop.limits.target.max_tip_speed)
    if loop.running.mode is CommandMode.EFFORT:
        return expected_blow(settings, loop.kin, speed)
    most = driven_speed(loop.robot, settings, loop.wrench.settings.target.source == "sensor")
    return expected_blow(
        settings, loop.kin, speed, getattr(loop.running.gains.target, "mass", None), most
    )
