"""Counts good and bad exchanges of process data, by their working counters."""

from __future__ import annotations


class FrameCounter:
    """Whether frames come back in time, and changed by all slaves.

    Args:
        expected: the right working counter: 2 per slave with outputs, 1 per slave with inputs.

    Attributes:
        expected: as given.
        working_counter: of the last exchange; negative where no frame came back.
        bad, good: bad or good exchanges in a row, up to the last one.
        cycles, lost_frames, bad_counters, late_frames: counted since the beginning.
    """

    def __init__(self, expected: int) -> None:
        self.expected = expected
        self.working_counter = self.bad = self.good = 0
        self.cycles = self.lost_frames = self.bad_counters = self.late_frames = 0

    def count(self, working_counter: int, late: bool) -> None:
        """Count an exchange.

        Args:
            working_counter: negative where no frame came back.
            late: whether the frame came after its cycle.
        """
        self.cycles += 1
        self.working_counter = working_counter
        if working_counter == self.expected and not late:
            self.bad, self.good = 0, self.good + 1
            return
        self.bad, self.good = self.bad + 1, 0
        if late:
            self.late_frames += 1
        elif working_counter < 0:
            self.lost_frames += 1
        else:
            self.bad_counters += 1

    def describe(self) -> str:
        """What was wrong with a bad exchange, for people."""
        if self.working_counter < 0:
            return "no answer from the bus (working counter -1)"
        if self.working_counter == self.expected:
            return "the answer came too late"
        counters = f"working counter {self.working_counter} of {self.expected}"
        missing = self.expected - self.working_counter
        if missing == 2:
            return f"{counters}: a drive doesn't take its outputs (no longer in OP?)"
        return f"{counters}: {missing // 3} of the drives missing" if missing > 0 and missing % 3 == 0 else counters
