"""A Franka robot as a node.

Topics, services and parameters: docs/franka.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.bounded import Bounded
from ...core.errors import ConfigError
from ...fieldbus.franka.franka_driver import FrankaOptions
from ...ros.running import run
from ..fieldbus.node import BusNode, BusPlace

_DEFAULTS = FrankaOptions()
_PARAMETERS = {
    "ip": ("", "Address of the robot's control unit."),
    "collision_torque": (
        list(_DEFAULTS.collision_torque),
        "External torque of each joint at which the robot stops itself [N·m]: one number, or seven.",
    ),
    "collision_force": (
        list(_DEFAULTS.collision_force),
        "External force and torque on the tip at which the robot stops itself [N, N·m]: two numbers, or six.",
    ),
    "set_load": (_DEFAULTS.set_load, "Tell the robot the payload of the robot's file."),
    "wrench_from": (
        _DEFAULTS.wrench_from,
        "Where the wrench comes from: the robot's estimate (wrench), or its external torques (torques).",
    ),
    "flange": (
        _DEFAULTS.flange,
        "Frame of the description that is Franka's flange; empty for the one whose name ends with link8.",
    ),
}
NUMBERS = {
    "payload_tolerance": Bounded(
        default=_DEFAULTS.payload_tolerance,
        lower=0.0,
        upper=5.0,
        unit="N·m",
        doc="Largest torque error of a payload that the robot and the controller see differently.",
    ),
}
_OPTIONS = (*(name for name in _PARAMETERS if name != "ip"), *NUMBERS)


class FrankaNode(BusNode):
    """The node of a Franka robot."""

    def __init__(self) -> None:
        super().__init__("franka", "fr3", "franka", _PARAMETERS, NUMBERS, _place)


def _place(chosen: Mapping[str, Any]) -> BusPlace:
    """Place of the robot; a ConfigError where no address is named."""
    address = chosen["ip"]
    if not address:
        raise ConfigError(
            "ip is empty: must be the address of the robot's control unit, such as 172.16.0.2",
            name="ip",
            value=address,
        )
    options = {name: _plain(chosen[name]) for name in _OPTIONS}
    return BusPlace("franka", address, options)


def _plain(value: Any) -> Any:
    """A parameter's value as JSON has it: an array of numbers becomes a list."""
    return [float(x) for x in value] if hasattr(value, "tolist") else value


def main() -> None:
    """Run the node."""
    run(FrankaNode)
