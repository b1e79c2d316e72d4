"""The order of samples: some bring new time, and some of these make the loop start anew."""

from __future__ import annotations

from dataclasses import dataclass

MAX_GAP = 0.1  # s between two samples; after a longer one the loop starts anew where the robot is
# s of samples that bring no new time, which are a fault: the safe output is due within 0.1 s
STANDSTILL = 0.08
SET_BACK = 0.05  # s of older samples alone, each newer than the one before: the clock was set back
STORM = 3  # restarts in a row that are a fault
# s; samples so much older were not held up: so many in a row show the same
FAR_BACK = 0.5
FAR_SAMPLES = 3
CALM = 1.0  # s between two restarts, by the stamps, after which they are no longer in a row


@dataclass(slots=True)
class Arrival:
    """Verdict on one sample.

    Attributes:
        new: True where the sample brings new time.
        gap: Time since the newest sample before [s].
        restart: Reason why the loop has to start anew; empty where it goes on.
    """

    new: bool
    gap: float
    restart: str


class SampleOrder:
    """Judges samples by their stamps alone.

    A sample with the stamp of the newest one, or with an older one, brings no new time. Networks
    and relays deliver such samples. Where only older samples come for 0.05 s of their own time, the
    clock was set back. Three samples that are more than 0.5 s older show the same.

    Args:
        period: Nominal time between two samples [s].

    Attributes:
        unchanged: Number of samples in a row that brought no new time.
        late: Number of samples that came after a newer one, in all.
        fault: Reason why the loop can't run, as it would start anew again and again; empty where it
            can.
    """

    def __init__(self, period: float) -> None:
        self._period = period
        self._newest: float | None = None
        self._interrupted = ""  # why the next sample makes the loop start anew
        self._first_late: float | None = None
        self._last_late = 0.0
        self._late_in_a_row = 0
        self._restarts_in_a_row = 0
        self._calm = 0.0  # s since the last restart
        self._is_steady = False  # whether neither a restart nor a late sample was lately
        self.unchanged = 0
        self.late = 0
        self.fault = ""

    def interrupt(self, reason: str) -> None:
        """Let the loop start anew with the next sample, for a reason in words."""
        if self._newest is not None or self._interrupted:
            self._interrupted = reason
        self._newest = None

    def judge(self, time: float) -> Arrival:
        """Judge a sample by its stamp [s]."""
        if self._newest is None:
            return self._accept(time, self._period, self._interrupted)
        gap = time - self._newest
        if 0.0 < gap <= MAX_GAP:
            if self._is_steady:  # the usual case
                self._newest = time
                return Arrival(True, gap, "")
            return self._accept(time, gap, "")
        if gap > MAX_GAP:
            return self._accept(
                time,
                gap,
                f"no joint state for {gap:.3f} s, by their stamps: must be at most {MAX_GAP:g} s",
            )
        self._is_steady = False
        if gap < 0.0 and self._is_set_back(time):
            return self._accept(time, gap, f"the stamps of joint states went back by {-gap:.3f} s")
        self.unchanged += 1
        return Arrival(False, gap, "")

    def stands_still(self) -> str:
        """Reason not to use samples that have brought no new time for too long; else empty."""
        if self.unchanged * self._period <= STANDSTILL:
            return ""
        return (
            f"the last {self.unchanged + 1} joint states have the same stamp or older ones, "
            f"the newest {self._newest:.9g} s: it must rise"
        )

    def _accept(self, time: float, gap: float, restart: str) -> Arrival:
        self._newest = time
        self._first_late = None
        self._interrupted = ""
        self.unchanged = 0
        self._count(max(gap, 0.0), restart)
        return Arrival(True, gap, restart)

    def _is_set_back(self, time: float) -> bool:
        """Count a late sample; return True where it shows that the clock was set back."""
        self.late += 1
        if self._first_late is None or time <= self._last_late:
            self._first_late = time
            self._late_in_a_row = 0
        self._last_late = time
        self._late_in_a_row += 1
        assert self._newest is not None
        if self._newest - time > FAR_BACK and self._late_in_a_row >= FAR_SAMPLES:
            return True
        return time - self._first_late >= SET_BACK

    def _count(self, gap: float, restart: str) -> None:
        """Count a sample with new time, and the restarts in a row.

        Args:
            gap: Time since the sample before [s].
            restart: Reason why the loop starts anew; empty where it goes on.
        """
        self._calm += gap
        if self._calm >= CALM:
            self._restarts_in_a_row = 0
            self.fault = ""
        self._is_steady = self._calm >= CALM and not restart
        if not restart:
            return
        self._calm = 0.0
        self._restarts_in_a_row += 1
        if self._restarts_in_a_row >= STORM:
            self.fault = f"the loop has started anew {self._restarts_in_a_row} times: {restart}"
