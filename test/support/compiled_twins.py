"""Every call of a compiled function, made twice: compiled, and by its own text run as Python.

``python test/support/compiled_twins.py`` rehearses every law on two robots, and prints for each
compiled function how often it was compared, and the largest difference. In this process the
functions that a function calls are Python, too: each is compared by itself. One that gets a
namedtuple of views is compared with the function that calls it: by itself it would be compiled anew
in each process, for Numba can't keep it.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import pkgutil
import random
import sys
from collections.abc import Callable, Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any, ClassVar

import numba
import numpy as np

from robot_control_ros.core import compiled as core
from robot_control_ros.core import record

ROBOTS = ("ur5", "gen3")  # one with joints that turn without end
CYCLES = 12  # of each situation
ALL, SOME = 60, 0.05  # so many calls of a function are compared, and this share of the others
FEW = 10  # a call is compared while a function that it may call was compared less often
SLOW = ("robot.distances.survey",)  # compared with the arguments of OTHERS alone
RECORDED = 0.5  # s that a loop keeps: all of it is compared in each cycle


def _strained(random: np.random.Generator, coupled: bool) -> tuple[Any, ...]:
    """A spring beyond both of its bounds, its error, and where its wrench goes."""
    from robot_control_ros.laws.spring.bounded_spring import new_spring

    root = random.normal(size=(6, 6))
    stiffness = root @ root.T if coupled else np.diag(random.uniform(10.0, 100.0, 6))
    return new_spring(stiffness, 1.0, 1.0), random.normal(size=6), np.empty(6)


def _changing(random: np.random.Generator) -> tuple[Any, ...]:
    """A spring that another one follows, in the middle of a change or before one, and a pose."""
    from robot_control_ros.core.spatial import make_pose, rotation_exp
    from robot_control_ros.laws.spring.bounded_spring import new_spring
    from robot_control_ros.laws.spring.compliance_frame import CHANGE_MEMORY

    row, named = CHANGE_MEMORY.single(0)
    for place in named["springs"]:
        place[:] = new_spring(np.diag(random.uniform(10.0, 100.0, 6)), np.inf, np.inf)
    named["tank"] = random.uniform(0.0, 10.0)
    named["changes"] = 1.0
    named["next_is_wanted"] = 0.0
    named["next_is_now"] = float(random.integers(2))
    named["fraction"] = random.random()
    target, pose = (
        make_pose(random.normal(size=3), rotation_exp(random.normal(size=3))) for _ in range(2)
    )
    return row, random.normal(size=(9, 6)), random.random(), target, pose, 6


def _entering(random: np.random.Generator) -> tuple[Any, ...]:
    """A virtual body, and a link in whose axes it shall go on: what a rehearsal meets a
    few times, or never.
    """
    from robot_control_ros.core.spatial import make_pose, rotation_exp
    from robot_control_ros.laws.spring.bounded_spring import FRAME
    from robot_control_ros.laws.spring.compliance_frame import WITH_LINK
    from robot_control_ros.laws.spring.virtual_body import BODY

    body, named = BODY.single(0)
    named["position"] = random.normal(size=3)
    named["rotation"] = rotation_exp(random.normal(size=3))
    named["twist"] = random.normal(size=6)
    named["axes"] = np.eye(3)
    named["mass"] = np.diag(random.uniform(1.0, 2.0, 6))
    named["stiffness"] = np.diag(random.uniform(1.0, 2.0, 6))
    named["tank"] = random.uniform(0.0, 10.0)
    frame, place = FRAME.single(0)
    place["kind"] = WITH_LINK
    place["link_pose"] = make_pose(random.normal(size=3), rotation_exp(random.normal(size=3)))
    return (
        body,
        frame,
        np.zeros(1),
        np.zeros(1),
        make_pose(random.normal(size=3), rotation_exp(random.normal(size=3))),
    )


def _half_periods(random: np.random.Generator) -> Any:
    """Memory of a detector of ringing, with marks."""
    from robot_control_ros.sensing.ringing import MEMORY

    row, named = MEMORY.single(2)
    _kept.append(row)
    named["mark_time"] = np.cumsum(random.uniform(0.01, 0.02, (2, 6)), axis=1)
    named["mark_motion"] = np.cumsum(random.uniform(0.01, 0.02, (2, 6)), axis=1)
    return MEMORY.views(row, 2)


def _marked(random: np.random.Generator) -> tuple[Any, ...]:
    """Memory of a detector of ringing whose marks say all that it judges by, a joint, and
    how many marks count.
    """
    from robot_control_ros.sensing.ringing import MEMORY

    row, named = MEMORY.single(2)
    _kept.append(row)
    named["kind"] = random.integers(3)
    named["known"] = random.integers(2)
    named["mark_size"] = np.cumprod(random.uniform(0.9, 1.3, (2, 6)), axis=1)
    named["mark_work"] = np.cumsum(random.uniform(-0.01, 0.01, (2, 6)), axis=1)
    for name in ("mark_time", "mark_motion", "mark_load", "mark_inertial", "mark_foreign"):
        named[name] = np.cumsum(random.uniform(0.01, 0.02, (2, 6)), axis=1)
    return MEMORY.views(row, 2), 0, 6


def _nearest(random: np.random.Generator) -> tuple[Any, ...]:
    """The bodies of an arm at a random posture, a pair of them, and places for the results."""
    chain, bodies = _chain_and_bodies()
    pair = int(random.integers(len(bodies.pairs)))
    return (
        chain,
        bodies,
        random.uniform(-3.0, 3.0, 6),
        pair,
        np.empty((2, 3)),
        np.empty(3),
        np.empty(6),
    )


def _surveyed(random: np.random.Generator) -> tuple[Any, ...]:
    """A few pairs of the bodies of an arm, random postures, and places for the results."""
    chain, bodies = _chain_and_bodies()
    pairs = random.integers(len(bodies.pairs), size=3)
    of_pairs = [id(field) for field in (bodies.pairs, bodies.margin, bodies.lever)]
    few = type(bodies)(*(each[pairs] if id(each) in of_pairs else each for each in bodies))
    return chain, few, random.uniform(-3.0, 3.0, (2, 6)), *np.empty((3, len(pairs)))


@cache
def _chain_and_bodies() -> tuple[Any, Any]:
    """Joints and bodies of an arm."""
    from robot_control_ros.references.clearance import Clearance
    from robot_control_ros.robot.configuration import load_robot
    from robot_control_ros.robot.model import RobotModel

    robot = load_robot("ur5")
    model = RobotModel.of(robot)
    return model.chain, Clearance(robot, model).bodies.bodies


def _line_and_box(random: np.random.Generator) -> tuple[Any, ...]:
    """A line through a box or past it, and places for the results."""
    from robot_control_ros.core.spatial import make_pose, rotation_exp

    box = make_pose(random.normal(size=3), rotation_exp(random.normal(size=3)))
    line = box[:3, 3] + random.normal(size=(2, 3))
    return line, box, random.uniform(0.1, 0.5, 3), np.empty((2, 3)), np.empty(3)


def _pressing(random: np.random.Generator) -> tuple[Any, ...]:
    """Random memory of a tip that presses, and the energy that it begins with."""
    from robot_control_ros.laws.force.pressing import PRESSING_WIDTH

    return random.normal(size=PRESSING_WIDTH), random.random()


def _carrying(random: np.random.Generator) -> Any:
    """Memory of the wrench of a sensor that carries a body, and moves."""
    from robot_control_ros.sensing.wrench import MEMORY

    row, named = MEMORY.single(0)
    named["mass"] = random.uniform(0.5, 2.0)
    named["center"] = random.normal(size=3)
    named["inertia"] = random.normal(size=(3, 3))
    named["moved_at"] = 0.5
    named["twist"] = random.normal(size=6)
    named["acceleration"] = random.normal(size=6)
    return row


# Functions that no loop calls, or not in all of their ways: arguments for them.
OTHERS: dict[str, Callable[[np.random.Generator], tuple[Any, ...]]] = {
    "core.rotations.add_cross": lambda random: tuple(random.normal(size=(3, 3))),
    "core.rotations.log_jacobian_into": lambda random: (random.normal(size=3), np.empty((3, 3))),
    "laws.spring.bounded_spring.gradient_into": lambda random: _strained(random, coupled=False),
    "laws.spring.bounded_spring._coupled_gradient": lambda random: _strained(random, coupled=True),
    "laws.spring.compliance_frame._aim": _changing,
    "laws.force.pressing.reset_pressing": _pressing,
    "laws.admittance._enter_frame": _entering,
    "laws.position_domain_pd._share": lambda random: (
        *random.uniform(0.0, 0.1, 3),
        float(random.integers(3)),
    ),
    "laws.impedance._have_turned": lambda random: tuple(random.normal(size=(2, 6))),
    "sensing.wrench.accelerate": lambda random: (
        _carrying(random),
        random.normal(size=6),
        random.random(),
    ),
    "sensing.wrench.add_load": lambda random: (
        _carrying(random),
        random.normal(size=(4, 4)),
        *random.normal(size=(2, 3)),
        np.zeros(6),
    ),
    "sensing.ringing._is_regular": lambda random: (np.cumsum(random.uniform(0.01, 0.03, 6)), 0),
    "sensing.ringing._growth_fed": _marked,
    "robot.distances.nearest_into": _nearest,
    "robot.distances.survey": _surveyed,
    "robot.distances._line_to_box": _line_and_box,
    "robot.distances._point_to_box": lambda random: (
        random.normal(size=3),
        random.uniform(0.1, 0.5, 3),
        np.empty(3),
    ),
    "control.clearance_guard.slow_down": lambda random: (
        0.5,
        np.zeros(6),
        1.0,
        random.normal(size=6),
        np.full(6, 4.0),
        0.002,
        np.zeros(6),
        random.normal(size=6),
    ),
    "robot.distances._stand_on": lambda random: (*random.normal(size=(2, 3)), np.empty(3)),
    "sensing.ringing._mean_energy": lambda random: (_half_periods(random), 1, 3),
    "core.rotations.wrench_at_into": lambda random: (
        random.normal(size=6),
        random.normal(size=(4, 4)),
        np.empty(6),
    ),
}


class Twin:
    """In the place of Numba's dispatcher: Python calls its text, Numba sees the dispatcher.

    Args:
        dispatcher: Numba's.
        chosen: Whether calls of a loop are compared.
    """

    all: ClassVar[dict[str, Twin]] = {}
    comparing: ClassVar[int] = 0  # calls that are being compared now, one within the other

    def __init__(self, dispatcher: Any, chosen: bool = True) -> None:
        self._numba_type_ = dispatcher._numba_type_
        self._dispatcher = dispatcher
        self._chosen = chosen
        self._rare: list[Twin] | None = None
        self.compared = 0
        self.difference = 0.0

    def __call__(self, *arguments: Any) -> Any:
        if Twin.comparing and any(hasattr(argument, "_fields") for argument in arguments):
            self.compared += 1
            return self._dispatcher.py_func(*arguments)
        if self._chosen and (
            self.compared < ALL or self._may_call_a_rare_one() or _random.random() < SOME
        ):
            return self.compare(*arguments)
        return self._dispatcher(*arguments)

    def compare(self, *arguments: Any) -> Any:
        """Make a call twice."""
        self.compared += 1
        others = copy(arguments)
        Twin.comparing += 1
        result = self._dispatcher.py_func(*arguments)
        Twin.comparing -= 1
        self.difference = max(
            self.difference, difference((result, arguments), (self._dispatcher(*others), others))
        )
        return result

    def _may_call_a_rare_one(self) -> bool:
        """Whether it may call a function, itself or by others, that was seldom compared."""
        if self._rare is None:
            self._rare = list(self._callees(set()))
        while self._rare and self._rare[-1].compared >= FEW:
            self._rare.pop()
        return bool(self._rare)

    def _callees(self, seen: set[Twin]) -> set[Twin]:
        text = self._dispatcher.py_func
        for name in text.__code__.co_names:
            callee = text.__globals__.get(name)
            if isinstance(callee, Twin) and callee not in seen:
                seen.add(callee)
                callee._callees(seen)
        return seen


class Views:
    """In the place of a record's function that gives views: the same, but it isn't compared.

    Args:
        function: its text.
        options: as ``numba.njit`` takes them.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._text = function
        self._dispatcher = numba.njit(**options)(function)  # Numba's type of it doesn't keep it
        self._numba_type_ = self._dispatcher._numba_type_

    def __call__(self, row: Any, n: int) -> Any:
        return self._text(row, n)


