"""A law of one's own, in place of a simulator's joint control callback: one file, outside the package.

In this folder, as the controller's law (with control at the rate of the physics it is called at each physics step):

    robot_control simulate --law joint_callback_law:JointCallback --set spring=300 --push 20 0 0

or within the simulated drives, called at each physics step whatever the controller's rate, with the controller's
position command as its target:

    simulate("ur5", "admittance", rate=100.0, joint_law="joint_callback_law:JointCallback")

What the callback of a simulator gets joint by joint, a law gets for all joints at once, as arrays (n,):

    callback             here
    init                 self.passes == 0: no call since reset()
    revolute, cyclic     kin.model.revolute, kin.model.cyclic
    pass count           self.passes: calls since reset(); modulo the physics steps per command it is the callback's
    current position     state.q
    target position      reference.q
    error                error, the short way round where the joint is cyclic
    effort               state.effort
    step size            dt
    position limits      kin.model.limits.lower, kin.model.limits.upper
    target velocity      reference.v
    maximum effort       kin.model.limits.effort
    velocity limit       kin.model.limits.velocity
    (velocity)           state.v

It gives back a Command: EFFORT, or VELOCITY, which a motor reaches as far as its effort limit allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from robot_control_ros.gains import JOINT, gain
from robot_control_ros.model import Kinematics
from robot_control_ros.types import Array, Command, CommandMode, Reference, RobotState


class JointCallback:
    """A spring and a damper in each joint, the arm's weight carried."""

    @dataclass(frozen=True, eq=False)
    class Gains:
        """What can be tuned while the law runs."""

        spring: Array = gain(100.0, size=JOINT, unit="N·m/rad", upper=2000.0, doc="Spring; 0 lets go.")
        damper: Array = gain(10.0, size=JOINT, unit="N·m·s/rad", upper=200.0, doc="Damper; 0 lets the arm swing.")
        gravity: float = gain(True, doc="Compensate gravity; off where the robot does it itself.")

    mode: ClassVar[CommandMode] = CommandMode.EFFORT
    joint_space: ClassVar[bool] = True  # reference.q, v and a are always there

    def __init__(self) -> None:
        self.terms: dict[str, Array] = {}
        self.passes = 0

    def reset(self, state: RobotState, kin: Kinematics) -> None:
        """Forget the past: the next call is the first."""
        self.passes = 0

    def compute(self, state: RobotState, kin: Kinematics, reference: Reference, gains: Gains, dt: float) -> Command:
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
