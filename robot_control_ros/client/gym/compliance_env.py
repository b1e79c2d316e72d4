"""A compliant arm as a Gymnasium environment, in a simulation or running."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np

from ...core.errors import HardwareFault, refused, unknown
from ...core.spatial import make_pose, rotation_exp
from ...core.types import Array
from ...robot.inverse_kinematics import solve_pose
from ...simulation.scene import load_scene
from ..robot import Robot
from ..simulated_backend import SimulatedBackend
from ..snapshot import Snapshot
from .policy_spaces import ROTATION_BOX, PolicyAction, PolicyObservation
from .tasks import TASKS, Progress

FAILED = -100.0  # reward of what ends an episode by a fault or by too much force
LEAST_PERIOD = 0.02  # s, of the states


class ComplianceEnv(gymnasium.Env[dict[str, Any], Any]):
    """The target of a compliant arm's tip is moved in steps; the arm follows it under its law.

    Action, each number from -1 to 1: the displacement of the target, (3,) along the base's axes, 1 being the task's
    `step` [m]; with `rotation` (6,), about them, 1 being 0.05 rad. With `stiffness` as many numbers more: the stiffness
    along these axes, -1 being 50 N/m or 5 N·m/rad and 1 being 2000 N/m or 100 N·m/rad, in equal ratios. With a `chunk`
    of k > 1 the action has k rows; they are done one after the other, and their rewards are added.

    The target counts from the start of the tip. It stays within the task's `box` there.

    Observation, each array in base axes: `pose` (9,) the tip's position [m], its x axis and its y axis; `twist` (6,)
    [m/s, rad/s]; `wrench` (6,) by the environment on the tip [N, N·m], zeros without a sensor; `q`, `v` (n,) of the
    joints [rad, rad/s]; `target` (6,) its displacement from the start [m, rad]; `goal` (k,) of the task.

    An episode ends with success in some tasks, and with -100 by a fault or by more than `max_force`. Of one seed the
    simulated episodes are equal to the last bit.

    Args:
        task: reach, follow, press or peg_in_hole: see :mod:`.tasks`.
        robot: name or path of one to simulate; or a Robot, which runs and stays yours to close. Motions then bring it
            to the start, along z first. Nothing is done to the scene around it.
        law, gains, imperfections: of the simulated robot, see :meth:`~..robot.Robot.simulated`.
        stiffness, rotation, chunk: of the action.
        period: of a step [s]; at least 0.02.
        max_force: measured at the tip, that ends an episode [N].

    Attributes:
        robot: that acts.

    Raises:
        ConfigError, ModelError: an argument is refused.
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
        limits = {"chunk": (chunk, 1), "period": (period, LEAST_PERIOD), "max_force": (max_force, 1.0)}
        for name, (value, least) in limits.items():
            if not value >= least:
                raise refused(name, value, f"must be at least {least:g}", least)
        if render_mode is not None:
            raise refused("render_mode", render_mode, "must be None: watch it on the page, or in a record")
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
        self._first = self._model.at(np.array(config.home)).pose
        if scene is not None and scene.start is not None:
            self._first = scene.start
        self._observation = PolicyObservation(config, self._model, self.task.goal_bound)
        self._action = PolicyAction(self.task.step, rotation, stiffness, chunk)
        self.observation_space = self._observation.space
        self.action_space = self._action.space
        self._box = np.array([*self.task.box, *[ROTATION_BOX] * 3])
        if stiffness and "stiffness" not in robot.gains:
            raise unknown("gain", "stiffness", robot.gains, hint=f"; the law is {robot.law}")
        self._stiffness = np.array(robot.gains["stiffness"]) if stiffness else None
        self._start = self._first
        self._target = np.zeros(6)
        self._began = self._due = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode; see Gymnasium. No options are known.

        Raises:
            HardwareFault, NotReached: the running robot doesn't reach its start.
        """
        super().reset(seed=seed)
        start = make_pose(self.task.begin(self.np_random, self._first[:3, 3]), self._first[:3, :3])
        if self._simulated is None:
            self._return(start)
        else:
            config = self.robot.config
            q = solve_pose(self._model, start, np.array(config.home), np.array(config.axes))
            self._simulated.restart(q, int(self.np_random.integers(2**32)))
        self._start = start
        self._target = np.zeros(6)
        state = self.robot.state
        self._began = self._due = state.time
        return self._seen(state, progress := self.task.progress(state, 0.0)), self._info(progress)

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Move the target, wait, look; see Gymnasium. The time limit is the registration's.

        Raises:
            StaleStateError: the running controller is gone.
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
        return self._seen(state, progress), total, bool(failure or progress.ended), False, info

    def close(self) -> None:
        """Release a simulated robot; a running one stays open, and holds its target."""
        if self._simulated is not None:
            self.robot.close()

    def _advance(self, stiffness: Array | None) -> str:
        """One period under the target; returns the fault that ended it, or nothing."""
        self._due = max(self._due + self.period, self.robot.time)  # a period that was missed is left out
        pose = make_pose(
            self._start[:3, 3] + self._target[:3], np.asarray(rotation_exp(self._target[3:]) @ self._start[:3, :3])
        )
        try:
            self.robot.set_target(pose, self._full(stiffness))
            self.robot.wait_until(lambda state: state.time >= self._due - 1e-9)
        except HardwareFault as error:
            return str(error)
        return self.robot.fault

    def _full(self, stiffness: Array | None) -> Array | None:
        """The law's whole gain, (6,), of that along some axes."""
        if stiffness is None or self._stiffness is None:
            return None
        full = self._stiffness.copy()
        full[: len(stiffness)] = stiffness
        return full

    def _overload(self, state: Snapshot) -> str:
        force = float(np.linalg.norm(state.wrench[:3]))  # NaN without a sensor: never above
        return f"{force:.0f} N at the tip: must be at most {self._max_force:g} N" if force > self._max_force else ""

    def _return(self, start: Array) -> None:
        """Bring a running robot to a pose, along z first, with its first stiffness and a new zero of the wrench."""
        robot = self.robot
        if self._stiffness is not None:
            robot.set_gains(stiffness=self._stiffness)
        above = robot.pose
        above[2, 3] = start[2, 3]
        robot.move_to(above)
        robot.move_to(start)
        robot.zero_wrench()

    def _seen(self, state: Snapshot, progress: Progress) -> dict[str, Any]:
        return self._observation.read(state, self._target, progress.goal)

    def _info(self, progress: Progress) -> dict[str, Any]:
        return {"time": self.robot.time - self._began, "success": progress.success, "error": progress.error}
