"""What a process takes of the machine (Linux)."""

from __future__ import annotations

import os
from pathlib import Path


def memory(process: int) -> float:
    """Resident memory [MB]."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(kilobytes) / 1000.0


def processor_time(process: int) -> float:
    """What it has taken of processors so far [s]."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
