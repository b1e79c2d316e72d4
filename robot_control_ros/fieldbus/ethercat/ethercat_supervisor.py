"""The supervisor of EtherCAT drives: frames, links and AL states besides what each bus has."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..supervisor import Action, ExchangeCounter, StateMeanings, Supervisor, SupervisorLimits
from .al_status import AlStatus, SlaveStates
from .cia402 import FAULTS, State

MEANINGS = StateMeanings(
    enabled=State.OPERATION_ENABLED,
    moving=(State.OPERATION_ENABLED, State.QUICK_STOP_ACTIVE, State.FAULT_REACTION_ACTIVE),
    faults=FAULTS,
    unknown=State.UNDEFINED,
)


class FrameCounter(ExchangeCounter):
    """Counts of frames that came back in time, changed by all slaves, and of those that didn't.

    Attributes:
        expected: Right working counter: 2 per slave with outputs, 1 per slave with inputs.
        lost_frames, bad_counters, late_frames: Numbers of exchanges, counted since the beginning.
    """

    def __init__(self, expected: int) -> None:
        super().__init__()
        self.expected = expected
        self.lost_frames = 0
        self.bad_counters = 0
        self.late_frames = 0

    @property
    def working_counter(self) -> int:
        """Working counter of the last exchange; negative where no frame came back."""
        return self.result

    def count_frame(self, working_counter: int, late: bool) -> None:
        """Count an exchange: a negative counter is a lost frame; a late frame
        came after its cycle.
        """
        good = working_counter == self.expected and not late
        self.add(good, working_counter)
        if good:
            return
        if late:
            self.late_frames += 1
        elif working_counter < 0:
            self.lost_frames += 1
        else:
            self.bad_counters += 1

    def describe(self) -> str:
        """Text about what was wrong with a bad exchange, for people."""
        if self.result < 0:
            return "no answer from the bus (working counter -1)"
        if self.result == self.expected:
            return "the answer came too late"
        counters = f"working counter {self.result} of {self.expected}"
        missing = self.expected - self.result
        if missing == 2:
            return f"{counters}: a drive doesn't take its outputs (no longer in OP?)"
        return (
            f"{counters}: {missing // 3} of the drives missing"
            if missing > 0 and missing % 3 == 0
            else counters
        )


class EthercatSupervisor(Supervisor):
    """Decides, once per cycle, what the drives of an EtherCAT bus shall do.

    Args:
        names: Names of the slaves that move joints, in the order of the bus.
        expected_working_counter: Right working counter of one exchange, see :class:`FrameCounter`.
        all_names: Names of all slaves, in the order of the bus, where some move no joint.

    Attributes:
        frames: Counter of the frames.
        slaves: AL states of all slaves.
    """

    def __init__(
        self,
        names: Sequence[str],
        expected_working_counter: int,
        limits: SupervisorLimits | None = None,
        all_names: Sequence[str] | None = None,
    ) -> None:
        self.frames = FrameCounter(expected_working_counter)
        self.slaves = SlaveStates(names if all_names is None else all_names)
        self._link = True
        super().__init__(names, MEANINGS, limits, self.frames)

    def step(
        self,
        time: float,
        working_counter: int,
        states: Sequence[State],
        failures: Sequence[str] = (),
        command_age: float = math.inf,
        late: bool = False,
    ) -> Action:
        """The action of this cycle; see :meth:`~..supervisor.Supervisor.decide`.

        Args:
            time: Time of this cycle, by a clock that doesn't go back [s].
            working_counter: Working counter of the process data; negative where no frame came back.
            states: States of the drives, in the last good cycle: in a bad one, the inputs may be
                anything.
            failures: Messages of the drives' state machines; empty where there is none.
            command_age: Time since the last command [s]; infinite where there was none yet.
            late: True where the frame came after its cycle.
        """
        self.frames.count_frame(working_counter, late)
        return self.decide(time, states, failures, command_age)

    def update_link(self, up: bool) -> None:
        """Take the network interface's link state; without a carrier all drives are stopped."""
        self._link = up
        if not up:
            self.trip("link down: the cable at the master, or the first slave's power")

    def update_al(self, statuses: Sequence[AlStatus]) -> None:
        """Take the AL states of all slaves, in the order of the bus, as often as they are read."""
        self.slaves.statuses = tuple(statuses)
        problems = self.slaves.problems()
        if not problems:
            self.all_well()
        for cause in problems:
            self.trip(cause)

    def problems(self) -> list[str]:
        """Reasons against enabling: no link, or slaves that aren't in OP."""
        link = [] if self._link else ["link down"]
        return link + self.slaves.problems()
