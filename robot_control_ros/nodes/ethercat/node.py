"""EtherCAT drives as a node.

Topics, services and parameters: docs/ethercat.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.bounded import Bounded
from ...core.errors import ConfigError
from ...ros.running import run
from ..fieldbus.node import BusNode, BusPlace

_PARAMETERS = {
    "interface": ("", "Network interface that the bus is on."),
    "topology": (
        "",
        "Which drive is where: a name, or the path of a YAML file; empty takes the robot's name.",
    ),
}
NUMBERS = {
    "frame_timeout": Bounded(
        default=0.0,
        lower=0.0,
        upper=1.0,
        unit="s",
        doc="Longest wait for a frame; 0 for half a cycle.",
    ),
    "watchdog": Bounded(
        default=0.0,
        lower=0.0,
        upper=6.0,
        unit="s",
        doc="Time after which slaves without frames stop by themselves; 0 for the topology's.",
    ),
}
_OPTIONS = ("topology", *NUMBERS)


class EthercatNode(BusNode):
    """The node of an EtherCAT bus."""

    def __init__(self) -> None:
        super().__init__("ethercat", "ur5", "ethercat", _PARAMETERS, NUMBERS, _place)


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
