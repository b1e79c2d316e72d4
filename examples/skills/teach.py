"""Shows a path by hand, and replays it stiff and soft against a wall. Type:
python examples/skills/teach.py

The hand is simulated: a spring that leads the tip. While it shows the path there is no wall; the
replays meet one 10 mm before the path's end. With a running arm take `Robot("ur5e")`, leave out
the hand, and lead the arm yourself.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from robot_control_ros import Log, Robot, Snapshot, load_scene
from robot_control_ros.client.taught_path import TaughtPath

HAND = 500.0  # N/m, stiffness of the hand
GRIP = 80.0  # N·s/m, its damping
WALL = 0.1  # m, from the tip to where it touches the wall, along x
DEPTH = 0.01  # m, of the path's end behind that
SIZE = 0.05  # m, of the bow along y
BOWED = 0.7  # of the time; after it the path is straight, and meets the wall
STIFFNESSES = (1000.0, 200.0)  # N/m, of the replays


def show(robot: Robot, seconds: float) -> TaughtPath:
    """Let a hand lead the arm along a bow; returns the path that was recorded."""
    begin = robot.time
    start = robot.pose[:3, 3]

    def hand(state: Snapshot) -> None:
        progress = min((state.time - begin) / (0.8 * seconds), 1.0)
        way = (WALL + DEPTH) * (1.0 - np.cos(np.pi * progress)) / 2.0
        bow = SIZE * (1.0 - np.cos(2.0 * np.pi * min(progress / BOWED, 1.0))) / 2.0
        place = start + np.array((way, bow, 0.0))
        robot.push(HAND * (place - state.pose[:3, 3]) - GRIP * state.twist[:3])

    with robot.guide():  # the arm floats, damped
        return robot.record_path(seconds, hand)


def replay(robot: Robot, path: TaughtPath, stiffness: float) -> Log:
    """Replay a path with a stiffness [N/m], and stay at its end for 2 s; returns the log."""
    robot.move_to(q=path.q[0])
    robot.set_gains(stiffness=stiffness)
    robot.record()
    robot.replay(path)
    robot.wait(2.0)
    return robot.log()


def tips(robot: Robot, path: TaughtPath) -> np.ndarray:
    """Positions (k, 3) of the tip along a path [m]."""
    return np.array([robot.model.at(q).pose[:3, 3] for q in path.q])


def plot(shown: np.ndarray, logs: dict[float, Log], path: Path) -> None:
    """Draw the ways of the tip from above, and the force on it over time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 6.5), layout="constrained")
    way, force = figure.subplots(2, 1)
    way.plot(*(1e3 * (shown[:, :2] - shown[0, :2])).T, color="0.6", linewidth=4.0, label="shown")
    for stiffness, log in logs.items():
        moved = log.pose[:, :2, 3] - shown[0, :2]
        way.plot(*(1e3 * moved).T, label=f"replayed with {stiffness:g} N/m")
        force.plot(log.t, -log.wrench[:, 0], label=f"{stiffness:g} N/m")
    way.axvline(1e3 * WALL, color="black", linewidth=1.0)
    way.set_xlabel("x [mm]; the line is the wall")
    way.set_ylabel("y [mm]")
    force.set_xlabel("time of the replay [s]")
    force.set_ylabel("force on the wall [N]")
    way.legend(frameon=False, loc="lower center")
    force.legend(frameon=False, loc="upper left")
    for axis in (way, force):
        axis.grid(True, alpha=0.3)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Show a path, replay it, print the forces, and draw them."""
    parser = argparse.ArgumentParser(description="shows a path by hand, and replays it")
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="of the path (default: %(default)s)"
    )
    parser.add_argument(
        "--plot", type=Path, default=Path("teach.png"), help="(default: %(default)s)"
    )
    options = parser.parse_args()
    scene = load_scene("wall")
    with Robot.simulated("ur5e", scene=replace(scene, objects={})) as robot:
        path = show(robot, options.seconds)
        shown = tips(robot, path)
    depth = shown[-1, 0] - shown[0, 0] - WALL
    print(f"the path ends {1e3 * depth:.1f} mm behind the wall")
    logs = {}
    for stiffness in STIFFNESSES:
        with Robot.simulated("ur5e", scene=scene) as robot:
            logs[stiffness] = replay(robot, path, stiffness)
        force = -logs[stiffness].wrench[-1, 0]
        print(
            f"{stiffness:4g} N/m press with {force:4.1f} N, and should with {stiffness * depth:4.1f} N"
        )
    plot(shown, logs, options.plot)


if __name__ == "__main__":
    main()
