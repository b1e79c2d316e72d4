"""Guides an arm by hand while it carries a load. Type: python examples/skills/guide.py

The load is on the arm's tip, and the controller doesn't know it: the arm sinks. Then it is told,
and the arm stays where the hand leaves it. The hand is simulated; with a running arm take
`Robot("ur5e")`, leave out the hand, and lead the arm yourself.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from robot_control_ros import Imperfections, Log, Robot
from robot_control_ros.simulation.imperfect.imperfections import ModelErrors

MASS = 1.5  # kg
CENTER = (0.0, 0.0, 0.05)  # m, in the tip's frame
WAY = 0.15  # m, along y, that the hand leads the tip
LED = 3.0  # s that the hand takes
HAND = 300.0  # N/m, stiffness of the hand
GRIP = 60.0  # N·s/m, its damping
DAMPING = 10.0  # N·m·s/rad, of each joint while it is guided


def guided(told: bool, seconds: float) -> Log:
    """The log of an arm that a hand leads, and then leaves alone for some time [s]."""
    load = Imperfections(model=ModelErrors(payload_mass=MASS, payload_centre=CENTER))
    with Robot.simulated("ur5e", imperfections=load) as robot:
        if told:
            robot.set_payload(MASS, CENTER)
        robot.wait(1.0)
        robot.record()
        with robot.guide(damping=DAMPING):
            lead(robot)
            robot.wait(seconds)
        return robot.log()


def lead(robot: Robot) -> None:
    """Lead the tip along y as a hand does, and let go."""
    begin = robot.time
    start = robot.pose[:3, 3]
    while (elapsed := robot.time - begin) < LED:
        way = WAY * (1.0 - np.cos(np.pi * min(elapsed / (0.8 * LED), 1.0))) / 2.0
        place = start + np.array((0.0, way, 0.0))
        robot.push(HAND * (place - robot.pose[:3, 3]) - GRIP * robot.twist[:3])
        robot.wait(0.02)


def height(log: Log) -> np.ndarray:
    """Height of the tip over its first one, at each sample [mm]."""
    return 1e3 * (log.pose[:, 2, 3] - log.pose[0, 2, 3])


def plot(logs: dict[str, Log], path: Path) -> None:
    """Draw how far the tip moves along y and along z."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 5.5), layout="constrained")
    sideways, upwards = figure.subplots(2, 1, sharex=True)
    for name, log in logs.items():
        sideways.plot(log.t, 1e3 * (log.pose[:, 1, 3] - log.pose[0, 1, 3]), label=name)
        upwards.plot(log.t, height(log), label=name)
    for axis in (sideways, upwards):
        axis.axvspan(0.0, LED, color="0.92")
    sideways.set_ylabel("y of the tip [mm]")
    upwards.set_ylabel("height of the tip [mm]")
    upwards.set_xlabel("time [s]; the hand leads the tip while it is grey")
    for axis in (sideways, upwards):
        axis.grid(True, alpha=0.3)
        axis.legend(frameon=False)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Guide with and without the load told, print how far the arm sinks, and draw it."""
    parser = argparse.ArgumentParser(description="guides an arm that carries a load")
    parser.add_argument(
        "--seconds", type=float, default=2.0, help="after the hand lets go (default: %(default)s)"
    )
    parser.add_argument(
        "--plot", type=Path, default=Path("guide.png"), help="(default: %(default)s)"
    )
    options = parser.parse_args()
    logs = {
        "load not told": guided(False, options.seconds),
        "load told": guided(True, options.seconds),
    }
    for name, log in logs.items():
        print(f"{name:13}: the tip sinks by {-height(log)[-1]:.1f} mm")
    plot(logs, options.plot)


if __name__ == "__main__":
    main()
