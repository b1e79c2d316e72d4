"""Run a program that starts others, so that all of them end together: ``python program_session.py
PROGRAM ARGUMENT …``.

For Linux. It loads nothing of the package, so it starts at once.

Gazebo with its window is several processes, in process groups of their own. A signal to the first
doesn't reach all.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

GRACE = 4.0  # s to end by themselves; launch waits for 5 s
PERIOD = 0.05  # s between two looks
_PR_SET_PDEATHSIG = 1


def run(command: Sequence[str]) -> int:
    """Run a program in a session of its own, until it ends or a signal comes; then end all that is
    left of the session.

    Returns:
        The program's exit status; 128 and the number of the signal that killed it.
    """
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    die_with_parent()
    program = subprocess.Popen(command, start_new_session=True)
    while program.poll() is None and not stop.wait(PERIOD):
        pass
    _end(program)
    return program.returncode if program.returncode >= 0 else 128 - program.returncode


def die_with_parent() -> None:
    """Have this process get SIGTERM when its parent dies, however that dies (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _end(program: subprocess.Popen[bytes]) -> None:
    """Send SIGINT to all of the session, and SIGKILL after the grace.

    It returns when all have ended.
    """
    _send(signal.SIGINT, _members(program.pid))
    deadline = time.monotonic() + GRACE
    while program.poll() is None or _members(program.pid):
        if time.monotonic() > deadline:
            _send(signal.SIGKILL, _members(program.pid))
        time.sleep(PERIOD)


def _send(number: signal.Signals, processes: Sequence[int]) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, number)


def _members(session: int) -> list[int]:
    """The processes of a session that haven't ended."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            state, _, _, of_session = (
                file.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[:4]
            )
            if int(of_session) == session and state != "Z":
                found.append(int(file.parent.name))
    return found


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
