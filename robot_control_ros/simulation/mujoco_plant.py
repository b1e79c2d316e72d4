"""The robot description in MuJoCo: the only module that imports mujoco."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core.errors import ConfigError, HardwareFault, missing_extra, refused
from ..core.types import Array, Command, CommandMode, RobotState, Wrench
from ..robot.configuration import RobotConfig
from ..robot.inverse_kinematics import solve_pose
from ..robot.model import RobotModel
from .imperfect_arm import servo_bandwidth, set_imperfections, settle
from .imperfections import Imperfections
from .joint_motors import JointLaw, JointMotors
from .mujoco_gripper import MujocoGripper
from .mujoco_robot import MujocoRobot
from .mujoco_scene import SceneState, compile_model
from .scene import Contact, Scene

PHYSICS_STEP = 0.001  # s
SERVO_BANDWIDTH = 150.0  # rad/s, of the joint servos in position and velocity mode
_EMPTY = Scene("empty", "", {})


class MujocoPlant:
    """A robot simulated in lockstep: each read() advances the physics by one control period.

    Joints take effort, position or velocity, each within the description's effort limits. Position and velocity are
    servoed by computed torque (critically damped, 150 rad/s, or half of what the physics step allows), as a drive that
    knows its load would; a feed-forward torque is added, and a velocity that goes with the position is followed. Before
    the first command, and where `command_timeout` passes without one, the joints are held where they are, as brakes
    would. The robot doesn't collide with itself, but with everything in the scene.

    With a `joint_law` the joints take positions, and the law drives the motors instead of the servo: it is called once
    per physics step, and its reference is the last command. Where it commands velocities, a motor reaches them within
    the step as far as its effort limit allows.

    The wrench is that of a force-torque sensor at the robot's ``wrench_frame``: what acts on everything beyond
    it, exerted by the environment on the robot, weight and inertia of what is mounted beyond it included.

    Args:
        robot: its configuration.
        urdf: text of another description than the configuration's.
        rate: samples per second; the profile's by default.
        command_timeout: [s] of simulated time without a command after which the joints hold; 0 never does.
        scene: what stands around the robot.
        joint_law: name of a law, or ``package.module:Class``.
        joint_law_gains: its gains by name.
        physics_step: [s], at most: a period is made of as few equal steps as that allows.
        imperfections: of the arm's physics; those of sensors and line are :class:`.imperfect_plant.ImperfectPlant`'s.

    Attributes:
        scene: as given.
        gripper: to command; None where the robot has none.
        start: joint angles (n,) that :meth:`reset` goes back to [rad].
        model, data: MuJoCo's own, to look at.
        substeps: physics steps of a period.

    Raises:
        ConfigError: MuJoCo is not installed; a rate or step that isn't above 0; the joint law is refused; the start of
            the scene can't be reached.
        ModelError: MuJoCo can't read the description, or it lacks a joint or frame.
    """

    def __init__(
        self,
        robot: RobotConfig,
        *,
        urdf: str | None = None,
        rate: float | None = None,
        command_timeout: float = 0.0,
        scene: Scene | None = None,
        joint_law: str | None = None,
        joint_law_gains: Mapping[str, Any] | None = None,
        physics_step: float = PHYSICS_STEP,
        imperfections: Imperfections | None = None,
    ) -> None:
        rate = robot.profile.rate if rate is None else rate
        for name, value, unit in (("rate", rate, "Hz"), ("physics_step", physics_step, "s")):
            if not (math.isfinite(value) and value > 0.0):
                raise refused(name, value, f"must be above 0 {unit}", (0.0, math.inf))
        self._mujoco = _import_mujoco()
        self._robot, self.scene = robot, scene
        text = robot.urdf() if urdf is None else urdf
        model = RobotModel.of(robot, text)
        self.start = np.array(robot.home)
        if scene is not None and scene.start is not None:
            self.start = solve_pose(model, scene.start, self.start, np.array(robot.axes))
        self.substeps = math.ceil(1.0 / (rate * physics_step) - 1e-9)
        step = 1.0 / (rate * self.substeps)
        bandwidth = min(SERVO_BANDWIDTH, 0.5 / step)
        law = None if joint_law is None else JointLaw(robot, model, joint_law, joint_law_gains, step)
        self.model = compile_model(self._mujoco, robot, text, step, scene or _EMPTY, imperfections)
        if imperfections is not None:
            set_imperfections(self._mujoco, self.model, robot, imperfections)
        self._elastic = imperfections is not None and bool(imperfections.stiffness)
        self.data = self._mujoco.MjData(self.model)
        self._arm = MujocoRobot(self._mujoco, self.model, self.data, robot)
        self._v_index = self._arm.v_index
        self.gripper = None if robot.gripper is None else MujocoGripper(self.model, self.data, robot.gripper)
        if self._elastic:
            mass, rotors = self.dynamics(self.start, np.zeros(robot.n))[0], self.model.dof_armature[self._v_index]
            bandwidth = min(bandwidth, servo_bandwidth(mass, rotors, step))
        self.model.dof_damping[self._v_index] += (scene or _EMPTY).joints.damping
        self._objects = SceneState(self._mujoco, self.model, self.data, robot, scene or _EMPTY)
        self._motors = JointMotors(self._arm, model.limits.effort, bandwidth, command_timeout, law)
        self.reset()

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return float(self.data.time)

    @property
    def effort(self) -> Array:
        """Joint torques (n,), mean of the last period [N·m]: what changed the momentum from one sample to the next."""
        return self._effort.copy()

    def reset(self, q: Array | None = None) -> None:
        """Back to time 0: at rest at q (n,) [rad] (default `start`), held, without a push, objects in place."""
        self._mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[self._arm.q_index] = self.start if q is None else q
        self._arm.release()
        if self.gripper is not None:
            self.gripper.reset()
        self._mujoco.mj_forward(self.model, self.data)
        if self._elastic:
            settle(self._mujoco, self.model, self.data, self._robot)
        self._motors.hold()
        self._effort = self._motors.torque()
        self.data.qfrc_applied[self._v_index] = self._effort  # so that the first sample is that of a held robot
        self._mujoco.mj_forward(self.model, self.data)
        self._advance_next = False

    def open(self) -> None:
        """Nothing to open."""

    def close(self) -> None:
        """Hold the joints where they are."""
        self._motors.hold()

    def read(self) -> RobotState:
        """One control period later (the first time: now), the joints, their torques and the wrench.

        Raises:
            HardwareFault: the physics diverged.
        """
        if self._advance_next:
            self.advance()
        self._advance_next = True
        return self.sample()

    def advance(self, steps: int | None = None) -> None:
        """Advance the physics under the last command by one control period, or by so many of its steps.

        Raises:
            HardwareFault: the physics diverged.
        """
        steps = self.substeps if steps is None else steps
        mujoco, model, data, gripper = self._mujoco, self.model, self.data, self.gripper
        total = np.zeros(self._robot.n)
        for _ in range(steps):
            if gripper is not None:
                gripper.step(model.opt.timestep)
            mujoco.mj_step1(model, data)  # inertia and bias of the present state, for the motors
            self._arm.apply_pushes()
            torque = self._motors.torque()
            data.qfrc_applied[self._v_index] = torque
            total += torque
            mujoco.mj_step2(model, data)
        self._effort = total / steps
        if gripper is not None:
            gripper.update()
        self._check()

    def drive(self, torque: Array, locked: Sequence[bool], dt: float) -> None:
        """Advance the physics by one step under torques that drives outside make; commands and effort limits don't act.

        Args:
            torque: (n,) behind the gears [N·m].
            locked: (n,) joints whose brakes are closed: they stay where they were then, whatever pulls at them.
            dt: the step [s].

        Raises:
            HardwareFault: the physics diverged.
        """
        data, option = self.data, self.model.opt
        self._arm.lock(list(locked))
        period_step, option.timestep = option.timestep, dt
        self._mujoco.mj_step1(self.model, data)
        self._arm.apply_pushes()
        data.qfrc_applied[self._v_index] = self._effort = torque
        self._mujoco.mj_step2(self.model, data)
        option.timestep = period_step
        self._check()

    def sample(self) -> RobotState:
        """The present state; time stands still."""
        data = self.data
        sensed = -data.sensordata[:6]  # MuJoCo gives what the parent exerts on the child
        wrench = Wrench(sensed[0:3], sensed[3:6], self._robot.wrench_frame)
        return RobotState(data.time, self._arm.q, self._arm.v, self.effort, wrench)

    def write(self, command: Command) -> None:
        """Take a command; it acts from the next physics step on.

        Raises:
            ConfigError: see :meth:`check`; the last command stays.
        """
        self.check(command)
        self._motors.take(command)

    def check(self, command: Command) -> None:
        """Refuse a command that the joints can't take.

        Raises:
            ConfigError: wrong size or numbers that aren't finite, or no positions for a joint law.
        """
        n, law = self._robot.n, self._motors.joint_law
        if law is not None and command.mode is not CommandMode.POSITION:
            raise ConfigError(f"{command.mode.value} command: joint_law {law.name} takes position only")
        for values in (command.values, command.feedforward, command.velocity):
            if values is not None and (values.shape != (n,) or not np.isfinite(values).all()):
                rule = f"must be {n} finite numbers, one per joint"
                raise refused(f"{command.mode.value} command", values, rule, n)

    def push(self, link: str, force: Array, torque: Array) -> None:
        """Apply a force [N] and torque [N·m] (3,) each, in base axes, at a link's origin, until changed; zeros end it.

        Raises ConfigError for numbers that aren't finite, ModelError for an unknown link.
        """
        self._arm.push(link, force, torque)

    def contacts(self) -> list[Contact]:
        """The contacts of the robot with the scene, and their wrenches, of the last physics step."""
        return self._objects.contacts()

    def contact_wrench(self) -> Array:
        """What objects exert (6,) on what is beyond the force-torque sensor: base axes, about the tip origin."""
        return self._objects.wrench()

    def object_pose(self, name: str) -> Array:
        """Pose (4, 4) of an object in the base, as of the last physics step; ConfigError where it is unknown."""
        return self._objects.pose(name)

    def move_object(self, name: str, position: Array) -> None:
        """Move an object on its slides to a position (3,) in the base [m].

        Raises ConfigError for an unknown object, one that isn't on slides, and numbers that aren't finite.
        """
        self._objects.move(name, position)

    def link_rotation(self, link: str) -> Array:
        """Axes (3, 3) of a link in the base."""
        return self._arm.link_rotation(link)

    def dynamics(self, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """MuJoCo's own inertia (n, n), bias C v + g (n,) and tip pose in base (4, 4): to compare models with."""
        return self._arm.dynamics(q, v)

    def _check(self) -> None:
        if self.data.warning.number.any():
            kinds = self._mujoco.mjtWarning
            found = [kinds(i).name for i, warning in enumerate(self.data.warning) if warning.number]
            raise HardwareFault(f"the physics diverged at t = {self.time:.3f} s: {', '.join(found)}")


def _import_mujoco() -> Any:
    try:
        import mujoco
    except ImportError as error:
        raise missing_extra("the simulator", "MuJoCo", "sim") from error
    return mujoco
