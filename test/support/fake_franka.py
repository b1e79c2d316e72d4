"""A Franka robot in lockstep, without network: it counts what it is sent as the robot does."""

from collections import deque

import numpy as np

from robot_control_ros.core.errors import ConfigError, HardwareFault
from robot_control_ros.core.types import CommandMode
from robot_control_ros.fieldbus.franka.error_words import describe_errors
from robot_control_ros.fieldbus.franka.franka_connection import (
    FlangeBody,
    FrankaSample,
    FrankaSettings,
    MotionEnded,
)
from robot_control_ros.fieldbus.franka.limits import PERIOD, velocity_limits

HOME = np.array([0.0, -0.7854, 0.0, -2.3562, 0.0, 1.5708, 0.7854])
NOTHING = FlangeBody(0.0, np.zeros(3), np.zeros((3, 3)))
LOST = 20  # commands in a row whose loss ends a motion
INERTIA = np.array([1.0, 1.0, 0.8, 0.8, 0.2, 0.2, 0.2])


class FakeFranka:
    """Joints that don't feel each other, in weightlessness; a stepped clock of milliseconds.

    Attributes:
        time: Time of the clock [s].
        drops: For each next state False where it doesn't come.
        skips: For each next state how many milliseconds pass before it.
        collisions: Thresholds that were set.
        load, end_effector: Bodies on the flange.
        log: Names of what was asked for.
    """

    def __init__(self):
        self.time = 0.0
        self.drops = deque()
        self.skips = deque()
        self.collisions = None
        self.load = NOTHING
        self.end_effector = NOTHING
        self.stiffness_frame = np.eye(4)
        self.log = []
        self.commands = []
        self.deaf_to_load = False
        self.lost_connection = ""
        self.push = np.zeros(7)  # N·m
        self.wrench = np.zeros(6)
        self.mode = "Idle"
        self.errors = ()
        self.motion_errors = ()
        self.q = HOME.copy()
        self.v = np.zeros(7)
        self.taken_torque = np.zeros(7)
        self.taken = (HOME.copy(), np.zeros(7), np.zeros(7))
        self._motion = None
        self._ended = ""
        self._answered = True
        self._unanswered = 0

    def clock(self):
        return self.time

    # --- what the driver calls ---

    def connect(self):
        self.log.append("connect")

    def wait(self, timeout):
        for _ in range(1 + (self.skips.popleft() if self.skips else 0)):
            self._step()
        if self.lost_connection or (self.drops and not self.drops.popleft()):
            self.time += timeout
            return False
        return True

    def read(self):
        if self.lost_connection:
            raise HardwareFault(self.lost_connection)
        if self._ended:
            text = self._ended
            self._ended = ""
            raise MotionEnded(text, value=self.motion_errors)
        return FrankaSample(
            time=round(self.time, 3),
            q=self.q.copy(),
            v=self.v.copy(),
            torque=self.taken_torque.copy(),
            external_torque=self.push.copy(),
            taken_torque=self.taken_torque.copy(),
            taken_q=self.taken[0].copy(),
            taken_v=self.taken[1].copy(),
            taken_a=self.taken[2].copy(),
            wrench=self.wrench.copy(),
            mode=self.mode,
            errors=self.errors,
            motion_errors=self.motion_errors,
            success=1.0,
        )

    def settings(self):
        return FrankaSettings(self.end_effector, self.load, self.stiffness_frame)

    def start(self, mode):
        if self.mode != "Idle":
            raise HardwareFault(f"the robot starts no motion: it is {self.mode}")
        self.log.append(f"start {mode.value}")
        self.mode = "Move"
        self._motion = mode
        self._unanswered = 0
        self._answered = True
        self.taken_torque = np.zeros(7)
        self.taken = (self.q.copy(), np.zeros(7), np.zeros(7))

    def send(self, values):
        self.commands.append(values.copy())
        if self._ended:
            return
        self._answered = True
        if self._motion is CommandMode.EFFORT:
            if np.abs(values - self.taken_torque).max() > 1000.0 * PERIOD + 1e-9:
                return self.end_by("controller_torque_discontinuity")
            self.taken_torque = values.copy()
            return None
        q, v, a = self.taken
        velocity = (values - q) / PERIOD
        acceleration = (velocity - v) / PERIOD
        lowest, highest = velocity_limits(q)
        if (velocity > highest + 2e-3).any() or (velocity < lowest - 2e-3).any():
            return self.end_by("joint_motion_generator_velocity_limits_violation")
        if np.abs(acceleration).max() > 10.0 + 1e-6:
            return self.end_by("joint_motion_generator_velocity_discontinuity")
        if np.abs(acceleration - a).max() / PERIOD > 5000.0 + 1e-3:
            return self.end_by("joint_motion_generator_acceleration_discontinuity")
        self.taken = (values.copy(), velocity, acceleration)
        return None

    def finish(self, values):
        self.log.append("finish")
        self._hold()

    def drop(self):
        self.log.append("drop")
        if self._motion is not None:
            self._hold()

    def set_load(self, load):
        if self.mode != "Idle":
            raise ConfigError("the robot refuses set_load: it moves")
        self.log.append("set_load")
        if not self.deaf_to_load:
            self.load = load

    def set_collision_behavior(self, torque, force):
        self.collisions = torque, force

    def recover(self):
        self.log.append("recover")
        self.errors = ()
        self.mode = "Idle"

    def close(self):
        self.log.append("close")

    # --- what a test does to it ---

    def end_by(self, *names):
        """End the motion as the robot's reflex does."""
        self.motion_errors = names
        self.errors = names
        self._ended = describe_errors(names)
        self._hold()
        self.mode = "Reflex"

    def press_stop(self):
        self._ended = "Move command aborted: User Stop pressed!" if self._motion else ""
        self._hold()
        self.mode = "UserStopped"

    def _hold(self):
        self._motion = None
        self.mode = "Idle"
        self.v = np.zeros(7)
        self.taken_torque = np.zeros(7)
        self.taken = (self.q.copy(), np.zeros(7), np.zeros(7))

    def _step(self):
        """One millisecond."""
        self.time += PERIOD
        if self._motion is None:
            return
        self._unanswered = 0 if self._answered else self._unanswered + 1
        self._answered = False
        if self._unanswered >= LOST:
            return self.end_by("communication_constraints_violation")
        if self._motion is CommandMode.EFFORT:
            self.v += (self.taken_torque + self.push) / INERTIA * PERIOD
            self.q += self.v * PERIOD
            lowest, highest = velocity_limits(self.q)
            if (self.v > highest + 2e-3).any() or (self.v < lowest - 2e-3).any():
                return self.end_by("joint_velocity_violation")
        else:
            self.q = self.taken[0].copy()
            self.v = self.taken[1].copy()
        return None
