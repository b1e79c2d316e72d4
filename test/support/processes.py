"""What Linux tells of processes, threads and what they started; any of them may end at any time."""

import contextlib
import os
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
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))


def children(number: int) -> list[int]:
    """The processes that a process has started; a thread that ends meanwhile has none."""
    found = []
    for thread in threads(number):
        with contextlib.suppress(OSError):
            found += [int(word) for word in Path(f"/proc/{number}/task/{thread}/children").read_text().split()]
    return found


def descendants(number: int) -> list[int]:
    """Its children, theirs, and so on."""
    return [each for child in children(number) for each in (child, *descendants(child))]
