"""Arms in MuJoCo that run into a body of 75 N/mm: how hard the blow is, and what still presses
later.

``python test/support/blow_trials.py [COUNT] [free] [ROBOT ...] [LAW ...]`` prints a table: COUNT
random approaches of each robot and law. With the word ``free`` nothing bounds the blows.
"""

import sys
from dataclasses import dataclass, replace

import numpy as np
from laws_under_test import outputs

from evidence.contact.trial_arm import TrialArm
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.references.clearance import Clearance
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.inverse_kinematics import solve_pose
from robot_control_ros.robot.model import RobotModel

APART = 0.02  # m from itself and its cell, where an arm begins
STEP = 0.0005  # s, of the physics
BODY = 75000.0  # N/m, a hand: ISO/TS 15066
LIMIT = 65.0  # N
ROBOTS = ("ur5e", "gen3")
EFFORT_LAWS = (
    "impedance",
    "task_space_pd",
    "joint_impedance",
    "joint_pid_effort",
    "position_domain_pd",
)
LAWS = (
    *((law, "effort") for law in EFFORT_LAWS),
    ("gravity_compensation", "effort"),
    ("force_control", "effort"),
    ("admittance", "position"),
    ("admittance", "velocity"),
    ("force_control", "position"),
    ("force_control", "velocity"),
    ("position_domain_pd", "position"),
    ("joint_pid", "velocity"),
)
SPEEDS = 0.05, 0.5  # m/s, that the moves ask for
GAPS = 0.02, 0.1  # m from the tip to the body
BEHIND = 0.15  # m behind the body's surface, where the target is
TILT = 0.7  # rad between the motion and the surface's normal, at most
PUSH = 20.0  # N, of the hand that leads an arm without targets, until it touches
PRESS = 10.0  # N, that force control shall press with
LONGEST = 6.0  # s until the arm must have touched
AFTER = 0.5  # s after the first contact, that count
LAST = 0.05  # s at their end
REACH = 1.2  # rad from home, of the postures


@dataclass(frozen=True)
class Blow:
    """What one approach did.

    Attributes:
        peak: largest force of the body [N].
        left: largest force in the last 0.05 s of the half second after the first contact [N].
        speed: of the tip at the first contact [m/s]; NaN where it never touched.
        mass: effective mass of the arm there, along its motion [kg].
        asked: speed that the move asks for [m/s].
        faults: of the loop, one after another.
        warnings: of the loop, likewise.
        reaction: what the arm does about the contact.
    """

    peak: float
    left: float
    speed: float
    mass: float
    asked: float
    faults: tuple
    warnings: tuple
    reaction: str


class BodyInTheWay(TrialArm):
    """A simulated arm whose tip meets a body: a smooth plane on a spring.

    Args:
        robot: its configuration.
        stiffness: of the body [N/m].
    """

    def __init__(self, robot, stiffness=BODY):
        super().__init__(robot, step=STEP)
        self._stiffness = stiffness
        self._dynamics = RobotModel.of(robot)
        self._tip = robot.tip
        self._surface = np.zeros(3)
        self._normal = None
        self.hand = np.zeros(3)  # N, that pushes the tip until it touches

    def put_body(self, surface, normal):
        """A point of its surface (3,), and the direction into it (3,)."""
        self._surface = surface
        self._normal = normal

    def sample(self):
        state = super().sample()
        force = np.zeros(3)
        if self._normal is not None:
            depth = float(
                self._normal @ (self._dynamics.at(state.q, state.v).pose[:3, 3] - self._surface)
            )
            force = -max(self._stiffness * depth, 0.0) * self._normal
        self.forces[-1] = force
        if force.any():
            self.hand = np.zeros(3)
        self.push(self._tip, force + self.hand, np.zeros(3))
        return state


def draw_way(robot, model, clearance, rng):
    """A free posture (n,), a direction (3,), and the posture (n,) behind the body; with the
    gap to the body [m].
    """
    home = np.array(robot.home)
    while True:
        q = np.clip(
            home + rng.uniform(-REACH, REACH, robot.n),
            model.limits.lower + 0.1,
            model.limits.upper - 0.1,
        )
        direction = rng.normal(size=3)
        direction /= np.linalg.norm(direction)
        gap = rng.uniform(*GAPS)
        pose = model.at(q).pose
        goal = pose.copy()
        goal[:3, 3] += (gap + BEHIND) * direction
        if min(pose[2, 3], goal[2, 3]) < 0.1 or np.linalg.cond(model.at(q).jacobian) > 30.0:
            continue
        try:
            end = solve_pose(model, goal, q, np.array(robot.axes))
        except ConfigError:
            continue
        pair = clearance.nearest(q)
        apart = pair is None or pair.distance >= APART
        if apart and np.abs(end - q).max() < 1.5 and clearance.is_free(np.linspace(q, end, 20)):
            return q, direction, end, gap


def effective_mass(kin, direction):
    """Of the arm at its tip [kg], along a direction (3,)."""
    linear = kin.jacobian[:3]
    return 1.0 / float(direction @ linear @ np.linalg.solve(kin.mass, linear.T @ direction))


