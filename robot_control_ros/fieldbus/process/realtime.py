"""What Linux and Python offer a process that must keep time."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import struct
import sys
import time

SWITCH_INTERVAL = 1e-4  # s, of the interpreter's lock between threads
ANY = -1  # processor

# the kernel's PM QoS interface: how long processors may take to wake up [us, int32]
LATENCY = "/dev/cpu_dma_latency"

_CURRENT_AND_FUTURE = 1 | 2  # MCL_CURRENT | MCL_FUTURE
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
_libc = ctypes.CDLL(None, use_errno=True)


def prepare(priority: int, processor: int = ANY) -> list[str]:
    """Real-time scheduling, wakeful processors, locked memory, no garbage collection; returns what
    isn't permitted.

    Call it when everything is allocated that will be needed.

    Args:
        priority: Priority of SCHED_FIFO, 1 to 99; 0 for the ordinary scheduling.
        processor: Number of the processor that this thread, and those it starts, stay on.
    """
    warnings = []
    if processor != ANY:
        try:
            os.sched_setaffinity(0, {processor})
        except (OSError, ValueError, OverflowError) as error:
            valid = ", ".join(map(str, sorted(os.sched_getaffinity(0))))
            warnings.append(f"not kept on processor {processor} ({error}); processors: {valid}")
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.collect()
    gc.freeze()
    gc.disable()
    if _libc.mlockall(_CURRENT_AND_FUTURE):
        why = os.strerror(ctypes.get_errno())
        warnings.append(
            f"memory isn't locked ({why}): raise the limit `memlock`, or give CAP_IPC_LOCK"
        )
    if priority:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        except (OSError, ValueError) as error:
            warnings.append(
                f"no real-time priority {priority} ({error}): raise the limit `rtprio`, or give CAP_SYS_NICE"
            )
        try:  # idle processors don't sleep as long as this process lives: waking takes its time
            # the request ends where the file is closed
            os.write(os.open(LATENCY, os.O_WRONLY), struct.pack("=i", 0))
        except OSError as error:
            warnings.append(
                f"processors may sleep between cycles ({error}): let this user write there"
            )
    return warnings


def spare_processor() -> int:
    """Keep this thread, and all it starts, off one processor, which is returned; ANY
    where there is only one.
    """
    *others, spared = sorted(os.sched_getaffinity(0))
    if not others:
        return ANY
    os.sched_setaffinity(0, others)
    return spared


def end_with_parent() -> None:
    """Have the kernel send this process SIGTERM when the one that started it has ended,
    however it has (Linux).
    """
    _libc.prctl(_PARENT_DEATH_SIGNAL, signal.SIGTERM)


def step_back() -> None:
    """Lower this thread's priority below that of the thread that keeps time.

    It is for a thread beside that one, which has the same priority when it starts.

    It stays before all that isn't real-time: while it has the interpreter's lock, nobody may take
    its processor away.
    """
    if os.sched_getscheduler(0) == os.SCHED_FIFO:
        priority = os.sched_getparam(0).sched_priority
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(max(1, priority - 1)))


def sleep_until(deadline: float) -> None:
    """Sleep until a time of time.monotonic() [s]."""
    while (left := deadline - time.monotonic()) > 0.0:
        time.sleep(left)
