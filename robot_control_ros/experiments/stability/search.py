"""The end of a range of stable values, where nothing is known of it but trials."""

from __future__ import annotations

import math
from collections.abc import Callable

STEP, TOLERANCE = 4.0, 0.1  # ratio of the scan from below, and of the bracket at its end, less 1


def largest_stable(
    stable: Callable[[float], bool], lowest: float, highest: float, *, tolerance: float = TOLERANCE
) -> float:
    """The end of the first range of stable values.

    The range is scanned from below in steps of a factor of 4 up to the first value that isn't stable; between that and
    the last one that was, it is bisected. So nothing is assumed of what lies above; an unstable island narrower than a
    step can be missed.

    Args:
        stable: whether a value is.
        lowest, highest: ends of the range, above 0.
        tolerance: the first value that isn't stable is at most 1 + tolerance times the result.

    Returns:
        The largest value that was tried and found stable below the first failure; 0 where `lowest` isn't, `highest`
        where all tried ones are.
    """
    good, bad = 0.0, lowest
    while stable(bad):
        good, bad = bad, min(STEP * bad, highest)
        if good >= highest:
            return highest
    if good == 0.0:
        return 0.0
    while bad > (1.0 + tolerance) * good:
        middle = math.sqrt(good * bad)
        good, bad = (middle, bad) if stable(middle) else (good, middle)
    return good
