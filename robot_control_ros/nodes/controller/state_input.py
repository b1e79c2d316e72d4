"""Makes one sample of the robot from the joint states and the sensor's wrench."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from geometry_msgs.msg import WrenchStamped

from ...core.errors import ConfigError
from ...core.types import Array, RobotState, Wrench
from ...robot.configuration import RobotConfig
from ...robot.model import RobotModel
from ...ros.messages import read_wrench, seconds
from ...ros.robot_states import RobotStateReader
from ...sensing.sample_age import ANOTHER_TIME, SampleAge
from ...sensing.sensor import SensorReadings
from ...sensing.wrench import check_wrench

REPEATED = 0.1  # s for which a wrench may come again before that is told
# s; wrench stamps that go back by more are those of a clock that was set back, else of a late copy
SET_BACK = 0.5


class StateInput:
    """Reads joint states, and adds the last wrench to them.

    Args:
        robot: Configuration of the robot. Its profile says what efforts are, and how long joint
            states may stay the same.
        model: Model of the robot, with the frames that a wrench may come in.
        clock: Function that returns the present time, by the clock of the stamps [s].

    Raises:
        ConfigError: A further sensor of the profile can't be used.

    Attributes:
        sent: Last joint state as it was sent, its efforts in the driver's unit; None before the
            first.
        readings: Numbers of the profile's further sensors.
        old_wrench: Reason why the wrenches that come are no new ones; empty where they are new.
    """

    def __init__(self, robot: RobotConfig, model: RobotModel, clock: Callable[[], float]) -> None:
        self._profile = robot.profile
        self._model = model
        self._clock = clock
        self._reader = RobotStateReader(robot)
        self._age = SampleAge()
        self._factor = robot.profile.effort_factor
        self._as_sent = robot.profile.joint_effort == "torque"
        self._lacks_gravity = robot.profile.joint_effort == "torque_without_gravity"
        self.readings = SensorReadings(robot.profile.sensors)
        self.sent: RobotState | None = None
        self._wrench: Wrench | None = None
        self.old_wrench = ""
        # stamp and values of the last fresh wrench
        self._wrench_stamp = 0.0
        self._wrench_values = b""
        self._wrench_changed = math.inf  # time of the joint states when its values were new [s]
        self._told = False  # True once the note on the driver's clock was returned
        # positions, velocities and efforts of the last joint state, and since when they are so
        self._content = b""
        self._changed = 0.0

    def read(self, message: bytes, arrived: float, executing: bool) -> RobotState | None:
        """The sample of a joint state's message; None where it names none of the robot's joints.

        Args:
            message: Serialised sensor_msgs/JointState, as it came.
            arrived: Time of its arrival, by the steady clock [s].
            executing: True while the robot executes commands; else its joint states may stay the
                same.

        Raises:
            ConfigError: Joints or numbers are missing, or joint states stay the same for too long.
        """
        state = self._reader.read(message)
        if state is None:
            return None
        self._check_change(state, arrived, executing)
        wrench = self._wrench
        if wrench is not None and wrench.time is None:
            # Its age counts from the first joint state after it: the sensor may have another clock.
            wrench = replace(wrench, time=state.time)
            self._wrench = wrench
        self.sent = state
        effort = state.effort if self._as_sent else self._torque(state)
        late = self._age.late(state.time, self._clock(), arrived)
        sensors = self.readings.at(arrived) if self.readings.names else None
        sample = state.time, state.q, state.v, effort, wrench
        return RobotState(*sample, age=late, sensors=sensors)

    def _torque(self, state: RobotState) -> Array:
        """The whole joint torques (n,) [N·m]; NaN where they aren't known."""
        if self._lacks_gravity:
            return np.asarray(state.effort + self._model.at(state.q).gravity)
        return np.asarray(self._factor * state.effort)

    def on_wrench(self, message: WrenchStamped) -> None:
        """Take a wrench over; one that isn't new keeps the age of the one before.

        It is new where its stamp differs from the last one. Without a stamp its values must differ.
        Values that stay the same to the last bit under new stamps are old after
        `wrench_frozen_after` of the profile. Copies that come late, by their stamps, are dropped.

        Raises:
            ConfigError: Its numbers aren't finite, or no wrench was new for 0.1 s.
            ModelError: Its frame is unknown; the message lists the frames.
        """
        frames = self._profile.wrench_frames
        frame = message.header.frame_id
        wrench = read_wrench(message.wrench, frames.get(frame, frame))
        check_wrench(wrench, self._model)
        stamp = seconds(message.header.stamp)
        last = self._wrench
        values = np.concatenate((wrench.force, wrench.torque)).tobytes()
        if last is None or self.sent is None:
            self._wrench = wrench
            self._wrench_stamp = stamp
            self._wrench_values = values
            return
        now = self.sent.time
        same_values = values == self._wrench_values
        taken = now if last.time is None else last.time
        if not (same_values and self._wrench_changed <= now):
            self._wrench_values = values
            self._wrench_changed = now
        if now < taken or not (reason := self._why_old(stamp, same_values, now)):
            self._wrench = wrench
            self._wrench_stamp = stamp
            self.old_wrench = ""
            return
        if stamp == self._wrench_stamp:
            self._wrench = replace(wrench, time=last.time)
        if now - taken > REPEATED:
            self.old_wrench = f"the wrench {reason}; has the sensor's driver stopped?"
            raise ConfigError(self.old_wrench, name="wrench", value=stamp, bound=self._wrench_stamp)

    def _why_old(self, stamp: float, same_values: bool, now: float) -> str:
        """Reason why a wrench is no new one; empty where it is new."""
        frozen_after = self._profile.wrench_frozen_after
        same_for = now - self._wrench_changed
        if 0.0 < frozen_after < same_for:
            return f"is the same to the last bit for {same_for:.3f} s: must change within {frozen_after:g} s"
        if stamp == 0.0:
            return (
                "has no stamp, and always the same values: must have a stamp" if same_values else ""
            )
        if self._wrench_stamp - SET_BACK < stamp <= self._wrench_stamp:
            return f"has the stamp {stamp:.9g} s after {self._wrench_stamp:.9g} s: must rise"
        return ""

    def look(self) -> str:
        """Note on the offset of the driver's clock, returned once; else an empty text."""
        offset = self._age.offset
        if self._told or offset == 0.0:
            return ""
        self._told = True
        if abs(offset) > ANOTHER_TIME:
            return "joint states: stamps are no wall time, so nobody can say how late they come"
        return (
            f"joint states: stamps are always {offset * 1e3:+.0f} ms old on arrival: this counts as an offset of the "
            "driver's clock. Let both machines keep the same time (chrony)"
        )

    def allow_rest(self, now: float) -> None:
        """Accept that joint states were the same until `now`, by the steady clock [s]."""
        self._changed = now

    def _check_change(self, state: RobotState, arrived: float, executing: bool) -> None:
        limit = self._profile.frozen_after
        if limit == 0.0:
            return
        derived = self._profile.velocity_filter > 0.0  # these fade, where the positions stand still
        content = np.concatenate(
            (state.q, state.effort) if derived else (state.q, state.v, state.effort)
        ).tobytes()
        if content != self._content:
            self._content = content
            self._changed = arrived
        elif executing and (age := arrived - self._changed) > limit:
            raise ConfigError(
                f"joint states are the same to the last bit for {age:.3f} s: must change within {limit:g} s; "
                "has the driver lost the robot?"
            )
