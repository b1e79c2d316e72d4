"""A whole arm as what the motors turn: the robot's description in MuJoCo; and its drives
without frames and clocks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ethercat_emulator import Servo

from ...core.errors import ConfigError
from ...core.types import Array, Command, CommandMode, RobotState
from ...robot.configuration import RobotConfig
from ...simulation.mujoco_plant import MujocoPlant
from ...simulation.scene import Scene
from ..ethercat.topology import Topology
from .topology_bus import bus_of

MAX_STEP = 0.0015  # s, of the physics; what is longer is cut into equal steps


class MujocoArm:
    """Mechanics of a robot, which weighs something: where a brake opens and no drive holds, it
    falls.

    It begins at rest, where its scene or configuration puts it. Its time is the sum of all dt.
    Brakes are stiff: a joint stops within a few milliseconds and stays where it was when the brake
    closed.

    Attributes:
        joints: Names of the joints, in the order of position, velocity and torque.
        inertia: Inertia of each joint where the arm begins, the other joints held [kg·m²].
    """

    def __init__(self, robot: RobotConfig, scene: Scene | None = None) -> None:
        self.joints = robot.joints
        self._plant = MujocoPlant(robot, scene=scene)
        mass, _, _ = self._plant.dynamics(self._plant.start, np.zeros(robot.n))
        self.inertia: list[float] = mass.diagonal().tolist()
        self._sense()

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._plant.time

    def advance(self, torque: Sequence[float], braked: Sequence[bool], dt: float) -> None:
        """Let time pass; see :class:`.mechanics.Mechanics`.

        Raises:
            HardwareFault: the physics diverged.
        """
        steps = math.ceil(dt / MAX_STEP - 1e-9)
        for _ in range(steps):
            self._plant.drive(np.array(torque), braked, dt / steps)
        self._sense()

    def push(self, link: str, force: Array, torque: Array) -> None:
        """Push a link at its origin, in base axes [N, N·m]; see :meth:`.MujocoPlant.push`."""
        self._plant.push(link, force, torque)

    def _sense(self) -> None:
        sample = self._plant.sample()
        self.position: list[float] = sample.q.tolist()
        self.velocity: list[float] = sample.v.tolist()


class LockstepDrives:
    """Enabled drives on a MuJoCo arm, deterministic, as a Plant that takes torques: what a bus is
    at best.

    As on a bus that is never late, a command that answers a sample goes out with the next frame, so
    that it acts one cycle after the sample; torques and encoders have the drives' resolution, and
    the current follows as it does there. Before the first command acts, brakes hold the arm.

    Raises:
        ConfigError: the topology's joints aren't the robot's.
    """

    def __init__(self, robot: RobotConfig, topology: Topology) -> None:
        self._arm = MujocoArm(robot)
        self._period = topology.cycle
        machine = bus_of(topology, robot.joints, self._arm).machine
        assert machine is not None
        motors = [drive.settings.motor for drive in machine.drives]
        self._servos = [Servo(motor) for motor in motors]
        self._counts = np.array([motor.counts_per_radian for motor in motors])
        self._speed = np.array([motor.velocity_per_radian for motor in motors])
        self._per_mille = np.array([motor.torque_per_mille for motor in motors])
        self._largest = np.array([1000.0 * motor.max_torque for motor in motors])
        self._acting: list[float] | None = None
        self._next: list[float] | None = None
        self._begun = False

    def open(self) -> None:
        """Do nothing: there is nothing to open."""

    def read(self) -> RobotState:
        """Sample one cycle later (the first time: now).

        Raises a HardwareFault where the physics diverged.
        """
        if self._begun:
            self._advance()
        self._begun = True
        self._acting = self._next
        q = np.round(np.array(self._arm.position) * self._counts) / self._counts
        v = np.round(np.array(self._arm.velocity) * self._speed) / self._speed
        return RobotState(self._arm.time, q, v, self._torque())

    def write(self, command: Command) -> None:
        """Take torques, which act one cycle later; a ConfigError refuses others."""
        if command.mode is not CommandMode.EFFORT:
            message = f"{command.mode.value} command: takes effort only"
            raise ConfigError(message, name="command", value=command.mode, bound=CommandMode.EFFORT)
        per_mille = np.clip(
            np.round(command.values / self._per_mille), -self._largest, self._largest
        )
        self._next = (per_mille * self._per_mille).tolist()

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def _advance(self) -> None:
        for servo, torque in zip(self._servos, self._acting or (), strict=False):
            servo.drive(torque, self._period)
        self._arm.advance(
            self._torque().tolist(), [self._acting is None] * len(self._servos), self._period
        )

    def _torque(self) -> Array:
        return np.array([servo.torque for servo in self._servos])
