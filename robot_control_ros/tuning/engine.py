"""Engines that compute trials: this process, fresh processes, Dask's workers, or any executor."""

from __future__ import annotations

import os
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from ..core.errors import ConfigError, HardwareFault, missing_extra, refused
from ..simulation.worker_processes import BROKEN, worker_processes
from .package_version import check_same_version, package_version

SCHEMES = ("tcp", "tls", "ws", "wss", "ucx")  # of addresses of Dask
CONNECTING = 10.0  # s, that a scheduler may take to answer
LOOK = 0.5  # s between two looks at the scheduler
DEATHS = 2  # of processes, after which the call that they computed has failed
SLOTS = 16  # calls that an executor has at a time, where nobody says how many
FEWEST_SLOTS = 1  # while no worker has joined yet


class InProcess(Executor):
    """Computes at once, in the thread that submits."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Compute, and return a future that is done."""
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(function(*arguments, **named))
        except Exception as error:
            future.set_exception(error)
        return future


@dataclass
class _Task:
    """A call that is under way, or waits.

    Attributes:
        tag: Object by which the caller of :meth:`Engine.submit` knows this call.
        function, arguments: Function that is called, and its arguments.
        deaths: Number of times that its process ended while nothing else was computed.
    """

    tag: Any
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    deaths: int = 0


class Engine:
    """Computes the calls of one user by an executor, a certain number at a time.

    Args:
        executor: Executor that computes; it stays open.
        slots: Number of calls at a time.
    """

    def __init__(self, executor: Executor, slots: int) -> None:
        self._executor = executor
        self._slots = slots
        self._tasks: dict[Future[Any], _Task] = {}

    def slots(self) -> int:
        """Number of calls at a time, as of now: more where workers have joined."""
        return self._slots

    def under_way(self) -> int:
        """Number of calls that were submitted and haven't ended."""
        return len(self._tasks)

    def room(self, ahead: int = 1) -> int:
        """Number of calls that should be submitted now, so that each slot has `ahead` of them."""
        return ahead * self.slots() - self.under_way()

    def submit(self, tag: Any, function: Callable[..., Any], *arguments: Any) -> None:
        """Begin a call; its end comes from :meth:`ended`, with its tag.

        Raises:
            HardwareFault: the executor has broken.
        """
        self._begin(_Task(tag, function, arguments))

    def ended(self, timeout: float) -> list[tuple[Any, Future[Any]]]:
        """Tag and future of the calls that have ended; waits for one, for `timeout` [s] at most.

        Raises:
            HardwareFault: the scheduler has gone, or the executor has broken.
        """
        if not self._tasks:
            time.sleep(timeout)
            self.check()
            return []
        done, _ = wait(self._tasks, timeout, FIRST_COMPLETED)
        if not done:
            self.check()
        if any(_is_broken(future) for future in done):
            return self._after_break()
        return [(self._tasks.pop(future).tag, future) for future in done]

    def check_function(self, function: Callable[..., Any]) -> None:
        """Refuse a function that a worker can't load, before it is needed. The first worker is
        waited for.

        Raises:
            ConfigError: the function can't be imported there; or the worker has another version of
                the package.
        """
        try:
            future = self._executor.submit(timed, callable, package_version(), function)
            while not wait([future], LOOK).done:
                self.check()
            future.result()
        except (ConfigError, HardwareFault):
            raise
        except Exception as error:
            reason = BROKEN if isinstance(error, BrokenExecutor) else _first_cause(error)
            raise refused("function", function, f"a worker can't load it: {reason}") from error

    def check(self) -> None:
        """Refuse to wait for results that can't come any more.

        Raises:
            HardwareFault: the scheduler has gone.
        """

    def stop(self) -> None:
        """Let go of the calls that are under way."""

    def _begin(self, task: _Task) -> None:
        try:
            future = self._executor.submit(task.function, *task.arguments)
        except (BrokenExecutor, OSError) as error:
            # While an executor takes notice that a process has died, a start of another one fails.
            raise self._broken() from error
        self._tasks[future] = task

    def _after_break(self) -> list[tuple[Any, Future[Any]]]:
        """Tag and future of the calls that ended, after a process of the executor has ended."""
        raise self._broken()

    def _broken(self) -> HardwareFault:
        return HardwareFault(
            "the executor has broken: a process of it was killed, or had no memory left",
            name="executor",
        )


