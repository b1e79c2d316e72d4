"""An arm that is soft along the axes of its tool: pushes, changes, and the energy of its spring."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.spatial import make_pose, rotation_exp
from robot_control_ros.core.types import Array
from robot_control_ros.laws.spring.bounded_spring import BoundedSpring
from robot_control_ros.laws.spring.compliance_frame import (
    BASE,
    FRAMES,
    TANK,
    TIP,
    ComplianceFrame,
    TipSpring,
)
from robot_control_ros.robot.configuration import RobotConfig
from robot_control_ros.robot.model import RobotDynamics, RobotModel

from ..row import Row, calculated, required
from .trial_arm import IDEAL, RATE, TrialArm, cycles, delays, line, trial_robot

STIFFNESS = (1000.0, 500.0, 250.0, 50.0, 50.0, 50.0)
PUSH = 20.0  # N
# postures; s of a push
POSTURES = 15
SETTLED = 3.0
# rad from home, at most; kg that the tip may feel like in any direction
BEND = 0.6
HEAVIEST = 25.0
Spring = tuple[str, float]  # frame, and factor of the stiffness
CHANGES: tuple[tuple[Spring, Spring], ...] = (
    ((BASE, 1.0), (TIP, 1.0)),
    ((TIP, 1.0), (BASE, 1.0)),
    ((TIP, 1.0), (TIP, 3.0)),
    ((TIP, 1.0), (BASE, 0.3)),
)
# of the energy's checks
STATES = 200
LOOPS = 10
POINTS = 400
SPRING = calculated("force over stiffness")
ENERGY = calculated("the spring has an energy")
LIMIT = required("effort_rate of the robot")
PAID = required("TANK of laws/spring/compliance_frame.py")


def rows(robot: str, arm: str = IDEAL) -> list[Row]:
    """All trials of a robot; `arm` names imperfections, and those of the law
    alone are left out then.
    """
    config = trial_robot(robot, arm=arm)
    found = [*_statics(config, arm), *_changes(config, arm)]
    return found if arm else [*found, *_energies(config)]


def _statics(robot: RobotConfig, arm: str) -> Iterator[Row]:
    for delay in delays(arm):
        errors = [
            displaced(robot, q, axis, delay, arm) for q, axis in product(postures(robot), range(3))
        ]
        head = f"20 N along each tool axis in {POSTURES} postures, {line(arm, delay)}: "
        yield Row.at_most(head + "displacement off by", 100.0 * max(errors), 1.0, "%", SPRING)


def _changes(robot: RobotConfig, arm: str) -> Iterator[Row]:
    for (before, after), delay in product(CHANGES, delays(arm)):
        step, made = changed(robot, delay, before, after, arm)
        head = f"{before[0]} axes to {after[1]:g} times as stiff {after[0]} axes under 20 N, {line(arm, delay)}: "
        name = head + "largest step of a torque over its limit"
        yield Row.at_most(name, step, 1.0 + 1e-9, "", LIMIT)
        yield Row.at_most(head + "energy that the change made", made, TANK, "J", PAID)


def _energies(robot: RobotConfig) -> Iterator[Row]:
    rng = np.random.default_rng(21)
    model = RobotModel.of(robot)
    for name in (*FRAMES, model.frames[len(model.frames) // 2]):
        worst = max(gradient_error(model, name, rng) for _ in range(STATES))
        text = f"spring along {name}: torque less the energy's gradient, relative"
        yield Row.at_most(text, worst, 1e-6, "", ENERGY)
        work = max(abs(loop_work(model, name, rng)) for _ in range(LOOPS))
        text = f"spring along {name}: work around closed motions"
        yield Row.at_most(text, work, 1e-9, "J", ENERGY)


def postures(robot: RobotConfig) -> list[Array]:
    """Joint angles (n,) about home in which the tip feels light, with the trials' rotors."""
    rng = np.random.default_rng(7)
    model = RobotModel.of(trial_robot(robot.name))
    found = list[Array]()
    while len(found) < POSTURES:
        kin = model.at(np.array(robot.home) + rng.uniform(-BEND, BEND, robot.n))
        mobility = kin.jacobian.dot(np.linalg.solve(kin.mass, kin.jacobian.T))
        if np.linalg.eigvalsh(np.linalg.inv(mobility)[:3, :3])[-1] < HEAVIEST:
            found.append(kin.q)
    return found


def displaced(
    robot: RobotConfig, q: Array, axis: int, delay: float, imperfections: str = IDEAL
) -> float:
    """Error of the displacement by a push along a tool axis, relative to force over stiffness."""
    arm = TrialArm(robot, arm=imperfections)
    arm.place(q)
    loop = ControlLoop(robot, "impedance", {"stiffness": STIFFNESS, "frame": TIP})
    start = RobotModel.of(robot).at(q).pose
    arm.push(robot.tip, PUSH * start[:3, axis], np.zeros(3))
    for _, kin in cycles(arm, loop, delay, SETTLED):
        moved = kin.pose[:3, 3] - start[:3, 3]
    wanted = PUSH / STIFFNESS[axis]
    return abs(float(moved.dot(start[:3, axis])) / wanted - 1.0)


