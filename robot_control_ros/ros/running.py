"""Run one node: executor, signals, and an end that leaves the robot safe."""

from __future__ import annotations

import atexit
import gc
import math
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import rclpy
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.exceptions import ParameterException
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from ..core.errors import HardwareFault, RobotControlError
from ..core.timeout import Timeout
from .ending import DEAF, FAULT, exit_after, exits_within, leave, signal_bound
from .hearing import ADVICE, Hearing, say_deaf
from .periodic import Periodic, complaints
from .ros_params import check_given_parameters
from .transport import leave_shared_memory

PRIORITY = 20  # of SCHED_FIFO, where permitted: behind the kernel's interrupts (50), drivers and bus masters
PRIORITY_TEXT = "SCHED_FIFO priority to request, 1 to 99; 0 for none, -1 for {priority} where that is permitted."
_POLL = 0.2  # s; the events executor sees a signal at the next event or after this time
_LAST_POLL = 0.02  # s between two looks whether a node that got a signal is finished
_BEAT = 0.2  # s between two signs that Python runs
_LAST_BEAT = 0.05  # s between two of them after a signal
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
OBEYED_WITHIN = 1.2  # s from a signal to the end of what the main thread does meanwhile
FINISHED_WITHIN = 1.75  # s from a signal to the end of what the node still has to do for its robot
LEFT_WITHIN = 0.4  # s in which a deaf process leaves its robot safe
CLOSED_WITHIN = 1.1  # s, of a node's close()
DESTROYED_WITHIN = 0.5  # s in which its publishers and the like are taken back
ENDED_WITHIN = 1.0  # s, of the interpreter: libraries clear up after themselves
UNHURRIED = 5.0  # s for each of these two where no signal asks for the end: a full machine is slow
INTERRUPTED = 128 + signal.SIGINT  # exit status of a program that was interrupted, as shells have it
# What rclpy raises by what is in a message: one that can't be deserialised, text that is none, a negative time.
_CONTENT = (rclpy_implementation.RCLError, rclpy_implementation.RMWError, ValueError, TypeError, OverflowError)
_RCLPY = Path(rclpy.__file__).parent
_Callback = TypeVar("_Callback", bound=Callable[..., Any])
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


def raise_later(node: Node, error: Exception) -> None:
    """Let an error leave the executor at its next turn: where it was raised, rclpy would hide it."""

    def again() -> None:
        timer.cancel()
        raise error

    timer = node.create_timer(0.0, again, clock=steady_clock())


def told(callback: _Callback) -> _Callback:
    """A callback of a node's method that rclpy would end without a word, as transitions: its error leaves the executor.

    See :func:`raise_later`; rclpy gets the error, too.
    """

    @wraps(callback)
    def call(node: Node, *arguments: Any) -> Any:
        try:
            return callback(node, *arguments)
        except Exception as error:
            raise_later(node, error)
            raise

    return call  # type: ignore[return-value]


