"""Priority and processor of the process of a bus, for nodes, launch files and commands."""

from ...core.bounded import Bounded

PRIORITY = Bounded(
    default=40,
    lower=0,
    upper=98,
    whole=True,
    doc="SCHED_FIFO priority of the bus's process; 0 for none.",
)
PROCESSOR = Bounded(
    default=-1,
    lower=-1,
    upper=1023,
    whole=True,
    doc="Processor that the bus's process stays on; -1 for any.",
)
