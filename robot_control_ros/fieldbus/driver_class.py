"""Finds the class of drivers of a bus by its name."""

from __future__ import annotations

from typing import cast

from ..core.errors import unknown
from ..core.plug_in import load_plug_in
from .driver import Driver, DriverClass

_DRIVERS = {
    "can": "robot_control_ros.fieldbus.can.can_driver:CanDriver",
    "ethercat": "robot_control_ros.fieldbus.ethercat.ethercat_driver:EthercatDriver",
    "franka": "robot_control_ros.fieldbus.franka.franka_driver:FrankaDriver",
}
_PARTS = tuple(name for name in vars(Driver) if not name.startswith("_"))


def driver_names() -> list[str]:
    """Names of the buses that the package drives."""
    return sorted(_DRIVERS)


def driver_class(name: str) -> DriverClass:
    """The class of a bus's drivers; only its module is imported.

    Args:
        name: Name of a bus, or ``package.module:Class``.

    Raises:
        ConfigError: unknown name (lists the names), a module that can't be imported, a class that
            is no driver.
    """
    place = _DRIVERS.get(name, name)
    if ":" not in place:
        raise unknown("bus", name, driver_names(), hint=", or package.module:Class")
    return cast(DriverClass, load_plug_in("bus", name, place, _PARTS, what="driver"))