def told_goal(node: Node, execute: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
    """A coroutine function that executes a goal, whose error leaves the executor: rclpy would abort the goal only."""

    async def told_execute(handle: Any) -> Any:
        try:
            return await execute(handle)
        except Exception as error:
            raise_later(node, error)
            raise

    return told_execute


@contextmanager
def refusals_told(node: Any) -> Iterator[None]:
    """A message, request or goal that rclpy itself can't use while it spins is told, and harms nobody."""
    try:
        yield
    except Exception as error:
        if not is_refusal_of_rclpy(error):
            raise
        node.get_logger().error(f"refused, rclpy can't use it: {error}", throttle_duration_sec=1.0)


def is_refusal_of_rclpy(error: Exception, *spinning: str) -> bool:
    """Whether rclpy itself couldn't use what came: no other code ran than rclpy's, and what spins.

    Args:
        error: as it left the executor.
        spinning: files of what spins, besides this one.
    """
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    by_rclpy = all(file in (__file__, *spinning) or Path(file).is_relative_to(_RCLPY) for file in files)
    return by_rclpy and isinstance(error, _CONTENT)


class _Process:
    """What ends this process: a signal, a fault, a middleware that has failed, or several of them.

    Args:
        on_end: Is called in the main thread at each SIGINT and SIGTERM, and in another one where a thread fails.
        on_late: Is called in another thread where the main thread doesn't end in time after that.

    Attributes:
        hearing: Whether it hears; None until :meth:`listen`.
        fault: What a thread has failed by; empty for nothing.
    """

    def __init__(self, on_end: Callable[[], object], on_late: Callable[[], object] = lambda: None) -> None:
        self.hearing: Hearing | None = None
        self.fault = ""
        self._supervising = False
        self._on_end = on_end
        self._on_late = on_late
        self._asked = False  # for the end, by a signal or a fault
        self._since = Timeout(FINISHED_WITHIN)  # then; a time in which the process was stopped itself hardly counts
        self._within = math.inf  # s after that in which the main thread must have obeyed, or finished
        leave_shared_memory()
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        for number in _SIGNALS:
            signal.signal(number, self._handle)
        signal_bound().begin()
        self._alive = Periodic(self._beat, "alive")
        self._alive.start()

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

    def supervise(self) -> None:
        """From now on a thread that dies, or hangs beyond its limit, ends the process."""
        self._supervising = True
        threading.excepthook = self._on_thread_error

    def obey(self) -> None:
        """The main thread does what a signal asks for."""
        self._within = math.inf

    def finish(self) -> None:
        """The main thread obeys, and has until :data:`FINISHED_WITHIN` after the signal for the robot."""
        self._within = FINISHED_WITHIN

    def stop(self) -> None:
        """Judge no more; a second signal would end the interpreter while it clears up."""
        self._supervising = False
        threading.excepthook = threading.__excepthook__
        if self.hearing is not None:
            self.hearing.stop()
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    def destroy(self, executor: Executor, node: Any, status: int, within: float = DESTROYED_WITHIN) -> None:
        """Take back what the node has made, so that others know at once that it has gone.

        Others would count it among the living for 20 s else. The process ends with the status where that takes longer
        than `within` [s]: the middleware may fail at this moment, too.
        """
        sys.stdout.flush()
        with exits_within(within, status):
            if self.hearing is not None:
                self.hearing.close()
            executor.remove_node(node)
            node.destroy_node()
            rclpy.try_shutdown()
        signal_bound().end()
        self._alive.stop()

    def _handle(self, number: int, frame: object) -> None:
        self._ask()

    def _ask(self) -> None:
        if not self._asked:
            self._since.restart(time.monotonic())
            self._asked = True
            self._within = OBEYED_WITHIN
        self._on_end()

    def _on_thread_error(self, failed: Any) -> None:
        thread = "a thread" if failed.thread is None else f"the thread {failed.thread.name!r}"
        error = traceback.format_exception(failed.exc_type, failed.exc_value, failed.exc_traceback)
        self._fail(f"{thread} has died:\n{''.join(error)}")

    def _fail(self, fault: str) -> None:
        if not self.fault:
            self.fault = fault
            self._ask()

    def _beat(self) -> float:
        signal_bound().alive()
        now = time.monotonic()
        if self._supervising:
            for complaint in complaints(now):
                self._fail(complaint)
        if not self._asked:
            return _BEAT
        if self._since.poll(now) > self._within:
            self._on_late()
        return _LAST_BEAT


@contextmanager
def spinning(
    make_node: Callable[[], Any], interrupted_status: int = INTERRUPTED
) -> Iterator[tuple[Any, Callable[[float], None]]]:
    """A node of a program that does more than spin: gives the node, and a function that spins for some seconds.

    SIGINT and SIGTERM become KeyboardInterrupt, one each, out of the function that spins: an exception that a signal
    throws into another call of rclpy comes out of it as another error, or leaves it half done. Where the process is
    deaf, that function raises HardwareFault, and the process ends with :data:`DEAF` where its last handler is called.

    Where an interrupt is the usual end of the program, `interrupted_status` is 0: a full machine, on which the
    middleware takes too long to end, doesn't make a failure of it.
    """
    interrupted = False
    hurried = False

    def interrupt() -> None:
        nonlocal interrupted, hurried
        interrupted = hurried = True

    process = _Process(interrupt)
    node = make_node()
    try:
        check_given_parameters(node, sys.argv)
    except RobotControlError:
        process.stop()
        node.destroy_node()
        rclpy.try_shutdown()
        raise
    executor = make_executor()
    executor.add_node(node)
    process.listen(node, lambda: atexit.register(leave, DEAF))

    def spin(seconds: float) -> None:
        nonlocal interrupted
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0 and not interrupted and not process.deaf:
            with refusals_told(node):
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
            status = interrupted_status if hurried else DEAF
            process.destroy(executor, node, status, DESTROYED_WITHIN if hurried else UNHURRIED)
            atexit.register(exit_after, ENDED_WITHIN if hurried else UNHURRIED, status)


def run(make_node: Callable[[], Any]) -> None:
    """Run a node until SIGINT or SIGTERM, however often they come; then its close() leaves the robot safe.

    The signal only ends the spinning, and not before unfinished(), where the node has it, is False; the context stays
    valid until close() has returned. A node that can't be made says why, and the exit status is 1. Where the process is
    deaf, the node's leave(), where it has one, sends what leaves the robot safe, and the exit status is :data:`DEAF`.
    It is :data:`FAULT` where an error leaves a callback, or a thread dies or hangs: leave() comes first, then the
    traceback, then close(). What is in bytes that can't be read is no fault.
    """
    stop: Future = Future()

    def on_end() -> None:
        if not stop.done():
            stop.set_result(None)

    def on_late() -> None:  # the node is still being made, or has more to do than time for it
        _leave_safe(node)
        _say(process.fault)
        leave(FAULT if process.fault else 0)

    def on_deaf() -> None:
        on_end()
        with exits_within(LEFT_WITHIN, DEAF):
            threading.Event().wait()  # the main thread leaves meanwhile

    node: Any = None
    try:
        process = _Process(on_end, on_late)
    except RuntimeError as error:  # a parameter file that can't be read
        sys.exit(f"not started: {error}")
    process.supervise()
    try:
        node = make_node()
        check_given_parameters(node, sys.argv)
    except (RobotControlError, ParameterException) as error:
        rclpy.try_shutdown()
        sys.exit(f"not started: {error}")
    executor = make_executor()
    executor.add_node(node)
    process.listen(node, on_deaf)
    fault = ""
    try:
        while rclpy.ok() and not stop.done() and not getattr(node, "failed", False):
            with refusals_told(node):
                executor.spin_until_future_complete(stop, timeout_sec=_POLL)
        process.finish()
        while hasattr(node, "unfinished") and node.unfinished() and not process.deaf and not process.fault:
            with refusals_told(node):
                executor.spin_once(timeout_sec=_LAST_POLL)  # one event: it is asked again after each
    except Exception:
        fault = traceback.format_exc()
    process.obey()
    if process.deaf:
        _leave_safe(node)
        leave(DEAF)
    status = 1 if getattr(node, "failed", False) else 0
    if fault := fault or process.fault:
        status = FAULT
        _leave_safe(node)  # first: close() may fail by the same fault
        _say(fault)
    with exits_within(CLOSED_WITHIN, status):
        try:
            node.close()
        except Exception:
            status = FAULT
            _leave_safe(node)
            _say(traceback.format_exc())
    try:
        process.stop()
        process.destroy(executor, node, status)
    finally:
        leave(status)


def _leave_safe(node: Any) -> None:
    """Send what leaves the robot safe, where the node has a leave()."""
    with suppress(Exception):
        getattr(node, "leave", lambda: None)()


def _say(fault: str) -> None:
    """Tell the terminal what this process ends by; nothing for an empty text."""
    if fault:
        print(f"this process ends by a fault of its own (exit status {FAULT}): {fault}", file=sys.stderr, flush=True)
