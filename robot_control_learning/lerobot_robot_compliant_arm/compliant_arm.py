"""A compliant arm as a LeRobot robot."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from lerobot.cameras import make_cameras_from_configs
from lerobot.robots import Robot
from lerobot.utils.errors import DeviceAlreadyConnectedError, DeviceNotConnectedError

from robot_control_ros import Robot as Arm
from robot_control_ros import RobotModel, load_robot
from robot_control_ros.core.errors import refused, unknown
from robot_control_ros.robot.inverse_kinematics import solve_pose

from .config_compliant_arm import CompliantArmConfig
from .connected_arms import add_arm, remove_arm
from .features import (
    ACTIONS,
    GRIPPER,
    POSE,
    STIFFNESS,
    check_action,
    joint_names,
    observation_names,
    observation_numbers,
    pose_numbers,
    pose_of,
)
from .ray_picture import Capsule, arm_capsules
from .reach_task import COLOR, RADIUS, ReachTask
from .rendered_camera import RenderedCamera

SAME_WIDTH = 1e-4  # m; a smaller change of the gripper's width is no command
TASKS = ("", "reach")


class CompliantArm(Robot):
    """Leads an arm under a controller of robot_control_ros, or a simulated arm.

    An action is a target of the tip, or of the joints. The arm follows it softly, within its
    limits. :mod:`.features` has the names and units.

    Args:
        config: Configuration of the arm.

    Attributes:
        arm: The ``robot_control_ros.Robot``; None while it isn't connected.
        target: Pose (4, 4) of the last action, as it was sent. Before the first one it is where
            the arm was.
        task: The task of a simulated arm; None where it has none.

    Raises:
        ConfigError: The configuration is refused.
    """

    config_class = CompliantArmConfig
    name = "compliant_arm"

    def __init__(self, config: CompliantArmConfig) -> None:
        super().__init__(config)
        self.config = config
        self.cameras = make_cameras_from_configs(config.cameras)
        self.arm: Arm | None = None
        self.target = np.eye(4)
        self.task: ReachTask | None = None
        self._robot = load_robot(config.robot)
        _check(config, self._robot.gripper is not None)
        joints = self._robot.joints
        extra = (STIFFNESS if config.stiffness else ()) + (GRIPPER if config.gripper else ())
        self._names = observation_names(joints, config.observed)
        self._extra = extra
        self._targets = POSE if config.action == "pose" else joint_names(joints)
        self._width = np.nan  # m, of the last command of the gripper
        self._seen: Any = None  # the state of the last observation

    @cached_property
    def observation_features(self) -> dict[str, Any]:
        images = {name: (camera.height, camera.width, 3) for name, camera in self.cameras.items()}
        return {**dict.fromkeys(self._names + self._extra, float), **images}

    @cached_property
    def action_features(self) -> dict[str, Any]:
        return dict.fromkeys(self._targets + self._extra, float)

    @property
    def period(self) -> float:
        """Duration of a frame of a simulation in lockstep [s]; 0 where time follows the clock."""
        return 1.0 / self.config.lockstep if self.config.lockstep else 0.0

    @property
    def is_connected(self) -> bool:
        return self.arm is not None and all(camera.is_connected for camera in self.cameras.values())

    @property
    def is_calibrated(self) -> bool:
        return True

    def calibrate(self) -> None:
        """Do nothing: the arm's own joint angles are used."""

    def connect(self, calibrate: bool = True) -> None:
        """Find the controller, or begin to simulate. Then open the cameras."""
        if self.arm is not None:
            raise DeviceAlreadyConnectedError(f"{self} is already connected")
        config = self.config
        if config.simulated:
            real_time = config.lockstep == 0
            scene = config.scene or None
            self.arm = Arm.simulated(config.robot, scene=scene, real_time=real_time)
        else:
            self.arm = Arm(
                config.robot,
                namespace=config.namespace,
                controller=config.controller,
                domain=config.domain,
            )
        try:
            self.configure()
            for camera in self.cameras.values():
                if isinstance(camera, RenderedCamera):
                    camera.capsules = self._capsules
                camera.connect()
            add_arm(self)
        except BaseException:
            self.disconnect()
            raise

    def configure(self) -> None:
        """Change to the law of the configuration, and begin the task."""
        arm = self._connected()
        if self.config.law:
            arm.set_law(self.config.law)
        state = arm.state
        self._seen = state
        self.target = state.reference_pose
        if self.config.task:
            config = self.config
            self.task = ReachTask(state.pose[:3, 3], state.time, config.seed, config.ball_time)

    def get_observation(self) -> dict[str, Any]:
        """The newest state, and images. Rendered cameras show that state."""
        arm = self._connected()
        state = arm.state
        self._seen = state
        if self.task is not None:
            self.task.observe(state)
        values = observation_numbers(
            state.q, state.v, state.pose, state.wrench, self.config.observed
        ).tolist()
        images = {name: camera.async_read() for name, camera in self.cameras.items()}
        return {**dict(zip(self._names, values, strict=True)), **self._extras(), **images}

    def present_action(self) -> dict[str, float]:
        """The action that leaves the arm with its last target, stiffness and width."""
        return self.tip_action(self.target)

    def tip_action(self, pose: np.ndarray) -> dict[str, float]:
        """The action that brings the tip to a pose (4, 4), and leaves stiffness and width.

        Raises:
            ConfigError: Actions are joint angles, and none of them reach the pose.
        """
        values = pose_numbers(pose) if self.config.action == "pose" else self.joints_at(pose)
        return {**dict(zip(self._targets, values.tolist(), strict=True)), **self._extras()}

    def joints_at(self, pose: np.ndarray) -> np.ndarray:
        """Joint angles (n,) that bring the tip to a pose (4, 4), the nearest to the present."""
        axes = np.array(self._robot.axes)
        q: np.ndarray = solve_pose(self._model, pose, self._connected().q, axes)
        return q

    def send_action(self, action: dict[str, Any]) -> dict[str, Any]:
        """Send a target and return it: within the workspace, and with orthogonal axes.

        Raises:
            ConfigError: The action is refused, and the arm goes on as before. It has other names,
                as those of another arm, or a number isn't finite.
            HardwareFault: The arm doesn't follow its targets any more.
        """
        arm = self._connected()
        check_action(action, list(self.action_features))
        sent = {name: float(value) for name, value in action.items()}
        stiffness = [sent[name] for name in STIFFNESS] if self.config.stiffness else None
        if self.config.action == "pose":
            bounds = arm.settings
            pose = pose_of(sent)
            pose[:3, 3] = np.clip(pose[:3, 3], bounds["workspace.lower"], bounds["workspace.upper"])
            arm.set_target(pose, stiffness)
            sent.update(zip(POSE, pose_numbers(pose).tolist(), strict=True))
        else:
            q = np.array([sent[name] for name in self._targets])
            if stiffness is not None and not np.array_equal(arm.gains["stiffness"], stiffness):
                arm.set_gains(stiffness=stiffness)
            arm.move_to(q=q, wait=False)
            pose = self._model.at(q).pose
        self.target = pose
        if self.config.gripper:
            sent[GRIPPER[0]] = self._move_gripper(sent[GRIPPER[0]])
        if self.config.lockstep:
            arm.wait(self.period)
        return sent

    def disconnect(self) -> None:
        """Close arm and cameras. The arm holds its last target."""
        arm = self._connected()
        self.arm = None
        remove_arm(self)
        for camera in self.cameras.values():
            if camera.is_connected:
                camera.disconnect()
        arm.close()

    @cached_property
    def _model(self) -> RobotModel:
        """Kinematics of the arm, for this thread alone."""
        return RobotModel.of(self._robot)

    def _extras(self) -> dict[str, float]:
        """Stiffness of the law and width of the gripper, as far as the arm has them."""
        arm = self._connected()
        values: dict[str, float] = {}
        if self.config.stiffness:
            stiffness = np.broadcast_to(arm.gains["stiffness"], 6).tolist()
            values.update(zip(STIFFNESS, stiffness, strict=True))
        if self.config.gripper:
            values[GRIPPER[0]] = float(arm.gripper.state.width)
        return values

    def _move_gripper(self, width: float) -> float:
        """Command a width within the fingers' range, and return it [m]."""
        gripper = self._connected().gripper
        widths = gripper.config.widths
        width = float(np.clip(width, widths[-1], widths[0]))
        if not abs(width - self._width) < SAME_WIDTH:
            gripper.move(width, wait=False)
            self._width = width
        return width

    def _capsules(self) -> list[Capsule]:
        """What rendered cameras see: the arm in the last observed state, and the task's ball."""
        capsules = arm_capsules(self._model, self._seen.q, self._seen.pose[:3, 3])
        if self.task is not None:
            capsules.append(Capsule(self.task.center, self.task.center, RADIUS, COLOR))
        return capsules

    def _connected(self) -> Arm:
        """The arm, if it is connected."""
        if self.arm is None:
            raise DeviceNotConnectedError(f"{self} is not connected: call connect() first")
        return self.arm


def _check(config: CompliantArmConfig, has_gripper: bool) -> None:
    """Refuse a configuration that can't be.

    Raises:
        ConfigError: An entry has no such choice, or needs another one.
    """
    if config.action not in ACTIONS:
        raise unknown("action", config.action, ACTIONS)
    if config.task not in TASKS:
        raise unknown("task", config.task, TASKS)
    if config.lockstep < 0:
        raise refused("lockstep", config.lockstep, "must be 0 or more frames in a second", 0)
    if config.lockstep and not config.simulated:
        raise refused("lockstep", config.lockstep, "must be 0: a running arm doesn't wait", 0)
    if config.task and not config.simulated:
        raise refused("task", config.task, "must be empty: a running arm has no simulated ball")
    if not (config.ball_time > 0.0 and np.isfinite(config.ball_time)):
        raise refused("ball_time", config.ball_time, "must be above 0 s", (0.0, np.inf))
    if config.gripper and not has_gripper:
        rule = "must be false: add the gripper to the robot, as in ur5e+robotiq_2f85"
        raise refused("gripper", config.gripper, rule)
