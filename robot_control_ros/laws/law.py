"""The protocol of a control law, and the registry in which one is found by name.

A law is a class with frozen Gains (declared by :func:`robot_control_ros.core.gains.gain`), a
command mode, and two methods. It sees plain data only: no message, clock, parameter server or
logger. Gains are handed in at every call and never kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, Protocol, TypeVar

from ..core.errors import refused, unknown
from ..core.plug_in import load_plug_in
from ..core.types import Array, Command, CommandMode, JointSpaceReference, Reference, RobotState
from ..robot.model import RobotDynamics

ENTRY_POINT_GROUP = "robot_control_ros.laws"


class ControlLaw(Protocol):
    """The protocol of a law.

    A law may also have

    - ``reference = JointSpaceReference``: its reference is one of the joints, by inverse kinematics
      where a pose is given. Without it the reference is one of the tip, a
      :class:`~robot_control_ros.core.types.Reference`.
    - ``needs_wrench = True``: it gets a :class:`~robot_control_ros.core.types.SensedState`, with
      the wrench in ``state.wrench_on_tip``, and is not run without a fresh one.
    - ``reads_path = True``: it calls ``reference.path`` for other times than now. Records don't
      keep that, so they can't replay it.
    - a method ``warning(period)`` of its Gains: words on what these gains can't do where the law
      runs at a period [s], and the bound. Such gains are taken all the same.
    - ``softening``, a class variable of its Gains: how they change when the loop must become
      slower, see :func:`.softening.softened`.
    - a static method ``joint_gains(gains, mass, jacobian)``: at small errors, with the reference at
      rest and gravity compensated, its torques are -K δq - D q̇; it returns K and D (n, n).
      `jacobian` is along the axes of the gains. Gains have a `stiffness` then, and
      :mod:`~..stability.stiffness_bound` finds how stiff the law may be.
    - a class method ``default_gains(arm)``: gains by name that suit an arm better than the declared
      ones, such as a softer spring for a small arm. `arm` is an
      :class:`~.default_gains.ArmAtHome`. It counts where the law commands torques.
    - a property ``spring_load``: force of its spring without the bound over the bound, in the last
      command; 0 without a bound. From 0.6 on its reference is slowed down, where its gain
      `governor` is on.
    - a property ``warning``: words on the part of its gains that wasn't in force in the last
      command, and why; empty where all of it was.
    - an attribute ``path_velocity``, (n,) [rad/s]: velocities of the joints along a path that the
      law makes. Its ringing shows there. Other causes shake the joints as well, such as late
      commands, and no gain changes those. Where it is None, or missing, the path of position and
      velocity commands counts in its place.
    - a gain ``output``, declared by choice(...), of "effort", "position" and "velocity": the mode
      in which it commands.

    Attributes:
        Gains: Frozen dataclass whose fields are declared by gain(...) and choice(...).
        mode: Mode in which the law commands, where it has no gain `output`.
        terms: Terms (n,) of the last command by name, for telemetry. An effort is the sum of them.
            The terms of a position or a velocity show how it came about.
    """

    Gains: ClassVar[type]
    mode: ClassVar[CommandMode]
    terms: dict[str, Array]

    def reset(self, state: RobotState, kin: RobotDynamics) -> None:
        """Forget the past. With the reference at the present pose, the next command
        holds the robot there.
        """

    def compute(
        self, state: RobotState, kin: RobotDynamics, reference: Reference, gains: Any, dt: float
    ) -> Command:
        """The command for this sample; dt [s] is the time since the last one."""


_registry: dict[str, type] = {}
_Law = TypeVar("_Law", bound=type)


def register(name: str) -> Callable[[_Law], _Law]:
    """Class decorator: register a law under `name`."""

    def add(law: _Law) -> _Law:
        _registry[name] = law
        return law

    return add


def law_names(plugins: bool = True) -> list[str]:
    """Names of all laws: the package's own and, with `plugins`, those of installed plug-ins."""
    return sorted(set(_registry) | (set(plugin_laws()) if plugins else set()))


@lru_cache(maxsize=1)
def plugin_laws() -> dict[str, EntryPoint]:
    """The laws of installed plug-ins by name; looked for once, for that takes longer than
    many control cycles.
    """
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)}


def command_mode(law: Any, gains: Any) -> CommandMode:
    """Mode in which a law (class or object) commands with these gains."""
    output = getattr(gains, "output", None)
    return law.mode if output is None else CommandMode(output)


def law_class(name: str) -> type[Any]:
    """The class of a law.

    Args:
        name: Name that is registered, an entry point of the group ``robot_control_ros.laws``, or
            ``package.module:Class``.

    Raises:
        ConfigError: unknown name (lists the names), a module that can't be imported, a class that
            is no law.
    """
    if name in _registry:
        return _registry[name]
    plugin = plugin_laws().get(name)
    if plugin is None and ":" not in name:
        raise unknown("law", name, law_names(), hint=", or package.module:Class")
    place: str | Callable[[], Any] = name if plugin is None else plugin.load
    found: type[Any] = load_plug_in("law", name, place, ("Gains", "mode", "reset", "compute"))
    reference = getattr(found, "reference", Reference)
    if reference not in (Reference, JointSpaceReference):
        rule = "choices: Reference, JointSpaceReference"
        raise refused(
            "reference", reference, rule, (Reference, JointSpaceReference), where=f"law {name!r}: "
        )
    return found
