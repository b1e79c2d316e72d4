"""Line between a simulated arm and its controller: delay, jitter, loss, noise, drift, trips.

It also quantises what the sensors say.
"""

from __future__ import annotations

import math
import operator
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.errors import HardwareFault
from ...core.types import Array, Command, CommandMode, RobotState, Wrench
from ...robot.configuration import RobotConfig
from ...robot.schema import SOME, entry_specs
from ..mujoco_plant import MujocoPlant
from .imperfect_arm import MOMENTUM, TIP_VELOCITY
from .imperfections import Imperfections, StateLine, TripLimits, load_imperfections, per_joint


class ImperfectPlant:
    """A simulated arm with the sensors, the line and the trips of a real one.

    The arm moves on by physics steps. Delays are rounded to them; stamps are exact. A command
    refused is refused when it is written. All random numbers come from one generator, which
    :meth:`reset` seeds anew.

    Args:
        arm: Simulated arm that is made with the same imperfections, which change its physics.
        robot: Configuration of the robot.
        imperfections: Imperfections of sensors, line and trips; checked for the robot.
    """

    def __init__(self, arm: MujocoPlant, robot: RobotConfig, imperfections: Imperfections) -> None:
        given = imperfections
        n = robot.n
        self._arm = arm
        self._n = n
        self._given = given
        self._step = arm.model.opt.timestep
        # delays slow motion by `delay`
        self._filter = given.velocity.delay / (given.velocity.delay + self._step)
        self._dead_steps = round(given.velocity.dead_time / self._step)
        self._zero_below = given.velocity.zero_below
        noise = given.noise
        wrench = given.wrench
        joints = (noise.position, noise.velocity, noise.effort)
        self._noise = np.concatenate(
            [*(per_joint(each, n) for each in joints), [noise.force] * 3, [noise.torque] * 3]
        )
        resolutions = (given.steps.position, given.steps.velocity, given.steps.effort)
        steps = np.concatenate([per_joint(each, n) for each in resolutions])
        # places among positions, velocities and torques
        self._rounded = np.flatnonzero(steps > 0.0)
        self._rounding = steps[self._rounded]  # to whole multiples of these
        self._offset = np.array(wrench.force_offset + wrench.torque_offset)
        self._drift = np.array(wrench.force_drift + wrench.torque_drift)
        self._effort_offset = per_joint(given.effort_offset, n)
        self._load = given.friction.load
        self._stiction = per_joint(given.friction.stiction, n)
        self._stribeck_velocity = given.friction.stribeck_velocity
        self._friction_varies = self._load > 0.0 or bool(self._stiction.any())
        self._dofs = np.array([arm.model.joint(name).dofadr[0] for name in robot.joints])
        self._coulomb = arm.model.dof_frictionloss[self._dofs]
        self._trips = Trips(arm, robot, given.trips)
        self.reset()

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._arm.time

    def reset(self, q: Array | None = None, seed: int | None = None) -> None:
        """Begin anew, see :meth:`MujocoPlant.reset`; the first sample is there at once, and nothing
        is under way.

        Args:
            q: (n,) joint angles where the arm begins [rad].
            seed: Seed of the random numbers, in place of that of the imperfections.
        """
        self._arm.reset(q)
        self._random = np.random.default_rng(self._given.seed if seed is None else seed)
        self._count = 0
        self._commands: deque[tuple[int, Command]] = deque()
        self._samples: deque[tuple[int, RobotState]] = deque()
        self._torque = np.zeros(self._n)
        start = self._arm.sample()
        self._v = start.v
        # by physics step
        self._velocities = deque([start.v] * (self._dead_steps + 1), maxlen=self._dead_steps + 1)
        self._state = self._measured(start, start.effort)
        self._acting: Command | None = None
        self._advance_next = False

    def open(self) -> None:
        """Do nothing: there is nothing to open."""

    def close(self) -> None:
        """Hold the joints where they are; what is under way is lost."""
        self._commands.clear()
        self._acting = None
        self._arm.close()

    def read(self) -> RobotState:
        """The next sample that arrives (the first time: the first).

        Raises:
            HardwareFault: a trip, or the physics diverged.
        """
        if self._advance_next:
            self.advance()
        self._advance_next = True
        return self.sample()

    def sample(self) -> RobotState:
        """The last sample that arrived; time stands still."""
        return self._state

    def advance(self) -> None:
        """Advance the physics until the next sample arrives.

        Raises:
            HardwareFault: a trip, which names the limit, the value and the bound; the joints are
                then held. Or the physics diverged.
        """
        while not (self._samples and self._samples[0][0] <= self._count):
            self._advance_arm()
        self._state = self._samples.popleft()[1]

    def write(self, command: Command) -> None:
        """Send a command on its way.

        Raises:
            ConfigError: see :meth:`MujocoPlant.write`; the last command stays.
        """
        self._arm.check(command)
        line = self._given.commands
        if self._is_lost(line):
            return
        own = command.mode is not CommandMode.EFFORT and line.position_delay > 0.0
        delay = line.position_delay if own else line.delay
        self._commands.append((self._arrival(line, delay, self._commands), command))

    def _is_lost(self, line: StateLine) -> bool:
        return bool(self._random.random() < line.lost)

    def _arrival(self, line: StateLine, delay: float, under_way: Sequence[tuple[int, Any]]) -> int:
        """The physics step, counted from the reset, at which what is sent now arrives."""
        due: int = self._count + round((delay + line.jitter * self._random.random()) / self._step)
        return max(due, under_way[-1][0]) if under_way else due

    def _advance_arm(self) -> None:
        while self._commands and self._commands[0][0] <= self._count:
            self._acting = self._commands.popleft()[1]
            self._arm.write(self._acting)
        if self._friction_varies:
            self._arm.model.dof_frictionloss[self._dofs] = self._dry_friction()
        self._arm.advance(1)
        self._count += 1
        self._torque += self._arm.effort
        self._velocities.append(self._arm.velocity)
        v = self._velocities[0]
        self._v = v + self._filter * (self._v - v)
        if self._count % self._arm.substeps == 0:
            self._end_period()

    def _dry_friction(self) -> Array:
        """Dry friction (n,) of the present motion and the last torque [N·m]; see LoadedFriction."""
        slow = np.exp(-np.square(self._velocities[-1] / self._stribeck_velocity))
        friction: Array = (
            self._coulomb + self._load * np.abs(self._arm.effort) + self._stiction * slow
        )
        return friction

    def _end_period(self) -> None:
        true = self._arm.sample()
        torque = self._torque / self._arm.substeps
        self._torque[:] = 0.0
        try:
            self._trips.check(true, self._acting)
        except HardwareFault:
            self.close()
            raise
        if not self._is_lost(self._given.states):
            due = self._arrival(self._given.states, self._given.states.delay, self._samples)
            self._samples.append((due, self._measured(true, torque)))

    def _measured(self, true: RobotState, torque: Array) -> RobotState:
        """Sample that the sensors give: of positions, filtered velocities and mean torques (n,)."""
        n = self._n
        noise = self._noise * self._random.standard_normal(3 * n + 6)
        joints = np.concatenate((true.q, self._v, torque + self._effort_offset))
        joints += noise[: 3 * n]
        if self._zero_below > 0.0:
            velocity = joints[n : 2 * n]
            velocity[np.abs(velocity) < self._zero_below] = 0.0
        if len(self._rounded) > 0:
            joints[self._rounded] = np.rint(joints[self._rounded] / self._rounding) * self._rounding
        assert true.wrench is not None
        wrench = np.concatenate((true.wrench.force, true.wrench.torque))
        wrench += self._offset + true.time * self._drift + noise[3 * n :]
        sensed = Wrench(wrench[:3], wrench[3:], true.wrench.frame)
        return RobotState(true.time, joints[:n], joints[n : 2 * n], joints[2 * n :], sensed)


