"""Processes that compute beside this one, each on one thread. They end with it, and with the
block that uses them.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import connection, parent_process, resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

BROKEN = (
    "a process that simulates has ended by itself: it was killed, had no memory left, or could not import the main "
    'module; a script needs `if __name__ == "__main__":`, and must be a file'
)
# variables
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@contextmanager
def worker_processes(count: int, pools: int = 1) -> Iterator[list[ProcessPoolExecutor]]:
    """Executors for the time of a block, with `count` fresh processes each.

    At the end of the block they have ended. Where an error or a Ctrl-C ends it, they don't finish
    what they do.
    A process imports the main module of the program, as `multiprocessing` does: a script that uses
    this needs
    ``if __name__ == "__main__":``.

    Args:
        count: Number of processes of each executor.
        pools: Number of executors; one process each keeps what it has made, from call to call.
    """
    context = _Spawning()
    executors = [
        ProcessPoolExecutor(count, mp_context=context, initializer=end_with_parent)
        for _ in range(pools)
    ]
    try:
        yield executors
    except BaseException:
        context.kill()
        raise
    finally:
        for executor in executors:
            executor.shutdown(cancel_futures=True)


def end_with_parent() -> None:
    """Let this process end when the one that has started it does, however that ends."""
    threading.Thread(target=_wait_for_parent, name="end with parent", daemon=True).start()


def _wait_for_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


class _Worker(SpawnProcess):
    """Process with a fresh interpreter on one thread; a Ctrl-C of the shell isn't for it."""

    def start(self) -> None:
        resource_tracker.ensure_running()  # which lets a Ctrl-C in again when it starts
        before = {name: os.environ.get(name) for name in THREADS}
        os.environ.update(dict.fromkeys(THREADS, "1"))
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            super().start()  # what it inherits are the variables and the mask
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


class _Spawning(SpawnContext):
    """Starts workers, when an executor has to do what none of its workers is free
    for, and knows them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._started: list[SpawnProcess] = []

    def Process(self, *arguments: Any, **named: Any) -> SpawnProcess:  # type: ignore[override]  # noqa: N802
        process = _Worker(*arguments, **named)
        self._started.append(process)
        return process

    def kill(self) -> None:
        """End what still runs."""
        for process in self._started:
            if process.is_alive():
                process.kill()
