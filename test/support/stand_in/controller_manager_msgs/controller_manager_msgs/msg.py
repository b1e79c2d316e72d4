"""ControllerState and ControllerManagerActivity, as in ros2_control's
controller_manager_msgs/msg.
"""

from dataclasses import dataclass, field
from types import SimpleNamespace

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

ControllerManagerActivity = DiagnosticArray


@dataclass
class ControllerState:
    name: str = ""
    state: str = ""
    claimed_interfaces: list = field(default_factory=list)


def pack(controllers):
    """The statuses that carry controllers; each has a name, a state or its label, and
    interfaces or none.
    """
    return [
        DiagnosticStatus(
            name=each.name,
            message=getattr(each.state, "label", each.state),
            values=[KeyValue(key=key) for key in getattr(each, "claimed_interfaces", ())],
        )
        for each in controllers
    ]


def unpack(statuses):
    """The controllers that statuses carry."""
    return [
        ControllerState(each.name, each.message, [pair.key for pair in each.values])
        for each in statuses
    ]


def _activity(message):
    return [
        SimpleNamespace(name=each.name, state=SimpleNamespace(label=each.message))
        for each in message.status
    ]


DiagnosticArray.controllers = property(
    _activity, lambda message, given: setattr(message, "status", pack(given))
)
