"""The robot description in MuJoCo: the only module that imports mujoco."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core.errors import ConfigError, missing_extra, refused
from ..core.types import Array, Command, CommandMode, RobotState, Wrench, is_finite
from ..robot.configuration import RobotConfig
from ..robot.implausible import is_usable
from ..robot.inverse_kinematics import solve_pose
from ..robot.model import RobotModel
from .imperfect.imperfect_arm import servo_bandwidth
from .imperfect.imperfections import Imperfections, per_joint
from .joint_motors import JointLaw, JointMotors
from .mujoco_gripper import MujocoGripper
from .mujoco_robot import MujocoRobot, MujocoWorld
from .mujoco_scene import SceneState
from .scene import Contact, Scene

PHYSICS_STEP = 0.001  # s
SERVO_BANDWIDTH = 150.0  # rad/s, of the joint servos in position and velocity mode
_EMPTY = Scene("empty", "", {})


class MujocoPlant:
    """A robot simulated in lockstep: each read() advances the physics by one control period.

    Joints take effort, position or velocity, each within the description's effort limits. Position
    and velocity are servoed by computed torque (critically damped, 150 rad/s, or half of what the
    physics step allows), as a drive that knows its load would; a feed-forward torque is added, and
    a velocity that goes with the position is followed. Before the first command, and where
    `command_timeout` passes without one, the joints are held where they are, as brakes would. The
    robot collides with itself, with its cell, and with everything in the scene. Under a profile
    with `gravity_by_robot` the weight of the configuration's description is added to efforts, as
    the real robot does.

    With a `joint_law` the joints take positions, and the law drives the motors instead of the
    servo: it is called once per physics step, and its reference is the last command. Where it
    commands velocities, a motor reaches them within the step as far as its effort limit allows.

    The wrench is that of a force-torque sensor at the robot's ``wrench_frame``: what acts on
    everything beyond it, exerted by the environment on the robot, weight and inertia of what is
    mounted beyond it included.

    Args:
        robot: Configuration of the robot.
        urdf: Text of another description than the configuration's.
        rate: Samples per second [Hz]; the profile's by default.
        command_timeout: Simulated time without a command after which the joints hold [s]; 0 never
            does.
        scene: Objects that stand around the robot.
        joint_law: Name of a law, or ``package.module:Class``.
        joint_law_gains: Gains of the joint law by name.
        physics_step: Longest step of the physics [s]: a period is made of as few equal steps as
            that allows.
        imperfections: Imperfections of the arm's physics; those of sensors and line are
            :class:`.imperfect_plant.ImperfectPlant`'s.
        world: World that it shares with other arms, see :func:`arms_in_one_world`; by default one
            of its own.

    Attributes:
        scene: Objects that stand around the robot; None for none.
        gripper: Gripper, to command; None where the robot has none.
        start: Joint angles (n,) that :meth:`reset` goes back to [rad].
        model, data: Model and data of MuJoCo, to look at.
        substeps: Number of physics steps of a period.

    Raises:
        ConfigError: MuJoCo is not installed; a rate or step that isn't above 0; the joint law is
            refused; the start of the scene can't be reached.
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
        world: MujocoWorld | None = None,
    ) -> None:
        mujoco = _import_mujoco()
        self._robot = robot
        self.scene = scene
        self._wrench_frame = robot.wrench_frame
        self._shape = (robot.n,)
        text = robot.urdf() if urdf is None else urdf
        model = RobotModel.of(robot, text)
        _check_motors(model)
        self.start = np.array(robot.home)
        if scene is not None and scene.start is not None:
            self.start = solve_pose(model, scene.start, self.start, np.array(robot.axes))
        rate = robot.profile.rate if rate is None else rate
        if world is None:
            arms = [(robot, text)]
            world = MujocoWorld(mujoco, arms, rate, physics_step, scene or _EMPTY, imperfections)
        self._world = world
        self.model = world.model
        self.data = world.data
        self.substeps = world.substeps
        step = self.model.opt.timestep
        bandwidth = min(SERVO_BANDWIDTH, 0.5 / step)
        law = (
            None if joint_law is None else JointLaw(robot, model, joint_law, joint_law_gains, step)
        )
        self._arm = MujocoRobot(mujoco, self.model, self.data, robot, model.frames)
        v_index = self._arm.v_index
        self.gripper = (
            None if robot.gripper is None else MujocoGripper(self.model, self.data, robot.gripper)
        )
        if imperfections is not None and imperfections.has_gears:
            mass = self.dynamics(self.start, np.zeros(robot.n))[0]
            rotors = self.model.dof_armature[v_index]
            bandwidth = min(bandwidth, servo_bandwidth(mass, rotors, step))
        self.model.dof_damping[v_index] += (scene or _EMPTY).joints.damping
        self._objects = SceneState(
            mujoco, self.model, self.data, robot, scene or _EMPTY, model.frames
        )
        offset = None
        if imperfections is not None and any(imperfections.torque_offset):
            offset = per_joint(imperfections.torque_offset, robot.n)
        carried = RobotModel.of(robot) if robot.profile.gravity_by_robot else None
        self._motors = JointMotors(
            self._arm, model.limits.effort, bandwidth, command_timeout, law, carried, offset
        )
        world.add(self._motors, self.gripper)
        self.reset()

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return float(self.data.time)

    @property
    def effort(self) -> Array:
        """Joint torques (n,), mean of the last period [N·m]: what changed the momentum from one
        sample to the next.
        """
        return self._motors.effort.copy()

    @property
    def velocity(self) -> Array:
        """Joint velocities (n,) [rad/s]."""
        return self._arm.v

    def reset(self, q: Array | None = None) -> None:
        """Go back to time 0: at rest at q (n,) [rad] (default `start`), held, without a push.

        Objects are in place.
        """
        self._motors.start = self.start if q is None else q
        self._world.reset()
        self._advance_next = False

    def open(self) -> None:
        """Do nothing: there is nothing to open."""

    def close(self) -> None:
        """Hold the joints where they are."""
        self._motors.hold()

    def read(self) -> RobotState:
        """Sample of the joints, their torques and the wrench, one control period later.

        The first time it is that of now.

        Raises:
            HardwareFault: the physics diverged.
        """
        if self._advance_next:
            self._world.advance(self.substeps)
        self._advance_next = True
        return self.sample()

    def advance(self, steps: int | None = None) -> None:
        """Advance the physics under the last command by one control period, or by so many of its
        steps.

        Raises:
            HardwareFault: the physics diverged.
        """
        self._world.advance(self.substeps if steps is None else steps)

    def drive(self, torque: Array, locked: Sequence[bool], dt: float) -> None:
        """Advance the physics by one step under torques that drives outside make; commands and
        effort limits don't act.

        Args:
            torque: (n,) behind the gears [N·m].
            locked: (n,) joints whose brakes are closed: they stay where they were then, whatever
                pulls at them.
            dt: Time of the step [s].

        Raises:
            HardwareFault: the physics diverged.
        """
        self._arm.lock(list(locked))
        self._world.drive(self._motors, torque, dt)

    def sample(self) -> RobotState:
        """The present state; time stands still."""
        arm = self._arm
        sensed = arm.wrench
        wrench = Wrench(sensed[:3], sensed[3:], self._wrench_frame)
        return RobotState(self.data.time, arm.q, arm.v, self._motors.effort.copy(), wrench)

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
        law = self._motors.joint_law
        if law is not None and command.mode is not CommandMode.POSITION:
            raise ConfigError(
                f"{command.mode.value} command: joint_law {law.name} takes position only"
            )
        for values in (command.values, command.feedforward, command.velocity):
            if values is not None and (values.shape != self._shape or not is_finite(values)):
                n = self._robot.n
                rule = f"must be {n} finite numbers, one per joint"
                raise refused(f"{command.mode.value} command", values, rule, n)

    def push(self, link: str, force: Array, torque: Array) -> None:
        """Apply a force [N] and torque [N·m] (3,) each, in base axes, at a link's origin, until
        changed; zeros end it.

        Raises ConfigError for numbers that aren't finite, ModelError for an unknown link.
        """
        self._arm.push(link, force, torque)

    def contacts(self) -> list[Contact]:
        """The contacts of the robot with scene, cell and itself, and their wrenches, of
        the last physics step.
        """
        return self._objects.contacts()

    def contact_wrench(self) -> Array:
        """Wrench (6,) by objects on what is beyond the force-torque sensor.

        Base axes, about the tip origin.
        """
        return self._objects.wrench()

    def object_pose(self, name: str) -> Array:
        """Pose (4, 4) of an object in the base, as of the last physics step; ConfigError
        where it is unknown.
        """
        return self._objects.pose(name)

    def move_object(self, name: str, position: Array) -> None:
        """Move an object on its slides to a position (3,) in the base [m].

        Raises ConfigError for an unknown object, one that isn't on slides, and numbers that aren't
        finite.
        """
        self._objects.move(name, position)

    def link_rotation(self, link: str) -> Array:
        """Axes (3, 3) of a link in the base."""
        return self._arm.link_rotation(link)

    def dynamics(self, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """MuJoCo's own inertia (n, n), bias C v + g (n,) and tip pose in base (4, 4): to
        compare models with.
        """
        return self._arm.dynamics(q, v)


def arms_in_one_world(
    robots: Sequence[RobotConfig],
    *,
    rate: float | None = None,
    physics_step: float = PHYSICS_STEP,
    scene: Scene | None = None,
    **settings: Any,
) -> list[MujocoPlant]:
    """Several arms in one MuJoCo world, where they may touch: each advances and resets all of them.

    Args:
        robots: Configurations of the arms, with prefixes, and mounts where they stand.
        rate: Samples per second of all arms [Hz]; by default that of their profiles.
        physics_step: Longest step of the physics [s], see :class:`MujocoPlant`.
        scene: Objects that stand around the first arm, in its base.
        settings: More settings of :class:`MujocoPlant`, without imperfections.

    Raises:
        ConfigError: two arms have the same prefix, or profiles have different rates; see
            :class:`MujocoPlant`.
    """
    prefixes = [robot.prefix for robot in robots]
    if len(set(prefixes)) < len(prefixes):
        raise refused("prefix", prefixes, "must be different: all joints are in one world")
    rates = sorted({robot.profile.rate for robot in robots} if rate is None else {rate})
    if len(rates) > 1:
        raise refused(
            "rate", rates, "must be the same: the arms share their time; give one", unit="Hz"
        )
    texts = [(robot, robot.urdf()) for robot in robots]
    world = MujocoWorld(_import_mujoco(), texts, rates[0], physics_step, scene or _EMPTY)
    scenes = [scene, *[None] * (len(robots) - 1)]
    return [
        MujocoPlant(robot, rate=rates[0], scene=around, world=world, **settings)
        for robot, around in zip(robots, scenes, strict=True)
    ]


def _check_motors(model: RobotModel) -> None:
    """Refuse joints without an effort limit: their motors would give no torque.

    Raises:
        ConfigError: names the joint, its limit, and where to give one.
    """
    for joint, limit in enumerate(model.limits.effort.tolist()):
        if not is_usable(limit):
            rule = "must be above 0 and finite: the simulated motor gives no more; `limits` of the profile takes one"
            unit = model.limits.unit(joint).effort
            where = "effort limit of "
            raise refused(model.joints[joint], limit, rule, (0.0, np.inf), where=where, unit=unit)


def _import_mujoco() -> Any:
    try:
        import mujoco
    except ImportError as error:
        raise missing_extra("the simulator", "MuJoCo", "sim") from error
    return mujoco
