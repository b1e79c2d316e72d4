"""Finds the class of drivers of a bus by its name."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from ..core.errors import ConfigError, unknown
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
    module, colon, attribute = place.partition(":")
    if not colon:
        raise unknown("bus", name, driver_names(), hint=", or package.module:Class")
    try:
        chosen = getattr(import_module(module), attribute)
    except Exception as error:  # whatever a user's module raises when it is imported
        raise ConfigError(
            f"bus {name!r} can't be loaded: {type(error).__name__}: {error}",
            name="bus",
            value=name,
        ) from error
    missing = [part for part in _PARTS if not hasattr(chosen, part)]
    if missing or not isinstance(chosen, type):
        raise ConfigError(
            f"bus {name!r} is no driver: it lacks {', '.join(missing) or 'a class'}",
            name="bus",
            value=name,
        )
    return cast(DriverClass, chosen)
