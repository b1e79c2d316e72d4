"""End-effector admittance of a UR5 that a ball pushes, and the source's own form of
the law as evidence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from robot_control_ros.control.reactions.ringing_reaction import WARN
from robot_control_ros.core.types import Array
from robot_control_ros.laws.spring.virtual_body import VirtualBody
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.robot.solids import Shape
from robot_control_ros.simulation.in_process import Push, simulate
from robot_control_ros.simulation.log import Log
from robot_control_ros.simulation.mujoco_plant import MujocoPlant
from robot_control_ros.simulation.scene import load_scene

from ..row import FOLLOWS, Row, calculated, required
from . import literal_admittance
from .case import Result, Tell, counted, in_turn, light_ur5, panels, tell_nobody
from .literal_admittance import MASS, STIFFNESS, TOOL

DT = 0.002  # s
SECOND = round(1.0 / DT)  # samples of it
CRITICAL = 2.0 * math.sqrt(MASS * STIFFNESS)  # N·s/m
FORCE = 10.0  # N
STEP_AT = 0.2  # s
DAMPINGS = (20.0, 63.2, 200.0)  # N·s/m, in contact
BALL_FROM = np.array([0.9, 0.0, 0.1])  # m, in the base
BALL_AT = np.array([0.815, 0.0, 0.1])  # m, in the base, where its servos pull it to
BALL_SPEED = 0.085  # m/s
# N·m, N·m/rad
TORQUE = 1.0
ROTATIONAL_STIFFNESS = 20.0
STRETCHED = (0.0, -0.6, 0.5, -1.5, -1.5708, 0.0)  # rad: straight once the elbow has turned by 0.5
SHOULDER = np.array([0.0, 0.0, 0.089])  # m
AXES = "xyz"
REQUIRED = required("evidence/reproduce/admittance_case.py")
SPRING = calculated("force over stiffness")
OSCILLATOR = calculated("the oscillator of M, B, K")
SERVOS = {"ideal servo": None, "stiff PD": f"{literal_admittance.__name__}:StiffJoints"}
LITERAL = f"{literal_admittance.__name__}:LiteralAdmittance"
LITERAL_GAINS: Mapping[str, Mapping[str, Any]] = {
    "B = 0": {},
    "B = 30": {"damping": 30.0},
    "B = 63.2": {"damping": 63.2},
    "B = 0, from the commanded state": {"feedback": "commanded"},
    "B = 63.2, from the commanded state": {"damping": 63.2, "feedback": "commanded"},
}


def translation(damping: float = CRITICAL) -> dict[str, Any]:
    """Gains of `admittance` for the source's mass and spring: the tip gives
    way and doesn't turn.
    """
    return {
        "mass": [MASS, MASS, MASS, 0.1, 0.1, 0.1],
        "stiffness": [STIFFNESS, STIFFNESS, STIFFNESS, 20.0, 20.0, 20.0],
        "damping_ratio": [0, 0, 0, 1, 1, 1],
        "damping": [damping, damping, damping, 0, 0, 0],
        "selected_axes": [1, 1, 1, 0, 0, 0],
    }


def virtual_step(damping: float, dt: float, duration: float = 1.0) -> tuple[Array, Array]:
    """Time (k,) and way (k,) [m] of the virtual body alone, under FORCE from 0 s on."""
    body = VirtualBody()
    size = round(duration / dt)
    wrench = FORCE * np.eye(6)[0]
    mass = np.full(6, MASS)
    stiffness = np.full(6, STIFFNESS)
    way = np.zeros(size + 1)
    for k in range(size):
        body.step(wrench, mass, np.full(6, damping), stiffness, dt)
        way[k + 1] = body.position[0]
    return np.linspace(0.0, size * dt, size + 1), way


def arm(
    law: str,
    gains: Mapping[str, Any],
    servo: str,
    push: Push | None = None,
    duration: float = 2.0,
    *,
    ball_to: Array | None = None,
    **settings: Any,
) -> Log:
    """Simulate the source's scene with steps of 2 ms.

    Where `ball_to` (3,) [m] is given, the ball is led there.

    Under the stiff PD the rotor inertia is the source's 0.01 kg·m². The physics then takes steps of
    2 ms, too. Other settings are those of
    :func:`~robot_control_ros.simulation.in_process.simulate`.
    """
    joint_law = SERVOS[servo]
    robot, step = (light_ur5(), 0.001) if joint_law is None else (light_ur5(0.01), DT)

    def lead(plant: MujocoPlant) -> None:
        if ball_to is not None:
            way = ball_to - BALL_FROM
            fraction = BALL_SPEED * max(plant.time - STEP_AT, 0.0) / np.linalg.norm(way)
            plant.move_object("ball", BALL_FROM + min(fraction, 1.0) * way)

    settings = {
        "scene": "ball",
        "rate": 1.0 / DT,
        "physics_step": step,
        "joint_law": joint_law,
        **settings,
    }
    settings["ringing_reaction"] = WARN  # the literal form rings, and shall
    return simulate(robot, law, gains, duration=duration, push=push, intervene=lead, **settings)


def moved(log: Log, point: Any = (0.0, 0.0, 0.0)) -> Array:
    """Displacement (k, 3) of a point of the tip from its place at the beginning, in the base [mm].

    Args:
        log: Log of the run.
        point: Point (3,) in the frame of the tip [m].
    """
    position = log.pose[:, :3, 3] + log.pose[:, :3, :3] @ np.asarray(point, dtype=float)
    return np.asarray(1000.0 * (position - position[0]))


def run(tell: Tell = tell_nobody) -> Result:
    """Every experiment."""
    last = Push((FORCE, 0.0, 0.0), start=STEP_AT)
    steps = {name: arm("admittance", translation(), name, last) for name in SERVOS}
    literal = {name: arm(LITERAL, gains, "stiff PD", last) for name, gains in LITERAL_GAINS.items()}
    tell(0.2)
    pairs = list(product(DAMPINGS, SERVOS))
    held = {
        (b, name): arm("admittance", translation(b), name, None, 3.0, ball_to=BALL_AT)
        for b, name in counted(pairs, tell, 0.2, 0.5)
    }
    groups = (
        _virtual_rows(),
        _step_rows(steps),
        _rest_rows(),
        _ball_rows(held),
        _sign_rows(),
        (each() for each in (_bias_row, _torque_row)),
        _singular_rows(),
        _literal_rows(literal),
    )
    rows = in_turn(groups, tell, 0.5)
    first = next(iter(steps.values()))
    contact = {b: log for (b, name), log in held.items() if name == "ideal servo"}
    return Result(
        title="admittance of a UR5's tip",
        source=(
            "A UR5 in MuJoCo whose tip gives way to a ball; keys move the ball. Mass 1 kg, stiffness 1000 N/m. "
            "Here `admittance` commands it, with the simulator's servo and with the source's stiff joint PD. The "
            "source's literal form runs only for comparison: it is not one of the laws."
        ),
        rows=rows,
        notes=_notes(),
        drawings={"step": lambda: _draw_step(steps, literal), "ball": lambda: _draw_ball(contact)},
        series={
            "step": {
                "t": first.t - STEP_AT,
                **{f"x ({name}) [mm]": moved(log)[:, 0] for name, log in steps.items()},
                "x (literal B = 0) [mm]": moved(literal["B = 0"], TOOL)[:, 0],
            },
            "ball": {
                "t": next(iter(contact.values())).t,
                **{f"F (B = {b:g}) [N]": log.contact[:, 0] for b, log in contact.items()},
                **{f"x (B = {b:g}) [mm]": moved(log)[:, 0] for b, log in contact.items()},
            },
        },
    )


def _virtual_rows() -> Iterator[Row]:
    time, way = virtual_step(CRITICAL, DT)
    reached = float(time[np.flatnonzero(way >= 0.95 * FORCE / STIFFNESS)[0]])
    yield Row.near("virtual body, 10 N: way after 1 s", 1000.0 * way[-1], 10.0, 0.01, "mm", SPRING)
    yield Row.near("virtual body, 10 N: 95 % after", reached, 0.150, 0.010, "s", OSCILLATOR)
    overshoot = 100.0 * (way.max() * STIFFNESS / FORCE - 1.0)
    yield Row.at_most("virtual body, 10 N: overshoot", overshoot, 0.5, "%", OSCILLATOR)


def _step_rows(steps: Mapping[str, Log]) -> Iterator[Row]:
    for servo, along_x in steps.items():
        for axis in range(3):
            push = Push(FORCE * np.eye(3)[axis], start=STEP_AT)
            way = moved(along_x if axis == 0 else arm("admittance", translation(), servo, push))
            name = f"UR5, {servo}, 10 N along {AXES[axis]}"
            yield Row.near(f"{name}: way", way[-1, axis], 10.0, 0.2, "mm", SPRING)
            ripple = np.ptp(way[-SECOND:, axis])
            last = f"{name}: peak to peak in the last second"
            yield Row.at_most(last, ripple, 0.05, "mm", REQUIRED)
            aside = np.abs(np.delete(way, axis, 1)).max()
            yield Row.at_most(f"{name}: off-axis", aside, 0.25, "mm", REQUIRED)


def _rest_rows() -> Iterator[Row]:
    for servo in SERVOS:
        push = Push((FORCE, 0.0, 0.0), start=STEP_AT, duration=1.0)
        left = np.linalg.norm(moved(arm("admittance", translation(), servo, push, 3.0))[-1])
        name = f"UR5, {servo}: left of the way after a pulse of 1 s"
        yield Row.at_most(name, left, 0.01, "mm", REQUIRED)
        alone = moved(arm("admittance", translation(), servo, duration=6.0))
        drift = 1000.0 * np.linalg.norm(alone, axis=1).max()
        name = f"UR5, {servo}: drift without a wrench in 6 s"
        yield Row.at_most(name, drift, 1.0, "µm", REQUIRED)


def _ball_rows(held: Mapping[tuple[float, str], Log]) -> Iterator[Row]:
    shared = calculated("two equal springs")
    for (damping, servo), log in held.items():
        name = f"ball at x = 0.815 m, B = {damping:g}, {servo}"
        force = log.contact[:, :3]
        touched = np.flatnonzero(force[:, 0] < 0.0)[0]
        yield Row.near(f"{name}: force", np.linalg.norm(force[-1]), 4.8, 0.3, "N", shared)
        yield Row.near(f"{name}: tip", moved(log)[-1, 0], -4.8, 0.3, "mm", shared)
        ripple = np.ptp(force[-SECOND:, 0])
        last = f"{name}: force, peak to peak in the last second"
        yield Row.at_most(last, ripple, 0.01, "N", REQUIRED)
        lost = np.count_nonzero(force[touched:, 0] == 0.0) * DT
        yield Row.at_most(f"{name}: contact lost", lost, 0.0, "s", REQUIRED)


def _sign_rows() -> Iterator[Row]:
    """MuJoCo puts the simpler shape of a pair first: a sphere comes before a box."""
    scene = load_scene("ball")
    assert scene.tool is not None
    ball = scene.objects["ball"]
    edges = (0.05, 0.05, 0.05)
    boxed = replace(ball, shape=Shape("box", edges, ball.shape.pose))
    cases = {
        "tool first (sphere), ball a box": replace(scene, objects={"ball": boxed}),
        "tool second (box), ball first (sphere)": replace(
            scene, tool=Shape("box", edges, scene.tool.pose)
        ),
    }
    for name, case in cases.items():
        log = arm(
            "admittance", translation(), "ideal servo", None, 2.5, scene=case, ball_to=BALL_AT
        )
        force = log.contact[-1, 0]
        shared = calculated("two equal springs")
        yield Row.near(f"{name}: force of the contact", force, -4.8, 0.3, "N", shared)
        ratio = force / log.wrench[-1, 0]
        reaction = calculated("action and reaction")
        yield Row.near(f"{name}: force over that of the sensor", ratio, 1.0, 0.001, "", reaction)


def _bias_row() -> Row:
    model = RobotModel.of(load_robot("ur5"))
    rng = np.random.default_rng(1)
    step = 1e-5
    worst = 0.0
    for _ in range(200):
        q, v = rng.uniform(-2.0, 2.0, (2, 6))
        slope = (model.at(q + step * v).jacobian - model.at(q - step * v).jacobian) / (2.0 * step)
        worst = max(worst, float(np.abs(model.jdot_v(q, v) - slope @ v).max()))
    name = "J̇ q̇ apart from finite differences, 200 random states"
    return Row.at_most(name, worst, 1e-6, "m/s², rad/s²", calculated("finite differences"))


def _torque_row() -> Row:
    gains = {**translation(), "selected_axes": 1}
    log = arm("admittance", gains, "ideal servo", Push(torque=(0.0, 0.0, TORQUE), start=STEP_AT))
    turned = np.linalg.norm(log.pose_error[-1, 3:])
    expected = TORQUE / ROTATIONAL_STIFFNESS
    name = "torque of 1 N·m, 20 N·m/rad: turned by"
    spring = calculated("torque over stiffness")
    return Row.near(name, turned, expected, 0.02 * expected, "rad", spring)


def _singular_rows() -> Iterator[Row]:
    """The tip is pulled until the elbow is straight. Its spring would let it go four times as far.

    Let go, the tip comes back with B / K = 0.63 s; the body was 5 mm ahead of it. Had the body gone
    on to where the spring would have let it, half of the way would take twice as long.
    """
    start = RobotModel.of(load_robot("ur5")).at(np.array(STRETCHED)).pose[:3, 3]
    outward = (start - SHOULDER) / np.linalg.norm(start - SHOULDER)
    gains = {**translation(), "stiffness": [100, 100, 100, 20, 20, 20]}
    push = Push(FORCE * outward, start=STEP_AT, duration=2.0)
    scene = replace(load_scene("ball"), objects={})
    log = arm("admittance", gains, "ideal servo", push, 4.0, scene=scene, q0=STRETCHED)
    way = moved(log) @ outward
    after = log.t > STEP_AT + push.duration
    halved = log.t[after][np.flatnonzero(way[after] < 0.5 * way.max())[0]] - STEP_AT - push.duration
    name = "pulled with 10 N into the stretch"
    bent = np.abs(log.q[:, 2]).min()
    yield Row.at_most(f"{name}: elbow from straight, smallest", bent, 0.1, "rad", REQUIRED)
    fastest = np.abs(log.v).max()
    yield Row.at_most(f"{name}: fastest joint", fastest, math.pi, "rad/s", REQUIRED)
    yield Row.at_most(f"{name}: tip, farthest", way.max(), 50.0, "mm", REQUIRED)
    yield Row.at_most(f"{name}, let go: half of the way back after", halved, 0.6, "s", REQUIRED)


def _literal_rows(runs: Mapping[str, Log]) -> Iterator[Row]:
    ways = {name: moved(log, TOOL) for name, log in runs.items()}
    for name, peak in (("B = 0", 19.0), ("B = 0, from the commanded state", 20.0)):
        begun = ways[name][runs[name].t < STEP_AT + 0.2, 0]
        yield Row.near(f"literal form, {name}: first peak", begun.max(), peak, 0.5, "mm", FOLLOWS)
    for name in ("B = 30", "B = 63.2"):
        strayed = np.abs(ways[name]).max()
        yield Row.at_least(f"literal form, {name}: strays", strayed, 100.0, "mm", REQUIRED)
    name = "B = 63.2, from the commanded state"
    yield Row.near(f"literal form, {name}: way", ways[name][-1, 0], 10.0, 0.2, "mm", SPRING)


def _notes() -> list[str]:
    way = 1000.0 * FORCE / STIFFNESS
    peak = way * (1.0 + math.exp(-0.5 * math.pi * math.sqrt(STIFFNESS / MASS) * DT))
    return [
        "With B = 0 only the time steps damp the literal form. The joint PD gets the command's velocity. So the joints "
        "are one step ahead of the command when they are measured. "
        f"This damps like implicit integration, with K dt = {STIFFNESS * DT:g} N·s/m. "
        f"The peak is then 10 (1 + exp(-π ω dt / 2)) = {peak:.2f} mm. The servo's own compliance adds 0.1 mm. "
        "From the commanded state nothing damps it: it swings to twice the way.",
        "The literal form diverges if its damping acts on measured velocities. The same damping is right if x and v "
        "are the commanded ones, as in `admittance`.",
        "The ball's servos and the tip have 1000 N/m each. So they divide the 10 mm equally: 5 N, minus the effect of "
        "the soft contact. The peaks before come from the damping: the ball arrives at 85 mm/s.",
        "Ways above 10 mm come from the servo: it yields to the push by about 0.01 mm/N.",
    ]


def _draw_step(steps: Mapping[str, Log], literal: Mapping[str, Log]) -> Any:
    figure, ((axes,),) = panels(9.0, 5.4, x="t [s]", y=["x [mm]"])
    for (name, log), style in zip(steps.items(), ("-", "--"), strict=True):
        axes.plot(
            log.t - STEP_AT, moved(log)[:, 0], style, linewidth=2.4, label=f"admittance, {name}"
        )
    for name in ("B = 0", "B = 63.2", "B = 63.2, from the commanded state"):
        way = moved(literal[name], TOOL)[:, 0]
        axes.plot(literal[name].t - STEP_AT, way, linewidth=1.0, label=f"literal form, {name}")
    axes.axhline(1000.0 * FORCE / STIFFNESS, color="0.3", linestyle=":", linewidth=1.2)
    axes.set(title="10 N along x, 1 kg, 1000 N/m", xlim=(-0.05, 0.8), ylim=(-2.0, 22.0))
    figure.legend(fontsize="small", loc="outside lower center", ncols=2)
    return figure


def _draw_ball(logs: Mapping[float, Log]) -> Any:
    labels = ("force on the tip [N]", "tip, x [mm]")
    figure, ((force,), (way,)) = panels(9.0, 6.0, 2, x="t [s]", y=labels, sharex=True)
    for damping, log in logs.items():
        force.plot(log.t, log.contact[:, 0], linewidth=1.3, label=f"B = {damping:g} N·s/m")
        way.plot(log.t, moved(log)[:, 0], linewidth=1.3)
    force.set_title("A ball is led to 10 mm into the tool, and stays")
    way.set_xlim(0.8, 2.2)
    force.legend(fontsize="small")
    return figure
