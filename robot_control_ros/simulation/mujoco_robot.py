"""A robot within MuJoCo's model: its joints and links, what pushes or locks them; and the world
that robots share.

The mujoco module itself is handed in by :mod:`robot_control_ros.simulation.mujoco_plant`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import HardwareFault, ModelError, refused, unknown
from ..core.spatial import cross, make_pose
from ..core.types import Array, is_finite
from ..robot.configuration import RobotConfig
from .imperfect.imperfect_arm import set_imperfections, settle
from .imperfect.imperfections import Imperfections
from .mujoco_scene import LOCK_PREFIX, compile_model, wrench_sensors
from .scene import Scene

if TYPE_CHECKING:
    from .joint_motors import JointMotors
    from .mujoco_gripper import MujocoGripper


class MujocoRobot:
    """Finds joints and links of a robot by name, and moves nothing by itself.

    Attributes:
        model, data: Model and data of MuJoCo.
        q_index, v_index: (n,) places of the joints in MuJoCo's positions and velocities.
        wrench_index: (6,) places of what the force-torque sensor measures in MuJoCo's sensor data.
        pushes: (6,) force and torque that act, by number of body, in world axes [N, N·m].
    """

    def __init__(
        self, mujoco: Any, model: Any, data: Any, robot: RobotConfig, links: Sequence[str]
    ) -> None:
        self._mujoco = mujoco
        self.model = model
        self.data = data
        self._config = robot
        ids = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name) for name in robot.joints]
        self.q_index = np.array([int(model.jnt_qposadr[i]) for i in ids])
        self.v_index = np.array([int(model.jnt_dofadr[i]) for i in ids])
        # MuJoCo's own memory, as the following: what it computes is seen here
        self._qpos: Array = data.qpos
        self._qvel: Array = data.qvel
        self._bias: Array = data.qfrc_bias
        self._applied: Array = data.qfrc_applied
        self._sensed: Array = data.sensordata
        self._origins: Array = data.xpos
        self._centres: Array = data.xipos
        self._pushed: Array = data.xfrc_applied
        self._q_places = _run_of(self.q_index)
        self._v_places = _run_of(self.v_index)
        self._locks = np.array([model.equality(LOCK_PREFIX + name).id for name in robot.joints])
        self.wrench_index = np.concatenate(
            [model.sensor(name).adr[0] + np.arange(3) for name in wrench_sensors(robot)]
        )
        self._wrench_places = _run_of(self.wrench_index)
        names = [model.body(i).name for i in range(model.nbody)]
        self._bodies = {name: i for i, name in enumerate(names) if name in links}
        self._mass = np.zeros((model.nv, model.nv))
        self._chosen = np.ix_(self.v_index, self.v_index)
        self.release()

    @property
    def q(self) -> Array:
        """Joint positions (n,) [rad], a copy."""
        return self._qpos[self._q_places].copy()

    @property
    def v(self) -> Array:
        """Joint velocities (n,) [rad/s], a copy."""
        return self._qvel[self._v_places].copy()

    @property
    def bias(self) -> Array:
        """Torques (n,) of gravity, Coriolis and centrifugal forces in the present
        state [N·m], a copy.
        """
        return self._bias[self._v_places].copy()

    @property
    def torque(self) -> Array:
        """Joint torques (n,) that act [N·m], a copy."""
        return self._applied[self._v_places].copy()

    @torque.setter
    def torque(self, torque: Array) -> None:
        self._applied[self._v_places] = torque

    @property
    def wrench(self) -> Array:
        """Force and torque (6,) by the environment at the sensor, in its axes [N, N·m]."""
        # MuJoCo gives what the parent exerts on the child
        wrench: Array = -self._sensed[self._wrench_places]
        return wrench

    def mass_matrix(self) -> Array:
        """Joint-space inertia (n, n) of the present state [kg·m²], rotors included."""
        self._mujoco.mj_fullM(self.model, self.data, self._mass)
        return np.asarray(self._mass[self._chosen])

    def body(self, link: str) -> int:
        """Number of a link's body, or ModelError."""
        if link not in self._bodies:
            raise unknown(
                "frame", link, (name for name in self._bodies if name != "world"), ModelError
            )
        return self._bodies[link]

    def link_rotation(self, link: str) -> Array:
        """Axes (3, 3) of a link in the base."""
        base = self.data.xmat[self.body(self._config.base)].reshape(3, 3)
        return np.asarray(base.T @ self.data.xmat[self.body(link)].reshape(3, 3))

    def release(self) -> None:
        """End all pushes, and open all brakes."""
        self.pushes: dict[int, Array] = {}
        self._locked = [False] * self._config.n

    def push(self, link: str, force: Array, torque: Array) -> None:
        """Push a link until the next call for it; zeros end the push.

        Args:
            link: Name of the link.
            force: Force (3,) at the link's origin, in base axes [N].
            torque: Torque (3,), in base axes [N·m].

        Raises:
            ConfigError: The force or the torque isn't three finite numbers.
            ModelError: The link is unknown.
        """
        wrench = np.concatenate((force, torque))
        if wrench.shape != (6,) or not is_finite(wrench):
            raise refused("push", wrench, "must be 3 + 3 finite numbers", 6)
        body = self.body(link)
        if self.pushes.pop(body, None) is not None:
            self._pushed[body] = 0.0
        if wrench.any():
            rotation = self.data.xmat[self.body(self._config.base)].reshape(3, 3)
            self.pushes[body] = np.concatenate((rotation @ wrench[:3], rotation @ wrench[3:]))

    def apply_pushes(self) -> None:
        """Let the pushes act.

        They act at link origins; MuJoCo takes them at centres of mass, so the lever arm follows the
        link.
        """
        for body, wrench in self.pushes.items():
            force = wrench[:3]
            pushed = self._pushed[body]
            pushed[:3] = force
            pushed[3:] = wrench[3:] + cross(self._origins[body] - self._centres[body], force)

    def lock(self, locked: list[bool]) -> None:
        """Close the brakes (n,) of joints where they are, and open the others."""
        if locked == self._locked:
            return
        for n, (before, after) in enumerate(zip(self._locked, locked, strict=True)):
            if after and not before:
                place = self.q_index[n]
                self.model.eq_data[self._locks[n], 0] = (
                    self.data.qpos[place] - self.model.qpos0[place]
                )
        self.data.eq_active[self._locks] = locked
        self._locked = locked

    def dynamics(self, q: Array, v: Array) -> tuple[Array, Array, Array]:
        data = self._mujoco.MjData(self.model)
        data.qpos[self.q_index] = q
        data.qvel[self.v_index] = v
        self._mujoco.mj_forward(self.model, data)
        self._mujoco.mj_fullM(self.model, data, self._mass)
        bodies = (self.body(name) for name in (self._config.base, self._config.tip))
        base, tip = (make_pose(data.xpos[body], data.xmat[body].reshape(3, 3)) for body in bodies)
        return (
            self._mass[self._chosen],
            np.array(data.qfrc_bias[self.v_index]),
            np.linalg.inv(base) @ tip,
        )


