"""What a cycle of the loop costs, beside the calls of Pinocchio that no
controller can do without.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.types import Array, RobotState
from robot_control_ros.laws import law_names
from robot_control_ros.robot.configuration import RobotConfig, load_robot

from .samples import Situation, inputs_of, record

BATCH = 100  # cycles timed together
BATCHES = 40  # the median counts
WORKING = Situation(wrench=True, moving=True, fading=True)
LED = Situation(wrench=True, moving=True)
IMPEDANCE = {
    "at rest": Situation(),
    "wrench": Situation(wrench=True),
    "moving target": Situation(moving=True),
    "streamed target": Situation(streamed=True),
    "gains that fade": Situation(fading=True),
    "samples 10 ms late": Situation(late=0.01),
    "wrench, moving, fading": WORKING,
    "no bound of the spring": Situation(gains={"max_force": 0.0, "max_torque": 0.0}),
    "axes of the tip": Situation(moving=True, gains={"frame": "tip"}),
}


def tick_rows(laws: tuple[str, ...] = ()) -> dict[str, dict[str, float]]:
    """Times of all rows, by the robot, the law and the situation.

    Args:
        laws: Laws to measure with a wrench and a moving target; all registered ones by default.
    """
    ur5 = load_robot("ur5")
    gen3 = load_robot("gen3")
    rows = {}
    if not laws:
        rows = {
            f"ur5 impedance, {name}": _row(ur5, "impedance", each)
            for name, each in IMPEDANCE.items()
        }
        rows["gen3 impedance, at rest"] = _row(gen3, "impedance", Situation())
        rows["gen3 impedance, wrench, moving, fading"] = _row(gen3, "impedance", WORKING)
    for law in laws or law_names():
        rows[f"ur5 {law}, wrench, moving"] = _row(ur5, law, LED)
    return rows


def print_ticks(rows: dict[str, dict[str, float]]) -> None:
    """A line a row: bare calls, a tick and the part of it that is the law [us], and the tick
    over the bare calls.
    """
    width = max(len(name) for name in rows) + 2
    print(f"{'us a cycle':<{width}}{'Pinocchio':>10}{'law':>8}{'tick':>8}{'ratio':>8}")
    for name, row in rows.items():
        figures = f"{row['pinocchio_us']:>10.2f}{row['law_us']:>8.2f}{row['tick_us']:>8.2f}{row['ratio']:>8.1f}"
        print(f"{name:<{width}}{figures}")


class BareCalls:
    """The three calls of Pinocchio that every controller needs, as a user would write them.

    They are the placements of all frames, the tip's Jacobian and the gravity torques.

    Args:
        robot: Robot whose description is read.
    """

    def __init__(self, robot: RobotConfig) -> None:
        self._model = pin.buildModelFromXML(robot.urdf())
        self._data = self._model.createData()
        self._tip = self._model.getFrameId(robot.tip)

    def configuration(self, q: Array) -> Array:
        """The angles q (n,) [rad] as Pinocchio takes them: joints without end by
        their cosine and sine.
        """
        values: list[float] = []
        for joint, angle in zip(self._model.joints[1:], q, strict=True):
            values += [math.cos(angle), math.sin(angle)] if joint.nq == 2 else [angle]
        return np.array(values)

    def time(self, samples: list[RobotState]) -> float:
        """Mean time of the calls for one sample [us]."""
        configurations = [self.configuration(state.q) for state in samples]
        model = self._model
        data = self._data
        tip = self._tip
        begin = time.perf_counter()
        for q in configurations:
            pin.framesForwardKinematics(model, data, q)
            pin.computeFrameJacobian(model, data, q, tip, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
            pin.computeGeneralizedGravity(model, data, q)
        return (time.perf_counter() - begin) / len(samples) * 1e6


def _row(robot: RobotConfig, law: str, situation: Situation) -> dict[str, float]:
    """Medians over the batches; bare calls and ticks take turns, so that a slow
    machine slows both.
    """
    states, _ = record(robot, law, situation, BATCH * BATCHES)
    loop = ControlLoop(robot, law, situation.gains)
    law_time = _timed_law(loop)
    give = inputs_of(robot, situation)
    bare = BareCalls(robot)
    times = []
    for first in range(0, len(states), BATCH):
        batch = states[first : first + BATCH]
        bare_us = bare.time(batch)
        law_time.total = 0.0
        begin = time.perf_counter()
        for cycle, state in enumerate(batch, first):
            give(loop, cycle)
            loop.tick(state)
        tick_us = (time.perf_counter() - begin) / BATCH * 1e6
        times.append((bare_us, law_time.total / BATCH * 1e6, tick_us))
    figures = np.array(times[1:])  # the first batch finds nothing in a cache
    bare_us, law_us, tick_us = (float(each) for each in np.median(figures, axis=0))
    ratio = float(np.median(figures[:, 2] / figures[:, 0]))
    return {"pinocchio_us": bare_us, "law_us": law_us, "tick_us": tick_us, "ratio": ratio}


class _TimedLaw:
    """Stands before a law's command and adds up its time.

    Attributes:
        total: Time of all calls [s].
    """

    def __init__(self, command: Callable[..., Any]) -> None:
        self.total = 0.0
        self._command = command

    def __call__(self, *arguments: Any) -> Any:
        begin = time.perf_counter()
        command = self._command(*arguments)
        self.total += time.perf_counter() - begin
        return command


def _timed_law(loop: ControlLoop) -> _TimedLaw:
    running: Any = loop.running
    timed = _TimedLaw(running.command)
    running.command = timed
    return timed
