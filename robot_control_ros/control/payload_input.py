"""The payload of a control loop: settings that may change while the arm moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.errors import refused
from ..core.gains import ParameterSet, gain_specs
from ..core.types import Array
from ..robot.configuration import RobotConfig
from ..robot.model import RobotDynamics, RobotModel
from ..robot.payload import Payload


class PayloadInput:
    """The one payload of a robot, for its model: gravity, mass, laws, wrench, contact detection,
    safe output.

    Another payload counts as a whole from one cycle on. So torque, wrench and tare always belong
    together. :meth:`.transition.BumplessTransition.bridge` sees to it that the command doesn't
    jump.

    Args:
        model: Model that gets the payload.
        known: Function that returns the dynamics of the last cycle; None before the first.

    Attributes:
        settings: Figures of the :class:`~..robot.payload.Payload`, which may be changed at any
            time. A payload that the joints can't hold at the present posture is refused.
    """

    def __init__(self, model: RobotModel, known: Callable[[], RobotDynamics | None]) -> None:
        self._model = model
        self._known = known
        self.settings = ParameterSet(Payload, 0, figures_of(model.payload), self._check)
        model.payload = self.settings.target

    def take(self) -> Array | None:
        """Give the model its payload, between two cycles.

        Returns:
            Change (n,) [N·m] of the torque that holds the arm where it was last; None for the same
            payload.
        """
        payload = self.settings.target
        if payload is self._model.payload:
            return None
        kin = self._known()
        change = np.zeros(self._model.n)
        if kin is not None:
            change = self._model.holding_torque(kin, payload) - kin.gravity
        self._model.payload = payload
        return change

    def _check(self, payload: Payload) -> None:
        kin = self._known()
        if kin is not None:
            check_holdable(kin, payload)


def check_holdable(kin: RobotDynamics, payload: Payload) -> None:
    """Refuse a payload that the joints can't hold at a posture; one that unloads the joint is
    taken.

    Raises:
        ConfigError: names the joint, the torque that it would need, and its effort limit.
    """
    model = kin.model
    torque = model.holding_torque(kin, payload)
    effort = model.limits.effort
    beyond = (np.abs(torque) > effort) & (np.abs(torque) > np.abs(kin.gravity))
    if not beyond.any():
        return
    joint = int(np.argmax(np.where(beyond, np.abs(torque) / effort, 0.0)))
    bound = float(effort[joint])
    unit = model.limits.unit(joint).effort
    rule = f"must be within +-{bound:g} {unit}, its effort limit: move to a posture with less leverage first"
    where = f"payload of {payload}: torque that holds "
    raise refused(
        model.joints[joint], float(torque[joint]), rule, (-bound, bound), where=where, unit=unit
    )


def overload_at(kin: RobotDynamics) -> str:
    """The joint that can't hold the present payload at a posture, in words; empty where all can."""
    model = kin.model
    loads = np.abs(kin.gravity) / model.limits.effort
    joint = int(np.argmax(loads))
    if loads[joint] <= 1.0:
        return ""
    torque = kin.gravity[joint]
    limit = model.limits.effort[joint]
    unit = model.limits.unit(joint).effort
    return f"{model.joints[joint]} needs {torque:.4g} {unit} here to hold the arm: its limit is {limit:g} {unit}"


def figures_of(payload: Payload) -> dict[str, Any]:
    """The figures of a payload by name."""
    return {spec.name: getattr(payload, spec.name) for spec in gain_specs(Payload)}


def robot_note(robot: RobotConfig) -> str:
    """Note to set the payload on the robot, too, which compensates gravity itself; else empty."""
    if not robot.profile.gravity_by_robot:
        return ""
    return f"{robot.title} compensates gravity itself: set the payload there, too, on its pendant or by its driver"
