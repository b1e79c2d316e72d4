"""A robot that follows a circle while something else is measured."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from robot_control_ros.bringup.connection import connect
from robot_control_ros.bringup.processes import Processes
from robot_control_ros.client.robot import Robot
from robot_control_ros.core.errors import HardwareFault, RobotControlError
from robot_control_ros.references import Circle

LOOP = "controller: control loop"  # name of the control loop's diagnosis
RADIUS = 0.08  # m
TURN = 5.0  # s
START_LIMIT = 60.0  # s


@contextmanager
def circling(processes: Processes) -> Iterator[Robot]:
    """Connect to the controller among processes, and lead its tip along a circle by a thread."""
    with connect(processes) as robot:
        wait_until(lambda: LOOP in robot.diagnostics, "diagnostics of the controller")
        ended = threading.Event()
        thread = threading.Thread(target=_lead, args=(robot, ended), name="circle", daemon=True)
        thread.start()
        try:
            yield robot
        finally:
            ended.set()
            thread.join()


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait until a condition holds.

    Raises:
        HardwareFault: It doesn't hold within a minute; the error names what was waited for.
    """
    deadline = time.monotonic() + START_LIMIT
    while not condition():
        if time.monotonic() > deadline:
            text = f"waited {START_LIMIT:g} s for: {what}"
            raise HardwareFault(text, name=what, bound=START_LIMIT)
        time.sleep(0.1)


def _lead(robot: Robot, ended: threading.Event) -> None:
    """Lead the tip until the end; an arm that is held goes on when it can."""
    circle = Circle(robot.pose, RADIUS, TURN, robot.time, normal=(0.0, 0.0, 1.0))
    while not ended.is_set():
        try:
            robot.set_target(circle.sample(robot.time).pose)
            ended.wait(0.02)
        except RobotControlError:
            time.sleep(0.05)
