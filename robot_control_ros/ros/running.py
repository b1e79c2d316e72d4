"""Runs a node: executor, signals, and an end that leaves the robot safe."""

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

# SCHED_FIFO priority, where permitted: below the kernel's interrupts (50), drivers and bus masters
PRIORITY = 20
PRIORITY_TEXT = "SCHED_FIFO priority to request, 1 to 99; 0 for none, -1 for {priority} where that is permitted."
_POLL = 0.2  # s; the events executor sees a signal at the next event or after this time
_LAST_POLL = 0.02  # s between two looks whether a node that got a signal is finished
_BEAT = 0.2  # s between two signs that Python runs
_LAST_BEAT = 0.05  # s between two of them after a signal
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
OBEYED_WITHIN = 1.2  # s from a signal until the main thread obeys it
FINISHED_WITHIN = 1.75  # s from a signal until the node has done what its robot still needs
LEFT_WITHIN = 0.4  # s in which a deaf process leaves its robot safe
CLOSED_WITHIN = 1.1  # s, of a node's close()
DESTROYED_WITHIN = 0.5  # s in which a node's publishers and the like are destroyed
ENDED_WITHIN = 1.0  # s, of the interpreter: libraries clear up after themselves
UNHURRIED = 5.0  # s for each of these two where no signal asks for the end: a full machine is slow
# exit status of a program that was interrupted, as shells have it
INTERRUPTED = 128 + signal.SIGINT
# rclpy raises these errors for a message: unreadable bytes, no valid text, a negative time
_CONTENT = (
    rclpy_implementation.RCLError,
    rclpy_implementation.RMWError,
    ValueError,
    TypeError,
    OverflowError,
)
_RCLPY = Path(rclpy.__file__).parent
_Callback = TypeVar("_Callback", bound=Callable[..., Any])
# executor and node of a deaf process: to destroy them would take for ever
_undestroyed: list[Any] = []


def steady_clock() -> Clock:
    """A clock that neither jumps nor follows simulated time."""
    return Clock(clock_type=ClockType.STEADY_TIME)


def make_executor(context: rclpy.Context | None = None) -> Executor:
    """Make the events executor where this ROS has it, else the standard one.

    The events executor has half the latency and a third of the load.
    """
    try:
        from rclpy.experimental.events_executor import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor(context=context)
    return EventsExecutor(context=context)


def take_priority(node: Node, priority: int, permitted: int = PRIORITY) -> None:
    """Ask for SCHED_FIFO for all threads of the process, the middleware's included.

    Args:
        node: Node whose log says that it runs with the priority, or warns that it isn't permitted.
        priority: Priority from 1 to 99. 0 leaves the scheduling alone; -1 takes `permitted` where
            the system permits it, without a warning where it doesn't.
        permitted: Priority for -1.
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
        node.get_logger().info(
            f"runs with SCHED_FIFO priority {chosen}; realtime_priority:=0 switches it off"
        )
    except (OSError, ValueError) as error:
        if priority != -1:
            node.get_logger().warning(
                f"realtime_priority = {priority} isn't permitted ({error}); running without it"
            )


def raise_later(node: Node, error: Exception) -> None:
    """Raise an error from the executor at its next turn; otherwise rclpy would hide it."""

    def again() -> None:
        timer.cancel()
        raise error

    timer = node.create_timer(0.0, again, clock=steady_clock())


def told(callback: _Callback) -> _Callback:
    """Decorate a method that rclpy calls, and whose errors it would hide, as those of transitions.

    An error of the method leaves the executor, see :func:`raise_later`; rclpy gets it, too.
    """

    @wraps(callback)
    def call(node: Node, *arguments: Any) -> Any:
        try:
            return callback(node, *arguments)
        except Exception as error:
            raise_later(node, error)
            raise

    return call  # type: ignore[return-value]


def told_goal(
    node: Node, execute: Callable[[Any], Awaitable[Any]]
) -> Callable[[Any], Awaitable[Any]]:
    """Wrap a coroutine function that executes a goal, so that its error leaves the executor.

    rclpy alone would only abort the goal.
    """

    async def told_execute(handle: Any) -> Any:
        try:
            return await execute(handle)
        except Exception as error:
            raise_later(node, error)
            raise

    return told_execute


@contextmanager
def refusals_told(node: Any) -> Iterator[None]:
    """Log errors of rclpy about a message, request or goal that it can't use, and go on."""
    try:
        yield
    except Exception as error:
        if not is_refusal_of_rclpy(error):
            raise
        node.get_logger().error(f"refused, rclpy can't use it: {error}", throttle_duration_sec=1.0)


def is_refusal_of_rclpy(error: Exception, *spinning: str) -> bool:
    """Return True where rclpy itself couldn't use a message, request or goal.

    This is so where the traceback has only code of rclpy and of the files that spin the executor.

    Args:
        error: Error as it left the executor.
        spinning: Files of the code that spins the executor, besides this file.
    """
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    by_rclpy = all(
        file in (__file__, *spinning) or Path(file).is_relative_to(_RCLPY) for file in files
    )
    return by_rclpy and isinstance(error, _CONTENT)


