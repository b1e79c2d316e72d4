"""Teleoperation: a gamepad, a SpaceMouse, a hand or another arm leads the arm: docs/teleop.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from rclpy.node import Node
from std_msgs.msg import String

from ...core.bounded import Bounded
from ...core.errors import refused, unknown
from ...core.spatial import rotation_from_rpy
from ...core.types import Array
from ...laws.spring.bounded_spring import BoundedSpring
from ...ros.entities import Entities
from ...ros.qos import LATCHED_QOS
from ...ros.ros_params import declare
from ...ros.running import run
from .coupling import ArmCoupling
from .feedback import Feedback
from .hand_input import DEVICES, Clutch, Device, HeldButton
from .leader import LeaderArm
from .pose_input import HandPoseInput
from .twist_input import JoyInput, TipTwists, TwistInput

Chosen = Mapping[str, Any]  # values of the parameters

_PARAMETERS = {
    "controller": ("controller", "Name of the controller node."),
    "input": ("joy", "What leads: {inputs}."),
    "leader": ("leader", "Name of the controller node of the arm that leads."),
    "device": ("game_controller", "How joy is read: {devices}."),
    "button": (-2, "Button of joy that must be held; -1 for none, -2 for the device's own."),
    "frame": ("", "Frame of the description whose axes the input has; empty for the base."),
    "hand_frame": (
        [0.0, 0.0, 0.0],
        "Roll, pitch and yaw of the hand's or leader's frame in the base [rad].",
    ),
}
NUMBERS = {
    "linear_scale": Bounded(
        default=0.1, lower=0.0, upper=2.0, unit="m/s", doc="Velocity at full deflection."
    ),
    "angular_scale": Bounded(
        default=0.5, lower=0.0, upper=5.0, unit="rad/s", doc="Angular velocity at full deflection."
    ),
    "dead_band": Bounded(default=0.05, lower=0.0, upper=0.9, doc="Deflection that counts as none."),
    "pose_scale": Bounded(
        default=1.0, lower=0.01, upper=10.0, doc="Displacement of the tip over that of the hand."
    ),
    "timeout": Bounded(
        default=0.2,
        lower=0.02,
        upper=5.0,
        unit="s",
        doc="Time without a pose of the hand or an arm after which it must grip anew.",
    ),
    "full_force": Bounded(
        default=30.0, lower=0.1, upper=1000.0, unit="N", doc="Force at the tip that is full rumble."
    ),
    "force_scale": Bounded(
        default=0.0,
        lower=0.0,
        upper=10.0,
        doc="Wrench for the hand over that at the tip; 0 for none.",
    ),
    "stiffness": Bounded(
        default=500.0,
        lower=0.0,
        upper=10000.0,
        unit="N/m",
        doc="Of the law of the arm that is led by a leader.",
    ),
    "rotational_stiffness": Bounded(
        default=50.0, lower=0.0, upper=1000.0, unit="N·m/rad", doc="The same in rotation."
    ),
    "max_force": Bounded(
        default=100.0,
        lower=0.0,
        upper=2000.0,
        unit="N",
        doc="Bound of that law's spring; 0 for none.",
    ),
    "max_torque": Bounded(
        default=15.0, lower=0.0, upper=500.0, unit="N·m", doc="The same in rotation."
    ),
}


# Inputs of version 0.1 that are programs of the repository now. Version 0.3 forgets them.
_MOVED = {
    "joint_jog": "examples/servo_joint_jog.py",
    "motion_update": "examples/aic_motion_update.py",
}


class TeleopNode(Node):
    """Takes what a person's hand does, and publishes targets of the controller."""

    def __init__(self) -> None:
        super().__init__("teleop")
        chosen = declare(
            self,
            _PARAMETERS,
            NUMBERS,
            {"devices": ", ".join(DEVICES), "inputs": ", ".join(INPUTS)},
        )
        if chosen["input"] in _MOVED:
            rule = f"is a program of the repository now: python {_MOVED[chosen['input']]}"
            raise refused("input", chosen["input"], rule)
        if chosen["input"] not in INPUTS:
            raise unknown("input", chosen["input"], INPUTS)
        self._entities = Entities(self)
        forces = chosen["full_force"], chosen["force_scale"]
        self._feedback = Feedback(self._entities, chosen["controller"], *forces, _hand_axes(chosen))
        self._input = INPUTS[chosen["input"]](self._entities, chosen)
        self._entities.subscription(
            String, f"{chosen['controller']}/fault", self._on_fault, LATCHED_QOS
        )

    def _on_fault(self, message: String) -> None:
        """Say why the arm isn't led by this input, such as who leads it in its place."""
        if message.data:
            self.get_logger().warning(f"the arm doesn't follow: {message.data}")
        else:
            self.get_logger().info("the arm follows")

    def close(self) -> None:
        """Stop the tip, or let the arms go, and take the topics back."""
        self._entities.close()


def _joy(entities: Entities, chosen: Chosen) -> JoyInput:
    device = _device(chosen)
    return JoyInput(
        entities, device, HeldButton(_button(chosen, device.button)), _twists(entities, chosen)
    )


def _twist(entities: Entities, chosen: Chosen) -> TwistInput:
    return TwistInput(entities, chosen["input"] == "twist_stamped", _twists(entities, chosen))


def _pose(entities: Entities, chosen: Chosen) -> HandPoseInput:
    button = _button(chosen, _device(chosen).button)
    if button < 0:
        raise refused(
            "button", button, "must be 0 or more: with poses a held button is the grip", 0
        )
    clutch = Clutch(_hand_axes(chosen), chosen["pose_scale"])
    return HandPoseInput(
        entities, chosen["controller"], HeldButton(button), clutch, chosen["timeout"]
    )


def _leader(entities: Entities, chosen: Chosen) -> LeaderArm:
    stiffness = np.repeat((chosen["stiffness"], chosen["rotational_stiffness"]), 3)
    spring = BoundedSpring(np.diag(stiffness), chosen["max_force"], chosen["max_torque"])
    coupling = ArmCoupling(_hand_axes(chosen), chosen["pose_scale"], chosen["force_scale"], spring)
    button = HeldButton(_button(chosen, -1))
    return LeaderArm(
        entities, chosen["leader"], chosen["controller"], coupling, chosen["timeout"], button
    )


INPUTS: dict[str, Callable[[Entities, Chosen], object]] = {
    "joy": _joy,
    "twist": _twist,
    "twist_stamped": _twist,
    "pose": _pose,
    "leader": _leader,
}


def _twists(entities: Entities, chosen: Chosen) -> TipTwists:
    scale = chosen["dead_band"], chosen["linear_scale"], chosen["angular_scale"]
    return TipTwists(entities, chosen["controller"], chosen["frame"], *scale)


def _hand_axes(chosen: Chosen) -> Array:
    """Axes (3, 3) of the hand's or leader's frame in the base."""
    return rotation_from_rpy(*chosen["hand_frame"])


def _device(chosen: Chosen) -> Device:
    if chosen["device"] not in DEVICES:
        raise unknown("device", chosen["device"], DEVICES)
    return DEVICES[chosen["device"]]


def _button(chosen: Chosen, usual: int) -> int:
    return usual if chosen["button"] == -2 else int(chosen["button"])


def main() -> None:
    """Run the node."""
    run(TeleopNode)
