"""The task-space PD motion model on the Kinova Gen3: its two examples, and what its error
of orientation does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from robot_control_ros.core.spatial import make_pose, rotation_exp
from robot_control_ros.core.types import Array
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

from ..row import CALCULATED, FOLLOWS, Row
from . import rotation_errors
from .case import Result, Tell, in_turn, near_each, panels, tell_nobody
from .motion_model import TaskSpaceMotionModel
from .rotation_errors import Run, tip_errors

# of all axes
STIFFNESS = 500.0
DAMPING = 100.0
ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]  # the source's order of twists, wrenches and errors

# Example 1: from the zero posture to a tip that points down, all moved evenly at the tool speed
# m, rad
GOAL = np.array([0.4, 0.0, 0.6])
HALF_TURN = np.array([0.0, math.pi, 0.0])
# m/s, s
TOOL_SPEED = 0.1
TIME_STEP = 0.1
SAMPLING = 0.05  # s, of the source's error figures
TRANSLATION_ONLY = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])

# Example 2: a resting reference
APPROACH = np.array([0.6, -0.1, 0.5])  # m


def run(tell: Tell = tell_nobody) -> Result:
    """The experiments, on the vendor's inertial parameters alone: without rotor inertia."""
    model = RobotModel.of(load_robot("gen3").with_rotors(0.0))
    following = {
        "position gains only": _follow(model, TRANSLATION_ONLY),
        "all gains": _follow(model, np.ones(6)),
    }
    tell(0.3)
    rotations = rotation_errors.run(model)
    groups = (
        _zero_posture_rows(model),
        _following_rows(model, following),
        _approach_rows(model),
        rotations.rows,
    )
    return Result(
        title="task-space PD of the Kinova Gen3",
        source="A toolbox's task-space motion model: its two examples, its error vector against the rotation vector, "
        "and regulation with both vectors.",
        rows=in_turn(groups, tell, 0.5),
        notes=[*_notes(following), *rotations.notes],
        drawings={"following": lambda: _draw_following(following), **rotations.drawings},
        series={
            "following": {
                "time": next(iter(following.values()))["time"],
                **{
                    f"{what} ({name})": run[what]
                    for name, run in following.items()
                    for what in ("position", "angle")
                },
            },
            **rotations.series,
        },
    )


# --- the arm and its law ---


def _zero_posture_rows(model: RobotModel) -> Iterator[Row]:
    kin = model.at(np.zeros(7))
    rank = np.linalg.matrix_rank(kin.jacobian, tol=1e-4)
    yield Row.near("zero posture: tip y", kin.pose[1, 3], -0.0248596, 5e-8, "m", CALCULATED)
    yield Row.near("zero posture: tip z", kin.pose[2, 3], 1.1873848, 1e-7, "m", CALCULATED)
    yield Row.near("zero posture: rank of the Jacobian", rank, 3, 0, "", CALCULATED)
    difference = _largest_torque_difference(model)
    name = "torque against the source's formula, angular first"
    yield Row.at_most(name, difference, 1e-10, "N·m", FOLLOWS)


def _largest_torque_difference(model: RobotModel, states: int = 100) -> float:
    """Largest difference of the law's torque from the formula in the source's order [N·m].

    States are random, gain matrices are random and full.
    """
    rng = np.random.default_rng(1)
    largest = 0.0
    for _ in range(states):
        Kp = _full_matrix(rng, STIFFNESS)
        Kd = _full_matrix(rng, DAMPING)
        B = rng.uniform(0.0, 5.0, 7)
        kin = model.at(rng.uniform(-2.0, 2.0, 7), rng.uniform(-1.0, 1.0, 7))
        reference = make_pose(
            rng.normal(size=3), Rotation.from_quat(rng.normal(size=4)).as_matrix()
        )
        J = kin.jacobian[ANGULAR_FIRST]
        v_ref = rng.normal(size=6)
        turn = (
            Rotation.from_matrix(reference[:3, :3]) * Rotation.from_matrix(kin.pose[:3, :3]).inv()
        )
        e = np.concatenate((turn.as_rotvec(), reference[:3, 3] - kin.pose[:3, 3]))
        expected = J.T @ (Kp @ e + Kd @ (v_ref - J @ kin.v)) - B * kin.v + kin.gravity
        to_linear_first = np.ix_(ANGULAR_FIRST, ANGULAR_FIRST)  # the permutation is its own inverse
        arm = TaskSpaceMotionModel(model, Kp[to_linear_first], Kd[to_linear_first], joint_damping=B)
        difference = arm.torque(kin, reference, v_ref[ANGULAR_FIRST]) - expected
        largest = max(largest, float(abs(difference).max()))
    return largest


def _full_matrix(rng: np.random.Generator, size: float) -> Array:
    """A random matrix (6, 6), symmetric and positive, with `size` as its largest eigenvalue."""
    root = rng.normal(size=(6, 6))
    return np.asarray(size * root.dot(root.T) / np.linalg.norm(root, 2) ** 2)


def _solve(
    arm: TaskSpaceMotionModel, reference: Callable[[float], Array], twist: Array, times: Array
) -> Array:
    """States (14, k) at the times (k,), from rest in the zero posture at time 0."""

    def derivative(t: float, state: Array) -> Array:
        return arm.derivative(state, reference(t), twist)

    span = (0.0, times[-1])
    start = np.zeros(14)
    solution = solve_ivp(
        derivative, span, start, method="Radau", t_eval=times, rtol=1e-8, atol=1e-10
    )
    return np.asarray(solution.y)


