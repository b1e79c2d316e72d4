"""EtherCAT drives as a node.

Topics, services and parameters: docs/ethercat.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.errors import ConfigError
from ...ros.ros_params import Number
from ...ros.running import run
from ..fieldbus.node import BusNode, BusPlace

_PARAMETERS = {
    "interface": ("", "Network interface that the bus is on."),
    "topology": (
        "",
        "Which drive is where: a name, or the path of a YAML file; empty takes the robot's name.",
    ),
}
_NUMBERS: dict[str, Number] = {
    "frame_timeout": (0.0, 0.0, 1.0, "Longest wait for a frame [s]; 0 for half a cycle."),
    "watchdog": (
        0.0,
        0.0,
        6.0,
        "Time after which slaves without frames stop by themselves [s]; 0 for the topology's.",
    ),
}
_OPTIONS = ("topology", *_NUMBERS)


class EthercatNode(BusNode):
    """The node of an EtherCAT bus."""

    def __init__(self) -> None:
        super().__init__("ethercat", "ur5", "ethercat", _PARAMETERS, _NUMBERS, _place)


def _place(chosen: Mapping[str, Any]) -> BusPlace:
    """Place of the bus; a ConfigError where no interface is named."""
    interface = chosen["interface"]
    if not interface:
        raise ConfigError(
            "interface is empty: must be the network interface that the bus is on, such as eth1"
        )
    return BusPlace("ethercat", interface, {name: chosen[name] for name in _OPTIONS})


def main() -> None:
    """Run the node."""
    run(EthercatNode)
