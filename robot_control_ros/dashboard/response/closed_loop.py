"""The second-order system that the tip is under a law, for small moves about a pose at rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.errors import ConfigError, RobotControlError
from ...core.gains import AXES, gain_specs
from ...core.types import Array, CommandMode, Reference, RobotState
from ...laws import law_class
from ...laws.admittance import Admittance
from ...laws.running_law import RunningLaw
from ...robot.configuration import RobotConfig
from ...robot.model import RobotModel
from .second_order import SecondOrder

DT = 1e-6  # s between two calls of the law: its inner states hardly move
# rad, rad/s: of each joint, for the differences
ANGLE_STEP = 1e-5
VELOCITY_STEP = 1e-4


def closed_loop(
    robot: RobotConfig, model: RobotModel, law: str, gains: Mapping[str, Any], q: Array, axis: int
) -> SecondOrder:
    """Second-order system by which the tip moves along an axis under a wrench of the law along it.

    The law exerts that wrench for ~/target_wrench.

    An effort law gives its torques about joint angles q, and the model gives their effect on the
    rigid arm. So the axes are coupled. Friction and its compensation are left out. For an
    admittance it is the virtual body: the joints are taken to follow it.

    Args:
        robot, model: Robot, and its kinematics and dynamics.
        law: Name of the law, or ``package.module:Class``.
        gains: Gains by name; unknown ones are ignored.
        q: (n,) joint angles at rest [rad].
        axis: Number of the axis, 0 to 5.

    Raises:
        ConfigError: the law can't run here, or doesn't take such a wrench.
    """
    try:
        known = {spec.name for spec in gain_specs(law_class(law).Gains)}
        values = {name: gains[name] for name in gains if name in known}
        running = RunningLaw(
            robot, law, values | dict.fromkeys(known & {"friction", "friction_bound"}, 0)
        )
    except RobotControlError as error:
        raise ConfigError(
            f"law {law} can't run on this page: {error}", name="law", value=law
        ) from error
    if isinstance(running.law, Admittance):
        found = _virtual_body(running, axis)
    elif running.mode is CommandMode.EFFORT:
        found = _rigid_arm(running, model, "gravity" in robot.profile.compensated_by_robot, q, axis)
    else:
        message = (
            f"law {law} commands the joints' {running.mode.value}: try an effort law or admittance"
        )
        raise ConfigError(message, name="law", value=law)
    if not found.input.any():
        message = f"law {law} doesn't exert a target wrench along {AXES[axis]}: try impedance or admittance"
        raise ConfigError(message, name="law", value=law)
    return found


def _virtual_body(running: RunningLaw, axis: int) -> SecondOrder:
    gains = running.gains.current
    assert isinstance(gains, Admittance.Gains)
    columns = (
        gains.mass.diagonal(),
        gains.virtual_damping.diagonal(),
        gains.stiffness.diagonal(),
        gains.moved_axes,
    )
    return SecondOrder.of(*(column[axis] for column in columns))


def _rigid_arm(
    running: RunningLaw, model: RobotModel, gravity_by_robot: bool, q: Array, axis: int
) -> SecondOrder:
    law = running.law
    gains = running.gains.current
    n = model.n
    rest = model.at(q)
    no_motion = np.zeros(n)
    no_wrench = np.zeros(6)
    along = np.eye(6)[axis]
    law.reset(_state(q, no_motion), rest)

    def torque(moved: Array, v: Array, wrench: Array) -> Array:
        """The part that accelerates the arm."""
        kin = model.at(q + moved, v)
        reference = Reference(rest.pose, no_wrench, no_wrench, wrench, q, no_motion, no_motion)
        command = law.compute(_state(q + moved, v), kin, reference, gains, DT)
        weight = 0.0 if gravity_by_robot else kin.gravity
        return np.asarray(command.values - weight)

    def slope(change: Any, size: float) -> Array:
        columns = [
            (change(size * each) - change(-size * each)) / (2.0 * size) for each in np.eye(n)
        ]
        return np.column_stack(columns)

    return SecondOrder(
        rest.mass,
        -slope(lambda v: torque(no_motion, v, no_wrench), VELOCITY_STEP),
        -slope(lambda moved: torque(moved, no_motion, no_wrench), ANGLE_STEP),
        torque(no_motion, no_motion, along) - torque(no_motion, no_motion, no_wrench),
        rest.jacobian[axis],
    )


def _state(q: Array, v: Array) -> RobotState:
    return RobotState(0.0, q, v, np.zeros(len(q)), wrench_on_tip=np.zeros(6))
