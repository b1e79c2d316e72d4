"""A compliant arm as a Gymnasium environment, in a simulation or running."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np

from robot_control_ros import Array, HardwareFault, Robot, Snapshot, load_scene
from robot_control_ros.client.simulated_backend import SimulatedBackend
from robot_control_ros.core.errors import refused, unknown
from robot_control_ros.core.spatial import make_pose, rotation_exp
from robot_control_ros.robot.inverse_kinematics import solve_pose

from .policy_spaces import ROTATION_BOX, PolicyAction, PolicyObservation
from .tasks import TASKS, Progress

FAILED = -100.0  # reward of a step in which a fault or too much force ends the episode
LEAST_PERIOD = 0.02  # s between two states of the robot


class ComplianceEnv(gymnasium.Env[dict[str, Any], Any]):
    """A policy moves the target of an arm's tip in steps. The arm follows it under its law.

    An action has numbers from -1 to 1. The first three displace the target along the base's axes;
    1 is the task's `step` [m]. With `rotation` three more turn it about these axes; 1 is 0.05 rad.
    With `stiffness` there are as many numbers again, for the stiffness along these axes. There -1
    is 50 N/m or 5 N·m/rad, and 1 is 2000 N/m or 100 N·m/rad, in equal ratios. With a `chunk` above
    1 the action has so many rows. One step does them one after the other, and adds their rewards.

    The target's displacement counts from the start of the tip. It stays within the task's `box`.

    An observation has these arrays, in base axes: `pose` (9,) the tip's position [m], its x axis
    and its y axis; `twist` (6,) [m/s, rad/s]; `wrench` (6,) by the environment on the tip [N, N·m],
    zeros without a sensor; `q`, `v` (n,) of the joints [rad, rad/s]; `target` (6,) the target's
    displacement [m, rad]; `goal` (k,) of the task.

    Some tasks end an episode at success. A fault, or more than `max_force`, ends it with a reward
    of -100. Simulated episodes of one seed are equal to the last bit.

    Args:
        task: Name of the task: reach, follow, press or peg_in_hole. :mod:`.tasks` describes them.
        robot: Name or path of a robot to simulate, or a Robot. A Robot stays open when the
            environment closes. A reset moves it to the start, along z first; the scene around it is
            not changed.
        law, gains, imperfections: Arguments of :meth:`robot_control_ros.Robot.simulated`, for a
            simulated robot.
        stiffness, rotation, chunk: Parts of the action.
        period: Duration of a step [s]; at least 0.02.
        max_force: Measured force at the tip that ends an episode [N].

    Attributes:
        robot: Robot that acts.
        task: Task of the environment.
        period: Duration of a step [s].

    Raises:
        ConfigError, ModelError: An argument is refused.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # type: ignore[misc]

    def __init__(
        self,
        task: str = "reach",
        robot: str | Robot = "ur5e",
        law: str = "impedance",
        gains: Mapping[str, Any] | None = None,
        *,
        imperfections: Any = None,
        stiffness: bool = False,
        rotation: bool = False,
        chunk: int = 1,
        period: float = 0.04,
        max_force: float = 80.0,
        render_mode: str | None = None,
    ) -> None:
        if task not in TASKS:
            raise unknown("task", task, TASKS)
        limits = {
            "chunk": (chunk, 1),
            "period": (period, LEAST_PERIOD),
            "max_force": (max_force, 1.0),
        }
        for name, (value, least) in limits.items():
            if not value >= least:
                raise refused(name, value, f"must be at least {least:g}", least)
        if render_mode is not None:
            raise refused(
                "render_mode", render_mode, "must be None: watch it on the page, or in a record"
            )
        self.render_mode = None
        self.task = TASKS[task]()
        self.period = period
        scene = load_scene(self.task.scene) if self.task.scene else None
        self._simulated: SimulatedBackend | None = None
        if isinstance(robot, str):
            self._simulated = SimulatedBackend(robot, law, gains, scene, imperfections, None, False)
            robot = Robot(backend=self._simulated)
        self.robot = robot
        self._max_force = max_force
        config = robot.config
        self._model = robot.model
        self._scene_start = self._model.at(np.array(config.home)).pose
        if scene is not None and scene.start is not None:
            self._scene_start = scene.start
        self._observation = PolicyObservation(config, self._model, self.task.goal_bound)
        self._action = PolicyAction(self.task.step, rotation, stiffness, chunk)
        self.observation_space = self._observation.space
        self.action_space = self._action.space
        self._box = np.array([*self.task.box, *[ROTATION_BOX] * 3])
        if stiffness and "stiffness" not in robot.gains:
            raise unknown("gain", "stiffness", robot.gains, hint=f"; the law is {robot.law}")
        self._first_stiffness = np.array(robot.gains["stiffness"]) if stiffness else None
        self._start = self._scene_start  # pose of the tip at the beginning of the episode
        self._target = np.zeros(6)  # displacement of the target from there [m, rad]
        self._began = 0.0  # time of the robot at the beginning of the episode [s]
        self._due = 0.0  # time of the robot at which the period ends [s]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode, as Gymnasium defines it. No options are known.

        Raises:
            HardwareFault, NotReached: The running robot doesn't reach its start.
        """
        super().reset(seed=seed)
        start = make_pose(
            self.task.begin(self.np_random, self._scene_start[:3, 3]), self._scene_start[:3, :3]
        )
        if self._simulated is None:
            self._return(start)
        else:
            config = self.robot.config
            q = solve_pose(self._model, start, np.array(config.home), np.array(config.axes))
            self._simulated.restart(q, int(self.np_random.integers(2**32)))
        self._start = start
        self._target = np.zeros(6)
        state = self.robot.state
        self._began = state.time
        self._due = state.time
        progress = self.task.progress(state, 0.0)
        return self._observed(state, progress), self._info(progress)

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Move the target, wait, and observe, as Gymnasium defines it. The registration has the
        time limit.

        Raises:
            StaleStateError: The running controller is gone.
        """
        total = 0.0
        for displacement, stiffness in self._action.read(action):
            self._target = np.clip(self._target + displacement, -self._box, self._box)
            failure = self._advance(stiffness)
            state = self.robot.state
            progress = self.task.progress(state, state.time - self._began)
            failure = failure or self._overload(state)
            total += FAILED if failure else progress.reward
            if failure or progress.ended:
                break
        info = self._info(progress)
        if failure:
            info.update(failure=failure, success=False)
        return self._observed(state, progress), total, bool(failure or progress.ended), False, info

    def close(self) -> None:
        """Release a simulated robot. A running one stays open, and holds its target."""
        if self._simulated is not None:
            self.robot.close()

    def _advance(self, stiffness: Array | None) -> str:
        """Send the target, wait one period, and return the words of a fault, or an empty text."""
        self._due = max(self._due + self.period, self.robot.time)  # a missed period is left out
        position = self._start[:3, 3] + self._target[:3]
        rotation = np.asarray(rotation_exp(self._target[3:]) @ self._start[:3, :3])
        try:
            self.robot.set_target(make_pose(position, rotation), self._all_axes(stiffness))
            self.robot.wait_until(lambda state: state.time >= self._due - 1e-9)
        except HardwareFault as error:
            return str(error)
        return self.robot.fault

    def _all_axes(self, stiffness: Array | None) -> Array | None:
        """Stiffness (6,) for the law: the action's along its axes, the first one along the others.

        It is None where actions have no stiffness.
        """
        if stiffness is None or self._first_stiffness is None:
            return None
        gain = self._first_stiffness.copy()
        gain[: len(stiffness)] = stiffness
        return gain

    def _overload(self, state: Snapshot) -> str:
        """The words of a failure if the force at the tip is too large, or an empty text."""
        force = float(np.linalg.norm(state.wrench[:3]))
        if force > self._max_force:  # NaN, without a sensor, is never above
            return f"{force:.0f} N at the tip: must be at most {self._max_force:g} N"
        return ""

    def _return(self, start: Array) -> None:
        """Move a running robot to a pose with its first stiffness, and zero its wrench."""
        robot = self.robot
        if self._first_stiffness is not None:
            robot.set_gains(stiffness=self._first_stiffness)
        above = robot.pose
        above[2, 3] = start[2, 3]
        robot.move_to(above)
        robot.move_to(start)
        robot.zero_wrench()

    def _observed(self, state: Snapshot, progress: Progress) -> dict[str, Any]:
        """The observation of a state."""
        return self._observation.read(state, self._target, progress.goal)

    def _info(self, progress: Progress) -> dict[str, Any]:
        """The info of a step: time since the beginning [s], success, and error."""
        return {
            "time": self.robot.time - self._began,
            "success": progress.success,
            "error": progress.error,
        }
