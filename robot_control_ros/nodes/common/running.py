"""Run one node: executor, signals, and an end that leaves the robot safe."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import rclpy
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.exceptions import ParameterException
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from ...core.errors import RobotControlError
from .transport import leave_shared_memory

PRIORITY = 20  # of SCHED_FIFO, where permitted: behind the kernel's interrupts (50), drivers and bus masters
PRIORITY_TEXT = "SCHED_FIFO priority to request, 1 to 99; 0 for none, -1 for {priority} where that is permitted."
_POLL = 0.2  # s; the events executor sees a signal at the next event or after this time
_LAST_POLL = 0.02  # s between two looks whether a node that got a signal is finished

# Deep enough that a node that was held up for 10 ms at 500 Hz still answers every joint state, the newest last.
STATE_QOS = QoSProfile(depth=5, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.BEST_EFFORT)
INPUT_QOS = QoSProfile(depth=1, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.BEST_EFFORT)
COMMAND_QOS = QoSProfile(depth=1, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.RELIABLE)
ACKNOWLEDGED_WITHIN = Duration(seconds=0.5)  # of a node's last message, which leaves the robot safe
LATCHED_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def steady_clock() -> Clock:
    """A clock that neither jumps nor follows simulated time."""
    return Clock(clock_type=ClockType.STEADY_TIME)


def make_executor(context: rclpy.Context | None = None) -> Executor:
    """The events executor where this ROS has it (half the latency and a third of the load), else the standard one."""
    try:
        from rclpy.experimental.events_executor import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor(context=context)
    return EventsExecutor(context=context)


def take_priority(node: Node, priority: int, permitted: int = PRIORITY) -> None:
    """Ask for SCHED_FIFO for all threads that the process has, the middleware's as well.

    Args:
        node: its log has a warning where it isn't permitted.
        priority: 1 to 99; 0 leaves the scheduling alone; -1 takes what is permitted.
        permitted: that priority.
    """
    gc.collect()
    gc.freeze()
    if priority == 0:
        return
    chosen = permitted if priority == -1 else priority
    try:
        for thread in os.listdir("/proc/self/task"):
            with suppress(ProcessLookupError):  # it has ended meanwhile
                os.sched_setscheduler(int(thread), os.SCHED_FIFO, os.sched_param(chosen))
        node.get_logger().info(f"runs with SCHED_FIFO priority {chosen}; realtime_priority:=0 switches it off")
    except (OSError, ValueError) as error:
        if priority != -1:
            node.get_logger().warning(f"realtime_priority = {priority} isn't permitted ({error}); running without it")


def _init(on_signal: Callable[[int, object], None]) -> None:
    leave_shared_memory()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)


@contextmanager
def _executing(node: Any) -> Iterator[Executor]:
    executor = make_executor()
    executor.add_node(node)
    try:
        yield executor
    finally:
        executor.remove_node(node)
        node.destroy_node()
        rclpy.try_shutdown()
        for number in (signal.SIGINT, signal.SIGTERM):  # a second one would end the interpreter while it clears up
            signal.signal(number, signal.SIG_IGN)


@contextmanager
def spinning(make_node: Callable[[], Any]) -> Iterator[tuple[Any, Callable[[float], None]]]:
    """A node of a program that does more than spin: gives the node, and a function that spins for some seconds.

    SIGINT and SIGTERM become KeyboardInterrupt, one each, out of the function that spins: an exception that a signal
    throws into another call of rclpy comes out of it as another error, or leaves it half done.
    """
    interrupted = False

    def interrupt(number: int, frame: object) -> None:
        nonlocal interrupted
        interrupted = True

    _init(interrupt)
    node = make_node()
    with _executing(node) as executor:

        def spin(seconds: float) -> None:
            nonlocal interrupted
            end = time.monotonic() + seconds
            while (left := end - time.monotonic()) > 0.0 and not interrupted:
                executor.spin_until_future_complete(Future(), timeout_sec=min(left, _POLL))
            if interrupted:
                interrupted = False  # who clears up spins on
                raise KeyboardInterrupt

        yield node, spin


def run(make_node: Callable[[], Any]) -> None:
    """Run a node until SIGINT or SIGTERM, however often they come; then its close() leaves the robot safe.

    The signal only ends the spinning, and not before unfinished(), where the node has it, is False; the context stays
    valid until close() has returned. A node that can't be made says why, and the exit status is 1.
    """
    stop: Future = Future()

    def on_signal(number: int, frame: object) -> None:
        if not stop.done():
            stop.set_result(number)

    try:
        _init(on_signal)
    except RuntimeError as error:  # a parameter file that can't be read
        sys.exit(f"not started: {error}")
    try:
        node = make_node()
    except (RobotControlError, ParameterException) as error:
        rclpy.try_shutdown()
        sys.exit(f"not started: {error}")
    with _executing(node) as executor:
        try:
            while rclpy.ok() and not stop.done() and not getattr(node, "failed", False):
                executor.spin_until_future_complete(stop, timeout_sec=_POLL)
            while hasattr(node, "unfinished") and node.unfinished():
                executor.spin_until_future_complete(Future(), timeout_sec=_LAST_POLL)
        finally:
            node.close()
    if getattr(node, "failed", False):
        sys.exit(1)
