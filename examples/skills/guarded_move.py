"""Moves down until the tool touches, with each end of a guarded move. Type:
python examples/skills/guarded_move.py

In the last move a program watches the force and holds the arm, to compare. In place of the
simulation, `Robot("ur5e")` leads a running arm.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np

from robot_control_ros import Log, NotReached, Robot

SCENE = Path(__file__).with_name("pad.yaml")
DOWN = np.array([0.0, 0.0, -1.0])
FORCE = 5.0  # N
SPEED = 0.02  # m/s
WAY = 0.04  # m; the pad is 20 mm below the tool


def guarded(robot: Robot, end: str) -> str:
    """Move down; the controller ends the move. Returns the contact in words."""
    contact = robot.move_until(
        force=FORCE, direction=DOWN, speed=SPEED, distance=WAY, end=end, timeout=20.0
    )
    return str(contact)


def watched(robot: Robot) -> str:
    """Move down; this program ends the move. Returns the force that it noticed, in words."""
    noticed = []

    def hold(state: object) -> None:
        noticed.append(np.linalg.norm(robot.wrench[:3]))
        robot.hold()

    robot.on_contact(hold, force=FORCE)
    with suppress(NotReached):  # a hold ends the move before its goal
        robot.move_to(robot.pose[:3, 3] + WAY * DOWN, speed=SPEED)
    return f"a state of {noticed[0]:.2f} N"


MOVES: dict[str, Callable[[Robot], str]] = {
    "hold": partial(guarded, end="hold"),
    "retreat": partial(guarded, end="retreat"),
    "go on": partial(guarded, end="go on"),
    "by a program": watched,
}


def run(name: str, law: str) -> tuple[str, Log]:
    """The words and the log of a move."""
    with Robot.simulated("ur5e", law, scene=str(SCENE)) as robot:
        robot.record()
        words = MOVES[name](robot)
        robot.wait(1.0)
        return words, robot.log()


def plot(logs: dict[str, Log], path: Path) -> None:
    """Draw force and height of each move over time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 5.5), layout="constrained")
    force, height = figure.subplots(2, 1, sharex=True)
    for name, log in logs.items():
        force.plot(log.t, log.wrench[:, 2], label=name)
        height.plot(log.t, 1e3 * (log.pose[:, 2, 3] - log.pose[0, 2, 3]), label=name)
    force.axhline(FORCE, color="0.6", linestyle=":")
    force.set_ylabel("force on the tool [N]")
    height.set_ylabel("way of the tool [mm]")
    height.set_xlabel("time [s]")
    height.legend(frameon=False)
    for axis in (force, height):
        axis.grid(True, alpha=0.3)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Move in each way, print what happened, and draw it."""
    parser = argparse.ArgumentParser(description="moves down until the tool touches")
    parser.add_argument("--law", default="impedance", help="(default: %(default)s)")
    parser.add_argument(
        "--plot", type=Path, default=Path("guarded_move.png"), help="(default: %(default)s)"
    )
    options = parser.parse_args()
    logs = {}
    for name in MOVES:
        words, logs[name] = run(name, options.law)
        force = logs[name].wrench[-1, 2]
        print(f"{name:12}  {words}; a second later {force:.1f} N")
    plot(logs, options.plot)


if __name__ == "__main__":
    main()
