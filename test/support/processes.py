"""What Linux tells of processes, threads and what they started; any of them may end at any time."""

import contextlib
import os
import signal
import time
from pathlib import Path


def alive(number: int) -> bool:
    """Whether a process runs; one that has ended may wait long for somebody to ask how (Z)."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def threads(number: int) -> list[int]:
    """Those of a process; none, once it has ended."""
    with contextlib.suppress(OSError):
        return [int(name) for name in os.listdir(f"/proc/{number}/task")]
    return []


def memory(number: int) -> int:
    """What a process holds in memory [B]."""
    status = Path(f"/proc/{number}/status").read_text(encoding="ascii")
    return 1024 * next(
        int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")
    )


def children(number: int) -> list[int]:
    """The processes that a process has started; a thread that ends meanwhile has none."""
    found = []
    for thread in threads(number):
        with contextlib.suppress(OSError):
            found += [
                int(word)
                for word in Path(f"/proc/{number}/task/{thread}/children").read_text().split()
            ]
    return found


def descendants(number: int) -> list[int]:
    """Its children, theirs, and so on."""
    return [each for child in children(number) for each in (child, *descendants(child))]


def tagged(variable: str) -> list[int]:
    """Those that began with `NAME=value` in their environment, whoever their parent is."""
    mark, found = variable.encode(), []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if mark in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                found.append(int(name))
    return found


def kill_tagged(variable: str, patience: float = 10.0) -> None:
    """End those that are tagged, and what they start meanwhile."""
    deadline = time.monotonic() + patience
    while (
        found := [each for each in tagged(variable) if alive(each)]
    ) and time.monotonic() < deadline:
        for each in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(each, signal.SIGKILL)
        time.sleep(0.01)
