"""What the robot believes that it carries, and what the controller's model carries.

A torque law is added to the robot's own gravity compensation. Where the two differ, the arm sags or
rises by the difference.
"""

from __future__ import annotations

import numpy as np

from ...core.errors import ConfigError
from ...core.types import Array
from ...robot.model import RobotDynamics, RobotModel
from .franka_connection import FlangeBody, FrankaSettings

LIGHT = 1e-3  # kg; less is nothing


def total_body(settings: FrankaSettings) -> FlangeBody:
    """End effector and load of the robot as one body."""
    return _sum(settings.end_effector, settings.load, 1.0)


def modelled_body(model: RobotModel, flange: str) -> FlangeBody:
    """What the controller's model carries on the flange: links beyond it, and the payload."""
    body = model.body_beyond(flange)
    return FlangeBody(float(body.mass), np.array(body.center), np.array(body.inertia))


def load_besides(body: FlangeBody, end_effector: FlangeBody) -> FlangeBody:
    """Load that makes the robot carry a body, where an end effector is set in Desk.

    Raises:
        ConfigError: the end effector is heavier than the whole body.
    """
    if end_effector.mass > body.mass + LIGHT:
        raise ConfigError(
            f"the robot's end effector in Desk has {end_effector.mass:.3f} kg, but the controller's model carries "
            f"only {body.mass:.3f} kg: name the gripper or the payload in the robot's file, or take the end effector "
            "out in Desk",
            name="end_effector",
            value=end_effector.mass,
            bound=body.mass,
        )
    load = _sum(body, end_effector, -1.0)
    if load.mass < LIGHT:
        return FlangeBody(0.0, np.zeros(3), np.zeros((3, 3)))
    if np.linalg.eigvalsh(load.inertia).min() < 0.0:  # figures that were rounded
        return load._replace(inertia=np.zeros((3, 3)))
    return load


def check_load(
    kin: RobotDynamics, flange: str, settings: FrankaSettings, joints: tuple[str, ...], most: float
) -> None:
    """Refuse a payload of the robot that isn't the controller's.

    Args:
        kin: Dynamics of the controller's model at the present posture.
        flange: Frame of the flange.
        settings: Settings of the robot.
        joints: Names of the joints.
        most: Largest torque error that is taken [N·m].

    Raises:
        ConfigError: names both, the joint and the torque error that the difference means there.
    """
    model = kin.model
    ours = modelled_body(model, flange)
    theirs = total_body(settings)
    in_tip = np.linalg.inv(kin.pose) @ model.frame_pose(flange)
    moment = theirs.mass * theirs.center - ours.mass * ours.center
    mass = theirs.mass - ours.mass
    figures = np.concatenate(((mass,), in_tip[:3, :3] @ moment + mass * in_tip[:3, 3]))
    torque = kin.payload_regressor @ figures
    worst = int(np.abs(torque).argmax())
    error = float(torque[worst])
    if abs(error) <= most:
        return
    raise ConfigError(
        f"the robot believes that it carries {_text(theirs)} on its flange, the controller {_text(ours)}: at "
        f"{joints[worst]} this is a torque error of {error:.2f} N·m, must be at most {most:g} N·m. Set `payload` in "
        "the robot's file to what the arm carries, and let this driver send it (set_load: true)",
        name=joints[worst],
        value=error,
        bound=most,
    )


def _sum(first: FlangeBody, second: FlangeBody, sign: float) -> FlangeBody:
    """Both bodies as one, or the first without the second where the sign is -1."""
    mass = first.mass + sign * second.mass
    if abs(mass) < LIGHT:
        return FlangeBody(0.0, np.zeros(3), np.zeros((3, 3)))
    center = (first.mass * first.center + sign * second.mass * second.center) / mass
    about_flange = _about_flange(first) + sign * _about_flange(second)
    return FlangeBody(mass, center, about_flange - mass * _spread(center))


def _about_flange(body: FlangeBody) -> Array:
    """Inertia (3, 3) of a body about the flange's origin."""
    return np.asarray(body.inertia + body.mass * _spread(body.center))


def _spread(center: Array) -> Array:
    """Inertia (3, 3) of 1 kg at a point, about the origin."""
    return np.asarray(center @ center * np.eye(3) - np.outer(center, center))


def _text(body: FlangeBody) -> str:
    center = ", ".join(f"{x:.3f}" for x in body.center)
    return f"{body.mass:.3f} kg at ({center}) m"
