"""The joints' reference path of the last moments, for Python and for compiled functions."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .compiled import compiled
from .types import Array, JointSample

REMEMBERED = 0.25  # s of the way that can be looked up
AHEAD = 0.05  # s, at most, that it is continued into the future
# places in `ends`
FIRST = 0
COUNT = 1


class RememberedPath:
    """The reference (q, v, a) of the joints in the last quarter of a second, at any time near now.

    Between two samples the path is the cubic through both, with v and a linear. Beyond the last one
    it is its parabola for 50 ms. Before the first one it is the first one. It is NaN where nothing
    is remembered.

    Args:
        n: Number of joints.

    Attributes:
        points: (capacity, 1 + 3n) ring of points with time, q, v and a.
        ends: (2,) number of the oldest point in the ring, and number of points.
    """

    def __init__(self, n: int) -> None:
        self.points = np.empty((256, 1 + 3 * n))
        self.ends: NDArray[np.int64] = np.zeros(2, dtype=np.int64)

    def clear(self) -> None:
        """Forget all points."""
        self.ends[:] = 0

    def remember(self, t: float, sample: Array) -> None:
        """Add a sample (3, n) of q, v and a at a time t [s], and forget points that are too old."""
        if remember(self.points, self.ends, t, sample):
            return
        oldest_first = np.roll(self.points, -int(self.ends[FIRST]), axis=0)
        self.points = np.concatenate((oldest_first, np.empty_like(oldest_first)))
        self.ends[FIRST] = 0
        remember(self.points, self.ends, t, sample)

    def __call__(self, t: float) -> JointSample:
        """Look up (q, v, a), (n,) each, at a time t [s]."""
        sample = np.empty((3, (self.points.shape[1] - 1) // 3))
        recall(self.points, self.ends, t, sample)
        return sample[0], sample[1], sample[2]


@compiled
def remember(points: Array, ends: NDArray[np.int64], t: float, sample: Array) -> bool:
    """Add a sample to the ring, see :class:`RememberedPath`; return False where it is full."""
    capacity = len(points)
    while ends[COUNT] > 0 and points[ends[FIRST], 0] < t - REMEMBERED:
        ends[FIRST] = (ends[FIRST] + 1) % capacity
        ends[COUNT] -= 1
    if ends[COUNT] == capacity:
        return False
    point = points[(ends[FIRST] + ends[COUNT]) % capacity]
    point[0] = t
    point[1:] = sample.reshape(sample.size)
    ends[COUNT] += 1
    return True


@compiled
def recall(points: Array, ends: NDArray[np.int64], t: float, sample: Array) -> None:
    """Write the point at a time t [s] into `sample` (3, n); see :class:`RememberedPath`."""
    capacity = len(points)
    first = ends[FIRST]
    count = ends[COUNT]
    later = count  # number, from the oldest on, of the first point that is later than t
    while later > 0 and points[(first + later - 1) % capacity, 0] > t:
        later -= 1
    if count == 0:
        sample[:] = math.nan
    elif later == 0:
        sample[:] = points[first, 1:].reshape(sample.shape)
    elif later == count:
        last = points[(first + count - 1) % capacity]
        _continue(last[1:].reshape(sample.shape), min(t - last[0], AHEAD), sample)
    else:
        between(
            points[(first + later - 1) % capacity], points[(first + later) % capacity], t, sample
        )


@compiled
def _continue(last: Array, ahead: float, sample: Array) -> None:
    """Write the parabola of the last sample (3, n), `ahead` seconds later, into `sample` (3, n)."""
    for joint in range(sample.shape[1]):
        q = last[0, joint]
        v = last[1, joint]
        a = last[2, joint]
        sample[0, joint] = q + ahead * v + 0.5 * ahead**2 * a
        sample[1, joint] = v + ahead * a
        sample[2, joint] = a


@compiled
def between(before: Array, after: Array, t: float, sample: Array) -> None:
    """Write the cubic through two points (1 + 3n,) into `sample` (3, n), with v and a.

    It is taken at a time t [s] between both.
    """
    duration = after[0] - before[0]
    x = (t - before[0]) / duration
    one = before[1:].reshape(sample.shape)
    other = after[1:].reshape(sample.shape)
    for joint in range(sample.shape[1]):
        step = other[0, joint] - one[0, joint]
        begins = one[1, joint] * duration - step
        ends = step - other[1, joint] * duration
        bend = (1.0 - x) * begins + x * ends
        sample[0, joint] = one[0, joint] + x * step + x * (1.0 - x) * bend
        sample[1, joint] = one[1, joint] + x * (other[1, joint] - one[1, joint])
        sample[2, joint] = one[2, joint] + x * (other[2, joint] - one[2, joint])
