"""Two arms that face each other lift a box. Type: python examples/skills/two_arms.py

Each arm has a controller of its own, under impedance. Its target is within the box, so its spring
squeezes; friction carries the box. Both arms are in one simulated world.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from robot_control_ros import ControlLoop, load_robot, load_scene
from robot_control_ros.simulation.mujoco_plant import arms_in_one_world

CELL = Path(__file__).with_name("two_arms.yaml")
SCENE = Path(__file__).with_name("box.yaml")
ARMS = ("left", "right")
FACE = np.array([0.65, 0.0, 0.4])  # m, the middle of the box's face, in the base of each arm
AHEAD = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # a tool that points ahead
GAINS = {"stiffness": [500, 500, 500, 50, 50, 50]}
SQUEEZE = 0.04  # m, of each target within the box: 20 N
LIFT = 0.15  # m


class Pair:
    """Two arms, each with a controller.

    Attributes:
        rows: Time [s], height of the box [m] and force of each arm's spring on it [N], of each
            cycle.
    """

    def __init__(self) -> None:
        robots = [load_robot(f"{CELL}#{arm}") for arm in ARMS]
        self._plants = arms_in_one_world(robots, scene=load_scene(str(SCENE)))
        self._loops = [ControlLoop(robot, "impedance", GAINS) for robot in robots]
        self.rows: list[tuple[float, ...]] = []
        self._cycle()

    def lead(self, ahead: float, height: float, seconds: float) -> None:
        """Lead both tips to the box, and let some time pass.

        Args:
            ahead: Distance of each tip's target behind the face of the box [m].
            height: Height of the targets over the middle of the face [m].
            seconds: Time that passes [s].
        """
        pose = np.eye(4)
        pose[:3, :3] = AHEAD
        pose[:3, 3] = FACE + np.array((ahead, 0.0, height))
        for loop in self._loops:
            loop.motion.move_to(pose)
        for _ in range(round(seconds / self._loops[0].robot.period)):
            self._cycle()

    def _cycle(self) -> None:
        """Run a cycle of both controllers, and the physics of both arms."""
        for plant, loop in zip(self._plants, self._loops, strict=True):
            plant.write(loop.tick(plant.sample()))
        first = self._plants[0]
        box = first.object_pose("box")
        forces = [GAINS["stiffness"][0] * loop.pose_error()[0] for loop in self._loops]
        self.rows.append((first.sample().time, box[2, 3], *forces))
        first.advance()


def plot(rows: np.ndarray, path: Path) -> None:
    """Draw the height of the box and the forces over time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 5.5), layout="constrained")
    height, force = figure.subplots(2, 1, sharex=True)
    height.plot(rows[:, 0], 1e3 * (rows[:, 1] - rows[0, 1]), color="#1f5fa8")
    height.set_ylabel("height of the box [mm]")
    for number, (arm, style) in enumerate(zip(ARMS, ("-", "--"), strict=True)):
        force.plot(rows[:, 0], rows[:, 2 + number], style, label=arm)
    force.set_ylabel("force of the spring [N]")
    force.set_xlabel("time [s]")
    force.legend(frameon=False)
    for axis in (height, force):
        axis.grid(True, alpha=0.3)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Squeeze and lift the box, print what became of it, and draw it."""
    parser = argparse.ArgumentParser(description="two arms lift a box between them")
    parser.add_argument(
        "--plot", type=Path, default=Path("two_arms.png"), help="(default: %(default)s)"
    )
    options = parser.parse_args()
    pair = Pair()
    pair.lead(-0.1, 0.0, 4.0)
    pair.lead(SQUEEZE, 0.0, 2.0)
    pair.lead(SQUEEZE, LIFT, 2.0)
    rows = np.array(pair.rows)
    print(f"the box is lifted by {1e3 * (rows[-1, 1] - rows[0, 1]):.0f} mm")
    print(f"the arms squeeze it with {rows[-1, 2]:.1f} N and {rows[-1, 3]:.1f} N")
    plot(rows, options.plot)


if __name__ == "__main__":
    main()