class _Process:
    """Watches for the causes that end this process: a signal, a failed thread, a failed middleware.

    Args:
        on_end: Function that is called in the main thread at each SIGINT and SIGTERM, and in
            another thread where a thread fails.
        on_late: Function that is called in another thread where the main thread doesn't end in time
            after that.

    Attributes:
        hearing: Test whether the process hears; None until :meth:`listen`.
        fault: Words for the first failure of a thread; empty where there is none.
    """

    def __init__(
        self, on_end: Callable[[], object], on_late: Callable[[], object] = lambda: None
    ) -> None:
        self.hearing: Hearing | None = None
        self.fault = ""
        self._supervising = False
        self._on_end = on_end
        self._on_late = on_late
        self._asked = False  # True after a signal or a fault, which ask for the end
        # time since then; time in which the process itself was stopped hardly counts
        self._since = Timeout(FINISHED_WITHIN)
        self._within = math.inf  # s after that until the main thread must have obeyed, or finished
        leave_shared_memory()
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        for number in _SIGNALS:
            signal.signal(number, self._handle)
        signal_bound().begin()
        self._alive = Periodic(self._beat, "alive")
        self._alive.start()

    @property
    def deaf(self) -> bool:
        """True where no message reaches this process any more."""
        return self.hearing is not None and self.hearing.deaf

    def listen(self, node: Any, on_deaf: Callable[[], object]) -> None:
        """Watch from now on that the process hears; a node may bring its own Hearing."""
        self.hearing = getattr(node, "hearing", None) or Hearing.of(node)
        name = node.get_name()

        def say() -> None:
            say_deaf(name)
            on_deaf()

        self.hearing.start(say)

    def supervise(self) -> None:
        """Let a thread that dies, or hangs beyond its limit, end the process from now on."""
        self._supervising = True
        threading.excepthook = self._on_thread_error

    def obey(self) -> None:
        """Note that the main thread does what a signal asks for; it isn't late any more."""
        self._within = math.inf

    def finish(self) -> None:
        """Note that the main thread obeys, and still works for the robot.

        It has time for that until :data:`FINISHED_WITHIN` after the signal.
        """
        self._within = FINISHED_WITHIN

    def stop(self) -> None:
        """Watch no more, and ignore signals: one would end the interpreter while it clears up."""
        self._supervising = False
        threading.excepthook = threading.__excepthook__
        if self.hearing is not None:
            self.hearing.stop()
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    def destroy(
        self, executor: Executor, node: Any, status: int, within: float = DESTROYED_WITHIN
    ) -> None:
        """Destroy the node with all it has made, so that others know at once that it has gone.

        Otherwise others would take it for present for 20 s. Where this takes longer than `within`
        [s], the process ends with the status: the middleware may fail at this moment, too.
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
    """Give a program that does more than spin a node, and a function that spins for some seconds.

    At a SIGINT or SIGTERM the function that spins raises KeyboardInterrupt, once. In another call
    of rclpy such an exception would become another error, or leave the call half done. Where the
    process is deaf, that function raises HardwareFault. At its end the process then has the exit
    status :data:`DEAF`.

    Where an interrupt is the usual end of the program, `interrupted_status` is 0. Then it is no
    failure that the middleware of a busy machine takes too long to end.
    """
    interrupted = False
    hurried = False

    def interrupt() -> None:
        nonlocal interrupted, hurried
        interrupted = True
        hurried = True

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
    """Run a node until a SIGINT or SIGTERM; then its close() leaves the robot safe.

    A process is deaf where no message arrives any more, not even its own; see :mod:`.hearing`.

    Further signals change nothing.
    A signal ends the spinning, once the node's unfinished() is False, where it has this method. The
    context stays valid until close() has returned.

    A node that can't be made says why, and the exit status is 1. Where the process is deaf, the
    node's leave() leaves the robot safe, where it has this method, and the exit status is
    :data:`DEAF`. Where an error leaves a callback, or a thread dies or hangs, the exit status is
    :data:`FAULT`. leave() is called first then; the traceback and close() follow. Bytes that can't
    be read are no fault.
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
        while (
            hasattr(node, "unfinished")
            and node.unfinished()
            and not process.deaf
            and not process.fault
        ):
            with refusals_told(node):
                # one event: it is asked again after each
                executor.spin_once(timeout_sec=_LAST_POLL)
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
    """Call the node's leave(), which leaves the robot safe, where it has this method."""
    with suppress(Exception):
        getattr(node, "leave", lambda: None)()


def _say(fault: str) -> None:
    """Print the fault that this process ends by to the terminal; nothing for an empty text."""
    if fault:
        print(
            f"this process ends by a fault of its own (exit status {FAULT}): {fault}",
            file=sys.stderr,
            flush=True,
        )
