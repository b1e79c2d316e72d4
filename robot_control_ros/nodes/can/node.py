"""Motors on CAN as a node.

Topics, services and parameters: docs/can.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.bounded import Bounded
from ...core.errors import ConfigError
from ...ros.running import run
from ..fieldbus.node import REQUESTS, BusNode, BusPlace

_PARAMETERS = {
    "channel": (
        "",
        "Bus that the motors are on: a CAN interface as can0, or socketcand://HOST:PORT/can0.",
    ),
    "arm": (
        "",
        "Which motor moves which joint: a name, or the path of a YAML file; empty takes the robot's name.",
    ),
}
NUMBERS = {
    "reply_timeout": Bounded(
        default=0.0,
        lower=0.0,
        upper=1.0,
        unit="s",
        doc="Longest wait for replies after a cycle's time; for an emulated bus on a machine that stalls.",
    ),
}
_OPTIONS = ("arm", *NUMBERS)


class CanNode(BusNode):
    """The node of a CAN bus; it has the request `zero` as well."""

    def __init__(self) -> None:
        super().__init__("can", "openarm", "can", _PARAMETERS, NUMBERS, _place, (*REQUESTS, "zero"))


def _place(chosen: Mapping[str, Any]) -> BusPlace:
    """Place of the bus; a ConfigError where no channel is named."""
    if not chosen["channel"]:
        raise ConfigError(
            "channel is empty: must be the bus that the motors are on, such as can0",
            name="channel",
        )
    return BusPlace("can", chosen["channel"], {name: chosen[name] for name in _OPTIONS})


def main() -> None:
    """Run the node."""
    run(CanNode)