# --- examples ---


def _follow(model: RobotModel, axes: Array) -> Run:
    """Example 1 with gains on some axes: time [s], position error [mm] and
    angle [deg], each (k,).
    """
    start = model.at(np.zeros(7)).pose[:3, 3]
    times = TIME_STEP * np.arange(_samples(start))
    duration = float(times[-1])
    velocity = np.concatenate(((GOAL - start) / duration, HALF_TURN / duration))

    def reference(t: float) -> Array:
        return make_pose(start + t * velocity[:3], rotation_exp(t * velocity[3:]))

    fine = np.linspace(0.0, duration, round(duration / SAMPLING) + 1)
    arm = TaskSpaceMotionModel(model, STIFFNESS * axes, DAMPING * axes)
    states = _solve(arm, reference, velocity, fine)
    return {"time": fine, **tip_errors(model, states, [reference(t) for t in fine])}


def _samples(start: Array) -> int:
    return math.floor(float(np.linalg.norm(GOAL - start)) / TOOL_SPEED / TIME_STEP) + 1


def _following_rows(model: RobotModel, following: dict[str, Run]) -> Iterator[Row]:
    start = model.at(np.zeros(7)).pose[:3, 3]
    distance = float(np.linalg.norm(GOAL - start))
    yield Row.near("example 1: distance", distance, 0.711083, 1e-6, "m", CALCULATED)
    duration = distance / TOOL_SPEED
    yield Row.near("example 1: final time", duration, 7.110827, 1e-5, "s", CALCULATED)
    yield Row.near("example 1: samples", _samples(start), 72, 0, "", CALCULATED)
    figures = {"position gains only": (55.30, 16.01, 0.775), "all gains": (45.33, 14.57, 3.515)}
    for name, (largest, rms, last) in figures.items():
        error = following[name]["position"]
        angle = following[name]["angle"]
        head = f"example 1, {name}:"
        errors = (
            ("largest position error", error.max(), largest, 0.01),
            ("rms", math.sqrt(np.mean(error[:-1] ** 2)), rms, 0.01),
            ("at 7.05 s", error[-2], last, 0.001),
            ("at 7.1 s", error[-1], last, 0.02 * last),
        )
        for what, measured, figure, tolerance in errors:
            yield Row.near(f"{head} {what}", measured, figure, tolerance, "mm", CALCULATED)
        if name == "all gains":
            yield Row.at_most(f"{head} largest angle", angle.max(), 0.135, "deg", CALCULATED)
        else:
            turned = (("7.05", angle[-2], 0.05), ("7.1", angle[-1], 0.02 * 41.7))
            for time, measured, tolerance in turned:
                text = f"{head} angle at {time} s"
                yield Row.near(text, measured, 41.7, tolerance, "deg", CALCULATED)


def _approach_rows(model: RobotModel) -> Iterator[Row]:
    """Rows of example 2: a resting reference."""
    target = make_pose(APPROACH)
    arm = TaskSpaceMotionModel(model, STIFFNESS, DAMPING)
    states = _solve(arm, lambda t: target, np.zeros(6), np.array([0.0, 1.0, 10.0]))
    errors = tip_errors(model, states, [target] * 3)
    tip = model.at(states[:7, 1]).pose[:3, 3]
    yield from near_each(
        [f"example 2: {axis} at 1 s" for axis in "xyz"],
        tip,
        (0.59768, -0.09950, 0.50536),
        1e-5,
        "m",
        CALCULATED,
    )
    _, early, late = errors["position"]
    name = "example 2: position error at"
    yield Row.near(f"{name} 1 s", early, 5.859, 0.01 * 5.859, "mm", CALCULATED)
    angle = errors["angle"][1]
    yield Row.near("example 2: angle at 1 s", angle, 0.0195, 0.01 * 0.0195, "deg", CALCULATED)
    yield Row.at_most(f"{name} 10 s", late, 1e-6, "mm", CALCULATED)


# --- notes and figures ---


def _notes(following: dict[str, Run]) -> list[str]:
    free = following["position gains only"]
    full = following["all gains"]
    return [
        "The arm has the vendor's inertial parameters and no rotor inertia here, as in the source. The robot's own "
        "configuration adds rotor inertia. Without it no sampled controller could damp the wrist like this.",
        "Example 1: the source's figures are from samples every 0.05 s that end at 7.05 s. The motion ends at 7.1 s. "
        f"There the errors with position gains only are {free['position'][-1]:.3f} mm and {free['angle'][-1]:.1f} deg. "
        f"With all gains the error is {full['position'][-1]:.3f} mm. These are 1.5 to 1.7 % more than in the source.",
    ]


def _draw_following(following: dict[str, Run]) -> Any:
    labels = ("position error [mm]", "orientation error [deg]")
    figure, ((above,), (below,)) = panels(8.0, 5.5, 2, x="time [s]", y=labels, sharex=True)
    for name, run in following.items():
        above.plot(run["time"], run["position"], label=name)
        below.plot(run["time"], run["angle"], label=name)
    above.set_title("Example 1: from the zero posture to a tip that points down")
    above.legend()
    return figure
