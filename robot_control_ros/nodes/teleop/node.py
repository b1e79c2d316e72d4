"""Teleoperation: a gamepad, a SpaceMouse, a hand, another arm or a program leads the arm; see docs/teleop.md."""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, Twist, TwistStamped
from rclpy.duration import Duration
from rclpy.node import Node
from sensor_msgs.msg import Joy

from ...core.errors import ConfigError, RobotControlError, refused, unknown
from ...core.spatial import rotation_from_rpy
from ...core.types import Array
from ...laws.spring.bounded_spring import BoundedSpring
from ..common.entities import Entities
from ..common.messages import fill_pose, fill_twist, read_pose, vector
from ..common.ros_params import declare
from ..common.running import run
from .coupling import ArmCoupling
from .feedback import Feedback
from .hand_input import DEVICES, Clutch, Device, HeldButton, scale_deflection
from .joint_jog import JointJogInput
from .leader import LeaderArm
from .motion_update import MotionUpdateInput

INPUTS = ("joy", "twist", "twist_stamped", "pose", "leader", "joint_jog", "motion_update")
ACKNOWLEDGED_WITHIN = Duration(seconds=0.5)
LOOK_PERIOD = 0.05  # s between two looks whether the hand's pose still comes

_PARAMETERS = {
    "controller": ("controller", "Name of the controller node."),
    "input": ("joy", "What leads: {inputs}."),
    "leader": ("leader", "Name of the controller node of the arm that leads."),
    "device": ("game_controller", "How joy is read: {devices}."),
    "button": (-2, "Button of joy that must be held; -1 for none, -2 for the device's own."),
    "frame": ("", "Frame of the description whose axes the input has; empty for the base."),
    "hand_frame": ([0.0, 0.0, 0.0], "Roll, pitch and yaw of the hand's or leader's frame in the base [rad]."),
}
_NUMBERS = {
    "linear_scale": (0.1, 0.0, 2.0, "Velocity at full deflection [m/s]."),
    "angular_scale": (0.5, 0.0, 5.0, "Angular velocity at full deflection [rad/s]."),
    "joint_scale": (0.5, 0.0, 10.0, "Velocity of a joint at full deflection [rad/s], for joint_jog."),
    "dead_band": (0.05, 0.0, 0.9, "Deflection that counts as none."),
    "pose_scale": (1.0, 0.01, 10.0, "Displacement of the tip over that of the hand."),
    "timeout": (0.2, 0.02, 5.0, "Time without a pose of the hand or an arm after which it must grip anew [s]."),
    "full_force": (30.0, 0.1, 1000.0, "Force at the tip that is full rumble [N]."),
    "force_scale": (0.0, 0.0, 10.0, "Wrench for the hand over that at the tip; 0 for none."),
    "stiffness": (500.0, 0.0, 10000.0, "Of the law of the arm that is led by a leader [N/m]."),
    "rotational_stiffness": (50.0, 0.0, 1000.0, "The same in rotation [N·m/rad]."),
    "max_force": (100.0, 0.0, 2000.0, "Bound of that law's spring [N]; 0 for none."),
    "max_torque": (15.0, 0.0, 500.0, "The same in rotation [N·m]."),
}


