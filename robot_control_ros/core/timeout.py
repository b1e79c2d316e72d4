"""The silence of a sender while this process was awake. No clock in here: times are arguments."""

from __future__ import annotations


class Timeout:
    """The silence of a sender, by each of some clocks, while this process was awake.

    Between two polls at most half the limit counts. So a process that was stopped itself polls
    three times at least before the limit is passed. Meanwhile it gets the messages that have come.

    Args:
        limit: Silence that is allowed [s].
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._since: tuple[float, ...] = ()
        self._lasting: tuple[float, ...] = ()

    def restart(self, *times: float) -> None:
        """Begin anew with a message that came at `times` [s] by the clocks."""
        self._since = times
        self._lasting = (0.0,) * len(times)

    def poll(self, *times: float) -> float:
        """The silence [s] by the clock by which it is shortest; a clock that goes
        back doesn't count.
        """
        longest = 0.5 * self._limit
        self._lasting = tuple(
            lasting + min(max(time - since, 0.0), longest)
            for lasting, since, time in zip(self._lasting, self._since, times, strict=True)
        )
        self._since = times
        return min(self._lasting)
