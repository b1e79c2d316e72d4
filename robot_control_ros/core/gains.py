"""Gains, declared once.

A law's gains are a frozen dataclass whose fields are declared by :func:`gain`:

    @dataclass(frozen=True, eq=False)
    class Gains:
        stiffness: Array = gain(500.0, size=TASK, unit="N/m, N·m/rad", lower=0.0, upper=1e4, doc="…")
        coriolis: float = gain(False, doc="…")
        output: str = choice("effort", ("effort", "position"), doc="…")

From that one declaration come the validation (:func:`make_gains`) and the bumpless change
(:class:`ParameterSet`). So do the ROS parameters with their ranges, the sliders of the page, and
the tables of the documentation. A switch is a number between 0 (off) and 1 (on), so that it, too,
can be faded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from .bounded import Bounded
from .errors import ConfigError, refused, unknown
from .types import Array

SCALAR = "scalar"
TASK = "task"  # six values: x y z [m or N] then rx ry rz [rad or N·m]
JOINT = "joint"  # one value per joint
VECTOR = "vector"  # three values: x y z
# of inertia, symmetric 3x3: six values xx yy zz xy xz yz; one value stands for the first three
TENSOR = "tensor"
MATRIX = "matrix"  # 6x6 in the axes of TASK: one value, the six of a diagonal, or all 36 row by row
SIZES = (SCALAR, TASK, JOINT, VECTOR, TENSOR, MATRIX)
STIFFNESS = "stiffness"
DAMPING = "damping"
INERTIA = "inertia"
OTHER = "other"
ROLES = (STIFFNESS, DAMPING, INERTIA, OTHER)
_ROLES_BY_UNIT = {
    "N/m": STIFFNESS,
    "N·m/rad": STIFFNESS,
    "N·s/m": DAMPING,
    "N·m·s/rad": DAMPING,
    "kg": INERTIA,
    "kg·m²": INERTIA,
}
AXES = ("x", "y", "z", "rx", "ry", "rz")
TENSOR_AXES = ("xx", "yy", "zz", "xy", "xz", "yz")

TOLERANCE = 1e-9  # relative, of symmetry and of eigenvalues
LENGTH = 0.3  # m: rotational stiffness counts by it

_KEY = "robot_control_gain"
_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class GainSpec(Bounded):
    """Declaration of one gain, whose values have the bounds; see :func:`gain` and :func:`choice`.

    Attributes:
        default: Value of all, or as many values as `size` says; a text of a choice.
        name: Name of the field; :func:`gain_specs` fills it in.
        size, limit, symmetric, role, null_space: See :func:`gain`.
        choices, links: See :func:`choice`.
    """

    default: float | bool | str | tuple[float, ...] = field()
    name: str = ""
    size: str = SCALAR
    choices: tuple[str, ...] = ()
    limit: bool = False
    symmetric: bool = False
    links: bool = False
    role: str = ""
    null_space: bool = False

    @property
    def switch(self) -> bool:
        """True where the gain is an on/off switch."""
        return isinstance(self.default, bool)

    def length(self, joints: int) -> int:
        """Number of values for a robot with `joints` joints."""
        return {SCALAR: 1, TASK: 6, JOINT: joints, VECTOR: 3, TENSOR: 6, MATRIX: 36}[self.size]

    def lengths(self, joints: int) -> tuple[int, ...]:
        """The numbers of values that may be given; a single one stands for all."""
        all_values = self.length(joints)
        return tuple(sorted({1, 6, all_values} if self.size == MATRIX else {1, all_values}))

    def spread(self, number: float, joints: int) -> list[float]:
        """The values that one number stands for; for a matrix, its diagonal."""
        if self.size == TENSOR:
            return [number, number, number, 0.0, 0.0, 0.0]
        return [number] * (6 if self.size == MATRIX else self.length(joints))

    def rule(self) -> str:
        """The rule for valid values, in words."""
        if self.choices:
            link = ", or a link of the robot" if self.links else ""
            return f"must be one of: {', '.join(self.choices)}{link}"
        unit = f" {self.unit}" if self.unit else ""
        return f"must be within [{self.lower:g}, {self.upper:g}]{unit}"


def gain(
    default: float | bool | Sequence[float],
    *,
    doc: str,
    unit: str = "",
    size: str = SCALAR,
    lower: float = 0.0,
    upper: float = 1.0,
    limit: bool = False,
    symmetric: bool = False,
    role: str = "",
    null_space: bool = False,
) -> Any:
    """Declare a gain: a field of a law's Gains dataclass.

    Args:
        default: Number, bool (the gain is then a switch), or as many values as `size` says; one
            number stands for all values.
        doc: Description in one sentence: the effect of the gain, and that of a zero.
        unit: SI unit.
        size: SCALAR, TASK (six values), JOINT (one per joint), VECTOR (three), TENSOR (of inertia,
            six) or MATRIX (6x6; its bounds are those of the diagonal).
        lower, upper: Bounds of each value, inclusive.
        limit: True where the gain is a bound, and 0 is no bound: a change fades its inverse.
        symmetric: True for a MATRIX that must be symmetric to 1e-9. Its eigenvalues, rotations
            scaled by 0.3 m, must be at least `lower`.
        role: STIFFNESS, DAMPING, INERTIA or OTHER. Stiffness and damping are reduced where samples
            are late or the arm rings. By default it follows from the unit: N/m and N·m/rad are
            those of a stiffness, N·s/m and N·m·s/rad those of a damping, kg and kg·m² those of an
            inertia.
        null_space: True for a gain of the joints that acts on motions alone that leave the tip at
            rest.

    Raises:
        ConfigError: another size or role.
    """
    if size not in SIZES:
        raise refused("size", size, f"must be one of: {', '.join(SIZES)}", SIZES, where="gain: ")
    if role and role not in ROLES:
        raise refused("role", role, f"must be one of: {', '.join(ROLES)}", ROLES, where="gain: ")
    value = default if isinstance(default, (bool, int, float)) else tuple(float(x) for x in default)
    role = role or _ROLES_BY_UNIT.get(unit.partition(",")[0], "")
    spec = GainSpec(
        default=value,
        doc=doc,
        unit=unit,
        size=size,
        lower=float(lower),
        upper=float(upper),
        limit=limit,
        symmetric=symmetric,
        role=role,
        null_space=null_space,
    )
    return field(default=value, metadata={_KEY: spec})


def choice(default: str, choices: Sequence[str], *, doc: str, links: bool = False) -> Any:
    """Declare a field of a Gains dataclass that is one of `choices`; a change is taken over at
    once.

    With `links` it may also be the name of a link. Its law takes over a change by itself, without a
    jump.
    """
    spec = GainSpec(
        default=default, doc=doc, lower=0.0, upper=0.0, choices=tuple(choices), links=links
    )
    return field(default=default, metadata={_KEY: spec})


def changed(gains: Any, values: dict[str, Any]) -> Any:
    """Gains with other values, unchecked: as dataclasses.replace does it, in
    a tenth of the time.
    """
    kind: Any = type(gains)
    if hasattr(kind, "__post_init__") or hasattr(kind, "__slots__"):
        return replace(gains, **values)
    made = object.__new__(kind)
    kept = vars(made)
    kept.update(values)
    for name in _field_names(kind):
        if name not in values:
            kept[name] = getattr(gains, name)
    return made


@lru_cache(maxsize=256)
def _field_names(gains_type: Any) -> tuple[str, ...]:
    return tuple(item.name for item in fields(gains_type))


def gain_specs(gains_type: type) -> tuple[GainSpec, ...]:
    """The declarations of a Gains dataclass, in their order."""
    return _named_specs(fields(gains_type))


@lru_cache(maxsize=256)
def _named_specs(items: tuple[Field[Any], ...]) -> tuple[GainSpec, ...]:
    return tuple(replace(item.metadata[_KEY], name=item.name) for item in items)


def check_gain(spec: GainSpec, value: Any, joints: int) -> float | str | Array:
    """Check a value, and return it in the form that a law takes.

    That is a float, a choice, or a read-only array (3,), (6,), (n,) or (6, 6).

    Raises:
        ConfigError: wrong type, wrong size, not finite or out of bounds.
    """
    if spec.choices:
        if isinstance(value, str) and value in spec.choices:
            return spec.choices[spec.choices.index(value)]  # a plain text, where an Enum was given
        if not (spec.links and isinstance(value, str) and value):
            raise refused(spec.name, value, spec.rule(), spec.choices)
        return str(value)
    if spec.switch and not (
        isinstance(value, (bool, np.bool_)) or (isinstance(value, (int, float)) and value in (0, 1))
    ):
        raise refused(spec.name, value, "it is a switch, must be true or false", (False, True))
    values = _numbers(spec, value, joints)
    if spec.size == MATRIX:
        return _frozen(_matrix(spec, values))
    _check_bounds(spec, values)
    if spec.size == SCALAR:
        return float(values[0])
    return _frozen(np.array(spec.spread(float(values[0]), joints)) if values.size == 1 else values)


def _numbers(spec: GainSpec, value: Any, joints: int) -> Array:
    shape = _describe_shape(spec, joints)
    lengths = spec.lengths(joints)
    try:
        raw = np.array(value)
    except ValueError:  # rows of different lengths
        raw = np.array("not numbers")
    if raw.dtype.kind not in ("iuf" if not spec.switch else "iufb"):
        raise refused(spec.name, value, f"must be {shape}", lengths)
    raw = raw.ravel() if spec.size == MATRIX and raw.shape == (6, 6) else np.atleast_1d(raw)
    values = raw.astype(float)
    if values.ndim != 1 or values.size not in lengths:
        text = f"{spec.name} has {values.size} values {values.tolist()}: must have {shape}"
        raise ConfigError(text, name=spec.name, value=value, bound=lengths)
    return values


def _check_bounds(spec: GainSpec, values: Array) -> None:
    for index, number in enumerate(values):
        if not spec.contains(number):
            label = f"{spec.name}[{index}]" if values.size > 1 else spec.name
            raise refused(label, float(number), spec.rule(), spec.bound)


def _matrix(spec: GainSpec, values: Array) -> Array:
    if values.size < 36:
        values = np.broadcast_to(values, 6)
        _check_bounds(spec, values)
        matrix = np.zeros((6, 6))
        matrix.flat[::7] = values
        if spec.lower >= 0.0:
            return matrix  # its eigenvalues are the values
    else:
        matrix = values.reshape(6, 6)
        _check_bounds(spec, np.diag(matrix))
    if not (np.abs(matrix) <= spec.upper).all():  # false for NaN as well
        row, column = np.argwhere(~(np.abs(matrix) <= spec.upper))[0]
        rule = f"must be within +-{spec.upper:g} {spec.unit}".rstrip()
        raise refused(
            f"{spec.name}[{row}, {column}]",
            float(matrix[row, column]),
            rule,
            (-spec.upper, spec.upper),
        )
    if spec.symmetric:
        return _symmetric(spec, matrix)
    smallest = float(np.linalg.eigvalsh(matrix + matrix.T)[0]) / 2.0
    if smallest < -1e-9 * spec.upper:
        rule = "must be positive semidefinite"
        raise refused(
            spec.name, smallest, rule, (0.0, math.inf), where="eigenvalue of the symmetric part of "
        )
    return matrix


def _symmetric(spec: GainSpec, matrix: Array) -> Array:
    away = float(np.abs(matrix - matrix.T).max())
    if away > TOLERANCE * float(np.abs(matrix).max()):
        raise refused(spec.name, away, "must be 0", 0.0, where="difference from its transpose of ")
    scale = np.repeat((1.0, 1.0 / LENGTH), 3)
    values = np.linalg.eigvalsh(scale[:, None] * matrix * scale)
    if values[0] < spec.lower - TOLERANCE * values[-1]:
        rule = f"must be {spec.lower:g} or more"
        raise refused(
            spec.name, float(values[0]), rule, (spec.lower, math.inf), where="eigenvalue of "
        )
    return matrix


def _frozen(values: Array) -> Array:
    values.flags.writeable = False
    return values


def _describe_shape(spec: GainSpec, joints: int) -> str:
    if spec.size == SCALAR:
        return "one number"
    if spec.size == MATRIX:
        return "1, 6 (the diagonal) or 36 numbers (6x6, row by row)"
    what = {
        TASK: ", ".join(AXES),
        JOINT: "one per joint",
        VECTOR: ", ".join(AXES[:3]),
        TENSOR: ", ".join(TENSOR_AXES),
    }[spec.size]
    return f"1 or {spec.length(joints)} numbers ({what})"


def make_gains(gains_type: type, values: Mapping[str, Any], joints: int, base: Any = None) -> Any:
    """A new, validated Gains object.

    Args:
        gains_type: The law's Gains dataclass.
        values: Gains to set by name; an array gain may be given as one number.
        joints: Number of joints n.
        base: Gains with the other values; None takes the defaults.

    Raises:
        ConfigError: an unknown name (lists the valid ones), or a value refused by
            :func:`check_gain`; nothing is changed then.
    """
    specs = {spec.name: spec for spec in gain_specs(gains_type)}
    if not isinstance(values, Mapping):
        raise refused("gains", values, "must be a mapping of names to values")
    for name in values:
        if name not in specs:
            raise unknown("gain", name, specs, hint=renamed(gains_type, name))
    if base is None:
        values = {name: spec.default for name, spec in specs.items()} | dict(values)
    kept = {name: getattr(base, name) for name in specs if name not in values}
    return gains_type(
        **kept, **{name: check_gain(specs[name], value, joints) for name, value in values.items()}
    )


def short_names(law: str, values: Mapping[str, _T], known: Iterable[str]) -> dict[str, _T]:
    """Values by the short names of gains: `stiffness` for `impedance.stiffness` of that law.

    Args:
        law: Name of the law that the gains are of.
        values: Values by either name of a gain. A name without a dot may be unknown.
        known: Short names of the gains, and settings such as `wrench.source` that are valid, too.

    Raises:
        ConfigError: a gain has both names in `values`, or a name is that of another law's gain.
    """
    if not isinstance(values, Mapping):
        raise refused("gains", values, "must be a mapping of names to values")
    names = tuple(known)
    short: dict[str, _T] = {}
    for name, value in values.items():
        gain = str(name).removeprefix(f"{law}.")
        if "." in gain and gain not in names:
            raise unknown("gain", str(name), names, hint=f"; the law is {law}")
        if gain in short:
            rule = f"must be given once: {gain} and {law}.{gain} are two names of one gain"
            raise refused(gain, value, rule, (gain, f"{law}.{gain}"))
        short[gain] = value
    return short


def renamed(gains_type: type, name: str) -> str:
    """The new name of a gain that was renamed, as the end of a sentence; empty for none."""
    meant = getattr(gains_type, "RENAMED", {}).get(name, "")
    return f"; {meant} has taken the place of {name}" if meant else ""


def plain_value(spec: GainSpec, gains: Any) -> bool | float | str | list[float]:
    """The value of a gain as ROS parameters and YAML files hold it."""
    return plain(spec, getattr(gains, spec.name))


def plain(spec: GainSpec, value: float | str | Array) -> bool | float | str | list[float]:
    """A checked value (see :func:`check_gain`) as a plain Python value; a diagonal
    matrix as its diagonal.
    """
    if isinstance(value, np.ndarray):
        if spec.size == MATRIX and np.array_equal(value, np.diag(np.diag(value))):
            value = np.diag(value)
        return [float(x) for x in value.ravel()]
    if isinstance(value, str):
        return value
    return value > 0.5 if spec.switch else float(value)


class ParameterSet:
    """Gains that are tuned while they are used: checked as a whole, then taken over without a bump.

    After :meth:`change` the gains approach the new ones as 1 - exp(-t/time_constant). They are
    exactly the new ones once less than 1e-4 of the change is left. A time constant of 0 s changes
    at once.

    Args:
        gains_type: Dataclass of the gains.
        joints: Number of joints n.
        defaults: Values, by name, that differ from the declared defaults.
        validate: Function that refuses, by ConfigError, gains that are valid each for itself but
            not here.
        time_constant: Time constant of a change [s].

    Attributes:
        specs, joints: Declarations of the gains, and number of joints n.
        current, target: Present gains, and gains that they approach.
        choices: Values of the target's choices, without frames.

    Raises:
        ConfigError: a default or the time constant is refused.
    """

    def __init__(
        self,
        gains_type: type,
        joints: int,
        defaults: Mapping[str, Any],
        validate: Callable[[Any], None] = lambda gains: None,
        time_constant: float = 0.0,
    ) -> None:
        if not (math.isfinite(time_constant) and time_constant >= 0.0):
            raise refused(
                "gain_time_constant", time_constant, "must be 0 s or more", (0.0, math.inf)
            )
        self.specs = gain_specs(gains_type)
        self.joints = joints
        self.time_constant = time_constant
        self._type = gains_type
        self._validate = validate
        self.target = make_gains(gains_type, defaults, joints)
        self.current = self.target
        self._start = self.target
        self._defaults = self.target
        self._left = 0.0
        self.choices = self._choices_of(self.target)
        self._way: Any = None  # from start to target, where they fade

    def renamed(self, name: str) -> str:
        """The new name of a renamed gain, as the end of a sentence; see :func:`renamed`."""
        return renamed(self._type, name)

    def check(self, values: Mapping[str, Any], base: Any = None) -> Any:
        """Make a complete, valid set of gains from some values by name.

        The other gains are those of `base`, or else the defaults.

        Raises:
            ConfigError: names the gain, its value and the bound.
        """
        gains = make_gains(
            self._type, values, self.joints, self._defaults if base is None else base
        )
        self._validate(gains)
        return gains

    def set(self, values: Mapping[str, Any]) -> None:
        """Check some values by name, and begin to change to them; see :meth:`check`."""
        self.change(self.check(values, self.target))

    def change(self, gains: Any) -> None:
        """Begin to fade to `gains`, which are complete and valid, from the present ones."""
        self._start = self.current
        self.target = gains
        self._left = 1.0
        self._way = None
        self.choices = self._choices_of(gains)
        if self.time_constant == 0.0:
            self.finish()

    def advance(self, dt: float) -> Any:
        """Advance the gains by `dt` [s], and return them."""
        if self._left > 0.0:
            self._left *= math.exp(-dt / self.time_constant)
            if self._left < 1e-4:
                self.finish()
            else:
                self.current = self._fade().at(1.0 - self._left)
        return self.current

    def _fade(self) -> Any:
        """The fade from the start to the target."""
        if self._way is None:
            from .gain_rows import Fade  # here: who only declares gains doesn't load the compiler

            self._way = Fade(self._start, self.target)
        return self._way

    def finish(self) -> None:
        """Take over the target at once: for a robot that is not being commanded."""
        self._left = 0.0
        self.current = self.target

    def _choices_of(self, gains: Any) -> tuple[str, ...]:
        return tuple(
            getattr(gains, spec.name) for spec in self.specs if spec.choices and not spec.links
        )
