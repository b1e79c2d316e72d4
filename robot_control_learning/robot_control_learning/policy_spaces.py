"""A policy's observations and actions, as arrays of float32 within bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict
from numpy.typing import NDArray

from robot_control_ros import Array, RobotConfig, RobotModel, Snapshot

# Bounds of the observations
POSITION = 3.0  # m
FORCE = 500.0  # N
TORQUE = 50.0  # N·m
TIP_SPEED = (1.0, 1.0, 1.0, 5.0, 5.0, 5.0)  # m/s, rad/s
# Bounds of the target's rotation
ROTATION_STEP = 0.05  # rad in one step
ROTATION_BOX = 0.3  # rad from the start
SOFTEST = np.array((50.0, 50.0, 50.0, 5.0, 5.0, 5.0))  # N/m, N·m/rad
STIFFEST = np.array((2000.0, 2000.0, 2000.0, 100.0, 100.0, 100.0))


class PolicyObservation:
    """The observations of a robot that :class:`~.compliance_env.ComplianceEnv` describes.

    Args:
        robot: Configuration of the robot.
        model: Model of the robot.
        goal_bound: Largest absolute values (k,) of the task's goal.

    Attributes:
        space: Gymnasium's space of the observations.
    """

    def __init__(self, robot: RobotConfig, model: RobotModel, goal_bound: Sequence[float]) -> None:
        self._model = model
        limits = model.limits
        turn = np.where(model.cyclic, np.pi, np.inf)
        bounds: dict[str, tuple[Any, Any]] = {
            "pose": _symmetric([POSITION] * 3 + [1.0] * 6),
            "twist": _symmetric(TIP_SPEED),
            "wrench": _symmetric([FORCE] * 3 + [TORQUE] * 3),
            "q": (np.maximum(limits.lower, -turn), np.minimum(limits.upper, turn)),
            "v": _symmetric(limits.velocity),
            "target": _symmetric([POSITION] * 3 + [np.pi] * 3),
            "goal": _symmetric(goal_bound),
        }
        boxes = {
            name: Box(*(each.astype(np.float32) for each in bound))
            for name, bound in bounds.items()
        }
        self.space: Dict = Dict({**boxes})
        self._low = np.concatenate([box.low for box in boxes.values()])
        self._high = np.concatenate([box.high for box in boxes.values()])
        self._places: dict[str, slice] = {}  # place of each name's numbers among all numbers
        end = 0
        for name, box in boxes.items():
            begin = end
            end = end + len(box.low)
            self._places[name] = slice(begin, end)

    def read(self, state: Snapshot, target: Array, goal: Array) -> dict[str, Any]:
        """The observation of a state.

        Args:
            state: State of the robot.
            target: Displacement (6,) of the target [m, rad].
            goal: Goal (k,) of the task.
        """
        pose = state.pose
        wrench = np.where(np.isnan(state.wrench), 0.0, state.wrench)
        q = self._model.wrap(state.q)
        numbers = np.concatenate(
            (pose[:3, 3], pose[:3, 0], pose[:3, 1], state.twist, wrench, q, state.v, target, goal),
            dtype=np.float32,
        )
        bounded = np.minimum(np.maximum(numbers, self._low), self._high)
        return {name: bounded[place] for name, place in self._places.items()}


class PolicyAction:
    """The actions that :class:`~.compliance_env.ComplianceEnv` describes.

    Args:
        step: Largest displacement along an axis in one step [m].
        rotation: True for actions that turn the target.
        stiffness: True for actions that change the stiffness.
        chunk: Number of steps in an action.

    Attributes:
        space: Gymnasium's space of the actions.
    """

    def __init__(self, step: float, rotation: bool, stiffness: bool, chunk: int) -> None:
        self._axes = 6 if rotation else 3
        self._scale = np.array([step] * 3 + [ROTATION_STEP] * 3)[: self._axes]
        self._stiffness = stiffness
        width = self._axes * (2 if stiffness else 1)
        self.space = Box(-1.0, 1.0, (width,) if chunk == 1 else (chunk, width), np.float32)
        self._shape = chunk, width

    def read(self, action: Any) -> list[tuple[Array, Array | None]]:
        """The displacement (6,) [m, rad] and the stiffness, or None, of each step of an action."""
        numbers: NDArray[np.float64] = np.clip(np.asarray(action, dtype=float), -1.0, 1.0).reshape(
            self._shape
        )
        return [
            (self._displacement(row[: self._axes]), self._gain(row[self._axes :]))
            for row in numbers
        ]

    def _displacement(self, row: Array) -> Array:
        """The displacement (6,) [m, rad] for the first numbers of a row."""
        result = np.zeros(6)
        result[: self._axes] = self._scale * row
        return result

    def _gain(self, row: Array) -> Array | None:
        """The stiffness for the last numbers of a row, in equal ratios.

        It is (3,) [N/m], or (6,) with the rotations [N·m/rad]; None where actions have none.
        """
        if not self._stiffness:
            return None
        softest = SOFTEST[: self._axes]
        stiffest = STIFFEST[: self._axes]
        return np.asarray(softest * (stiffest / softest) ** (0.5 + 0.5 * row))


def _symmetric(bound: Any) -> tuple[Any, Any]:
    """The bounds -bound and bound."""
    high = np.asarray(bound, dtype=float)
    return -high, high
