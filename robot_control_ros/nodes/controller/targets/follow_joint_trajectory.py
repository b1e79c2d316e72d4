"""The action ``~/follow_joint_trajectory``, where control_msgs is installed. See
docs/controller.md.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from rclpy.task import Future

from ....control.controller import Controller
from ....core.errors import ConfigError, RobotControlError
from ....core.gains import ParameterSet
from ....core.types import Array
from ....ros.entities import Entities
from ....ros.messages import (
    from_stamp,
    numbers,
    read_joint_trajectory,
    seconds,
    to_duration,
    to_stamp,
)
from ....ros.ros_params import TunedParameters
from ....ros.running import told_goal
from .trajectory_goal import (
    INVALID_GOAL,
    SUCCESSFUL,
    Constraints,
    FollowedGoal,
    Outcome,
    TrajectoryGoal,
    bounds_of,
    tolerance_of,
)

FEEDBACK_PERIOD = 0.05  # s between two feedbacks, by the robot's clock


@dataclass(eq=False)
class _Running:
    """A goal that is followed.

    Attributes:
        done: Future of its outcome; None as its result means that the goal was cancelled.
        feedback_at: Stamp of the joint state at the last feedback [s].
    """

    handle: Any
    followed: FollowedGoal
    done: Future
    feedback_at: float = -np.inf


class FollowJointTrajectory:
    """Accepts goals, follows the newest one, and reports its outcome; without control_msgs it does
    nothing.

    Goals are judged after each control cycle. Nothing here blocks: what executes a goal awaits its
    outcome.
    """

    def __init__(
        self,
        entities: Entities,
        loop: Controller,
        parameters: TunedParameters,
        active: Callable[[], bool],
        refuse: Callable[[Exception], None],
    ) -> None:
        self._node = entities.node
        self._loop = loop
        self._active = active
        self._refuse = refuse
        self._running: _Running | None = None
        try:
            from control_msgs.action import FollowJointTrajectory as Action
        except ImportError:
            self._node.get_logger().debug(
                "control_msgs isn't installed: no action ~/follow_joint_trajectory"
            )
            return
        from rclpy.action.server import ActionServer, CancelResponse, GoalResponse

        self._action = Action
        self._accept = GoalResponse.ACCEPT
        self._reject = GoalResponse.REJECT
        self._accept_cancel = CancelResponse.ACCEPT
        self._constraints = ParameterSet(Constraints, loop.robot.n, {})
        entities.tuned(parameters, "constraints", self._constraints, loop.robot.joints)
        server = ActionServer(
            self._node,
            Action,
            "~/follow_joint_trajectory",
            execute_callback=lambda handle: None,  # each goal brings its own
            goal_callback=self._on_goal,
            handle_accepted_callback=self._on_accepted,
            cancel_callback=self._on_cancel,
        )
        entities.on_close(server.destroy)

    def cycle(self) -> None:
        """Judge the goal after a control cycle: end it, or publish feedback."""
        running = self._running
        if running is None:
            return
        if outcome := running.followed.lost():
            self._finish(outcome)
        elif outcome := running.followed.judge():
            if outcome.code != SUCCESSFUL:
                self._loop.motion.hold()
            self._finish(outcome)
        else:
            self._publish_feedback(running)

    def abort(self, reason: str, code: int = INVALID_GOAL) -> None:
        """End the goal that is followed, if there is one; the motion is left to the caller."""
        self._finish(Outcome(code, reason))

    def _finish(self, outcome: Outcome | None) -> None:
        if self._running is not None:
            self._running.done.set_result(outcome)
            self._running = None

    def _on_goal(self, request: Any) -> Any:
        try:
            if not self._active():
                raise ConfigError("the controller is not active: activate it first")
            self._read(request)
        except RobotControlError as error:
            self._refuse(ConfigError(f"goal of follow_joint_trajectory rejected: {error}"))
            return self._reject
        return self._accept

    def _on_accepted(self, handle: Any) -> None:
        done: Future = Future(executor=self._node.executor)
        try:
            goal, path = self._read(handle.request)
            self._loop.motion.follow_joints(*path)
        except RobotControlError as error:  # a limit of the robot: the goal before goes on
            done.set_result(Outcome(INVALID_GOAL, str(error)))
        else:
            self.abort("a newer goal took its place")
            self._running = _Running(handle, FollowedGoal(goal, self._loop), done)

        async def execute(handle: Any) -> Any:
            return self._result(handle, await done)

        handle.execute(told_goal(self._node, execute))

    def _on_cancel(self, handle: Any) -> Any:
        if self._running is not None and self._running.handle == handle:
            with suppress(ConfigError):  # without a fresh state the robot has its safe output
                self._loop.motion.hold()
            self._finish(None)
        return self._accept_cancel

    def _result(self, handle: Any, outcome: Outcome | None) -> Any:
        if outcome is None:
            handle.canceled()
            return self._action.Result()
        if outcome.code == SUCCESSFUL:
            handle.succeed()
        else:
            handle.abort()
        return self._action.Result(error_code=outcome.code, error_string=outcome.text)

    def _read(self, request: Any) -> tuple[TrajectoryGoal, tuple[Array, Array, Array | None]]:
        """The goal, and the path for the loop: times from now [s], positions, velocities."""
        loop = self._loop
        joints = self._loop.robot.joints
        defaults = self._constraints.target
        loop.tip()  # there is a fresh state
        assert loop.state is not None
        now = loop.state.time
        message = request.trajectory
        if request.multi_dof_trajectory.points:
            raise ConfigError(
                "multi_dof_trajectory: this robot's joints have one degree of freedom each"
            )
        times, positions, velocities = read_joint_trajectory(message, joints)
        path = from_stamp(message.header.stamp, now, times, positions, velocities)
        rest = np.zeros(len(joints))
        on_path = bounds_of(joints, request.path_tolerance, defaults.trajectory, rest)
        stopped = rest + defaults.stopped_velocity_tolerance
        at_goal = bounds_of(joints, request.goal_tolerance, defaults.goal, stopped)
        left = tolerance_of(
            "goal_time_tolerance [s]", seconds(request.goal_time_tolerance), defaults.goal_time
        )
        start = seconds(message.header.stamp) or now
        return TrajectoryGoal(joints, loop.model.cyclic, start, times, on_path, at_goal, left), path

    def _publish_feedback(self, running: _Running) -> None:
        state = self._loop.state
        errors = running.followed.errors()
        reference: Any = self._loop.reference
        if state is None or errors is None or state.time - running.feedback_at < FEEDBACK_PERIOD:
            return
        running.feedback_at = state.time
        goal = running.followed.goal
        feedback = self._action.Feedback(joint_names=list(goal.joints))
        feedback.header.stamp = to_stamp(state.time)
        for point, (q, v, a) in (
            (feedback.desired, (reference.q, reference.v, reference.a)),
            (feedback.actual, (state.q, state.v, None)),
            (feedback.error, (*errors, None)),
        ):
            point.time_from_start = to_duration(state.time - goal.start)
            point.positions = numbers(q)
            point.velocities = numbers(v)
            if a is not None:
                point.accelerations = numbers(a)
        if hasattr(feedback, "index"):  # older control_msgs have none
            feedback.index = goal.point(state.time)
        running.handle.publish_feedback(feedback)
