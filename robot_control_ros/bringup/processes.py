"""Start nodes as processes, and leave none behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ..core.errors import HardwareFault
from ..ros.process_environment import environment
from . import NodeSpec
from .program_session import die_with_parent

GRACE = 3.0  # s for a node to end by itself


class Processes:
    """Nodes as child processes, which end with the ``with`` block, or with this process."""

    def __init__(self, specs: Iterable[NodeSpec]) -> None:
        self._specs = list(specs)
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        # what runs, and since when by the steady clock [s]
        self._started: dict[str, tuple[NodeSpec, float]] = {}

    def __enter__(self) -> Processes:
        for spec in self._specs:
            self.start(spec)
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def start(self, spec: NodeSpec) -> subprocess.Popen[bytes]:
        """Start a node in a session of its own: Ctrl-C reaches this process,
        which ends the node.
        """
        command = [
            sys.executable,
            "-m",
            "robot_control_ros.nodes",
            spec.executable,
            *spec.ros_arguments(),
        ]
        process = subprocess.Popen(
            command, env=environment(), start_new_session=True, preexec_fn=die_with_parent
        )
        self._running[spec.full_name] = process
        self._started[spec.full_name] = spec, time.monotonic()
        return process

    def check(self) -> None:
        """See that all nodes still run.

        A node that may be started again is, and that is said.

        Raises:
            HardwareFault: another one has ended; names it and its exit status.
        """
        for name, process in list(self._running.items()):
            if process.poll() is None:
                continue
            ended = f"the {name} ended with exit status {process.returncode}"
            spec, since = self._started[name]
            if not spec.respawn:
                raise HardwareFault(f"{ended}; see its messages above")
            if spec.respawns(process.returncode, time.monotonic() - since):
                print(f"{ended}: it is started again", file=sys.stderr, flush=True)
                self.start(spec)
            else:
                print(f"{ended}; the others go on", file=sys.stderr, flush=True)
                del self._running[name]

    def begin_stop(self) -> None:
        """Tell all to end, controllers first (last started); :meth:`stop` waits for them."""
        for process in reversed(self._running.values()):
            if process.poll() is None:
                process.terminate()

    def stop(self) -> None:
        """End all: by SIGTERM, by SIGKILL after the grace."""
        self.begin_stop()
        deadline = time.monotonic() + GRACE
        for process in self._running.values():
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._running.clear()


@contextmanager
def interrupted_once() -> Iterator[None]:
    """Let the first SIGINT or SIGTERM alone interrupt a block: its processes end in order."""
    signals = (signal.SIGINT, signal.SIGTERM)

    def interrupt(number: int, frame: object) -> None:
        for each in signals:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {each: signal.signal(each, interrupt) for each in signals}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
