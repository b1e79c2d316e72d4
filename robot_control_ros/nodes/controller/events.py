"""What the controller reports of its loop: refusals, faults, starts anew."""

from __future__ import annotations

import math

from rclpy.node import Node

from ...control.controller import Controller
from ...core.errors import ConfigError
from .diagnostics import LoopMonitor

FAULT_PERIOD = 10.0  # s between two lines of the log on a fault that lasts


class LoopEvents:
    """Reports to the log and to the diagnostics.

    Args:
        node: whose log is used.
        loop: that is reported on.
        monitor: of the diagnostics.
    """

    def __init__(self, node: Node, loop: Controller, monitor: LoopMonitor) -> None:
        self._log, self._loop, self._monitor = node.get_logger(), loop, monitor
        self._fault_at, self._restarts, self._rest_reason = -math.inf, 0, ""

    def refuse(self, error: Exception) -> None:
        """Report what was refused."""
        self._monitor.refused(error)
        self._log.error(str(error), throttle_duration_sec=1.0)

    def rests(self, reason: str, active: bool) -> None:
        """Report why the law rests, empty where it doesn't; to the log while the controller is `active`."""
        self._monitor.rests(reason)
        if not active or reason == self._rest_reason:
            return
        self._rest_reason, law = reason, f"law {self._loop.running.name}"
        if reason:
            self._log.warning(f"{law} rests: {reason}")
        else:
            self._log.info(f"{law} begins where the robot is: its commands are executed")

    def cycle(self, now: float) -> None:
        """After a cycle: report a fault at its begin, from time to time, and its end; each start anew.

        Args:
            now: by the steady clock [s].
        """
        loop = self._loop
        if loop.fault:
            self._monitor.refused(ConfigError(loop.fault))
            if now - self._fault_at > FAULT_PERIOD:
                self._fault_at = now
                self._log.error(loop.fault)
        elif self._fault_at > -math.inf:
            self._fault_at = -math.inf
            self._log.info(f"law {loop.running.name} controls the robot again")
        if loop.restarts != self._restarts:
            self._restarts = loop.restarts
            self._monitor.restarted(loop.restart_reason)
            self._log.warning(loop.restart_reason, throttle_duration_sec=1.0)