class _Processes(Engine):
    """Fresh processes of this machine with one thread each.

    Where one of them is killed, all are started anew. Whose call it was isn't known then: the calls
    that have no result are computed again one by one. A call whose process ends twice while nothing
    else is computed has failed.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._block: AbstractContextManager[list[Any]] | None = None
        self._suspects: deque[_Task] = deque()
        super().__init__(self._started(), count)

    def under_way(self) -> int:
        return len(self._tasks) + len(self._suspects)

    def room(self, ahead: int = 1) -> int:
        return 0 if self._suspects else super().room(ahead)

    def ended(self, timeout: float) -> list[tuple[Any, Future[Any]]]:
        if self._suspects and not self._tasks:
            self._begin(self._suspects.popleft())
        return super().ended(timeout)

    def stop(self) -> None:
        self._end()

    def _begin(self, task: _Task) -> None:
        try:
            super()._begin(task)
        except HardwareFault:  # broken, and not noticed yet
            if self._tasks:
                self._suspects.append(task)
            else:
                self._restart()
                super()._begin(task)

    def _after_break(self) -> list[tuple[Any, Future[Any]]]:
        tasks = self._tasks
        self._tasks = {}
        self._restart()
        ended = []
        left = []
        for future, task in tasks.items():
            if future.done() and not _is_broken(future):
                ended.append((task.tag, future))
            else:
                left.append((future, task))
        for future, task in left:
            task.deaths += len(left) == 1
            if task.deaths < DEATHS:
                self._suspects.append(task)
            else:
                ended.append((task.tag, future))
        return ended

    def _restart(self) -> None:
        self._end()
        self._executor = self._started()

    def _started(self) -> Executor:
        self._block = worker_processes(self._count)
        (executor,) = self._block.__enter__()
        return executor

    def _end(self) -> None:
        """End the processes, without the calls that they are at."""
        if self._block is not None:
            block = self._block
            self._block = None
            stopped = _Stopped()
            block.__exit__(_Stopped, stopped, None)


class _Stopped(BaseException):
    """Ends a block of worker processes without waiting for what they do."""


class _DaskWorkers(Engine):
    """The workers of a Dask scheduler; those that join later take part.

    Args:
        address: Address of the scheduler, such as ``tcp://10.0.0.5:8786``.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._client = _client(address)
        super().__init__(self._client.get_executor(pure=False), FEWEST_SLOTS)

    def slots(self) -> int:
        try:
            threads: dict[str, int] = self._client.nthreads()
        except OSError as error:
            raise self._gone() from error
        return max(sum(threads.values()), FEWEST_SLOTS)

    def check(self) -> None:
        if self._client.status not in ("running", "connecting"):
            raise self._gone()

    def _gone(self) -> HardwareFault:
        text = f"the scheduler at {self._address} has gone: start it and its workers again, then the same line goes on"
        return HardwareFault(text, name="scheduler", value=self._address)

    def check_workers(self) -> None:
        """Refuse workers that have another version of the package, or none.

        Raises:
            ConfigError: names the worker and both versions.
        """
        try:
            self._client.run(check_same_version, package_version(), "a worker")
        except ImportError as error:
            rule = f"its workers must have robot_control_ros installed: {error}"
            raise refused("scheduler", self._address, rule) from error

    def stop(self) -> None:
        if self._client.status == "running":
            self._executor.shutdown(wait=False)
        self._client.close(timeout=1.0)


def _client(address: str) -> Any:
    place = urlsplit(address)
    if place.scheme not in SCHEMES or not place.hostname or not _port(place):
        rule = f"must be an address with a port, as in tcp://10.0.0.5:8786; it begins with one of: {', '.join(SCHEMES)}"
        raise refused("scheduler", address, rule, SCHEMES)
    try:
        from distributed import Client
    except ImportError as error:
        raise missing_extra("a scheduler", "distributed", "tuning") from error
    try:
        connect: Any = Client
        return connect(address, timeout=CONNECTING, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        reason = str(error) or type(error).__name__
        rule = f"no Dask scheduler answers there; start one by: dask scheduler ({reason})"
        raise refused("scheduler", address, rule) from error


def _port(place: SplitResult) -> int | None:
    with suppress(ValueError):
        return place.port
    return None


@contextmanager
def engine(
    workers: int = 0, scheduler: str = "", executor: Executor | None = None, slots: int = SLOTS
) -> Iterator[Engine]:
    """The engine that computes for the time of a block; by default this process.

    Args:
        workers: Number of fresh processes of this machine; 0 for none. With them, a script needs
            ``if __name__ == "__main__":``.
        scheduler: Address of a Dask scheduler; empty for none.
        executor: Any executor, as of Ray, mpi4py, submitit or Dask. It stays open.
        slots: Number of calls that `executor` has at a time.

    Raises:
        ConfigError: more than one of workers, scheduler and executor is given; no scheduler
            answers; its workers have another version of the package; Dask isn't installed.
    """
    given = {"workers": workers, "scheduler": scheduler, "executor": executor}
    chosen = [name for name, value in given.items() if value]
    if len(chosen) > 1:
        raise refused(chosen[1], given[chosen[1]], f"must not be given beside {chosen[0]}", chosen)
    if workers < 0:
        raise refused("workers", workers, "must be 0, for this process alone, or more", 0)
    made = _made(workers, scheduler, executor, slots)
    try:
        if isinstance(made, _DaskWorkers):
            made.check_workers()
        yield made
    finally:
        made.stop()


def _made(workers: int, scheduler: str, executor: Executor | None, slots: int) -> Engine:
    if executor is not None:
        return Engine(executor, slots)
    if scheduler:
        return _DaskWorkers(scheduler)
    if workers:
        return _Processes(workers)
    return Engine(InProcess(), 1)


def worker_name() -> str:
    """Names this process among all machines: host and process number."""
    return f"{socket.gethostname()}:{os.getpid()}"


def _first_cause(error: BaseException) -> str:
    """The words of the error that was first."""
    while error.__cause__ is not None:
        error = error.__cause__
    return in_one_line(error)


def in_one_line(error: BaseException) -> str:
    """Kind and words of an error, in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def _is_broken(future: Future[Any]) -> bool:
    """True where a future that is done has no result because a process has ended."""
    return not future.cancelled() and isinstance(future.exception(), BrokenExecutor)


def timed(function: Callable[..., Any], version: str, *arguments: Any) -> tuple[Any, float, str]:
    """Compute on a worker: the result, the seconds that it took, and the worker's name.

    Args:
        function: Function that is called with the arguments.
        version: Version of the package that the worker must have.
        arguments: Arguments of the function.

    Raises:
        ConfigError: the worker has another version of the package.
    """
    check_same_version(version, f"worker {worker_name()}")
    began = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - began, worker_name()
