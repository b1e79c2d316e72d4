"""What a policy sees and does, as arrays of float32 within bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict
from numpy.typing import NDArray

from ...core.types import Array
from ...robot.configuration import RobotConfig
from ...robot.model import RobotModel
from ..snapshot import Snapshot

# m, N, N·m: bounds of what is seen
POSITION = 3.0
FORCE = 500.0
TORQUE = 50.0
TIP_SPEED = (1.0, 1.0, 1.0, 5.0, 5.0, 5.0)  # m/s, rad/s
# rad, of the target in one step, and from the start
ROTATION_STEP = 0.05
ROTATION_BOX = 0.3
SOFTEST = np.array((50.0, 50.0, 50.0, 5.0, 5.0, 5.0))  # N/m, N·m/rad
STIFFEST = np.array((2000.0, 2000.0, 2000.0, 100.0, 100.0, 100.0))


class PolicyObservation:
    """The observations of a robot: see :class:`~.compliance_env.ComplianceEnv`.

    Attributes:
        space: of them.
    """

    def __init__(self, robot: RobotConfig, model: RobotModel, goal: Sequence[float]) -> None:
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
            "goal": _symmetric(goal),
        }
        boxes = {name: Box(*(each.astype(np.float32) for each in bound)) for name, bound in bounds.items()}
        self.space: Dict = Dict({**boxes})
        self._low = np.concatenate([box.low for box in boxes.values()])
        self._high = np.concatenate([box.high for box in boxes.values()])
        self._places: dict[str, slice] = {}  # of each name among all numbers
        end = 0
        for name, box in boxes.items():
            begin = end
            end = end + len(box.low)
            self._places[name] = slice(begin, end)

    def read(self, state: Snapshot, target: Array, goal: Array) -> dict[str, Any]:
        """The observation of a state, with the target's displacement (6,) and the goal (k,)."""
        pose = state.pose
        wrench = np.where(np.isnan(state.wrench), 0.0, state.wrench)
        q = self._model.wrap(state.q)
        numbers = np.concatenate(
            (pose[:3, 3], pose[:3, 0], pose[:3, 1], state.twist, wrench, q, state.v, target, goal), dtype=np.float32
        )
        seen = np.minimum(np.maximum(numbers, self._low), self._high)
        return {name: seen[place] for name, place in self._places.items()}


class PolicyAction:
    """The actions: see :class:`~.compliance_env.ComplianceEnv`.

    Args:
        step: largest displacement along an axis [m].
        rotation, stiffness: whether it has them.
        chunk: how many steps.

    Attributes:
        space: of them.
    """

    def __init__(self, step: float, rotation: bool, stiffness: bool, chunk: int) -> None:
        self._axes = 6 if rotation else 3
        self._scale = np.array([step] * 3 + [ROTATION_STEP] * 3)[: self._axes]
        self._stiffness = stiffness
        width = self._axes * (2 if stiffness else 1)
        self.space = Box(-1.0, 1.0, (width,) if chunk == 1 else (chunk, width), np.float32)
        self._shape = chunk, width

    def read(self, action: Any) -> list[tuple[Array, Array | None]]:
        """The displacements (6,) [m, rad] of an action's steps, and their stiffness, (3,) or (6,), or None."""
        numbers: NDArray[np.float64] = np.clip(np.asarray(action, dtype=float), -1.0, 1.0).reshape(self._shape)
        return [(self._displacement(row[: self._axes]), self._gain(row[self._axes :])) for row in numbers]

    def _displacement(self, row: Array) -> Array:
        result = np.zeros(6)
        result[: self._axes] = self._scale * row
        return result

    def _gain(self, row: Array) -> Array | None:
        """From -1 for the softest to 1 for the stiffest, in equal ratios."""
        if not self._stiffness:
            return None
        softest = SOFTEST[: self._axes]
        stiffest = STIFFEST[: self._axes]
        return np.asarray(softest * (stiffest / softest) ** (0.5 + 0.5 * row))


def _symmetric(bound: Any) -> tuple[Any, Any]:
    high = np.asarray(bound, dtype=float)
    return -high, high
