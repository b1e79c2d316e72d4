"""The demonstration without the page, a script over Robot: a circle, a push, a summary, a plot."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from ..client.robot import Robot
from ..core.errors import ConfigError, RobotControlError
from ..core.types import Array
from ..references import Circle
from ..simulation.log import Log
from .live_line import LiveLine

SETTLE = 1.0  # s before the circle begins
RADIUS = 0.08  # m
TURN = 5.0  # s for one turn
PUSH_AT = 8.0  # s after the beginning
PUSH_FOR = 1.0  # s
PUSH_FORCE = 20.0  # N
RECOVERY = 1.0  # s after the push that count neither as pushed nor as free
STATE_LATE = 0.5  # s without a new state, after which the processes are looked at
HELD_UP = 10.0  # s for which the arm may be held, as where this machine stalls

CIRCLE = f"a circle of {RADIUS * 1e3:.0f} mm radius from {SETTLE:g} s on"
PUSH = f"a push of {PUSH_FORCE:g} N upwards from {PUSH_AT:g} s to {PUSH_AT + PUSH_FOR:g} s"


def circle_and_push(
    robot: Robot, line: LiveLine, seconds: float, circles: bool, check: Callable[[], object]
) -> Log:
    """Lead the tip along a circle, and push it; returns what was recorded. Ctrl-C ends it early.

    Args:
        robot: Robot that is led.
        line: Line that shows what happens.
        seconds: Length; 0 goes on until Ctrl-C.
        circles: False holds the tip where it is, as in a scene, where there may be no room.
        check: Function that raises where a process of the robot has ended.
    """
    print(f"{CIRCLE}, {PUSH}" if circles else PUSH)
    with suppress(ConfigError):  # without a sensor there is nothing to make zero
        robot.zero_wrench()
    robot.record()
    line.begin()
    circle = Circle(robot.pose, RADIUS, TURN, SETTLE, normal=(0.0, 0.0, 1.0))
    last_led = time.monotonic()
    try:
        while seconds == 0.0 or line.elapsed < seconds:
            check()
            pushes = PUSH_AT <= line.elapsed < PUSH_AT + PUSH_FOR
            try:
                if circles:
                    robot.set_target(circle.sample(line.elapsed).pose)
                if pushes:
                    robot.push(_upward(robot))
                _await_next_state(robot)
                last_led = time.monotonic()
            except RobotControlError:
                if time.monotonic() - last_led > HELD_UP:
                    raise
                time.sleep(0.05)
            line.show("pushing" if pushes else "")
    except KeyboardInterrupt:
        if line.elapsed == 0.0:
            raise  # nothing is recorded yet
    line.end()
    return robot.log()


def report(log: Log, title: str, timing: str, folder: Path) -> None:
    """Print a summary of the demonstration, and write its plot and its CSV file."""
    error = np.linalg.norm(log.pose_error[:, :3], axis=1) * 1e3
    pushed = (log.t >= PUSH_AT) & (log.t < PUSH_AT + PUSH_FOR)
    recovering = (log.t >= PUSH_AT) & (log.t < PUSH_AT + PUSH_FOR + RECOVERY)
    print(f"{log.t[-1]:.1f} s of {title}: {timing}")
    for name, part in (("free", error[~recovering]), ("pushed", error[pushed])):
        if len(part):
            rms = np.sqrt(np.mean(part**2))
            print(f"  error {name:<7} rms {rms:6.2f} mm   max {part.max():6.2f} mm")
    if pushed.any():
        forces = np.linalg.norm(log.wrench[pushed, :3], axis=1)
        sensed = forces[~np.isnan(forces)]
        print(f"  force pushed  {f'max {sensed.max():6.2f} N' if len(sensed) else 'no sensor'}")
    folder.mkdir(parents=True, exist_ok=True)
    print(f"  {log.plot(folder / 'demo.png', title)}  {log.to_csv(folder / 'demo.csv')}")


def _await_next_state(robot: Robot) -> None:
    """Wait for the next state; NotReached where it is late."""
    before = robot.time
    robot.wait_until(lambda state: state.time > before, timeout=STATE_LATE)


def _upward(robot: Robot) -> Array:
    """Force (3,) of the push: along z of the base, or along y where the arm has no z."""
    force = np.zeros(3)
    force[2 if robot.config.axes[2] else 1] = PUSH_FORCE
    return force
