"""Sensors beside joints and wrench: each is a class in a file of the user's.

A distance sensor, for example, in the file my_lab/distance.py::

    from robot_control_ros import SensorValue

    class Distance:
        topic = "distance"
        message = "sensor_msgs/msg/Range"
        values = (SensorValue("distance", "m", "Distance from the tip to the surface."),)
        timeout = 0.2

        def read(self, message):
            return [message.range]

A profile names it: ``sensors: ["my_lab.distance:Distance"]``. Its values are in the state that a law
gets, and in the record of each cycle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..core.cycle import NONE, SENSORS
from ..core.errors import ConfigError, refused
from ..core.plug_in import load_plug_in
from ..core.types import Array

_PARTS = ("topic", "message", "values", "timeout", "read")


@dataclass(frozen=True)
class SensorValue:
    """Declaration of one number that a sensor measures.

    Attributes:
        name: Name of the number.
        unit: SI unit; empty where it has none.
        meaning: Meaning of the number in one sentence.
    """

    name: str
    unit: str
    meaning: str


class Sensor(Protocol):
    """The protocol of a sensor's class; it is made without arguments.

    Attributes:
        topic: Topic of its messages.
        message: Type of its messages, as in ``sensor_msgs/msg/Range``.
        values: Numbers that it measures.
        timeout: Time without a message after which its numbers count as lost [s].
    """

    topic: str
    message: str
    values: tuple[SensorValue, ...]
    timeout: float

    def read(self, message: Any) -> Sequence[float]:
        """The numbers of a message, in the order of `values`; NaN for one that it doesn't have."""


class SensorReadings:
    """The newest numbers of a robot's sensors.

    Args:
        names: Places of the sensors' classes, ``package.module:Class`` each.

    Attributes:
        sensors: Sensors in the order of their names.
        names: Names of all numbers, in the order in which the record has them.

    Raises:
        ConfigError: A class can't be loaded, is no sensor, or there are too many numbers.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.sensors: tuple[Sensor, ...] = tuple(_load(name) for name in names)
        declared = [value.name for sensor in self.sensors for value in sensor.values]
        if len(declared) > SENSORS:
            rule = f"must have {SENSORS} numbers at most, all sensors together"
            raise refused("sensors", declared, rule, SENSORS)
        for name in declared:
            if declared.count(name) > 1:
                raise refused("sensors", name, "must be the name of one number only")
        self.names = tuple(declared)
        self._begins = np.cumsum([0, *(len(sensor.values) for sensor in self.sensors)]).tolist()
        self._values = np.full(len(declared), NONE)
        self._came = [-math.inf] * len(self.sensors)

    def take(self, number: int, message: Any, now: float) -> None:
        """Take a message of a sensor.

        Args:
            number: Number of the sensor.
            message: Message of the sensor's type.
            now: Present time, by a clock that doesn't go back [s].

        Raises:
            ConfigError: The sensor can't read it, or returns other than its numbers; the last ones
                stay.
        """
        sensor = self.sensors[number]
        begin, end = self._begins[number : number + 2]
        try:
            values = np.array(sensor.read(message), dtype=float)
        except Exception as error:  # whatever a user's class raises
            raise ConfigError(
                f"sensor on {sensor.topic}: {type(error).__name__}: {error}",
                name=sensor.topic,
            ) from error
        if values.shape != (end - begin,) or np.isinf(values).any():
            rule = f"must be {end - begin} finite numbers, or NaN"
            raise refused(sensor.topic, values, rule, end - begin, where="sensor on ")
        self._values[begin:end] = values
        self._came[number] = now

    def at(self, now: float) -> Array:
        """The numbers (k,) at a time [s]; NaN for those of a silent sensor."""
        values = self._values.copy()
        for number, sensor in enumerate(self.sensors):
            if now - self._came[number] > sensor.timeout:
                values[self._begins[number] : self._begins[number + 1]] = NONE
        return values

    def silent(self, now: float) -> str:
        """Text about the sensors without a message within their timeouts; empty for none."""
        return "; ".join(
            f"{sensor.topic}: no message within {sensor.timeout:g} s"
            for number, sensor in enumerate(self.sensors)
            if now - self._came[number] > sensor.timeout
        )


def _load(name: str) -> Any:
    """Make the sensor of a class.

    Raises:
        ConfigError: It can't be loaded, or lacks a part of :class:`Sensor`.
    """
    if ":" not in name:
        raise refused("sensors", name, "must be package.module:Class")
    sensor = load_plug_in("sensor", name, name, _PARTS, key="sensors", makes=True)
    if not (math.isfinite(sensor.timeout) and sensor.timeout > 0.0):
        raise refused("timeout", sensor.timeout, "must be above 0 s", where=f"sensor {name!r}: ")
    return sensor
