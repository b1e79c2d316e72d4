"""Where trials are computed: in this process, in processes beside it, on Dask's workers, or by any executor."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any
from urllib.parse import SplitResult, urlsplit

from ..core.errors import ConfigError, HardwareFault, missing_extra, refused
from ..simulation.worker_processes import BROKEN, worker_processes
from .package_version import check_same_version, package_version

SCHEMES = ("tcp", "tls", "ws", "wss", "ucx")  # of addresses of Dask
CONNECTING = 10.0  # s, that a scheduler may take to answer
LOOK = 0.5  # s between two looks at the scheduler
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


class Engine:
    """An executor, and how many tasks it should have at a time.

    Args:
        executor: computes; it stays open.
        slots: tasks at a time.
    """

    def __init__(self, executor: Executor, slots: int) -> None:
        self._executor = executor
        self._slots = slots

    def slots(self) -> int:
        """Tasks at a time, now: more where workers have joined."""
        return self._slots

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Begin a task.

        Raises:
            BrokenExecutor: a process of the executor has ended by itself.
        """
        return self._executor.submit(function, *arguments)

    def check_function(self, function: Callable[..., Any]) -> None:
        """Refuse a function that a worker can't load, before it is needed. The first worker is waited for.

        Raises:
            ConfigError: the function can't be imported there; or the worker has another version of the package.
        """
        try:
            future = self.submit(timed, callable, package_version(), function)
            while not wait([future], LOOK).done:
                self.check()
            future.result()
        except (ConfigError, HardwareFault):
            raise
        except Exception as error:
            reason = BROKEN if isinstance(error, BrokenExecutor) else _first_cause(error)
            raise refused("function", function, f"a worker can't load it: {reason}") from error

    def restart(self) -> bool:
        """After a BrokenExecutor: whether tasks can be submitted again."""
        return False

    def check(self) -> None:
        """Refuse to wait for results that can't come any more.

        Raises:
            HardwareFault: the scheduler has gone.
        """

    def stop(self) -> None:
        """Let go of the tasks that are under way."""


class _Processes(Engine):
    """Fresh processes of this machine with one thread each. Where one of them is killed, all are started anew."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._block: AbstractContextManager[list[Any]] | None = None
        super().__init__(self._started(), count)

    def restart(self) -> bool:
        self._end()
        self._executor = self._started()
        return True

    def stop(self) -> None:
        self._end()

    def _started(self) -> Executor:
        self._block = worker_processes(self._count)
        (executor,) = self._block.__enter__()
        return executor

    def _end(self) -> None:
        """End the processes, without the tasks that they are at."""
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
        address: of the scheduler, such as ``tcp://10.0.0.5:8786``.
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
    workers: int = 0, scheduler: str = "", executor: Executor | None = None, slots: int | None = None
) -> Iterator[Engine]:
    """What computes, for the time of a block; by default this process.

    Args:
        workers: fresh processes of this machine; 0 for none. A script then needs ``if __name__ == "__main__":``.
        scheduler: address of a Dask scheduler; empty for none.
        executor: any executor, which stays open: of Ray, mpi4py, submitit or Dask.
        slots: tasks that `executor` has at a time; None leaves that to who submits.

    Raises:
        ConfigError: more than one of them is given; no scheduler answers; its workers have another version of the
            package; Dask isn't installed.
    """
    chosen = [name for name, it in (("workers", workers), ("scheduler", scheduler), ("executor", executor)) if it]
    if len(chosen) > 1:
        raise refused(chosen[1], (workers, scheduler, executor)[1], f"must not be given beside {chosen[0]}", chosen)
    if workers < 0:
        raise refused("workers", workers, "must be 0, for this process alone, or more", 0)
    made = _made(workers, scheduler, executor, slots)
    try:
        if isinstance(made, _DaskWorkers):
            made.check_workers()
        yield made
    finally:
        made.stop()


def _made(workers: int, scheduler: str, executor: Executor | None, slots: int | None) -> Engine:
    if executor is not None:
        return Engine(executor, slots or 0)
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
    return " ".join(f"{type(error).__name__}: {error}".split())


def is_broken(error: BaseException) -> bool:
    """Whether a task's error is that its process ended, and not the task's own."""
    return isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"


def timed(function: Callable[..., Any], version: str, *arguments: Any) -> tuple[Any, float, str]:
    """Compute on a worker: the result, the seconds that it took, and the worker's name.

    Args:
        function: is called with the arguments.
        version: of the package that the worker must have.
        arguments: of the function.

    Raises:
        ConfigError: the worker has another version of the package.
    """
    check_same_version(version, f"worker {worker_name()}")
    began = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - began, worker_name()