def approach(name, law, output, seed, limit=LIMIT, delay=0.002):
    """One random approach; `limit` [N] is `contact.max_impact`, None leaves the
    settings as they are.
    """
    rng = np.random.default_rng(seed)
    robot = load_robot(name)
    model = RobotModel.of(robot)
    q, direction, end, gap = draw_way(robot, model, Clearance(robot, model), rng)
    speed = rng.uniform(*SPEEDS)
    axis = np.zeros(6)
    if law == "force_control":
        number = int(np.abs(direction).argmax())
        axis[number] = np.sign(direction[number])
        direction = axis[:3].copy()
    share = speed / (gap + BEHIND) * np.abs(end - q).max() / model.limits.velocity.min()
    robot = replace(
        robot,
        tip_speed=(speed, robot.tip_speed[1]),
        joint_speed=min(share, 1.0),
        profile=replace(robot.profile, workspace={}),
    )
    gains = {} if outputs(law) == (None,) else {"output": output}
    if law == "force_control":
        gains |= {
            "force_axes": np.abs(axis),
            "force": PRESS * axis,
            "approach_speed": min(speed, 0.1),
        }
    arm = BodyInTheWay(robot)
    arm.place(q)
    loop = ControlLoop(robot, law, gains, model=model)
    loop.clearance.settings.set({"checked": False})  # the way is free, as far as the body
    if limit is not None:
        loop.contact.settings.set({"max_impact": limit})
    tilt = rng.normal(size=3)
    tilt -= (tilt @ direction) * direction
    normal = direction + np.tan(rng.uniform(0.0, TILT)) * tilt / np.linalg.norm(tilt)
    normal /= np.linalg.norm(normal)
    start = model.at(q).pose[:3, 3].copy()
    line = arm.late(delay)
    line.open()
    goal = model.at(q).pose.copy()
    goal[:3, 3] += (gap + BEHIND) * direction
    if law == "force_control":
        gap = min(gap, 0.04)
    arm.put_body(start + gap * direction, normal)
    moves_joints = loop.running.joint_space and bool(rng.integers(2))
    first = None
    touched_at = np.nan
    mass = np.nan
    faults = []
    warnings = []
    before = np.nan, np.nan
    for count in range(round(LONGEST / robot.period)):
        state = line.read()
        if count == 100:
            if law == "gravity_compensation":
                arm.hand = PUSH * direction
            elif law != "force_control":
                if moves_joints:
                    loop.motion.move_joints_to(end)
                else:
                    loop.motion.move_to(goal)
        line.write(loop.tick(state))
        if loop.fault and loop.fault not in faults[-1:]:
            faults.append(loop.fault)
        if loop.warning and loop.warning not in warnings:
            warnings.append(loop.warning)
        sizes = np.array([each @ each for each in arm.forces[-8:]])
        if first is None:
            velocity = (loop.kin.jacobian @ loop.kin.v)[:3]
            if sizes.any():
                first = len(arm.forces)
                touched_at, mass = before
            before = float(np.linalg.norm(velocity)), effective_mass(loop.kin, normal)
        elif len(arm.forces) >= first + round(AFTER / STEP):
            break
    line.close()
    forces = np.linalg.norm(arm.forces, axis=1)
    if first is None:
        return Blow(
            0.0, 0.0, np.nan, np.nan, speed, tuple(faults), tuple(warnings), loop.contact.reaction
        )
    left = float(forces[-round(LAST / STEP) :].max())
    report = tuple(faults), tuple(warnings), loop.contact.reaction
    return Blow(float(forces.max()), left, touched_at, mass, speed, *report)


def table(count, robots, laws, limit):
    """Print a line for each robot and law."""
    print(
        "| robot | law | touched | median, N | largest, N | above | left, N | speed, m/s | reactions | faults |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in robots:
        for law, output in laws:
            blows = [approach(name, law, output, seed, limit) for seed in range(count)]
            peaks = np.array([each.peak for each in blows])
            touched = [each for each in blows if np.isfinite(each.speed)]
            worst = int(peaks.argmax())
            speeds = [each.speed for each in touched] or [np.nan]
            row = (
                name,
                f"{law}, {output}",
                f"{len(touched)} of {count}",
                f"{np.median(peaks):.0f}",
                f"{peaks.max():.0f} (seed {worst}, {blows[worst].speed:.3f} m/s, {blows[worst].mass:.1f} kg)",
                str(int((peaks > LIMIT).sum())),
                f"{max(each.left for each in blows):.0f}",
                f"{np.min(speeds):.3f} to {np.max(speeds):.3f}",
                str(sum(bool(each.reaction) for each in blows)),
                "; ".join(sorted({fault[:60] for each in blows for fault in each.faults})),
            )
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    words = sys.argv[1:]
    chosen_laws = [each for each in LAWS if each[0] in words] or LAWS
    chosen_robots = [each for each in ROBOTS if each in words] or ROBOTS
    numbers = [int(word) for word in words if word.isdigit()]
    table((numbers or [8])[0], chosen_robots, chosen_laws, None if "free" in words else LIMIT)