def twin(function: Any) -> Twin:
    """What ``@compiled`` makes in this process."""
    dispatcher = compiled(function)
    name = f"{function.__module__}.{function.__qualname__}".removeprefix("robot_control_ros.")
    Twin.all[name] = Twin(dispatcher, name not in SLOW)
    return Twin.all[name]


def copy(value: Any) -> Any:
    """Arrays, and tuples of them, with copies of the same type for Numba."""
    if isinstance(value, tuple):
        copies = [copy(each) for each in value]
        return type(value)(*copies) if hasattr(value, "_fields") else tuple(copies)
    if not isinstance(value, np.ndarray):
        return value
    made = np.empty_like(value)
    if not (value.flags.c_contiguous or value.flags.f_contiguous):
        made = np.empty([2 * size for size in value.shape], value.dtype)[
            (slice(None, None, 2),) * value.ndim
        ]
    made[...] = value
    made.flags.writeable = value.flags.writeable
    return made


def difference(one: Any, other: Any) -> float:
    """The largest one of two results, in parts of the largest number where that is above 1;
    infinite where only one is a number, or their shapes differ.
    """
    if isinstance(one, tuple):
        return max((difference(*each) for each in zip(one, other, strict=True)), default=0.0)
    if one is None or other is None:
        return 0.0 if one is other else np.inf
    if _are_the_same(one, other):
        return 0.0
    a, b = np.asarray(one, float), np.asarray(other, float)
    finite = np.isfinite(a)
    if a.shape != b.shape or (
        not finite.all() and not np.array_equal(a[~finite], b[~finite], equal_nan=True)
    ):
        return np.inf
    scale = max(1.0, np.abs(a[finite]).max(initial=0.0))
    largest = float(np.abs(a[finite] - b[finite]).max(initial=0.0))
    return np.inf if np.isnan(largest) else largest / scale


