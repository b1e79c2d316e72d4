"""A law of your own in place of a simulator's joint control callback: one file, outside the
package.

As the controller's law, typed in this folder. Control has the rate of the physics here: each
physics step calls it:

    robot_control simulate --law joint_callback_law:JointCallback --set spring=300 --push 20 0 0

Or within the simulated drives. Each physics step calls it, at any rate of the controller. Its
target is the controller's position command:

    simulate("ur5", "admittance", rate=100.0, joint_law="joint_callback_law:JointCallback")

A simulator calls its callback joint by joint. A law gets all joints at once, as arrays (n,):

    callback             here
    init                 self.passes == 0: no call since reset()
    revolute, cyclic     kin.model.revolute, kin.model.cyclic
    pass count           self.passes: calls since reset(); modulo the physics steps per command it is the callback's
    current position     state.q
    target position      reference.q
    error                error, the shorter way round for a cyclic joint
    effort               state.effort
    step size            dt
    position limits      kin.model.limits.lower, kin.model.limits.upper
    target velocity      reference.v
    maximum effort       kin.model.limits.effort
    velocity limit       kin.model.limits.velocity
    (velocity)           state.v

It returns a Command: EFFORT or VELOCITY. A motor reaches a velocity as far as its effort limit
allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from robot_control_ros import (
    JOINT,
    Array,
    Command,
    CommandMode,
    JointSpaceReference,
    Reference,
    RobotDynamics,
    RobotState,
    gain,
)


class JointCallback:
    """A spring and a damper in each joint; gravity is compensated."""

    @dataclass(frozen=True, eq=False)
    class Gains:
        """What can be tuned while the law runs."""

        spring: Array = gain(
            100.0, size=JOINT, unit="N·m/rad", upper=2000.0, doc="Spring; 0 lets go."
        )
        damper: Array = gain(
            10.0, size=JOINT, unit="N·m·s/rad", upper=200.0, doc="Damper; 0 lets the arm swing."
        )
        gravity: float = gain(True, doc="Compensate gravity; off where the robot does it itself.")

    mode: ClassVar[CommandMode] = CommandMode.EFFORT
    reference: ClassVar[type[Reference]] = JointSpaceReference  # it has q, v and a

    def __init__(self) -> None:
        self.terms: dict[str, Array] = {}
        self.passes = 0

    def reset(self, state: RobotState, kin: RobotDynamics) -> None:
        """Forget the past: the next call is the first."""
        self.passes = 0

    def compute(
        self,
        state: RobotState,
        kin: RobotDynamics,
        reference: JointSpaceReference,
        gains: Gains,
        dt: float,
    ) -> Command:
        """The torques for this physics step."""
        error = reference.q - state.q
        error = np.where(kin.model.cyclic, (error + np.pi) % (2.0 * np.pi) - np.pi, error)
        spring = gains.spring * error
        damper = gains.damper * (reference.v - state.v)
        gravity = gains.gravity * kin.gravity
        self.terms = {"spring": spring, "damper": damper, "gravity": gravity}
        self.passes += 1
        limit = kin.model.limits.effort
        return Command(self.mode, np.clip(spring + damper + gravity, -limit, limit))
