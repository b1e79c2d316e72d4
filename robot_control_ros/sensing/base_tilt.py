"""The direction of gravity, recognised by the torques that hold a resting arm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..core.spatial import rotation_from_rpy, rotation_to_rpy
from ..core.types import Array
from ..robot.model import RobotDynamics, RobotModel

UNEXPLAINED = 0.08  # of gravity's torque: what is smaller may be friction
LEAST = 2.0  # N·m, likewise
EXPLAINED = 0.3  # of the torque beyond the model: the largest rest beside an explanation
STEPS = 8  # of the search for the direction
DIRECTIONS = 2  # numbers that a direction has


@dataclass(frozen=True, eq=False)
class RestingTorque:
    """Torque of a resting arm beyond that of its model, and what explains it.

    Attributes:
        missing: Norm of the torque beyond the model's [N·m].
        tilt: Roll and pitch (2,) of the base in the world that fit best, beyond its mount [rad].
        angle: Angle between gravity under this tilt and the model's [rad].
        tilted_rest: Norm of the torque that this tilt leaves [N·m].
        mass: Mass at the tip that fits best, under the model's gravity [kg].
        loaded_rest: Norm of the torque that this mass leaves [N·m].
    """

    missing: float
    tilt: Array
    angle: float
    tilted_rest: float
    mass: float
    loaded_rest: float

    @property
    def by_tilt(self) -> bool:
        """True where a tilted base explains the torque."""
        return self.tilted_rest <= EXPLAINED * self.missing

    @property
    def by_load(self) -> bool:
        """True where a mass at the tip explains the torque."""
        return self.mass > 0.0 and self.loaded_rest <= EXPLAINED * self.missing


def explain_torque(postures: Sequence[RobotDynamics], torque: Array) -> RestingTorque | None:
    """Compare the torques of a resting arm with its model.

    Let g be the model's gravity in base axes, and Y(q) g its torque. A tilted base turns g. The
    tilt is found by least squares, as is a mass at the tip. Friction at rest is in the torques,
    too; so small ones say nothing.

    Args:
        postures: Dynamics at m postures, with one model.
        torque: (m, n) mean torques that held the arm there [N·m].

    Returns:
        Explanations; None where the model explains the torques, or there are too few joints.
    """
    modelled = np.array([kin.gravity for kin in postures])
    excess = (torque - modelled).ravel()
    missing = float(np.linalg.norm(excess))
    if torque.size <= DIRECTIONS + 1:
        return None
    if missing < max(UNEXPLAINED * float(np.linalg.norm(modelled)), LEAST):
        return None
    model = postures[0].model
    if not model.gravity.any():
        return None
    regressor = np.concatenate([kin.gravity_regressor for kin in postures])
    carried = np.concatenate([kin.payload_regressor[:, 0] for kin in postures])
    tilt = fit_tilt(model, regressor, excess)
    change = tilted_gravity(model, tilt) - model.gravity
    shorter = float(np.linalg.norm(change)) / (2.0 * float(np.linalg.norm(model.gravity)))
    size = float(carried @ carried)
    mass = float(carried @ excess) / size if size > 0.0 else 0.0
    return RestingTorque(
        missing=missing,
        tilt=tilt,
        angle=2.0 * math.asin(min(shorter, 1.0)),
        tilted_rest=float(np.linalg.norm(excess - regressor @ change)),
        mass=mass,
        loaded_rest=float(np.linalg.norm(excess - mass * carried)),
    )


def tilted_gravity(model: RobotModel, tilt: Array) -> Array:
    """Gravity (3,) [m/s²] in base axes, with the root tilted in the world by roll and pitch (2,)
    [rad].
    """
    root = model.root[:3, :3]
    turn = rotation_of(tilt)
    return np.asarray(root @ turn.T @ root.T @ model.gravity)


def rotation_of(tilt: Array) -> Array:
    """Rotation (3, 3) by roll and pitch (2,) [rad]."""
    return rotation_from_rpy(float(tilt[0]), float(tilt[1]), 0.0)


def tilt_jacobian(model: RobotModel, tilt: Array) -> Array:
    """Derivatives (3, 2) of :func:`tilted_gravity` by roll and pitch [m/s²/rad]."""
    step = 1e-6 * np.eye(2)
    return np.column_stack(
        [
            (tilted_gravity(model, tilt + each) - tilted_gravity(model, tilt - each)) / 2e-6
            for each in step
        ]
    )


def fit_tilt(model: RobotModel, regressor: Array, excess: Array) -> Array:
    """Roll and pitch (2,) [rad] of the base under which gravity's torques fit best.

    Args:
        model: Model of the robot, with gravity.
        regressor: (k, 3) torques per m/s² of gravity along each base axis.
        excess: (k,) torques beyond those of the model's gravity [N·m].
    """
    tilt = np.zeros(2)
    for _ in range(STEPS):
        rest = excess - regressor @ (tilted_gravity(model, tilt) - model.gravity)
        tilt = tilt + np.linalg.lstsq(regressor @ tilt_jacobian(model, tilt), rest, rcond=1e-9)[0]
    return tilt


def tilted_mount(mount: Sequence[float], tilt: Array) -> tuple[float, ...]:
    """Roll, pitch and yaw [rad] of a mount that is tilted in the world by roll and pitch (2,) [rad].

    `mount` is x, y, z [m], roll, pitch, yaw [rad] of the root in the world.
    """
    roll, pitch, yaw = mount[3:]
    turned = rotation_of(tilt) @ rotation_from_rpy(roll, pitch, yaw)
    return tuple(rotation_to_rpy(turned).tolist())
