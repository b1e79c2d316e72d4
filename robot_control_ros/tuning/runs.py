"""The simulated runs behind the objectives: a step, a contour, a wall, a rest; and the bound
without a simulation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..control.loop import ControlLoop
from ..control.reactions.ringing_reaction import STOP
from ..core.errors import ConfigError, HardwareFault, refused, unknown
from ..core.types import Array, CommandMode, Reference
from ..laws.running_law import RunningLaw
from ..references.contours import CircleContour, ContourMove
from ..references.time_scaling import Trapezoid
from ..references.trajectory import Hold, Trajectory
from ..robot.configuration import RobotConfig, load_robot
from ..robot.inverse_kinematics import solve_pose
from ..robot.model import RobotModel
from ..simulation.imperfect.imperfect_plant import ImperfectPlant
from ..simulation.imperfect.imperfections import Imperfections, per_joint
from ..simulation.in_process import lockstep
from ..simulation.mujoco_plant import PHYSICS_STEP, MujocoPlant
from ..stability.stiffness_bound import stiffness_bound
from ..stability.wall_contact import WALL
from .objectives import BOUND, CONTOUR, PRESS, REST, STEP, Objective

IDEAL = Imperfections()
# m, s, s: of the target; until it steps; and after
STEP_SIZE = 0.02
STEP_AT = 0.5
STEP_LENGTH = 2.0
BAND = 0.05  # of the step, to either side: at rest
LAST = 0.2  # s at the end in which the tip must rest
HALF_WAY = 0.5  # of the step: an arm that goes less far has not followed
RADIUS = 0.05  # m, of the contour
DRAWN = 200  # points of a drawn contour
PLACES = 16  # of the contour that are looked at beforehand
# m, m/s, m, s: before the wall; of the target; behind its surface; and the whole run
GAP = 0.03
APPROACH = 0.1
DEPTH = 0.02
PRESSED = 1.6
SETTLED = 0.3  # s at the end, in which the force is that at rest
# s: of the run at rest, and its end that counts
RESTED = 2.0
NOISY = 0.5
PROBED = 0.06  # s, long enough to see whether a law follows a target
FINE_STEP = 2.5e-4  # s, of the physics of gears that give way at a wall; see docs/imperfections.md
LIGHT = 1.0  # kg, of a tip at a wall
# rad, of the oscillation of such a tip in a step of the physics: its energy stays to 1e-4 a turn
TURN = 0.14
# of a tip's places in three steps of the physics: where it is a step later, so that a spring there
# keeps its energy
NEXT_PLACE = (2.5, -2.0, 0.5)
NOT_REACHED = "the tip doesn't reach the wall"
MILLI = 1e3


@dataclass(frozen=True)
class RunFigures:
    """Figures of one run of one arm.

    Attributes:
        figures: Figures by name. They are empty where a fault ended the run, the tip didn't reach
            the wall, or the law has no bound.
        reason: Reason why there are no figures; empty where there are some.
    """

    figures: Mapping[str, float]
    reason: str = ""


@dataclass(frozen=True, eq=False)
class RunCurve:
    """Curve of a run, for a picture.

    Attributes:
        x, y: Coordinates (k,) of the arm's curve, in the units of the labels.
        x_label, y_label: Names of the coordinates, with units.
        target: Coordinates (m,) and (m,) of the target's curve; None where there is none.
        reason: Reason why the run ended early; empty where nothing ended it.
    """

    x: Array
    y: Array
    x_label: str
    y_label: str
    target: tuple[Array, Array] | None = None
    reason: str = ""


@dataclass(frozen=True, eq=False)
class _Course:
    """Cycles and forces of a run.

    Attributes:
        record: Records of the run's cycles.
        forces: Force of the wall in each step of the physics [N]; empty where there is no wall.
        step: Time step of the physics [s].
        mode: Mode of the commands.
        fault: Reason why the run ended early; empty where nothing ended it.
    """

    record: Any
    forces: Array
    step: float
    mode: CommandMode
    fault: str


@lru_cache(maxsize=8)
def simulated_robot(name: str, profile: str = "", rate: float = 0.0) -> RobotConfig:
    """The robot of the runs; it is read once in a process.

    Args:
        name: Name of the robot, or the path of a YAML file.
        profile: Hardware profile of the robot; "" is its simulation.
        rate: Control rate [Hz]; 0 is that of the profile.

    Raises:
        ConfigError: see :func:`~..robot.configuration.load_robot`.
    """
    robot = load_robot(name, profile) if profile else load_robot(name)
    return robot.at_rate(rate)


def run_figures(
    robot: RobotConfig,
    law: str,
    gains: Mapping[str, Any],
    arm: Imperfections,
    run: str,
    wall: float = 0.0,
) -> RunFigures:
    """Simulate a run, and measure it. It depends on nothing but the arguments.

    Args:
        robot, law, gains: Robot, law and its gains, see :func:`~..simulation.in_process.simulate`;
            the robot's rate is that of control.
        arm: Imperfections of the simulated arm.
        run: Name of the run, one of :data:`.objectives.RUNS`.
        wall: Stiffness of the wall [N/m]; only the run "wall" has one.

    Returns:
        Of "step" `settling` [s] and `overshoot` [%]; of "contour" `track` [mm] and `effort` [N·m];
        of "wall" `contact`, `rest_force` and its `ripple` [N]; of "rest" `noise` [N·m, or mm/s]; of
        "bound" `margin`.

    Raises:
        ConfigError: the law or the gains are refused.
    """
    return _RUNS[run](robot, law, gains, arm, wall)


def run_curve(
    robot: RobotConfig,
    law: str,
    gains: Mapping[str, Any],
    arm: Imperfections,
    run: str,
    wall: float = WALL,
) -> RunCurve:
    """Simulate a run as :func:`run_figures` does, for a picture; a run that a fault ended is shown
    until then.

    Args:
        robot, law, gains, arm: Robot, law, gains and imperfections, as for :func:`run_figures`.
        run: "step", "contour" or "wall".
        wall: Stiffness of the wall [N/m]; other runs have none.

    Raises:
        ConfigError: another run; the law or the gains are refused.
    """
    if run not in _CURVES:
        raise unknown("run", run, _CURVES)
    return _CURVES[run](robot, law, gains, arm, wall)


def check_measurable(robot: RobotConfig, law: str, objectives: tuple[Objective, ...]) -> None:
    """Refuse objectives that can't be measured on a robot under a law.

    Raises:
        ConfigError: names the objective, and says why.
    """
    running = RunningLaw(robot, law)
    moves = np.array(robot.axes)[:3] > 0.0
    follows = all(each.run in (REST, BOUND) for each in objectives) or _follows(robot, law)
    for each in objectives:
        where = f"{robot.name} under {law}: "
        if each.run == BOUND and not _is_bounded(robot, running):
            rule = "must be another objective: the law has no bound of its stiffness"
            raise refused("objective", each.name, rule, where=where)
        if each.run in (STEP, CONTOUR, PRESS) and not follows:
            rule = "must be noise: the law doesn't follow a target of the tip"
            raise refused("objective", each.name, rule, where=where)
        if each.run in (STEP, PRESS) and not moves.any():
            rule = "must be another objective: the tip moves along none of x, y and z"
            raise refused("objective", each.name, rule, where=where)
        if each.run == CONTOUR:
            _check_contour(robot, moves, each, where)


def _is_bounded(robot: RobotConfig, running: RunningLaw) -> bool:
    kin = RobotModel.of(robot).at(np.array(robot.home))
    return hasattr(running.gains.target, "stiffness") and stiffness_bound(running, kin) is not None


def _check_contour(
    robot: RobotConfig, moves: NDArray[np.bool_], objective: Objective, where: str
) -> None:
    if moves.sum() < 2:
        rule = "must be another objective: a circle needs two of the axes x, y and z"
        raise refused("objective", objective.name, rule, where=where)
    model = RobotModel.of(robot)
    q = np.array(robot.home)
    pose = model.at(q).pose
    contour = _contour(robot, pose)
    for s in np.linspace(0.0, contour.length, PLACES):
        pose = pose.copy()
        pose[:3, 3] = contour.point(s)
        try:
            q = solve_pose(model, pose, q, np.array(robot.axes))
        except ConfigError as error:
            rule = f"must be another objective: from home the arm doesn't reach all of the circle ({error})"
            raise refused("objective", objective.name, rule, where=where) from error


def _follows(robot: RobotConfig, law: str) -> bool:
    """True where a target elsewhere changes what the law commands."""
    held = _course(robot, law, {}, IDEAL, PROBED, lambda start: Hold(start, None)).record["sent"]
    moved = _course(
        robot, law, {}, IDEAL, PROBED, lambda start: _Step(robot, start, STEP_SIZE, 0.0)
    ).record["sent"]
    return not np.array_equal(held, moved)


# --- runs ---


def _step_course(
    robot: RobotConfig, law: str, gains: Mapping[str, Any], arm: Imperfections
) -> _Course:
    duration = STEP_AT + STEP_LENGTH
    return _course(
        robot, law, gains, arm, duration, lambda start: _Step(robot, start, STEP_SIZE, STEP_AT)
    )


def _stepped(
    robot: RobotConfig, law: str, gains: Mapping[str, Any], arm: Imperfections, wall: float
) -> RunFigures:
    course = _step_course(robot, law, gains, arm)
    if course.fault:
        return RunFigures({}, course.fault)
    t = course.record["time"] - STEP_AT
    axis = _main_axis(robot)
    way = course.record["pose"][:, axis, 3]
    rest = float(way[t > STEP_LENGTH - LAST].mean())
    begin = float(way[t <= 0.0][-1])
    after = t > 0.0
    outside = np.flatnonzero(np.abs(way[after] - rest) > BAND * STEP_SIZE)
    settling = float(t[after][outside[-1]]) if len(outside) else 0.0
    if rest - begin < HALF_WAY * STEP_SIZE or settling > STEP_LENGTH - LAST:
        settling = math.inf
    overshoot = 100.0 * max(float(way[after].max()) - max(rest, begin), 0.0) / STEP_SIZE
    return RunFigures({"settling": settling, "overshoot": overshoot})


def _step_curve(
    robot: RobotConfig, law: str, gains: Mapping[str, Any], arm: Imperfections, wall: float
) -> RunCurve:
    course = _step_course(robot, law, gains, arm)
    t = course.record["time"] - STEP_AT
    way = course.record["pose"][:, _main_axis(robot), 3]
    target = MILLI * STEP_SIZE * (t >= 0.0)
    return RunCurve(
        t, MILLI * (way - way[0]), "time [s]", "way of the tip [mm]", (t, target), course.fault
    )


def _home_contour(robot: RobotConfig) -> CircleContour:
    return _contour(robot, RobotModel.of(robot).at(np.array(robot.home)).pose)


def _timing(robot: RobotConfig, contour: CircleContour) -> Trapezoid:
    return Trapezoid(contour.length, robot.tip_speed[0], robot.tip_acceleration[0])


def _contour_course(
    robot: RobotConfig, law: str, gains: Mapping[str, Any], arm: Imperfections
) -> _Course:
    duration = _timing(robot, _home_contour(robot)).duration
    return _course(robot, law, gains, arm, duration, lambda start: _circle(robot, start))


def _contour_curve(
    robot: RobotConfig, law: str, gains: Mapping[str, Any], arm: Imperfections, wall: float
) -> RunCurve:
    """Curve of the tip in the plane of the circle, from its centre [mm]."""
    course = _contour_course(robot, law, gains, arm)
    contour = _home_contour(robot)
    outward = (contour.point(0.0) - contour.center) / contour.radius
    plane = MILLI * np.column_stack((outward, contour.tangent(0.0)))
    x, y = ((course.record["pose"][:, :3, 3] - contour.center) @ plane).T
    wanted = ((contour.point(np.linspace(0.0, contour.length, DRAWN)) - contour.center) @ plane).T
    return RunCurve(
        x, y, "from the centre [mm]", "across that [mm]", (wanted[0], wanted[1]), course.fault
    )


def _followed(
    robot: RobotConfig, law: str, gains: Mapping[str, Any], arm: Imperfections, wall: float
) -> RunFigures:
    model = RobotModel.of(robot)
    contour = _home_contour(robot)
    timing = _timing(robot, contour)
    course = _contour_course(robot, law, gains, arm)
    if course.fault:
        return RunFigures({}, course.fault)
    record = course.record
    way, _, _ = timing.at(record["time"])
    away = record["pose"][:, :3, 3] - contour.point(way)
    gravity = np.array([model.at(q).gravity for q in record["q"]])
    return RunFigures(
        {
            "track": MILLI * math.sqrt(float((away**2).sum(axis=1).mean())),
            "effort": _rms(record["effort"] - gravity),
        }
    )


def _pressed(
    robot: RobotConfig, law: str, gains: Mapping[str, Any], arm: Imperfections, wall: float
) -> RunFigures:
    course = _course(robot, law, gains, arm, PRESSED, lambda start: _Approach(robot, start), wall)
    if course.fault:
        return RunFigures({}, course.fault)
    forces = course.forces
    if not forces.any():
        return RunFigures({}, NOT_REACHED)
    last = forces[-round(SETTLED / course.step) :]
    return RunFigures(
        {
            "contact": float(forces.max()),
            "rest_force": float(last.mean()),
            "ripple": float(last.std()),
        }
    )


def _wall_curve(
    robot: RobotConfig, law: str, gains: Mapping[str, Any], arm: Imperfections, wall: float
) -> RunCurve:
    course = _course(robot, law, gains, arm, PRESSED, lambda start: _Approach(robot, start), wall)
    t: Array = course.step * np.arange(len(course.forces), dtype=float)
    return RunCurve(t, course.forces, "time [s]", f"force on {wall:g} N/m [N]", reason=course.fault)


def _rested(
    robot: RobotConfig, law: str, gains: Mapping[str, Any], arm: Imperfections, wall: float
) -> RunFigures:
    course = _course(robot, law, gains, arm, RESTED, lambda start: Hold(start, None))
    if course.fault:
        return RunFigures({}, course.fault)
    record = course.record
    t = record["time"]
    sent = record["sent"]
    if course.mode is CommandMode.EFFORT:
        chosen = t > RESTED - NOISY
        return RunFigures({"noise": _rms(_without_trend(t[chosen], sent[chosen]))})
    if course.mode is CommandMode.POSITION:
        sent = np.diff(sent, axis=0, prepend=sent[:1]) * robot.profile.rate
    chosen = t > RESTED - NOISY
    model = RobotModel.of(robot)
    jacobians = np.array([model.at(q).jacobian[:3] for q in record["q"][chosen]])
    speed = _without_trend(t[chosen], np.einsum("kij,kj->ki", jacobians, sent[chosen]))
    return RunFigures({"noise": MILLI * math.sqrt(float((speed**2).sum(axis=1).mean()))})


def _bounded(
    robot: RobotConfig, law: str, gains: Mapping[str, Any], arm: Imperfections, wall: float
) -> RunFigures:
    given = replace(
        robot,
        rotor_inertia=tuple(per_joint(arm.rotor_inertia or robot.rotor_inertia, robot.n).tolist()),
    )
    running = RunningLaw(given, law, gains)
    kin = RobotModel.of(given).at(np.array(robot.home))
    bound = stiffness_bound(running, kin, _lag(arm), per_joint(arm.friction.viscous, robot.n))
    return RunFigures(
        {} if bound is None else {"margin": bound.factor}, "" if bound else "the law has no bound"
    )


_RUNS = {STEP: _stepped, CONTOUR: _followed, PRESS: _pressed, REST: _rested, BOUND: _bounded}
_CURVES = {STEP: _step_curve, CONTOUR: _contour_curve, PRESS: _wall_curve}


def _lag(arm: Imperfections) -> float:
    """Time from a motion to the effect of the torque that follows from it [s]."""
    lines = arm.states.delay + arm.commands.delay + 0.5 * (arm.states.jitter + arm.commands.jitter)
    return lines + arm.velocity.delay + arm.velocity.dead_time


def _rms(values: Array) -> float:
    return math.sqrt(float((values**2).mean()))


def _without_trend(t: Array, values: Array) -> Array:
    """The columns (k, m), each without the parabola that fits it best.

    So an arm that sinks makes no noise.
    """
    basis = np.vander((t - t[0]) / (t[-1] - t[0]), 3)
    fitted, *_ = np.linalg.lstsq(basis, values, rcond=None)
    return np.asarray(values - basis @ fitted)


# --- targets ---


def _main_axis(robot: RobotConfig) -> int:
    """Number of the first of x, y, z that the arm moves its tip along."""
    return int(np.argmax(np.array(robot.axes)[:3] > 0.0))


def _contour(robot: RobotConfig, start: Array) -> CircleContour:
    """A circle through the start, along all of x, y and z that the arm moves its tip in."""
    moves = np.array(robot.axes)[:3] > 0.0
    normal = np.ones(3) if moves.all() else np.where(moves, 0.0, 1.0)
    there = CircleContour((0.0, 0.0, 0.0), RADIUS, normal.tolist()).point(0.0)
    return CircleContour(start[:3, 3] - there, RADIUS, normal.tolist())


def _circle(robot: RobotConfig, start: Array) -> ContourMove:
    contour = _contour(robot, start)
    return ContourMove(contour, _timing(robot, contour), start, 0.0)


class _Step:
    """A target that rests at the start, and from a time [s] on beside it, by a size [m]."""

    def __init__(self, robot: RobotConfig, start: Array, size: float, time: float) -> None:
        there = start.copy()
        there[_main_axis(robot), 3] += size
        still = np.zeros(6)
        self._before = Reference(start, still, still)
        self._after = Reference(there, still, still)
        self._time = time

    def sample(self, t: float) -> Reference:
        return self._before if t < self._time else self._after


class _Approach:
    """A target that moves towards the wall and into it."""

    def __init__(self, robot: RobotConfig, start: Array) -> None:
        self._start = start
        self._axis = _main_axis(robot)

    def sample(self, t: float) -> Reference:
        end = (GAP + DEPTH) / APPROACH
        pose = self._start.copy()
        pose[self._axis, 3] += APPROACH * min(t, end)
        twist = np.zeros(6)
        twist[self._axis] = APPROACH if t < end else 0.0
        return Reference(pose, twist, np.zeros(6))


# --- the simulation ---


class _ArmAtWall(MujocoPlant):
    """A simulated arm before a wall: a spring across an axis of the base, which touches the tip.

    The physics knows where the tip was a step ago. From there and two places before, it is
    extrapolated: so the spring takes and gives the same energy.

    Args:
        robot: Configuration of the robot.
        wall: Stiffness of the wall [N/m].
        settings: Settings of :class:`MujocoPlant`.

    Attributes:
        forces: Force of the wall in each step of the physics so far [N].
    """

    def __init__(self, robot: RobotConfig, wall: float, **settings: Any) -> None:
        super().__init__(robot, **settings)
        self.forces: list[float] = []
        self._tip = robot.tip
        self._wall = wall
        self._inward = np.eye(3)[_main_axis(robot)]
        base = self.data.xmat[self.model.body(robot.base).id].reshape(3, 3)
        self._direction = base @ self._inward
        # MuJoCo's own memory
        self._tip_place: Array = self.data.xpos[self.model.body(robot.tip).id]
        begin = float(self._tip_place @ self._direction)
        self._surface = begin + GAP
        self._last = (begin, begin)

    def advance(self, steps: int | None = None) -> None:
        for _ in range(self.substeps if steps is None else steps):
            self._press()
            super().advance(1)

    def _press(self) -> None:
        place = float(self._tip_place @ self._direction)
        before, earlier = self._last
        now, last, first = NEXT_PLACE
        force = self._wall * max(now * place + last * before + first * earlier - self._surface, 0.0)
        self._last = (place, before)
        if force > 0.0 or (self.forces and self.forces[-1] > 0.0):
            self.push(self._tip, -force * self._inward, np.zeros(3))
        self.forces.append(force)


def _course(
    robot: RobotConfig,
    law: str,
    gains: Mapping[str, Any],
    arm: Imperfections,
    duration: float,
    target: Callable[[Array], Trajectory],
    wall: float = 0.0,
) -> _Course:
    """Simulate a law on an arm for a duration [s], or until it is stopped; ringing stops it, too.

    Raises:
        ConfigError: the law, the gains or the imperfections are refused.
    """
    arm.check(robot)
    rate = robot.profile.rate
    step = PHYSICS_STEP
    if wall > 0.0:
        step = min(FINE_STEP if arm.has_gears else PHYSICS_STEP, TURN * math.sqrt(LIGHT / wall))
    settings: dict[str, Any] = {"rate": rate, "physics_step": step, "imperfections": arm}
    simulated = (
        _ArmAtWall(robot, wall, **settings) if wall > 0.0 else MujocoPlant(robot, **settings)
    )
    plant = ImperfectPlant(simulated, robot, arm)
    loop = ControlLoop(robot, law, gains, recorded=duration)
    loop.ringing.settings.set({"reaction": STOP})
    fault = ""
    try:
        for _ in lockstep(plant, loop, round(duration * rate), target):
            if loop.fault:
                fault = f"fault: {loop.fault}"
                break
    except (
        HardwareFault,
        ConfigError,
    ) as error:  # ConfigError: joint states that no joint can have
        fault = str(error)
    forces = np.array(simulated.forces) if isinstance(simulated, _ArmAtWall) else np.zeros(0)
    record = loop.recorder.last(math.inf)
    return _Course(record, forces, simulated.model.opt.timestep, loop.running.mode, fault)
