"""Samples of a closed loop, recorded once and replayed as often as wanted."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.types import Array, Command, RobotState
from robot_control_ros.robot.configuration import RobotConfig
from robot_control_ros.simulation.mujoco_plant import MujocoPlant

Input = Callable[[ControlLoop, int], None]
PUSH = 10.0  # N
STREAM_EVERY = 10  # cycles between two targets of a stream: 50 Hz at 500 Hz
CHANGE_EVERY = 200  # cycles between two moves, and between two changes of gains
FADED = 0.9  # of the gains, and back again


@dataclass(frozen=True)
class Situation:
    """What happens to a law while its ticks are timed.

    Attributes:
        wrench: True where the samples have a wrench; a law that needs one always gets it.
        moving: True where the reference moves all the time.
        streamed: True where a new target comes every tenth cycle.
        fading: True where gains change all the time.
        late: Age of each sample when it arrives [s].
        gains: Gains of the law, by name, over its defaults.
    """

    wrench: bool = False
    moving: bool = False
    streamed: bool = False
    fading: bool = False
    late: float = 0.0
    gains: Mapping[str, Any] = field(default_factory=dict)


def inputs_of(robot: RobotConfig, situation: Situation) -> Input:
    """What is done to a loop before a cycle, by the number of the cycle."""

    def give(loop: ControlLoop, cycle: int) -> None:
        turn = cycle // CHANGE_EVERY % 2
        begins = cycle % CHANGE_EVERY == 1
        if situation.moving and begins:
            loop.motion.move_to(_target(loop, robot, 0.05 if turn else -0.05))
        if situation.streamed and cycle % STREAM_EVERY == 1:
            loop.motion.move_to(_target(loop, robot, 0.05 * math.sin(0.01 * cycle)))
        if situation.fading and begins:
            loop.running.gains.change(_scaled(loop, FADED if turn else 1.0 / FADED))

    return give


def record(
    robot: RobotConfig, law: str, situation: Situation, count: int
) -> tuple[list[RobotState], list[Command]]:
    """Samples and commands of `count` cycles of an arm in MuJoCo under a law; a
    wrench is that of a push.
    """
    plant = MujocoPlant(robot)
    loop = ControlLoop(robot, law, situation.gains)
    give = inputs_of(robot, situation)
    wanted = situation.wrench or loop.running.needs_wrench
    states = []
    commands = []
    for cycle in range(count):
        force = PUSH * np.array([math.sin(0.004 * cycle), math.cos(0.005 * cycle), 0.0])
        plant.push(robot.tip, force if situation.wrench else np.zeros(3), np.zeros(3))
        give(loop, cycle)
        state = _copy(plant.read(), wanted, situation.late)
        command = loop.tick(state)
        plant.write(command)
        states.append(state)
        commands.append(command)
    return states, commands


def _copy(state: RobotState, with_wrench: bool, age: float) -> RobotState:
    """A sample that stays as it is; without its wrench where none is wanted."""
    wrench = state.wrench
    if wrench is not None:
        wrench = replace(wrench, force=wrench.force.copy(), torque=wrench.torque.copy())
    arrays = state.q.copy(), state.v.copy(), state.effort.copy()
    return RobotState(state.time, *arrays, wrench if with_wrench else None, age=age)


def _scaled(loop: ControlLoop, factor: float) -> Any:
    """The gains with all that have a unit and are no bound of something, times a factor."""
    gains = loop.running.gains
    values = {
        spec.name: getattr(gains.target, spec.name)
        for spec in gains.specs
        if spec.unit and not spec.limit
    }
    return gains.check({name: factor * value for name, value in values.items()}, gains.target)


def _target(loop: ControlLoop, robot: RobotConfig, along_y: float) -> Array:
    """The tip's pose (4, 4) at home, moved along y of the base [m]."""
    pose = np.array(loop.model.at(np.array(robot.home)).pose)
    pose[1, 3] += along_y
    return pose