def _are_the_same(one: Any, other: Any) -> bool:
    """Whether two results are seen at a glance to be the same, bit for bit."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return (one.dtype, one.shape) == (other.dtype, other.shape) and (
            one.tobytes() == other.tobytes()
        )
    return type(one) is type(other) is float and one == other


def modules() -> Iterator[str]:
    """Names of all modules that may hold compiled functions."""
    for room in core.ROOMS:
        name = f"robot_control_ros.{room}"
        if importlib.util.find_spec(name) is not None:
            yield name
            path = importlib.import_module(name).__path__
            yield from (each.name for each in pkgutil.walk_packages(path, f"{name}."))


_kept: list[Any] = []  # rows that views are of
compiled = core.compiled
_random = random.Random(1)


def main() -> None:
    core.compiled = twin  # before any other module of the package is imported
    record.numba = SimpleNamespace(njit=lambda **options: lambda function: Views(function, options))
    for name in modules():
        importlib.import_module(name)
    from robot_control_ros.control.loop import ControlLoop
    from robot_control_ros.control.warm_up import rehearse
    from robot_control_ros.core.errors import ConfigError
    from robot_control_ros.laws import law_names
    from robot_control_ros.robot.configuration import load_robot

    generator = np.random.default_rng(1)
    for name, arguments in OTHERS.items():
        for _ in range(100):
            Twin.all[name].compare(*arguments(generator))
    for robot in map(load_robot, ROBOTS):
        for law in law_names(plugins=False):
            try:
                loop = ControlLoop(robot, law, recorded=RECORDED)
            except ConfigError:  # a law that this robot can't have
                continue
            rehearse(loop, generator, CYCLES)
    json.dump(
        {name: [each.compared, each.difference] for name, each in Twin.all.items()}, sys.stdout
    )


if __name__ == "__main__":
    main()
