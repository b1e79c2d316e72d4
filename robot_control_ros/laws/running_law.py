"""A law on a robot: the object, its gains, and whether the two go together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.errors import refused
from ..core.gains import ParameterSet, gain_specs
from ..core.types import CommandMode, JointSpaceReference, Reference
from ..robot.configuration import RobotConfig
from . import command_mode, law_class, law_names
from .law import ControlLaw


class RunningLaw:
    """One law with its gains on one robot.

    The gains begin with the law's defaults; over them what the robot makes necessary (its `axes`; an `output` that it
    takes; `gravity` and `friction` off where it compensates them itself); over them the robot's
    ``law_gains``; over them `values`.

    Args:
        robot: its configuration.
        name: of the law, or ``package.module:Class``.
        values: gains by name.
        time_constant: [s] with which changed gains are taken over.

    Attributes:
        law, gains: the law and its tuning.
        joint_space: whether its reference is one of the joints.
        needs_wrench: see :class:`ControlLaw`.

    Raises:
        ConfigError: the law, a gain, or the pairing of law and robot is refused.
    """

    def __init__(
        self, robot: RobotConfig, name: str, values: Mapping[str, Any] | None = None, time_constant: float = 0.2
    ) -> None:
        law_type = law_class(name)
        known = law_names()
        for other in robot.law_gains:
            if ":" not in other and other not in known:
                raise refused(
                    "law_gains",
                    other,
                    f"unknown law; laws: {', '.join(known)}",
                    tuple(known),
                    where=f"robot {robot.name}: ",
                )
        self.name = name
        self.law: ControlLaw = law_type()
        self.joint_space = getattr(law_type, "reference", Reference) is JointSpaceReference
        self.needs_wrench = bool(getattr(law_type, "needs_wrench", False))
        self._robot = robot
        self.gains = ParameterSet(law_type.Gains, robot.n, self._defaults(law_type), self._validate, time_constant)
        self.gains.change(self.gains.check(values or {}))
        self.gains.finish()

    @property
    def mode(self) -> CommandMode:
        """What it commands with its present gains."""
        return command_mode(self.law, self.gains.current)

    @property
    def variant(self) -> tuple[str, tuple[str, ...]]:
        """Its name with the values of its choices: where they change, the command may jump."""
        return self.name, self.gains.choices

    def _defaults(self, law_type: Any) -> dict[str, Any]:
        robot, specs = self._robot, {spec.name: spec for spec in gain_specs(law_type.Gains)}
        defaults: dict[str, Any] = {}
        if "axes" in specs:
            defaults["axes"] = robot.axes
        if "output" in specs and specs["output"].default not in robot.profile.commands:
            offered = [output for output in specs["output"].choices if output in robot.profile.commands]
            if offered:
                defaults["output"] = offered[0]
        defaults.update(robot.law_gains.get(self.name, {}))
        defaults.update({name: False for name in robot.profile.compensated_by_robot if name in specs})
        return defaults

    def _validate(self, gains: Any) -> None:
        robot = self._robot
        robot.check_mode(command_mode(self.law, gains), self.name)
        for name in robot.profile.compensated_by_robot:
            if getattr(gains, name, 0.0) > 0.0:
                rule = f"must be false: {robot.title} compensates {name} itself"
                raise refused(name, True, rule, False)
