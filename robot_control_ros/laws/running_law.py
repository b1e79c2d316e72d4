"""A law on a robot: the object, its gains, and the check that law and robot go together."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from ..core.cycle import NONE, Cycles
from ..core.errors import ConfigError, refused
from ..core.gains import GainSpec, ParameterSet, gain_specs, short_names
from ..core.types import Array, Command, CommandMode, JointSpaceReference, Reference, RobotState
from ..robot.configuration import RobotConfig
from ..robot.description import parse_description
from ..robot.implausible import torque_problem
from ..robot.model import RobotDynamics, RobotModel
from . import command_mode, law_class, law_names
from .compiled_law import CompiledLaw
from .default_gains import ArmAtHome, arm_at_home
from .law import ControlLaw
from .softening import cannot_be_softened


class RunningLaw:
    """One law with its gains on one robot.

    The gains begin with the law's defaults, and each of these takes precedence over those before
    it:

    - gains that the robot makes necessary: its `axes`, an `output` that it takes, and
      `friction_by_wrench` off where joint efforts give the wrench;
    - where torques are commanded, gains that suit its inertia, see :mod:`.default_gains`. A
      configuration without a file of its description has the declared ones;
    - the robot's ``law_gains``;
    - `gravity`, `friction` and `friction_bound`, off where the robot compensates them itself;
    - `values`, which can't switch those on again.

    Args:
        robot: Configuration of the robot.
        name: Name of the law, or ``package.module:Class``.
        values: Gains by name; `stiffness` and `impedance.stiffness` name the same one.
        time_constant: Time constant with which changed gains are taken over [s].

    Attributes:
        robot: Configuration of the robot.
        gains: Gains of the law on this robot, which may be changed at any time.
        joint_space: True where the law's reference is one of the joints.
        needs_wrench: True where the law needs a measured wrench, see :class:`~.law.ControlLaw`.
        makes_path: True where the law tells the velocities of a path, see :attr:`path_velocity`.
        governed: True where the law has a gain `governor`: its reference may be slowed down while
            its spring is near its bound.

    Raises:
        ConfigError: the law, a gain, or the pairing of law and robot is refused.
    """

    def __init__(
        self,
        robot: RobotConfig,
        name: str,
        values: Mapping[str, Any] | None = None,
        time_constant: float = 0.2,
    ) -> None:
        law_type = law_class(name)
        laws = law_names()
        for other in robot.law_gains:
            if ":" not in other and other not in laws:
                raise refused(
                    "law_gains",
                    other,
                    f"unknown law; laws: {', '.join(laws)}",
                    tuple(laws),
                    where=f"robot {robot.name}: ",
                )
        self.name = name
        self.law = law_type()
        self.makes_path = hasattr(self.law, "path_velocity")
        self.joint_space = getattr(law_type, "reference", Reference) is JointSpaceReference
        self.needs_wrench = bool(getattr(law_type, "needs_wrench", False))
        self.governed = any(spec.name == "governor" for spec in gain_specs(law_type.Gains))
        self._frames = [spec for spec in gain_specs(law_type.Gains) if spec.links]
        self.robot = robot
        self._judged: Any = None
        self._warning = ""
        self.gains = ParameterSet(
            law_type.Gains, robot.n, self._defaults(law_type), self._validate, time_constant
        )
        known = (spec.name for spec in self.gains.specs)
        self.gains.change(self.gains.check(short_names(name, values or {}, known)))
        self.gains.finish()
        self._variant = name, self.gains.choices

    @property
    def law(self) -> ControlLaw:
        """The law."""
        return self._law

    @law.setter
    def law(self, law: Any) -> None:
        self._law: ControlLaw = law
        # The law that computes over records; None of one in plain Python, and of one with a
        # `compute` of its own.
        self._compiled: CompiledLaw | None = None
        if getattr(type(law), "compute", None) is CompiledLaw.compute:
            self._compiled = law

    @property
    def mode(self) -> CommandMode:
        """Mode in which the law commands with its present gains."""
        return command_mode(self.law, self.gains.current)

    def command(
        self,
        cycles: Cycles,
        state: RobotState,
        kin: RobotDynamics,
        reference: Reference,
        gains: Any,
        dt: float,
    ) -> Command:
        """The law's command for a cycle, which is written into the cycle's record, too.

        Args:
            cycles: Records, the first of which is this cycle's, complete up to the reference.
            state, kin, reference, gains, dt: Arguments of the law's `compute`, see
                :class:`~.law.ControlLaw`.
        """
        law = self._compiled
        if law is not None:
            return law.command(cycles, 0, kin, reference.path, gains, dt)
        command = self.law.compute(state, kin, reference, gains, dt)
        asked = cycles.asked[0]
        asked[:] = command.values if command.values.shape == asked.shape else NONE
        return command

    def memory(self) -> Array | None:
        """A copy of what the law remembers beyond a cycle; None of a law in plain Python."""
        return None if self._compiled is None else self._compiled.save()

    @property
    def spring_load(self) -> float:
        """Force of the law's spring without its bound over the bound, in the last command, 0 to 1.

        It is 0 for a law without a bound.
        """
        if not self.governed:
            return 0.0
        load: float = self._law.spring_load  # type: ignore[attr-defined]
        return load if load < 1.0 else 1.0

    @property
    def path_velocity(self) -> Array | None:
        """Velocities (n,) of the path that the law makes, see :class:`ControlLaw`; or None."""
        return self.law.path_velocity if self.makes_path else None  # type: ignore[attr-defined]

    @property
    def warning(self) -> str:
        """Gains that aren't in force, and what the target gains can't do, in words; else empty."""
        present = getattr(self.law, "warning", "")
        lasting = self._warning_of_gains()
        return "; ".join(
            text for text in (f"{self.name}: {present}" if present else "", lasting) if text
        )

    def _warning_of_gains(self) -> str:
        """Warning of what the target gains can't do at the robot's rate; empty for none."""
        gains = self.gains.target
        if gains is not self._judged:
            texts = [
                gains.warning(self.robot.period) if hasattr(gains, "warning") else "",
                self._unprotected,
            ]
            self._warning = "; ".join(f"{self.name}: {text}" for text in texts if text)
            self._judged = gains
        return self._warning

    @property
    def _unprotected(self) -> str:
        """Warning that late samples and ringing can't soften the efforts; empty where they can."""
        kind: Any = type(self.gains.target)
        if self.mode is not CommandMode.EFFORT or not cannot_be_softened(kind):
            return ""
        return "no gain has the role stiffness or damping, so it isn't softened where samples are late or the arm rings"

    @property
    def variant(self) -> tuple[str, tuple[str, ...]]:
        """The law's name and the values of its choices: where they change, the command may jump."""
        if self._variant[1] is not self.gains.choices:
            self._variant = self.name, self.gains.choices
        return self._variant

    def _defaults(self, law_type: Any) -> dict[str, Any]:
        robot = self.robot
        specs = {spec.name: spec for spec in gain_specs(law_type.Gains)}
        defaults: dict[str, Any] = {}
        if "axes" in specs:
            defaults["axes"] = robot.axes
        if "output" in specs and specs["output"].default not in robot.profile.commands:
            offered = [
                output for output in specs["output"].choices if output in robot.profile.commands
            ]
            if offered:
                defaults["output"] = offered[0]
        if "friction_by_wrench" in specs and robot.profile.wrench.get("source") == "joint_effort":
            defaults["friction_by_wrench"] = False
        commands_torques = defaults.get("output", law_type.mode.value) == CommandMode.EFFORT.value
        if commands_torques and hasattr(law_type, "default_gains"):
            arm = self._arm
            if arm is not None and arm.problem == "":
                defaults.update(law_type.default_gains(arm))
        defaults.update(robot.law_gains.get(self.name, {}))
        defaults.update({name: off for name, off in self._left_to_robot().items() if name in specs})
        return defaults

    def _validate(self, gains: Any) -> None:
        """Refuse gains that this robot can't take.

        Raises:
            ConfigError: The robot doesn't take the mode of the commands, a frame isn't one of its
                links, or a gain compensates what the robot compensates itself.
        """
        robot = self.robot
        mode = command_mode(self.law, gains)
        robot.check_mode(mode, self.name)
        if mode is CommandMode.EFFORT and self._arm is not None:
            self._check_torques(self._arm.problem)
        for spec in self._frames:
            self._check_frame(spec, getattr(gains, spec.name))
        for name, off in self._left_to_robot().items():
            value = np.asarray(getattr(gains, name, 0.0))
            if value.any():
                rule = f"must be {str(off).lower()}: {robot.title} compensates {name.partition('_')[0]} itself"
                raise refused(name, True if off is False else value, rule, off)

    @cached_property
    def _arm(self) -> ArmAtHome | None:
        """The arm by the configuration's description; None where that is handed on as a text."""
        return arm_at_home(self.robot) if self.robot.urdf_path.is_file() else None

    def check_model(self, model: RobotModel) -> None:
        """Refuse to run on a model that gives no torques, where the law commands them.

        Raises:
            ConfigError: names what is wrong with the description, and the way out.
        """
        if self.mode is CommandMode.EFFORT:
            self._check_torques(torque_problem(model))

    def _check_torques(self, problem: str) -> None:
        """Refuse a law of torques where there is a problem, in words, with the description."""
        if problem == "":
            return
        raise ConfigError(
            f"law {self.name} commands torques, which can't be computed for {self.robot.name}: {problem}. "
            "Correct that, or use a law of positions, such as joint_pid or admittance.",
            name=self.name,
            value=problem,
            bound=(CommandMode.POSITION, CommandMode.VELOCITY),
        )

    def _check_frame(self, spec: GainSpec, name: str) -> None:
        if name not in spec.choices:
            links = [
                link.get("name", "") for link in parse_description(self.robot.urdf()).iter("link")
            ]
            if name not in links:
                valid = *spec.choices, *links
                raise refused(spec.name, name, f"must be one of: {', '.join(valid)}", valid)

    def _left_to_robot(self) -> dict[str, bool | float]:
        """Values, by gain, that switch off what the robot compensates itself."""
        off: dict[str, bool | float] = dict.fromkeys(self.robot.profile.compensated_by_robot, False)
        return off | ({"friction_bound": 0.0} if "friction" in off else {})
