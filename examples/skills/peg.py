"""Puts a peg into a hole whose place is known to 2 mm only, with a stiffness for each phase. Type:
python examples/skills/peg.py --trials 20

The peg touches first, then goes along a spiral until it drops, then goes in. While it searches it
is stiff sideways and soft along z; while it goes in it is the other way round. In place of the
simulation, `Robot("ur5e")` leads a running arm.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robot_control_ros import Log, Robot

DOWN = (0.0, 0.0, -1.0)
MISPLACED = 0.002  # m, along x and along y
TOUCH = 5.0  # N
DEPTH = 0.03  # m, of the hole
DROP = 0.002  # m below the surface, where the peg is in the hole
PUSH = 0.02  # m below the surface, where the target is while the peg searches
PITCH = 0.0004  # m, between two turns of the spiral; the clearance is 0.5 mm
RADIUS = 0.0032  # m, of the last turn
SPEED = 0.01  # m/s, along the spiral
PERIOD = 0.02  # s, of the targets
SEARCH = [2000, 2000, 400, 100, 100, 100]  # N/m and N·m/rad, along x, y, z
INSERT = [100, 100, 1500, 20, 20, 20]


@dataclass(frozen=True)
class Insertion:
    """What has become of a peg.

    Attributes:
        log: States from the touch on.
        surface: Height of the surface that was touched [m].
        dropped: Time from the touch until the peg dropped into the hole [s]; NaN where it didn't.
    """

    log: Log
    surface: float
    dropped: float

    @property
    def depth(self) -> np.ndarray:
        """Depth of the peg below the surface, at each sample [m]."""
        return self.surface - self.log.pose[:, 2, 3]

    @property
    def force(self) -> np.ndarray:
        """Size of the force on the peg, at each sample [N]."""
        return np.linalg.norm(self.log.wrench[:, :3], axis=1)

    @property
    def is_in(self) -> bool:
        """True where the peg is at the bottom of the hole, but for 2 mm."""
        return bool(self.depth[-1] > DEPTH - 0.002)


def spiral() -> np.ndarray:
    """Points (k, 2) of a spiral, one for each period [m]."""
    length = np.pi * RADIUS**2 / PITCH
    along = np.arange(0.0, length, SPEED * PERIOD)
    radius = np.sqrt(along * PITCH / np.pi)
    angle = 2.0 * np.pi * radius / PITCH
    return radius[:, None] * np.column_stack((np.cos(angle), np.sin(angle)))


def insert(robot: Robot, guess: np.ndarray) -> Insertion:
    """Put a peg into a hole.

    Args:
        robot: Robot that holds the peg.
        guess: Pose (4, 4) of the tip over the place where the hole is believed to be.
    """
    robot.move_to(guess)
    if robot.move_until(force=TOUCH, direction=DOWN, speed=0.01) is None:
        raise SystemExit("the peg has met nothing")
    robot.record()
    begin = robot.time
    surface = robot.pose[2, 3]
    target = guess.copy()
    target[2, 3] = surface - PUSH
    robot.set_gains(stiffness=SEARCH)
    dropped = np.nan
    for point in spiral():
        target[:2, 3] = guess[:2, 3] + point
        robot.set_target(target)
        robot.wait(PERIOD)
        if robot.pose[2, 3] < surface - DROP:
            dropped = robot.time - begin
            break
    robot.set_gains(stiffness=INSERT)
    target[:2, 3] = robot.pose[:2, 3]
    target[2, 3] = surface - DEPTH - 0.005
    robot.set_target(target)
    robot.wait(2.0)
    return Insertion(robot.log(), surface, dropped)


def trial(seed: int) -> Insertion:
    """Try a hole whose place is off by up to 2 mm along x and along y."""
    with Robot.simulated("ur5e", scene="hole") as robot:
        guess = robot.pose
        guess[:2, 3] += np.random.default_rng(seed).uniform(-MISPLACED, MISPLACED, 2)
        return insert(robot, guess)


def plot(insertion: Insertion, path: Path) -> None:
    """Draw depth, force and stiffness over time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 7.0), layout="constrained")
    depth, force, stiffness = figure.subplots(3, 1, sharex=True)
    time = insertion.log.t
    depth.plot(time, 1e3 * insertion.depth, color="#1f5fa8")
    depth.set_ylabel("depth of the peg [mm]")
    depth.invert_yaxis()
    force.plot(time, insertion.force, color="#e07b39")
    force.set_ylabel("force on the peg [N]")
    searches = time < insertion.dropped
    sideways = np.where(searches, SEARCH[0], INSERT[0])
    along = np.where(searches, SEARCH[2], INSERT[2])
    stiffness.plot(time, sideways, color="#3b9e5f", label="sideways")
    stiffness.plot(time, along, color="#1f5fa8", label="along z")
    stiffness.set_ylabel("stiffness that was set [N/m]")
    stiffness.set_xlabel("time from the touch [s]")
    stiffness.legend(frameon=False)
    for axis in (depth, force, stiffness):
        axis.grid(True, alpha=0.3)
        axis.margins(x=0.0)
    figure.savefig(path, dpi=120)


def main() -> int:
    """Try some holes, print what has become of each, and draw the first; 1 where one fails."""
    parser = argparse.ArgumentParser(description="puts a peg into a hole that is misplaced")
    parser.add_argument("--trials", type=int, default=1, help="(default: 1)")
    parser.add_argument("--plot", type=Path, default=Path("peg.png"), help="(default: %(default)s)")
    options = parser.parse_args()
    insertions = [trial(seed) for seed in range(options.trials)]
    print("seed  found after  depth    largest force")
    for seed, each in enumerate(insertions):
        depth = 1e3 * each.depth[-1]
        print(f"{seed:4d}  {each.dropped:9.1f} s  {depth:4.1f} mm  {each.force.max():8.1f} N")
    count = sum(each.is_in for each in insertions)
    print(f"{count} of {len(insertions)} pegs in the hole")
    plot(insertions[0], options.plot)
    return int(count < len(insertions))


if __name__ == "__main__":
    sys.exit(main())
