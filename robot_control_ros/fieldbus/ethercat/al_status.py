"""Communication states of slaves: AL states of ETG.1000.6, problems, and the way back to OP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

# AL states (register 0x0130): low nibble, and the error bit. ETG.1000.6.
INIT = 1
PREOP = 2
BOOT = 3
SAFEOP = 4
OP = 8
AL_ERROR = 0x10
_AL_STATES = {
    0: "no answer",
    INIT: "INIT",
    PREOP: "PRE-OP",
    BOOT: "BOOT",
    SAFEOP: "SAFE-OP",
    OP: "OP",
}
# AL status codes (register 0x0134) of ETG.1000.6, as in help.kingstar.com, "EtherCAT AL Status
# codes".
AL_CODES = {
    0x0001: "unspecified error",
    0x0002: "no memory",
    0x0011: "invalid requested state change",
    0x0012: "unknown requested state",
    0x0013: "bootstrap not supported",
    0x0014: "no valid firmware",
    0x0015: "invalid mailbox configuration (BOOT)",
    0x0016: "invalid mailbox configuration (PRE-OP)",
    0x0017: "invalid sync manager configuration",
    0x0018: "no valid inputs available",
    0x0019: "no valid outputs",
    0x001A: "synchronization error",
    0x001B: "sync manager watchdog",
    0x001C: "invalid sync manager types",
    0x001D: "invalid output configuration",
    0x001E: "invalid input configuration",
    0x001F: "invalid watchdog configuration",
    0x0020: "slave needs cold start",
    0x0021: "slave needs INIT",
    0x0022: "slave needs PRE-OP",
    0x0023: "slave needs SAFE-OP",
    0x0024: "invalid input mapping",
    0x0025: "invalid output mapping",
    0x0026: "inconsistent settings",
    0x002B: "no valid inputs and outputs",
    0x002C: "fatal sync error",
    0x002D: "no sync error",
    0x0030: "invalid DC SYNC configuration",
    0x0032: "PLL error",
}


class Recovery(Enum):
    """Step that brings a slave nearer to operation; see :meth:`SlaveStates.recovery`."""

    RECOVER = "recover"  # it has lost its address: power-cycled, or unplugged
    RECONFIGURE = "reconfigure"  # PDOs, watchdog, distributed clocks anew
    ACKNOWLEDGE = "acknowledge"  # its AL error
    REQUEST_OP = "request OP"


@dataclass(frozen=True)
class AlStatus:
    """A slave's AL state with the error bit, 0 where it doesn't answer, and its AL status code."""

    state: int
    code: int = 0

    @property
    def operational(self) -> bool:
        """True where the slave takes part in the process data."""
        return self.state == OP

    def __str__(self) -> str:
        if not self.state:
            return "doesn't answer"
        name = _AL_STATES.get(self.state & 0x0F, f"state 0x{self.state:02X}")
        if not self.state & AL_ERROR and not self.code:
            return f"is in {name}"
        return (
            f"is in {name} with error 0x{self.code:04X} {AL_CODES.get(self.code, 'of its vendor')}"
        )


class SlaveStates:
    """The AL states of all slaves, by name in the order of the bus, as last read; empty
    before the first reading.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self.statuses: tuple[AlStatus, ...] = ()

    def name(self, position: int) -> str:
        """Place and name of a slave, for people."""
        name = self._names[position] if 0 <= position < len(self._names) else "unknown"
        return f"slave {position} ({name})"

    def problems(self) -> list[str]:
        """Reasons why slaves don't take part in the process data; empty where all do."""
        silent = [i for i, status in enumerate(self.statuses) if not status.state]
        answering = [(i, status) for i, status in enumerate(self.statuses) if status.state]
        problems = [f"{self.name(i)} {status}" for i, status in answering if not status.operational]
        if not silent:
            return problems
        lost = f"lost: {', '.join(self.name(i) for i in silent)}"
        first = silent[0]
        if silent == list(range(first, len(self.statuses))):
            before = self.name(first - 1) if first else "the master"
            lost += f": the cable between {before} and {self.name(first)}, or power"
        return [lost, *problems]

    def recovery(self) -> list[tuple[int, Recovery]]:
        """The next thing that each slave (by position) needs to be operational;
        empty where all are.
        """
        return [
            (i, _next_step(status))
            for i, status in enumerate(self.statuses)
            if not status.operational
        ]


def _next_step(status: AlStatus) -> Recovery:
    if not status.state:
        return Recovery.RECOVER
    if status.state & AL_ERROR:
        return Recovery.ACKNOWLEDGE
    return Recovery.REQUEST_OP if status.state == SAFEOP else Recovery.RECONFIGURE
