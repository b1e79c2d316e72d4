"""A UR5e with dry friction in its joints: what the compensation leaves of the error, and what a
push does.

``python test/support/friction_trials.py`` prints the figures of docs/controller.md, and more.
Arguments are delays in ms.
"""

import sys
from dataclasses import dataclass

import numpy as np

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.references import ContourMove, Polyline, QuinticTimeScaling
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.simulation.imperfect.delayed import DelayedPlant
from robot_control_ros.simulation.in_process import lockstep
from robot_control_ros.simulation.mujoco_plant import MujocoPlant
from robot_control_ros.simulation.scene import JointLosses, Scene

FRICTION = 5.0  # N·m in each joint
GAINS = {"stiffness": [200.0, 200.0, 200.0, 50.0, 50.0, 50.0]}
RATE, PHYSICS_RATE = 500.0, 1000.0
DISTANCE, READ, PUSHED, WINDOW = 0.11, 4.5, 2.0, 1.4  # m, s, s, s
PUSH = 20.0  # N
DIRECTIONS = tuple(sign * axis for axis in np.eye(3) for sign in (1.0, -1.0))


@dataclass(frozen=True)
class Found:
    """Error [m, rad] before the push, motion [m] and speed [m/s] until then, and how far the push
    moved the tip [m].

    `pushed` is of a push in the direction of the move, or against it.
    """

    error: float
    rotation: float
    motion: float
    speed: float
    pushed: float


def trial(direction, gains, delay=0.002, *, back=False):
    """Move the tip by 0.11 m in 1 s, wait, and push on in the same direction, or back."""
    robot = load_robot("ur5e").with_rotors(0.1).at_rate(RATE)
    plant = MujocoPlant(
        robot, rate=PHYSICS_RATE, scene=Scene("friction", joints=JointLosses(friction=FRICTION))
    )
    line = DelayedPlant(plant, PHYSICS_RATE, rate=RATE, delay=delay)
    loop = ControlLoop(robot, "impedance", GAINS | gains)
    rows, at = [], round(READ * RATE)

    def move(start):
        path = Polyline([start[:3, 3], start[:3, 3] + DISTANCE * direction])
        return ContourMove(path, QuinticTimeScaling(DISTANCE, 1.0), start, 0.0)

    def push():
        force = -PUSH if back else PUSH
        plant.push(robot.tip, force * direction * (len(rows) >= at), np.zeros(3))

    line.open()
    for _, kin, _ in lockstep(line, loop, at + round(PUSHED * RATE), move, push):
        rows.append(np.concatenate((kin.pose[:3, 3], kin.twist[:3], loop.pose_error())))
    rows, size = np.array(rows), np.linalg.norm
    still = rows[at - round(WINDOW * RATE) : at]
    error, speed = still[-1, 6:], size(still[:, 3:6], axis=1).max()
    pushed = size(rows[-1, :3] - still[-1, :3])
    return Found(
        size(error[:3]), size(error[3:]), size(np.ptp(still[:, :3], axis=0)), speed, pushed
    )


CASES = {
    "off": {},
    "4.5 N·m, with sensor": {"friction_bound": 0.9 * FRICTION},
    "4.5 N·m, with sensor, width 1 N·m": {"friction_bound": 0.9 * FRICTION, "friction_width": 1.0},
    "4.5 N·m, without sensor": {"friction_bound": 0.9 * FRICTION, "friction_by_wrench": False},
    "2.5 N·m, with sensor": {"friction_bound": 0.5 * FRICTION},
    "6 N·m, with sensor": {"friction_bound": 1.2 * FRICTION},
}


def main(delays):
    """Print the table for each delay [s]: of each column the least and the most over
    the six directions.
    """
    for delay in delays:
        print(f"\n{1e3 * delay:g} ms of delay\n")
        print(
            "| `friction_bound` | error | rotation | motion in 1.4 s | speed | 20 N on | 20 N back |"
        )
        print("|---|---|---|---|---|---|---|")
        for name, gains in CASES.items():
            found = [trial(direction, gains, delay) for direction in DIRECTIONS]
            back = [trial(direction, gains, delay, back=True) for direction in DIRECTIONS]
            cells = [
                f"{min(values):.{digits}f} to {max(values):.{digits}f} {unit}"
                for values, digits, unit in (
                    ([1e3 * each.error for each in found], 0, "mm"),
                    ([1e3 * each.rotation for each in found], 0, "mrad"),
                    ([1e6 * each.motion for each in found], 1, "µm"),
                    ([1e3 * each.speed for each in found], 3, "mm/s"),
                    ([1e3 * each.pushed for each in found], 0, "mm"),
                    ([1e3 * each.pushed for each in back], 0, "mm"),
                )
            ]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main([1e-3 * float(each) for each in sys.argv[1:]] or [0.002])