def arm_and_plant(
    robot: RobotConfig, imperfections: str | Imperfections | None, **settings: Any
) -> tuple[MujocoPlant, MujocoPlant | ImperfectPlant]:
    """A simulated arm, and what a controller has of it: without imperfections the arm itself.

    Args:
        robot: Configuration of the robot.
        imperfections: Name, path of a YAML file, or the imperfections; None for an ideal arm.
        settings: Settings of :class:`MujocoPlant`.

    Raises:
        ConfigError: unknown imperfections, or those of an arm with another number of joints; see
            MujocoPlant.
    """
    given = load_imperfections(imperfections) if isinstance(imperfections, str) else imperfections
    if given is not None:
        given.check(robot)
    arm = MujocoPlant(robot, imperfections=given, **settings)
    return arm, arm if given is None else ImperfectPlant(arm, robot, given)


class Trips:
    """The limits at which an arm stops by itself; those that are 0 cost nothing."""

    def __init__(self, arm: MujocoPlant, robot: RobotConfig, limits: TripLimits) -> None:
        self._robot = robot
        self._sensed: Array = arm.data.sensordata  # MuJoCo's own memory
        sensors = [arm.model.sensor(name) for name in (TIP_VELOCITY, MOMENTUM)]
        self._tip, self._centre = (
            slice(int(each.adr[0]), int(each.adr[0]) + 3) for each in sensors
        )
        self._mass = float(arm.model.body_subtreemass[int(sensors[1].objid[0])])
        measures: dict[str, Callable[[RobotState, Command | None], list[float]]] = {
            "joint_velocity": lambda state, _: np.abs(state.v).tolist(),
            "tip_velocity": lambda _, __: [_length(self._sensed[self._tip])],
            "force": lambda state, _: [
                0.0 if state.wrench is None else _length(state.wrench.force)
            ],
            "power": lambda state, _: [abs(float(state.effort @ state.v))],
            "momentum": lambda _, __: [self._mass * _length(self._sensed[self._centre])],
            "following_error": self._following_error,
        }
        self._limits = []
        for spec in entry_specs(TripLimits):
            values = np.atleast_1d(getattr(limits, spec.name))
            if values.any():
                bounds = np.where(values > 0.0, values, np.inf)
                if spec.size == SOME:
                    bounds = np.broadcast_to(bounds, robot.n)
                self._limits.append((spec, measures[spec.name], bounds.tolist()))

    def check(self, state: RobotState, command: Command | None) -> None:
        """Stop where a limit is passed.

        Args:
            state: True state of the arm.
            command: Command that acts; None where the joints are held.

        Raises:
            HardwareFault: its name, value and bound are those of the limit.
        """
        for spec, measure, bounds in self._limits:
            values = measure(state, command)
            if any(map(operator.gt, values, bounds)):
                worst = int(np.argmax(np.divide(values, bounds)))
                value = values[worst]
                limit = bounds[worst]
                where = f" of {self._robot.joints[worst]}" if len(values) > 1 else ""
                text = f"trip: {spec.name}{where} = {value:.4g} {spec.unit}, limit {limit:g} {spec.unit}"
                raise HardwareFault(
                    f"{text}, at t = {state.time:.3f} s", name=spec.name, value=value, bound=limit
                )

    def _following_error(self, state: RobotState, command: Command | None) -> list[float]:
        if command is None or command.mode is not CommandMode.POSITION:
            return [0.0] * self._robot.n
        errors: list[float] = np.abs(command.values - state.q).tolist()
        return errors


def _length(vector: Array) -> float:
    return math.sqrt(float(vector.dot(vector)))
