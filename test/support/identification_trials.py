"""Random imperfect arms, and how far each identified figure is off its truth."""

from dataclasses import dataclass

import numpy as np

from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.imperfect.imperfections import (
    CommandLine,
    Imperfections,
    LoadedFriction,
    ModelErrors,
    SensorNoise,
    StateLine,
)

ROBOT = load_robot("ur5e").at_rate(500.0)
MODEL = RobotModel.of(ROBOT)
HOME = np.array(ROBOT.home)
STEP = 0.0005  # s, of the physics
LARGE = np.array([1.0, 1.0, 1.0, 0.25, 0.25, 0.25])  # sizes of the joints
MOVED = ("shoulder_lift_joint", "wrist_1_joint")
SETS = 20
SHARE = 18 / SETS  # of true values, that their intervals must hold


def random_arm(seed):
    r = np.random.default_rng(seed)
    n = ROBOT.n
    late = STEP * r.integers(0, [7, 3, 7, 3])
    effort = tuple(r.uniform(0.05, 0.4, n) * LARGE)
    return Imperfections(
        name=f"set {seed}",
        seed=seed,
        states=StateLine(delay=late[0], jitter=late[1], lost=r.uniform(0.0, 0.02)),
        commands=CommandLine(delay=late[2], jitter=late[3]),
        noise=SensorNoise(
            (r.uniform(1e-5, 5e-5),),
            (r.uniform(1e-4, 1e-3),),
            effort,
            r.uniform(0.1, 0.5),
            r.uniform(0.005, 0.02),
        ),
        friction=LoadedFriction(
            coulomb=tuple(r.uniform(1.0, 7.0, n) * LARGE),
            viscous=tuple(r.uniform(1.0, 5.0, n) * LARGE),
        ),
        model=ModelErrors(
            payload_mass=r.uniform(0.5, 3.0), payload_centre=tuple(r.uniform(-0.05, 0.05, 3))
        ),
    )


@dataclass(frozen=True)
class Figure:
    """An identified figure, one value or one per joint.

    Attributes:
        name, unit: of the figure.
        error: what it is off its truth.
        true: that truth.
        bound: of the error.
        inside: whether the truth lies in the stated interval.
    """

    name: str
    unit: str
    error: list[float]
    true: list[float]
    bound: list[float]
    inside: list[bool]

    @property
    def wrong(self):
        return any(error > bound for error, bound in zip(self.error, self.bound, strict=True))


def figures(arm, joints, found):
    """Each figure of an arm; friction of the joints that moved, given by their names."""
    moved = [ROBOT.joints.index(each) for each in joints]
    noise, friction, mass = arm.noise, arm.friction, arm.model.payload_mass
    coulomb, viscous, effort = (
        np.array(each) for each in (friction.coulomb, friction.viscous, noise.effort)
    )
    wrench = np.array([noise.force, noise.torque])
    delay = arm.commands.delay + arm.commands.jitter / 2.0
    rows = [
        ("delay", "s", found.line.delay, delay, 0.0005, ...),
        ("Coulomb friction", "N·m", found.coulomb, coulomb, np.maximum(0.1 * coulomb, 0.2), moved),
        ("viscous friction", "N·m·s/rad", found.viscous, viscous, 0.2 * viscous, moved),
        ("noise of efforts", "N·m", found.line.noise, effort, 0.2 * effort, ...),
        (
            "noise of positions",
            "rad",
            found.position_noise,
            noise.position[0],
            0.2 * noise.position[0],
            ...,
        ),
        (
            "noise of velocities",
            "rad/s",
            found.velocity_noise,
            noise.velocity[0],
            0.2 * noise.velocity[0],
            ...,
        ),
        ("noise of forces and torques", "N, N·m", found.wrench_noise, wrench, 0.2 * wrench, ...),
    ]
    if len(moved) > 1:
        rows.append(("mass of the payload", "kg", found.payload_mass, mass, 0.05 * mass, ...))
    return [_figure(*row) for row in rows]


def _figure(name, unit, estimate, true, bound, kept):
    values = np.broadcast_arrays(np.abs(estimate.value - true), true, bound, estimate.holds(true))
    return Figure(name, unit, *(np.atleast_1d(each[kept]).tolist() for each in values))


def wrong_figures(found):
    return [each for each in found if each.wrong]


def inside(sets):
    """For each figure the fraction of true values in the stated intervals, over the
    figures of several sets.
    """
    held = {}
    for each in (figure for found in sets for figure in found):
        held.setdefault(each.name, []).extend(each.inside)
    return {name: float(np.mean(values)) for name, values in held.items()}


def print_table(sets):
    """Errors of several sets, how many values are within their bounds, and how many truths
    in their intervals.
    """
    print(
        "| figure | median error | largest error | of its bound | within the bound | truth in the interval |"
    )
    print("|---|---|---|---|---|---|")
    for same in zip(*sets, strict=True):
        error, true, bound, held = (
            np.concatenate([getattr(each, name) for each in same])
            for name in ("error", "true", "bound", "inside")
        )
        scale, unit, digits = (1.0 / true, " %", 1) if same[0].unit != "s" else (10.0, " ms", 3)
        median, largest = (
            f"{100 * of(scale * error):.{digits}f}{unit}" for of in (np.median, np.max)
        )
        within, count = error <= bound, len(error)
        shares = f"{(error / bound).max():.0%} | {within.sum()} of {count} | {int(held.sum())} of {count}"
        print(f"| {same[0].name} | {median} | {largest} | {shares} |")
