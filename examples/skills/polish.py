"""Polishes a cylinder of 0.3 m across with 10 N, at 5 cm/s. Type: python examples/skills/polish.py

The tool's z axis stays normal to the surface. The force is controlled along that axis, and the
tip follows its targets along the other ones. In place of the simulation, `Robot("ur5e")` leads a
running arm.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from robot_control_ros import Log, Robot
from robot_control_ros.references import Trapezoid

SCENE = Path(__file__).with_name("cylinder.yaml")
RADIUS = 0.15  # m, of the cylinder
LENGTH = 0.05  # m, from the tip to the end of the tool
AXIS = np.array([0.5, 0.1, 0.15])  # m, a point on the axis of the cylinder, in the base
ANGLE = 0.5  # rad, from the top of the cylinder to both ends of a pass
SPEED = 0.05  # m/s, along the surface
ACCELERATION = 0.1  # m/s², at both ends of a pass
PERIOD = 0.02  # s, of the targets
FORCE = 10.0  # N
GAINS = {
    "frame": "tip",
    "force_axes": [0, 0, 1, 0, 0, 0],
    "force": [0, 0, FORCE, 0, 0, 0],  # along the tool's z axis, which points at the surface
    "stiffness": [1000, 1000, 1000, 100, 100, 100],
}
DOWN = np.array([[0.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])  # a tool that points down


def target(angle: float) -> np.ndarray:
    """The pose (4, 4) whose tool touches the cylinder at an angle [rad] from its top."""
    cosine = np.cos(angle)
    sine = np.sin(angle)
    pose = np.eye(4)
    pose[:3, :3] = np.array([[1.0, 0.0, 0.0], [0.0, cosine, sine], [0.0, -sine, cosine]]) @ DOWN
    pose[:3, 3] = AXIS + (RADIUS + LENGTH) * np.array([0.0, sine, cosine])
    return pose


def polish(robot: Robot, passes: int) -> Log:
    """Go down onto the cylinder, then polish to and fro; returns the log of the passes."""
    robot.set_law("force_control")
    robot.set_gains(GAINS)
    robot.wait_until(lambda state: np.linalg.norm(state.wrench[:3]) > 0.9 * FORCE, timeout=20.0)
    robot.wait(2.0)
    robot.record()
    way = Trapezoid(2.0 * ANGLE * RADIUS, SPEED, ACCELERATION)
    distances, _, _ = way.at(np.arange(0.0, way.duration + PERIOD, PERIOD))
    angles = distances / RADIUS - ANGLE
    for number in range(passes):
        for each in angles if number % 2 == 0 else -angles:
            robot.set_target(target(each))
            robot.wait(PERIOD)
        robot.wait(0.5)
    return robot.log()


def normal_force(log: Log) -> np.ndarray:
    """The force [N] along the tool's z axis, at each sample."""
    return -np.einsum("ij,ij->i", log.wrench[:, :3], log.pose[:, :3, 2])


def plot(log: Log, path: Path) -> None:
    """Draw force and speed of the tool over time, and the path of the tool."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 7.0), layout="constrained")
    axes = figure.subplot_mosaic([["force"], ["speed"], ["path"]], height_ratios=[3, 3, 2])
    end = log.pose[:, 1:3, 3] + LENGTH * log.pose[:, 1:3, 2]  # y and z of the tool's end
    axes["force"].axhspan(9.0, 11.0, color="#3b9e5f", alpha=0.15, label="9 to 11 N")
    axes["force"].plot(log.t, normal_force(log), color="#1f5fa8")
    axes["force"].set_ylabel("normal force [N]")
    axes["force"].set_ylim(8.0, 12.0)
    axes["force"].legend(frameon=False, loc="upper right")
    axes["speed"].plot(log.t, 1e3 * tool_speed(log), color="#e07b39")
    axes["speed"].set_ylabel("speed on the surface [mm/s]")
    axes["speed"].set_xlabel("time [s]")
    circle = np.linspace(-0.7, 0.7, 100)
    axes["path"].plot(
        1e3 * RADIUS * np.sin(circle), 1e3 * RADIUS * np.cos(circle), color="0.6", label="cylinder"
    )
    axes["path"].plot(*(1e3 * (end - AXIS[1:])).T, color="#1f5fa8", label="tool")
    axes["path"].set_aspect("equal")
    axes["path"].set_xlabel("y [mm]")
    axes["path"].set_ylabel("z [mm]")
    axes["path"].legend(frameon=False, loc="lower center", ncols=2)
    for each in axes.values():
        each.grid(True, alpha=0.3)
    figure.savefig(path, dpi=120)


def tool_speed(log: Log) -> np.ndarray:
    """The speed [m/s] of the tool's end, at each sample."""
    arm = LENGTH * log.pose[:, :3, 2]
    return np.linalg.norm(log.twist[:, :3] + np.cross(log.twist[:, 3:], arm), axis=1)


def main() -> None:
    """Polish, print the force, and draw it."""
    parser = argparse.ArgumentParser(description="polishes a cylinder with a constant force")
    parser.add_argument("--passes", type=int, default=4, help="(default: 4)")
    parser.add_argument(
        "--plot", type=Path, default=Path("polish.png"), help="(default: %(default)s)"
    )
    options = parser.parse_args()
    with Robot.simulated("ur5e", scene=str(SCENE)) as robot:
        log = polish(robot, options.passes)
    force = normal_force(log)
    print(f"force: {force.mean():.2f} N, from {force.min():.2f} to {force.max():.2f} N")
    print(f"speed on the surface: {1e3 * np.median(tool_speed(log)):.0f} mm/s")
    plot(log, options.plot)


if __name__ == "__main__":
    main()
