"""The robot description in MuJoCo: the only module that imports mujoco."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ConfigError, HardwareFault, ModelError
from ..inverse_kinematics import solve_pose
from ..model import RobotModel, unknown_frame
from ..robots import RobotConfig
from ..spatial import cross
from ..types import Array, Command, CommandMode, RobotState, Wrench
from .joint_law import JointLaw
from .mujoco_scene import SceneState, add_scene, is_link
from .scene import Contact, Scene

PHYSICS_STEP = 0.001  # s
SERVO_BANDWIDTH = 150.0  # rad/s, of the joint servos in position and velocity mode
_LOCK = {"solref": (0.002, 1.0), "solimp": (0.9999, 0.9999, 0.001, 0.5, 2.0)}  # as stiff as MuJoCo's constraints get
_LOCK_PREFIX = "lock/"
_EMPTY = Scene("empty", "", {})
_COMPILER = (
    '<mujoco><compiler strippath="false" fusestatic="false" discardvisual="true" balanceinertia="false"/></mujoco>'
)


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
        command_timeout: [s] of simulated time after which a silent controller makes the joints hold; 0 never does.
        scene: what stands around the robot.
        joint_law: name of a law, or ``package.module:Class``.
        joint_law_gains: its gains by name.
        physics_step: [s], at most: a period is made of as few equal steps as that allows.

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
    ) -> None:
        rate = robot.profile.rate if rate is None else rate
        for name, value, unit in (("rate", rate, "Hz"), ("physics_step", physics_step, "s")):
            if not (math.isfinite(value) and value > 0.0):
                raise ConfigError(f"{name} = {value}: must be above 0 {unit}")
        self._mujoco = _import_mujoco()
        self._robot, self.scene = robot, scene
        text = robot.urdf() if urdf is None else urdf
        model = RobotModel.of(robot, text)
        self._limits = model.limits
        self.start = _start(robot, model, scene)
        self._substeps = math.ceil(1.0 / (rate * physics_step) - 1e-9)
        step = 1.0 / (rate * self._substeps)
        self._bandwidth = min(SERVO_BANDWIDTH, 0.5 / step)
        self._joint_law = None if joint_law is None else JointLaw(robot, model, joint_law, joint_law_gains, step)
        self._model = self._compile(text, step, scene or _EMPTY)
        self._data = self._mujoco.MjData(self._model)
        self._index()
        self._model.dof_damping[self._v_index] += (scene or _EMPTY).joints.damping
        self._objects = SceneState(self._mujoco, self._model, self._data, robot, scene or _EMPTY)
        self._timeout = command_timeout
        self._pushes: dict[int, Array] = {}
        self._mass = np.zeros((self._model.nv, self._model.nv))
        self.reset()

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return float(self._data.time)

    @property
    def effort(self) -> Array:
        """Joint torques (n,), mean of the last period [N·m]: what changed the momentum from one sample to the next."""
        return self._effort.copy()

    def reset(self, q: Array | None = None) -> None:
        """Back to time 0, at rest at q (n,) [rad] (`start` by default), held, nothing pushing, objects in place."""
        self._mujoco.mj_resetData(self._model, self._data)
        self._data.qpos[self._q_index] = self.start if q is None else q
        self._pushes.clear()
        self._locked = [False] * self._robot.n
        self._mujoco.mj_forward(self._model, self._data)
        self._hold()
        self._effort = self._torque()
        self._data.qfrc_applied[self._v_index] = self._effort  # so that the first sample is that of a held robot
        self._mujoco.mj_forward(self._model, self._data)
        self._advance_next = False

    def open(self) -> None:
        """Nothing to open."""

    def close(self) -> None:
        """Hold the joints where they are."""
        self._hold()

    def read(self) -> RobotState:
        """One control period later (the first time: now), the joints, their torques and the wrench.

        Raises:
            HardwareFault: the physics diverged.
        """
        if self._advance_next:
            self.advance()
        self._advance_next = True
        return self.sample()

    def advance(self) -> None:
        """Advance the physics by one control period under the last command."""
        total = np.zeros(self._robot.n)
        for _ in range(self._substeps):
            self._mujoco.mj_step1(self._model, self._data)  # inertia and bias of the present state, for the motors
            self._apply_pushes()
            torque = self._torque()
            self._data.qfrc_applied[self._v_index] = torque
            total += torque
            self._mujoco.mj_step2(self._model, self._data)
        self._effort = total / self._substeps
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
        data, option = self._data, self._model.opt
        if locked != self._locked:
            self._lock(list(locked))
        period_step, option.timestep = option.timestep, dt
        self._mujoco.mj_step1(self._model, data)
        self._apply_pushes()
        data.qfrc_applied[self._v_index] = self._effort = torque
        self._mujoco.mj_step2(self._model, data)
        option.timestep = period_step
        self._check()

    def sample(self) -> RobotState:
        """The present state; time stands still."""
        data = self._data
        sensed = -data.sensordata  # MuJoCo gives what the parent exerts on the child
        wrench = Wrench(sensed[0:3], sensed[3:6], self._robot.wrench_frame)
        return RobotState(data.time, data.qpos[self._q_index], data.qvel[self._v_index], self.effort, wrench)

    def write(self, command: Command) -> None:
        """Take a command; it acts from the next physics step on.

        Raises:
            ConfigError: wrong size or numbers that aren't finite, or no positions for a joint law; the last command
                stays.
        """
        n = self._robot.n
        if self._joint_law is not None and command.mode is not CommandMode.POSITION:
            raise ConfigError(f"{command.mode.value} command: joint_law {self._joint_law.name} takes position only")
        for values in (command.values, command.feedforward, command.velocity):
            if values is not None and (values.shape != (n,) or not np.isfinite(values).all()):
                raise ConfigError(
                    f"{command.mode.value} command {values.tolist()}: must be {n} finite numbers, one per joint"
                )
        self._command, self._commanded_at, self._holding = command, self.time, False

    def push(self, link: str, force: Array, torque: Array) -> None:
        """Apply a force [N] and torque [N·m] (3,) each, in base axes, at a link's origin, until changed; zeros end it.

        Raises:
            ConfigError: numbers that aren't finite.
            ModelError: unknown link; lists the links.
        """
        wrench = np.concatenate((force, torque))
        if wrench.shape != (6,) or not np.isfinite(wrench).all():
            raise ConfigError(f"push {wrench.tolist()}: must be 3 + 3 finite numbers")
        body = self._body(link)
        rotation = self._data.xmat[self._body(self._robot.base)].reshape(3, 3)
        self._data.xfrc_applied[body] = 0.0
        self._pushes.pop(body, None)
        if wrench.any():
            self._pushes[body] = np.concatenate((rotation @ wrench[:3], rotation @ wrench[3:]))

    def contacts(self) -> list[Contact]:
        """Where the robot touches objects of the scene, and what they exert on it; as of the last physics step."""
        return self._objects.contacts()

    def contact_wrench(self) -> Array:
        """What objects exert (6,) on what is beyond the force-torque sensor: base axes, about the tip origin."""
        return self._objects.wrench()

    def object_pose(self, name: str) -> Array:
        """Pose (4, 4) of an object in the base, as of the last physics step.

        Raises:
            ConfigError: unknown object; lists the objects.
        """
        return self._objects.pose(name)

    def move_object(self, name: str, position: Array) -> None:
        """Let the slides of an object pull it to a position (3,) in the base [m].

        Raises:
            ConfigError: unknown object, or one that isn't on slides (lists them); numbers that aren't finite.
        """
        self._objects.move(name, position)

    def link_rotation(self, link: str) -> Array:
        """Axes (3, 3) of a link in the base."""
        base = self._data.xmat[self._body(self._robot.base)].reshape(3, 3)
        return np.asarray(base.T @ self._data.xmat[self._body(link)].reshape(3, 3))

    def dynamics(self, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """MuJoCo's own inertia (n, n), bias C v + g (n,) and tip pose in base (4, 4): to compare models with."""
        data = self._mujoco.MjData(self._model)
        data.qpos[self._q_index], data.qvel[self._v_index] = q, v
        self._mujoco.mj_forward(self._model, data)
        self._mujoco.mj_fullM(self._model, data, self._mass)
        poses = []
        for name in (self._robot.base, self._robot.tip):
            pose = np.eye(4)
            pose[:3, :3] = data.xmat[self._body(name)].reshape(3, 3)
            pose[:3, 3] = data.xpos[self._body(name)]
            poses.append(pose)
        chosen = np.ix_(self._v_index, self._v_index)
        return self._mass[chosen].copy(), data.qfrc_bias[self._v_index], np.linalg.inv(poses[0]) @ poses[1]

    def _compile(self, urdf: str, step: float, scene: Scene) -> Any:
        mujoco, robot = self._mujoco, self._robot
        at = urdf.rfind("</robot>")
        try:
            spec = mujoco.MjSpec.from_string(urdf[:at] + _COMPILER + urdf[at:])
            for joint in spec.joints:
                if joint.name not in robot.joints:
                    spec.delete(joint)
            for name, inertia in zip(robot.joints, robot.rotor_inertia, strict=True):
                spec.joint(name).armature = inertia
                kinds = {"type": mujoco.mjtEq.mjEQ_JOINT, "objtype": mujoco.mjtObj.mjOBJ_JOINT}
                spec.add_equality(name=_LOCK_PREFIX + name, name1=name, active=False, **kinds, **_LOCK)
            for geom in spec.geoms:
                if geom.type == mujoco.mjtGeom.mjGEOM_MESH:
                    spec.delete(geom)  # shapes move nothing here, and a vendor's mesh files are rarely at hand
                else:
                    geom.contype, geom.conaffinity = 1, 0
            for mesh in spec.meshes:
                spec.delete(mesh)
            sensor_body = spec.body(robot.wrench_frame)
            if sensor_body is None:
                raise ModelError(unknown_frame(robot.wrench_frame, [body.name for body in spec.bodies]))
            add_scene(mujoco, spec, scene, robot)
            sensor_body.add_site(name="wrench")
            for kind in (mujoco.mjtSensor.mjSENS_FORCE, mujoco.mjtSensor.mjSENS_TORQUE):
                spec.add_sensor(
                    name=f"wrench_{int(kind)}", type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname="wrench"
                )
            spec.option.timestep = step
            spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
            spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
            return spec.compile()
        except ValueError as error:
            if isinstance(error, ModelError):
                raise
            raise ModelError(f"MuJoCo can't read the robot description: {error}") from error

    def _index(self) -> None:
        model, kind = self._model, self._mujoco.mjtObj.mjOBJ_JOINT
        ids = [self._mujoco.mj_name2id(model, kind, name) for name in self._robot.joints]
        self._q_index = np.array([model.jnt_qposadr[i] for i in ids])
        self._v_index = np.array([model.jnt_dofadr[i] for i in ids])
        self._locks = np.array([model.equality(_LOCK_PREFIX + name).id for name in self._robot.joints])
        names = [model.body(i).name for i in range(model.nbody)]
        self._bodies = {name: i for i, name in enumerate(names) if is_link(name)}

    def _body(self, name: str) -> int:
        if name not in self._bodies:
            raise ModelError(unknown_frame(name, [link for link in self._bodies if link != "world"]))
        return self._bodies[name]

    def _lock(self, locked: list[bool]) -> None:
        for n, (before, after) in enumerate(zip(self._locked, locked, strict=True)):
            if after and not before:
                place = self._q_index[n]
                self._model.eq_data[self._locks[n], 0] = self._data.qpos[place] - self._model.qpos0[place]
        self._data.eq_active[self._locks] = locked
        self._locked = locked

    def _check(self) -> None:
        if self._data.warning.number.any():
            raise HardwareFault(f"the physics diverged at t = {self.time:.3f} s: {self._warnings()}")

    def _hold(self) -> None:
        self._command = Command(CommandMode.POSITION, self._data.qpos[self._q_index])
        self._commanded_at, self._holding = math.inf, True  # holding doesn't time out
        if self._joint_law is not None:
            self._joint_law.reset()

    def _torque(self) -> Array:
        if self._timeout > 0.0 and self.time - self._commanded_at > self._timeout:
            self._hold()
        if self._joint_law is None or self._holding:
            torque = self._motor(self._command, self._bandwidth)
        else:
            data, v = self._data, self._v_index
            state = RobotState(self.time, data.qpos[self._q_index], data.qvel[v], data.qfrc_applied[v])
            driven = self._joint_law.command(state, self._command)
            torque = self._motor(driven, 1.0 / self._model.opt.timestep)
            if self._command.feedforward is not None:
                torque = torque + self._command.feedforward
        limit = self._limits.effort
        return np.minimum(np.maximum(torque, -limit), limit)

    def _motor(self, command: Command, velocity_bandwidth: float) -> Array:
        torque = command.values
        if command.mode is not CommandMode.EFFORT:
            torque = self._servo(command, velocity_bandwidth)
        return torque if command.feedforward is None else torque + command.feedforward

    def _servo(self, command: Command, velocity_bandwidth: float) -> Array:
        """Computed torque: M [w² (q_c - q) + 2 w (v_c - v)], or M w (v_c - v), plus bias."""
        data = self._data
        v = data.qvel[self._v_index]
        if command.mode is CommandMode.POSITION:
            w, q = self._bandwidth, data.qpos[self._q_index]
            slip = -v if command.velocity is None else command.velocity - v
            wanted = w * (w * (command.values - q) + 2.0 * slip)
        else:
            wanted = velocity_bandwidth * (command.values - v)
        self._mujoco.mj_fullM(self._model, data, self._mass)
        chosen = np.ix_(self._v_index, self._v_index)
        return np.asarray(self._mass[chosen] @ wanted + data.qfrc_bias[self._v_index])

    def _apply_pushes(self) -> None:
        """Pushes act at link origins; MuJoCo takes them at centres of mass, so the lever arm follows the link."""
        for body, wrench in self._pushes.items():
            arm = self._data.xpos[body] - self._data.xipos[body]
            self._data.xfrc_applied[body, :3] = wrench[:3]
            self._data.xfrc_applied[body, 3:] = wrench[3:] + cross(arm, wrench[:3])

    def _warnings(self) -> str:
        kinds = self._mujoco.mjtWarning
        found = [kinds(i).name for i, warning in enumerate(self._data.warning) if warning.number]
        return ", ".join(found)


def _start(robot: RobotConfig, model: RobotModel, scene: Scene | None) -> Array:
    """Joint angles (n,) to begin with."""
    home = np.array(robot.home)
    if scene is None or scene.start is None:
        return home
    return solve_pose(model, scene.start, home, np.array(robot.axes))


def _import_mujoco() -> Any:
    try:
        import mujoco
    except ImportError as error:
        raise ConfigError("the simulator needs MuJoCo: pip install 'robot_control_ros[sim]'") from error
    return mujoco
