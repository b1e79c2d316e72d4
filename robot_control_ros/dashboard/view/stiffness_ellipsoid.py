"""The stiffness of the tip's spring: an ellipsoid along the axes in which the law has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...control.requests import Parameter
from ...core.errors import ConfigError, ModelError
from ...core.gains import AXES
from ...core.spatial import make_pose
from ...core.types import Array
from ...laws.law import law_class
from ...laws.softening import softening_of
from ...laws.spring.compliance_frame import BASE, ComplianceFrame
from ...robot.model import RobotDynamics, RobotModel
from ..link import RobotLink, RobotTelemetry
from ..theme import STIFFNESS
from .placing import place

OPACITY = 0.35
ONE = np.ones(1)
# times the reach: half an axis, the stiffest and the softest
LONGEST = 0.2
THINNEST = 0.004


class StiffnessEllipsoid:
    """Ellipsoid about the tip: as long along each principal axis as the spring is stiff there.

    Stiffness is relative to the stiffest axis. A label has the stiffnesses [N/m].

    The length of the stiffest axis is always the same, whatever its stiffness.

    Args:
        scene: Scene of viser.
        link: Link to the robot, which has the law and its gains.
        model: Kinematics of the robot.
        reach: Reach of the arm [m].
    """

    def __init__(self, scene: Any, link: RobotLink, model: RobotModel, reach: float) -> None:
        self._link = link
        self._model = model
        self._reach = reach
        self._shown = False
        look: dict[str, Any] = {
            "opacity": OPACITY,
            "cast_shadow": False,
            "receive_shadow": False,
            "visible": False,
        }
        self._ball = scene.add_icosphere("/stiffness", 1.0, STIFFNESS, subdivisions=4, **look)
        self._label = scene.add_label("/stiffness/label", "", anchor="top-center", visible=False)

    def show(self, shown: bool) -> None:
        """Show the ellipsoid, or hide it."""
        self._shown = shown

    def draw(self, telemetry: RobotTelemetry) -> None:
        """Draw the spring as the law has it now, and ringing has left it."""
        found = None
        if self._shown and telemetry.q is not None:
            kin = self._model.at(telemetry.q)
            left = telemetry.blocks.get("ringing_scale", ONE)
            law = self._link.law()
            parameters = self._link.parameters()
            found = principal_stiffness(law, parameters, kin, telemetry.reference, float(left[0]))
        self._ball.visible = found is not None
        self._label.visible = found is not None
        if found is None:
            return
        values, axes = found
        sizes = np.maximum(LONGEST * values / values.max(), THINNEST) * self._reach
        place(self._ball, make_pose(kin.pose[:3, 3], axes))
        self._ball.scale = tuple(sizes.tolist())
        self._label.text = f"{' · '.join(f'{value:.0f}' for value in values)} N/m"


def principal_stiffness(
    law: str,
    parameters: Mapping[str, Parameter],
    kin: RobotDynamics,
    reference: Array | None = None,
    left: float = 1.0,
) -> tuple[Array, Array] | None:
    """The translational stiffnesses (3,) [N/m] that a law has left, and their axes (3, 3) in the
    base.

    None of a law without a spring at the tip, or with none that pulls.
    """
    given = parameters.get("stiffness")
    if given is None or given.axes[:6] != AXES or not isinstance(given.value, tuple):
        return None
    matrix = np.reshape(given.value, (6, 6)) if len(given.value) == 36 else np.diag(given.value)
    chosen = _numbers(parameters, "axes", 1.0) * (1.0 - _numbers(parameters, "force_axes", 0.0))
    frame = parameters["frame"].value if "frame" in parameters else BASE
    try:
        axes = ComplianceFrame(str(frame), kin).axes(kin, reference)
        left = softening_of(law_class(law).Gains, "stiffness", left)
    except (ConfigError, ModelError):  # a law, or a link, that isn't known on this machine
        return None
    values, directions = np.linalg.eigh((chosen[:, None] * matrix * chosen)[:3, :3])
    if values[-1] <= 0.0:
        return None
    directions[:, 0] *= np.sign(np.linalg.det(directions))
    return left * np.maximum(values, 0.0), np.asarray(axes.dot(directions))


def _numbers(parameters: Mapping[str, Parameter], name: str, default: float) -> Array:
    """The value (6,) of a gain; where there is none, the default."""
    return np.broadcast_to(
        np.asarray(parameters[name].value if name in parameters else default, dtype=float), 6
    )
