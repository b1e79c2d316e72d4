"""Wipes a wavy surface with 10 N. Type: python examples/skills/wipe.py

The force is controlled along z; along the other axes the tip follows its reference. In place of
the simulation, `Robot("ur5e")` leads a running arm.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from robot_control_ros import Log, Robot

FORCE = 10.0  # N
SPEED = 0.03  # m/s, along y
SECONDS = 3.0  # of each pass
GAINS = {"force_axes": [0, 0, 1, 0, 0, 0], "force": [0, 0, -FORCE, 0, 0, 0]}


def wipe(robot: Robot, passes: int) -> Log:
    """Go down onto the surface, then wipe to and fro; returns the log of the passes."""
    robot.set_law("force_control")
    robot.set_gains(GAINS)
    robot.wait_until(lambda state: state.wrench[2] > 0.9 * FORCE, timeout=20.0)
    robot.wait(1.0)
    robot.record()
    for number in range(passes):
        speed = -SPEED if number % 2 == 0 else SPEED
        robot.jog((0.0, speed, 0.0, 0.0, 0.0, 0.0), SECONDS)
        robot.wait(0.5)
    return robot.log()


def plot(log: Log, path: Path) -> None:
    """Draw the force over time, and the height of the tool along its way."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 5.5), layout="constrained")
    force, height = figure.subplots(2, 1)
    force.plot(log.t, log.wrench[:, 2], color="#1f5fa8")
    force.axhline(FORCE, color="0.6", linestyle=":")
    force.set_ylabel("force along z [N]")
    force.set_xlabel("time [s]")
    force.set_ylim(0.0, 1.5 * FORCE)
    position = 1e3 * (log.pose[:, :3, 3] - log.pose[0, :3, 3])
    height.plot(position[:, 1], position[:, 2], color="#e07b39")
    height.set_ylabel("height of the tool [mm]")
    height.set_xlabel("y [mm]")
    for axis in (force, height):
        axis.grid(True, alpha=0.3)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Wipe, print the force, and draw it."""
    parser = argparse.ArgumentParser(description="wipes a wavy surface with a constant force")
    parser.add_argument("--passes", type=int, default=2, help="(default: %(default)s)")
    parser.add_argument(
        "--plot", type=Path, default=Path("wipe.png"), help="(default: %(default)s)"
    )
    options = parser.parse_args()
    with Robot.simulated("ur5e", scene="surface") as robot:
        log = wipe(robot, options.passes)
    force = log.wrench[:, 2]
    print(f"force: {force.mean():.1f} N, from {force.min():.1f} to {force.max():.1f} N")
    plot(log, options.plot)


if __name__ == "__main__":
    main()
