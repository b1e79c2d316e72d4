"""A gripper within MuJoCo's model: the servo of its driven joint, and the joints that follow it.

The mujoco module itself is handed in by :mod:`robot_control_ros.simulation.mujoco_plant`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.types import Array
from ..robot.gripper import Grip, GripMonitor, GripperConfig
from .imperfect.imperfect_arm import STIFF

ROTOR = 0.005  # kg·m² behind the gear of the driven joint
# N·m/rad, N·m·s/rad of its servo
STIFFNESS = 300.0
DAMPING = 3.0
FRICTION_RATIO = 10.0  # of MuJoCo's contacts: else what is held creeps out of the fingers


def add_gripper(mujoco: Any, spec: Any, gripper: GripperConfig) -> None:
    """Add servo and equalities to a model that is not compiled yet."""
    for joint in gripper.joints[1:]:
        kinds = {"type": mujoco.mjtEq.mjEQ_JOINT, "objtype": mujoco.mjtObj.mjOBJ_JOINT}
        names = {"name": joint.name, "name1": joint.name, "name2": gripper.joint}
        equality = spec.add_equality(**names, **kinds, **STIFF)
        equality.data[:2] = joint.offset, joint.multiplier
    spec.joint(gripper.joint).armature = ROTOR
    gain = np.zeros(10)
    bias = np.zeros(10)
    gain[0] = STIFFNESS
    bias[1] = -STIFFNESS
    bias[2] = -DAMPING
    spec.add_actuator(
        name=gripper.joint,
        target=gripper.joint,
        trntype=mujoco.mjtTrn.mjTRN_JOINT,
        gaintype=mujoco.mjtGain.mjGAIN_FIXED,
        gainprm=gain,
        biastype=mujoco.mjtBias.mjBIAS_AFFINE,
        biasprm=bias,
        forcelimited=mujoco.mjtLimited.mjLIMITED_TRUE,
        forcerange=[-1.0, 1.0],
    )
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = FRICTION_RATIO


class MujocoGripper:
    """The fingers of a simulated gripper; they keep their last command, whatever happens to the
    arm.

    Attributes:
        config: Configuration of the gripper.
        target: Position that the driven joint was sent to [rad or m].
        ready, refusal: True and empty: commands are always taken, see
            :class:`~..robot.gripper.Fingers`.
    """

    ready = True
    refusal = ""

    def __init__(self, model: Any, data: Any, gripper: GripperConfig) -> None:
        self.config = gripper
        self._data = data
        self._actuator = model.actuator(gripper.joint).id
        self._places = [(int(model.joint(each.name).qposadr[0]), each) for each in gripper.joints]
        self._place, _ = self._places[0]  # of the driven joint
        self._dof = int(model.joint(gripper.joint).dofadr[0])
        self._positions: Array = data.qpos  # MuJoCo's own memory, as the following
        self._velocities: Array = data.qvel
        self._forces: Array = data.actuator_force
        self._targets: Array = data.ctrl
        self._limits: Array = model.actuator_forcerange
        self._monitor = GripMonitor(gripper)

    @property
    def grip(self) -> Grip:
        grip = self._monitor.grip
        return self.update() if grip is None else grip

    @property
    def joint_state(self) -> tuple[float, float, float]:
        """Position [rad or m], velocity and effort of the driven joint."""
        position = float(self._positions[self._place])
        velocity = float(self._velocities[self._dof])
        return position, velocity, float(self._forces[self._actuator])

    def command(self, position: float, force: float) -> None:
        """Send the driven joint to a position, with a force of each finger [N].

        Raises:
            ConfigError: one of them is out of range; the last command stays.
        """
        target = self.config.check_position(position)
        force = self.config.check_force(force)
        self.target = target
        self._force = force
        self._monitor.command(target)

    def reset(self) -> None:
        """Open the fingers, at rest."""
        opened = self.config.positions[0]
        for place, joint in self._places:
            self._positions[place] = joint.offset + joint.multiplier * opened
        self._targets[self._actuator] = opened
        self.command(opened, self.config.default_force)

    def step(self, dt: float) -> None:
        """Lead the servo to the target at the gripper's speed.

        Called before a physics step of `dt` [s].
        """
        lever = self.config.lever(float(self._positions[self._place]))
        limit = self._force * lever
        most = self.config.speed / lever * dt
        self._limits[self._actuator] = -limit, limit
        present = float(self._targets[self._actuator])
        self._targets[self._actuator] = present + min(max(self.target - present, -most), most)

    def update(self) -> Grip:
        """Take the present state in, once a period."""
        position, _, effort = self.joint_state
        return self._monitor.update(float(self._data.time), position, effort)