def changed(
    robot: RobotConfig, delay: float, before: Spring, after: Spring, imperfections: str = IDEAL
) -> tuple[float, float]:
    """Largest torque step over effort_rate dt, and energy made [J], when the spring
    changes under a push.
    """
    arm = TrialArm(robot, arm=imperfections)
    q = postures(robot)[0]
    arm.place(q)
    loop = ControlLoop(robot, "impedance", _gains(before))
    pose = RobotModel.of(robot).at(q).pose
    force = PUSH * np.ones(3) / 3.0**0.5
    arm.push(robot.tip, force, np.zeros(3))
    torques = list[Array]()
    work = 0.0
    stored = list[float]()
    for state, kin in cycles(arm, loop, delay, 2.0 * SETTLED):
        torques.append(state.effort)
        if len(torques) == round(SETTLED * RATE):
            stored.append(_stored(loop, kin, pose, before))
            loop.running.gains.set(_gains(after))
        if stored:
            work += float(force.dot(kin.twist[:3])) / RATE
    stored.append(_stored(loop, kin, pose, after))
    steps = np.abs(np.diff(torques[round((SETTLED - 0.1) * RATE) :], axis=0))
    return float((steps / np.array(robot.effort_rate) * RATE).max()), stored[1] - stored[0] - work


def _gains(spring: Spring) -> dict[str, Any]:
    frame, factor = spring
    return {"frame": frame, "stiffness": [factor * value for value in STIFFNESS]}


def _stored(loop: ControlLoop, kin: RobotDynamics, pose: Array, to: Spring) -> float:
    frame, factor = to
    spring = TipSpring(
        BoundedSpring(factor * np.diag(STIFFNESS), 0.0, 0.0), ComplianceFrame(frame, kin)
    )
    spring.pull(pose, kin)
    assert loop.state is not None
    return spring.energy() + 0.5 * float(loop.state.v.dot(kin.mass).dot(loop.state.v))


# --- energy ---


def random_spring(
    model: RobotModel, name: str, rng: np.random.Generator
) -> tuple[TipSpring, Array, Array]:
    """A spring with a full stiffness, a posture (n,) and a reference (4, 4) near its pose."""
    kin = model.at(rng.uniform(-1.5, 1.5, model.n))
    root = np.repeat((20.0, 4.0), 3)[:, None] * rng.normal(size=(6, 6))
    turn = rotation_exp(rng.uniform(-0.8, 0.8, 3))
    pose = make_pose(kin.pose[:3, 3] + rng.uniform(-0.2, 0.2, 3), turn.dot(kin.pose[:3, :3]))
    return (
        TipSpring(BoundedSpring(root.dot(root.T), 0.0, 0.0), ComplianceFrame(name, kin)),
        kin.q,
        pose,
    )


def torque_of(spring: TipSpring, pose: Array, kin: RobotDynamics) -> Array:
    """Torques (n,) of a spring on the joints [N·m]."""
    wrench, beside = spring.pull(pose, kin)
    torque = kin.jacobian.T.dot(wrench)
    return np.asarray(torque if beside is None else torque + beside)


def gradient_error(
    model: RobotModel, name: str, rng: np.random.Generator, step: float = 1e-5
) -> float:
    """Power of the spring plus the rate of its energy, along a random motion of the joints.

    The sum is relative to the norm of the torques times that of the joint velocities.
    """
    spring, q, pose = random_spring(model, name, rng)
    v = rng.normal(size=model.n)
    torque = torque_of(spring, pose, model.at(q))
    energies = []
    for side in (step, -step):
        spring.pull(pose, model.at(q + side * v))
        energies.append(spring.energy())
    rate = (energies[0] - energies[1]) / (2.0 * step)
    return abs(rate + float(torque.dot(v))) / float(np.linalg.norm(torque) * np.linalg.norm(v))


def loop_work(model: RobotModel, name: str, rng: np.random.Generator) -> float:
    """Work of the spring around a closed motion of the joints by some 0.2 rad [J]."""
    spring, q, pose = random_spring(model, name, rng)
    sizes = rng.uniform(0.0, 0.2, model.n)
    phases = rng.uniform(0.0, 2.0 * np.pi, model.n)
    work = 0.0
    for s in 2.0 * np.pi * np.arange(POINTS) / POINTS:
        torque = torque_of(spring, pose, model.at(q + sizes * np.sin(s + phases)))
        work += float(torque.dot(sizes * np.cos(s + phases))) * 2.0 * np.pi / POINTS
    return work
