"""Run one node: executor, signals, and an end that leaves the robot safe."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import rclpy
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.exceptions import ParameterException
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from ...core.errors import HardwareFault, RobotControlError
from .ending import DEAF, exits_within, leave, signal_bound
from .hearing import ADVICE, Hearing, say_deaf
from .periodic import Periodic
from .transport import leave_shared_memory

PRIORITY = 20  # of SCHED_FIFO, where permitted: behind the kernel's interrupts (50), drivers and bus masters
PRIORITY_TEXT = "SCHED_FIFO priority to request, 1 to 99; 0 for none, -1 for {priority} where that is permitted."
_POLL = 0.2  # s; the events executor sees a signal at the next event or after this time
_LAST_POLL = 0.02  # s between two looks whether a node that got a signal is finished
_BEAT = 0.2  # s between two signs that Python runs
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
LEFT_WITHIN = 0.4  # s in which a deaf process leaves its robot safe
CLOSED_WITHIN = 1.1  # s, of a node's close()
DESTROYED_WITHIN = 0.5  # s in which its publishers and the like are taken back
_undestroyed: list[Any] = []  # of a deaf process: to destroy it would take for ever


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


class _Process:
    """What ends this process: a signal, a middleware that has failed, or both.

    Args:
        on_signal: Handler of SIGINT and SIGTERM.
    """

    def __init__(self, on_signal: Callable[[int, object], None]) -> None:
        leave_shared_memory()
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        for number in _SIGNALS:
            signal.signal(number, on_signal)
        signal_bound().begin()
        self._alive = Periodic(_beat, "alive")
        self._alive.start()
        self.hearing: Hearing | None = None

    @property
    def deaf(self) -> bool:
        """Whether nothing reaches this process any more."""
        return self.hearing is not None and self.hearing.deaf

    def listen(self, node: Any, on_deaf: Callable[[], object]) -> None:
        """Judge from now on whether the process hears; a node may bring its own judgement."""
        self.hearing = getattr(node, "hearing", None) or Hearing.of(node)
        name = node.get_name()

        def say() -> None:
            say_deaf(name)
            on_deaf()

        self.hearing.start(say)

    def stop(self) -> None:
        """Judge no more; a second signal would end the interpreter while it clears up."""
        if self.hearing is not None:
            self.hearing.stop()
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    def destroy(self, executor: Executor, node: Any, status: int) -> None:
        """Take back what the node has made, so that others know at once that it has gone.

        Others would count it among the living for 20 s else. It ends with the status where that takes long: the
        middleware may fail at this moment, too.
        """
        sys.stdout.flush()
        with exits_within(DESTROYED_WITHIN, status):
            if self.hearing is not None:
                self.hearing.close()
            executor.remove_node(node)
            node.destroy_node()
            rclpy.try_shutdown()
        signal_bound().end()
        self._alive.stop()


def _beat() -> float:
    signal_bound().alive()
    return _BEAT


@contextmanager
def spinning(make_node: Callable[[], Any]) -> Iterator[tuple[Any, Callable[[float], None]]]:
    """A node of a program that does more than spin: gives the node, and a function that spins for some seconds.

    SIGINT and SIGTERM become KeyboardInterrupt, one each, out of the function that spins: an exception that a signal
    throws into another call of rclpy comes out of it as another error, or leaves it half done. Where the process is
    deaf, that function raises HardwareFault, and the process ends with :data:`DEAF` where its last handler is called.
    """
    interrupted = False

    def interrupt(number: int, frame: object) -> None:
        nonlocal interrupted
        interrupted = True

    process = _Process(interrupt)
    node = make_node()
    executor = make_executor()
    executor.add_node(node)
    process.listen(node, lambda: atexit.register(leave, DEAF))

    def spin(seconds: float) -> None:
        nonlocal interrupted
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0 and not interrupted and not process.deaf:
            executor.spin_until_future_complete(Future(), timeout_sec=min(left, _POLL))
        if interrupted:
            interrupted = False  # who clears up spins on
            raise KeyboardInterrupt
        if process.deaf:
            raise HardwareFault(ADVICE)

    try:
        yield node, spin
    finally:
        process.stop()
        if process.deaf:
            _undestroyed.extend((executor, node))
        else:
            process.destroy(executor, node, DEAF)


def run(make_node: Callable[[], Any]) -> None:
    """Run a node until SIGINT or SIGTERM, however often they come; then its close() leaves the robot safe.

    The signal only ends the spinning, and not before unfinished(), where the node has it, is False; the context stays
    valid until close() has returned. A node that can't be made says why, and the exit status is 1. Where the process is
    deaf, the node's leave(), where it has one, sends what leaves the robot safe, and the exit status is :data:`DEAF`.
    """
    stop: Future = Future()

    def on_signal(number: int, frame: object) -> None:
        if not stop.done():
            stop.set_result(number)

    def on_deaf() -> None:
        if not stop.done():
            stop.set_result(None)
        with exits_within(LEFT_WITHIN, DEAF):
            threading.Event().wait()  # the node leaves meanwhile, in the main thread

    try:
        process = _Process(on_signal)
    except RuntimeError as error:  # a parameter file that can't be read
        sys.exit(f"not started: {error}")
    try:
        node = make_node()
    except (RobotControlError, ParameterException) as error:
        rclpy.try_shutdown()
        sys.exit(f"not started: {error}")
    executor = make_executor()
    executor.add_node(node)
    process.listen(node, on_deaf)
    try:
        while rclpy.ok() and not stop.done() and not getattr(node, "failed", False):
            executor.spin_until_future_complete(stop, timeout_sec=_POLL)
        while hasattr(node, "unfinished") and node.unfinished() and not process.deaf:
            executor.spin_until_future_complete(Future(), timeout_sec=_LAST_POLL)
    finally:
        if process.deaf:
            with suppress(Exception):
                getattr(node, "leave", lambda: None)()
            leave(DEAF)
        status = 1 if getattr(node, "failed", False) or sys.exc_info()[0] else 0
        with exits_within(CLOSED_WITHIN, status):
            node.close()
        process.stop()
        process.destroy(executor, node, status)
    if status:
        sys.exit(status)