class TeleopNode(Node):
    """Input of a person in, targets of the controller out; see the module."""

    def __init__(self) -> None:
        super().__init__("teleop")
        chosen = declare(self, _PARAMETERS, _NUMBERS, {"devices": ", ".join(DEVICES), "inputs": ", ".join(INPUTS)})
        self._chosen, self._kind = chosen, chosen["input"]
        if self._kind not in INPUTS:
            raise unknown("input", self._kind, INPUTS)
        self._device = self._choose_device()
        usual = -1 if self._kind == "leader" else self._device.button
        button = usual if chosen["button"] == -2 else chosen["button"]
        if self._kind == "motion_update" and not chosen["frame"]:
            raise refused("frame", "", "must be the tip's name in the description, such as tool0")
        if self._kind == "pose" and button < 0:
            raise refused("button", button, "must be 0 or more: with poses a held button is the grip", 0)
        self._button = HeldButton(button if self._kind in ("joy", "pose", "leader") else -1)
        axes = rotation_from_rpy(*chosen["hand_frame"])
        self._clutch = Clutch(axes, chosen["pose_scale"])
        self._reference: PoseStamped | None = None
        self._leader: LeaderArm | None = None
        self._moving, self._hand_at = False, 0.0
        self._entities = Entities(self)
        self._make_entities(axes)

    def close(self) -> None:
        """Stop the tip, or let the arms go, and take the topics back."""
        self._stop()
        if self._leader is not None:
            self._leader.release()
        self._twists.wait_for_all_acked(ACKNOWLEDGED_WITHIN)
        self._entities.close()

    def _choose_device(self) -> Device:
        device = self._chosen["device"]
        if device not in DEVICES:
            raise unknown("device", device, DEVICES)
        return DEVICES[device]

    def _make_entities(self, axes: Array) -> None:
        entities, chosen, controller = self._entities, self._chosen, self._chosen["controller"]
        self._twists = entities.publisher(TwistStamped, f"{controller}/target_twist")
        self._poses = entities.publisher(PoseStamped, f"{controller}/target_pose")
        self._feedback = Feedback(entities, controller, chosen["full_force"], chosen["force_scale"], axes)
        entities.subscription(PoseStamped, f"{controller}/reference_pose", self._on_reference)
        if self._kind in ("joy", "pose") or (self._kind == "leader" and not self._button.held):
            entities.subscription(Joy, "joy", self._on_joy)
        if self._kind == "twist":
            entities.subscription(Twist, "twist", lambda message: self._lead(_deflection(message)))
        if self._kind == "twist_stamped":
            entities.subscription(TwistStamped, "twist_stamped", self._on_twist_stamped)
        if self._kind == "pose":
            entities.subscription(PoseStamped, "hand_pose", self._on_hand)
            entities.timer(LOOK_PERIOD, self._look)
        if self._kind == "leader":
            self._leader = self._make_leader(axes)
        if self._kind == "joint_jog":
            kind = message_type("control_msgs", "JointJog")
            self._jog = JointJogInput(entities, kind, controller, chosen["joint_scale"], chosen["timeout"])
        if self._kind == "motion_update":
            kind = message_type("aic_control_interfaces", "MotionUpdate")
            self._updates = MotionUpdateInput(entities, kind, controller, chosen["frame"])

    def _make_leader(self, axes: Array) -> LeaderArm:
        chosen = self._chosen
        stiffness = np.repeat((chosen["stiffness"], chosen["rotational_stiffness"]), 3)
        spring = BoundedSpring(np.diag(stiffness), chosen["max_force"], chosen["max_torque"])
        coupling = ArmCoupling(axes, chosen["pose_scale"], chosen["force_scale"], spring)
        arms = chosen["leader"], chosen["controller"]
        return LeaderArm(self._entities, *arms, coupling, chosen["timeout"], lambda: self._button.held, self._arm_lost)

    def _arm_lost(self, message: str) -> None:
        self._button.release()
        self.get_logger().warning(message, throttle_duration_sec=1.0)

    def _on_reference(self, message: PoseStamped) -> None:
        self._reference = message

    # --- twists ---

    def _on_joy(self, message: Joy) -> None:
        held = self._button.update(message.buttons)
        if self._kind in ("pose", "leader"):
            if not held:
                self._clutch.release()
        elif held:
            self._lead(self._device.deflection(message.axes))
        else:
            self._stop()

    def _on_twist_stamped(self, message: TwistStamped) -> None:
        self._lead(_deflection(message.twist), message.header.frame_id)

    def _lead(self, deflection: Array, frame: str = "") -> None:
        """Move the tip; a hand that is at rest stops it once, and then leaves it to others."""
        chosen = self._chosen
        twist = scale_deflection(deflection, chosen["dead_band"], chosen["linear_scale"], chosen["angular_scale"])
        if twist.any():
            self._moving = self._publish_twist(twist, frame)
        else:
            self._stop()

    def _stop(self) -> None:
        if self._moving:
            self._publish_twist(np.zeros(6))
            self._moving = False

    def _publish_twist(self, twist: Array, frame: str = "") -> bool:
        if self._reference is None:  # the base's name isn't known yet, and nobody would follow
            return False
        message = TwistStamped()
        message.header.frame_id = frame or self._chosen["frame"] or self._reference.header.frame_id
        fill_twist(message.twist, twist)
        self._twists.publish(message)
        return True

    # --- poses ---

    def _on_hand(self, message: PoseStamped) -> None:
        try:
            hand = read_pose(message.pose)
        except RobotControlError as error:
            self.get_logger().error(f"hand_pose: {error}", throttle_duration_sec=1.0)
            return
        self._hand_at = time.monotonic()
        if self._reference is None or not self._button.held:
            return
        if not self._clutch.gripped:
            self._clutch.grip(hand, read_pose(self._reference.pose))
        target = PoseStamped(header=self._reference.header)
        wanted = self._clutch.target(hand)
        assert wanted is not None
        fill_pose(target.pose, wanted)
        self._poses.publish(target)

    def _look(self) -> None:
        """A hand whose poses are lost must grip anew: it may be elsewhere when they come back."""
        if self._clutch.gripped and time.monotonic() - self._hand_at > self._chosen["timeout"]:
            self._clutch.release()
            self._button.release()
            self.get_logger().warning("no pose of the hand: the tip stays at the last one; grip anew")


def message_type(package: str, name: str) -> type:
    """The class of a message of a package that isn't installed everywhere.

    Raises:
        ConfigError: it isn't installed here.
    """
    try:
        found: type = getattr(import_module(f"{package}.msg"), name)
    except ImportError as error:
        raise ConfigError(f"this input needs the messages of {package}: install it first", name=package) from error
    return found


def _deflection(message: Any) -> Array:
    return np.concatenate((vector(message.linear), vector(message.angular)))


def main() -> None:
    """Run the node."""
    run(TeleopNode)