class MujocoWorld:
    """MuJoCo's model and data of one arm, or of several that may touch; they share the time.

    Args:
        mujoco: Module mujoco.
        arms: Configurations of the arms, each with the text of its description.
        rate: Samples per second [Hz].
        physics_step: Longest step of the physics [s].
        scene: Objects that stand around the first arm.
        imperfections: Imperfections of the first arm.

    Attributes:
        model, data: Model and data of MuJoCo.
        substeps: Number of physics steps of a period.

    Raises:
        ConfigError: a rate or step that isn't above 0.
        ModelError: see :func:`.mujoco_scene.compile_model`.
    """

    def __init__(
        self,
        mujoco: Any,
        arms: Sequence[tuple[RobotConfig, str]],
        rate: float,
        physics_step: float,
        scene: Scene,
        imperfections: Imperfections | None = None,
    ) -> None:
        for name, value, unit in (("rate", rate, "Hz"), ("physics_step", physics_step, "s")):
            if not (math.isfinite(value) and value > 0.0):
                raise refused(name, value, f"must be above 0 {unit}", (0.0, math.inf))
        self._mujoco = mujoco
        self._robot, _ = arms[0]
        self.substeps = math.ceil(1.0 / (rate * physics_step) - 1e-9)
        self.model = compile_model(mujoco, arms, 1.0 / (rate * self.substeps), scene, imperfections)
        if imperfections is not None:
            set_imperfections(mujoco, self.model, self._robot, imperfections)
        self._imperfections = imperfections
        self.data = mujoco.MjData(self.model)
        # how often each kind came; MuJoCo counts in this memory
        self._warnings = self.data.warning.number
        self._motors: list[JointMotors] = []
        self._grippers: list[MujocoGripper] = []

    def add(self, motors: JointMotors, gripper: MujocoGripper | None) -> None:
        """Let motors drive the joints of an arm, and its gripper those of the fingers."""
        self._motors.append(motors)
        if gripper is not None:
            self._grippers.append(gripper)

    def reset(self) -> None:
        """Go back to time 0: all arms at rest at their starts, held, objects in place."""
        mujoco = self._mujoco
        model = self.model
        data = self.data
        mujoco.mj_resetData(model, data)
        for motors in self._motors:
            motors.place()
        for gripper in self._grippers:
            gripper.reset()
        mujoco.mj_forward(model, data)
        if self._imperfections is not None and self._imperfections.has_gears:
            settle(mujoco, model, data, self._robot, self._imperfections)
        for motors in self._motors:
            motors.begin()
        mujoco.mj_forward(model, data)

    def advance(self, steps: int) -> None:
        """Advance the physics under the last commands.

        Raises:
            HardwareFault: the physics diverged.
        """
        steady = not self._grippers  # whether the torques are the same in all steps
        for motors in self._motors:
            steady = steady and motors.hold_torque()
        if steady:
            self._mujoco.mj_step(self.model, self.data, steps)
        else:
            self._advance_stepwise(steps)
        self._check()

    def _advance_stepwise(self, steps: int) -> None:
        """Advance the physics where torques follow from the state of each step."""
        mujoco = self._mujoco
        model = self.model
        data = self.data
        for _ in range(steps):
            for gripper in self._grippers:
                gripper.step(model.opt.timestep)
            mujoco.mj_step1(model, data)  # inertia and bias of the present state, for the motors
            for motors in self._motors:
                motors.actuate()
            mujoco.mj_step2(model, data)
        for motors in self._motors:
            motors.end_period(steps)
        for gripper in self._grippers:
            gripper.update()

    def drive(self, motors: JointMotors, torque: Array, dt: float) -> None:
        """Advance the physics by a step [s] under torques (n,) [N·m] that these motors don't limit.

        Raises:
            HardwareFault: the physics diverged.
        """
        option = self.model.opt
        period_step = option.timestep
        option.timestep = dt
        self._mujoco.mj_step1(self.model, self.data)
        motors.apply(torque)
        self._mujoco.mj_step2(self.model, self.data)
        option.timestep = period_step
        self._check()

    def _check(self) -> None:
        if any(self._warnings.tolist()):
            kinds = self._mujoco.mjtWarning
            found = [kinds(i).name for i, number in enumerate(self._warnings) if number]
            raise HardwareFault(
                f"the physics diverged at t = {self.data.time:.3f} s: {', '.join(found)}"
            )


def _run_of(places: NDArray[np.int64]) -> NDArray[np.int64] | slice:
    """Places (k,) as a slice where they follow each other, which takes half the time to read."""
    first = int(places[0])
    if np.array_equal(places, np.arange(first, first + len(places))):
        return slice(first, first + len(places))
    return places
