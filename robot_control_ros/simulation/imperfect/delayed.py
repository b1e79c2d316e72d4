"""Line to and from a plant: rate of its samples, and delay of its commands, each on its own."""

from __future__ import annotations

import math
from collections import deque

from ...control.plant import Plant
from ...core.errors import refused
from ...core.types import Command, RobotState


class DelayedPlant:
    """Plant around another one, sampled at a chosen rate, whose commands act late.

    The plant within is read at its own, higher rate, and all but every k-th sample is dropped. A
    command written after the sample of time t acts from t + delay on, exactly. Until then the one
    before it acts; before the first the plant holds. Samples aren't delayed: where the reference
    rests, the delays of samples and commands add up.

    A command that the plant refuses is refused when it is due: by :meth:`write` without delay, else
    by :meth:`read`.

    Args:
        plant: Plant that is controlled.
        plant_rate: Samples per second of the plant's read() [Hz].
        rate: Samples per second of this read() [Hz]; the plant's must be a multiple of it.
        delay: Time from a sample to the effect of the command that answers it [s]; a multiple of
            the plant's period.

    Raises:
        ConfigError: a rate that doesn't divide the plant's, or a delay that isn't so many of its
            periods.
    """

    def __init__(self, plant: Plant, plant_rate: float, *, rate: float, delay: float) -> None:
        if not (0.0 < rate <= plant_rate < math.inf and _is_whole(plant_rate / rate)):
            rule = f"must be {plant_rate:g} Hz, the plant's, divided by a whole number"
            raise refused("rate", rate, rule, plant_rate)
        if not (0.0 <= delay < math.inf and _is_whole(delay * plant_rate)):
            period = 1.0 / plant_rate
            raise refused(
                "delay",
                delay,
                f"must be 0 or a multiple of {period:g} s, the plant's period",
                period,
            )
        self._plant = plant
        self._every = round(plant_rate / rate)
        self._late = round(delay * plant_rate)
        self._sample = 0
        self._under_way: deque[tuple[int, Command]] = deque()

    def open(self) -> None:
        """Open the plant; no command is under way."""
        self._sample = 0
        self._under_way.clear()
        self._plant.open()

    def read(self) -> RobotState:
        """The plant's k-th sample after the last one; the first time, its first."""
        state = self._next()
        while (self._sample - 1) % self._every:
            state = self._next()
        return state

    def write(self, command: Command) -> None:
        """Send a command on its way."""
        self._under_way.append((self._sample + self._late, command))
        self._deliver()

    def close(self) -> None:
        """Close the plant; commands under way are lost."""
        self._plant.close()

    def _next(self) -> RobotState:
        self._deliver()
        self._sample += 1
        return self._plant.read()

    def _deliver(self) -> None:
        while self._under_way and self._under_way[0][0] <= self._sample:
            self._plant.write(self._under_way.popleft()[1])


def _is_whole(number: float) -> bool:
    return abs(number - round(number)) < 1e-6
