"""The simulated arm of the contact trials: its rotors, its rate, and a line that is late."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.control.plant import Plant
from robot_control_ros.core.types import Array, RobotState
from robot_control_ros.robot.configuration import RobotConfig, load_robot
from robot_control_ros.robot.model import RobotDynamics, RobotModel
from robot_control_ros.simulation.imperfect.delayed import DelayedPlant
from robot_control_ros.simulation.imperfect.imperfect_plant import ImperfectPlant
from robot_control_ros.simulation.imperfect.imperfections import (
    Imperfections,
    TripLimits,
    load_imperfections,
)
from robot_control_ros.simulation.in_process import lockstep
from robot_control_ros.simulation.mujoco_plant import PHYSICS_STEP, MujocoPlant
from robot_control_ros.simulation.scene import Scene, load_scene

ROTOR_INERTIA = 0.1  # kg·m² of each joint, that the figures belong to
RATE = 500.0  # Hz
DELAYS = (0.0, 0.002, 0.004)  # s
IDEAL = ""  # an arm without imperfections
Load = Callable[[float, RobotDynamics], Array]


def trial_robot(name: str, rate: float = RATE, arm: str = IDEAL) -> RobotConfig:
    """A robot of the package at a rate [Hz], with the trials' rotors where its arm is ideal."""
    robot = load_robot(name).at_rate(rate)
    return robot if arm else robot.with_rotors(ROTOR_INERTIA)


def delays(arm: str = IDEAL) -> tuple[float, ...]:
    """Delays from a command to its effect [s], one a trial; an imperfect arm has only its own."""
    return (0.0,) if arm else DELAYS


def line(arm: str, delay: float) -> str:
    """Text for a trial's line: the imperfections, or else the delay [s]."""
    return arm or f"{1e3 * delay:g} ms"


class TrialArm(MujocoPlant):
    """A simulated arm that remembers the contact force (3,) [N] of each physics step.

    Args:
        robot: Configuration of the robot.
        scene: Scene, or its name; empty for none.
        time_constant: Time constant of the scene's surfaces [s]; 0 keeps their own.
        arm: Name of imperfections; empty for none. The arm's own protective stops are off: they
            would end most trials.
        physics: Imperfections of the arm's physics alone, where `arm` is empty.
        step: Time step of the physics [s].
    """

    def __init__(
        self,
        robot: RobotConfig,
        scene: str | Scene = "",
        time_constant: float = 0.0,
        arm: str = IDEAL,
        *,
        physics: Imperfections | None = None,
        step: float = PHYSICS_STEP,
    ) -> None:
        given = replace(load_imperfections(arm), trips=TripLimits()) if arm else None
        self._step = step
        self._rate = robot.profile.rate
        rate = self._rate if given else 1.0 / step
        loaded = _loaded(scene)
        super().__init__(
            robot, rate=rate, scene=loaded, imperfections=given or physics, physics_step=step
        )
        self.forces: list[Array] = []
        self._imperfect = None if given is None else ImperfectPlant(self, robot, given)
        if time_constant:
            self.model.geom_solref[self.model.geom_conaffinity > 0, 0] = time_constant

    def sample(self) -> RobotState:
        state = super().sample()
        self.forces.append(self.contact_wrench()[:3].copy())
        return state

    def remove_objects(self) -> None:
        """Let nothing of the scene be touched from the next physics step on."""
        self.model.geom_conaffinity[:] = 0

    def place(self, q: Array) -> None:
        """Begin at joint angles (n,) [rad]."""
        (self._imperfect or self).reset(q)

    def late(self, delay: float) -> Plant:
        """The arm over a line whose commands act late [s]; an imperfect one
        has a line of its own.
        """
        if self._imperfect is not None:
            return self._imperfect
        return DelayedPlant(self, 1.0 / self._step, rate=self._rate, delay=delay)


def _loaded(scene: str | Scene) -> Scene | None:
    """The scene of a name, or the given scene; None for an empty name."""
    if isinstance(scene, str):
        return load_scene(scene) if scene else None
    return scene


class LoadedArm(TrialArm):
    """A simulated arm with a wrench on its tip that is renewed at each physics step.

    Args:
        robot: Configuration of the robot.
        load: Function of a time [s] and the dynamics that returns the wrench (6,) in base axes.
    """

    def __init__(self, robot: RobotConfig, load: Load) -> None:
        super().__init__(robot)
        self._load = load
        self._dynamics = RobotModel.of(robot)
        self._tip = robot.tip

    def sample(self) -> RobotState:
        state = super().sample()
        wrench = self._load(state.time, self._dynamics.at(state.q, state.v))
        self.push(self._tip, wrench[:3], wrench[3:])
        return state


def cycles(
    arm: TrialArm,
    loop: ControlLoop,
    delay: float,
    seconds: float,
    before: Callable[[], None] | None = None,
) -> Iterator[tuple[RobotState, RobotDynamics]]:
    """State and dynamics of each cycle, from the arm's start on; `before` is called
    before each sample.
    """
    line = arm.late(delay)
    line.open()
    for state, kin, _ in lockstep(
        line, loop, round(seconds * loop.robot.profile.rate), before=before
    ):
        yield state, kin
    line.close()


def tip_mobility(kin: RobotDynamics, axis: int) -> float:
    """Mobility 1/Λ of the tip along an axis of the base [1/kg]."""
    return float(kin.jacobian[axis].dot(np.linalg.solve(kin.mass, kin.jacobian[axis])))


def tip_damping(loop: ControlLoop, axis: int) -> float:
    """Damping D of the impedance along an axis of the base [N·s/m], at the loop's last state."""
    assert loop.kin is not None
    law = loop.running.law
    kin = loop.kin
    none = np.zeros(loop.robot.n)
    gains = replace(loop.running.gains.current, posture_stiffness=none, posture_damping=none)
    _, damping = law.joint_gains(gains, kin.mass, kin.jacobian)  # type: ignore[attr-defined]
    inverse = np.linalg.pinv(kin.jacobian)
    return float((inverse.T.dot(damping).dot(inverse))[axis, axis])
