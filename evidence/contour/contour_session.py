"""The steps of the demonstration on EtherCAT: enable the drives, set gains, follow a contour."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from sensor_msgs.msg import JointState

from robot_control_ros.client.backend import Diagnosis
from robot_control_ros.client.robot import Robot
from robot_control_ros.client.snapshot import Snapshot
from robot_control_ros.core.errors import ConfigError, HardwareFault
from robot_control_ros.core.types import Array
from robot_control_ros.fieldbus.ethercat.topology import Topology
from robot_control_ros.fieldbus.tools.jitter import COLLECT, Jitter, TimingRecorder
from robot_control_ros.recording.mcap_reader import McapMessages
from robot_control_ros.robot.configuration import RobotConfig
from robot_control_ros.ros.messages import read_message
from robot_control_ros.ros.robot_states import RobotStateReader

from .contour_trial import ContourTrial, Setting, Track, dead_time

BUS = "ethercat: bus"  # name of the bus's diagnosis
JOINT_STATES = "/joint_states"
ENABLE_LIMIT = 30.0  # s until the drives are enabled
DIAGNOSED = 10.0  # s: diagnoses come once a second, on a machine that has time
SETTLE = 1.0  # s: five time constants of gains
AFTER = 0.5  # s that are recorded after the contour's last rest
TRIAL = 2.0  # s in which the machine shows whether it keeps the rate
SLOWEST = 0.5  # fraction of cycles on time, below which the machine is too slow
RUNNING = 0  # level of the bus's diagnosis while the drives do what is commanded


class ContourSession:
    """A robot on the bus, which follows contours.

    Args:
        robot: Robot that is led.
        topology: Topology of the bus.
        recorder: Recorder of the cycles' times.
    """

    def __init__(self, robot: Robot, topology: Topology, recorder: TimingRecorder) -> None:
        self._robot = robot
        self._cycle = topology.cycle
        self._dead_time = dead_time(topology)
        self._recorder = recorder
        self._collected_at = time.monotonic()  # when the times were collected last [s]

    def enable(self) -> None:
        """Enable the drives.

        Raises:
            ConfigError: The bus refuses.
            HardwareFault: The drives don't run within 30 s; the error has their words.
        """
        self._robot.request("ethercat/enable")
        end = time.monotonic() + ENABLE_LIMIT
        while (bus := self.diagnosis()).level != RUNNING:
            if time.monotonic() > end:
                text = f"the drives aren't enabled within {ENABLE_LIMIT:g} s: {bus.message}"
                raise HardwareFault(text, bound=ENABLE_LIMIT)

    def check_speed(self) -> None:
        """Let the drives hold the arm for a while.

        Raises:
            HardwareFault: This machine is too slow for the rate.
        """
        time.sleep(TRIAL)
        on_time = self.jitter().on_time
        if on_time < SLOWEST:
            text = (
                f"this machine is too slow for {1.0 / self._cycle:g} Hz: "
                f"{100.0 * on_time:.0f} % of the cycles are on time; end other programs, or give a lower --rate"
            )
            raise HardwareFault(text, name="rate", value=on_time, bound=SLOWEST)

    def jitter(self) -> Jitter:
        """Timing of all cycles since the recorder began."""
        values = self.diagnosis().values
        self._recorder.collect()
        return Jitter(
            self._cycle,
            self._recorder.all(),
            missed=int(values["cycles left out"]),
            lost_frames=int(values["lost frames"]),
            bad_counters=int(values["wrong working counters"]),
            late_frames=int(values["late frames"]),
            priority=0,
            unrecorded=self._recorder.unrecorded,
        )

    def follow(self, trial: ContourTrial, setting: Setting, path: Path) -> tuple[Track, int]:
        """Follow the contour, and record it; returns the track, and the cycles left out meanwhile.

        Args:
            trial: Trial that has the contour.
            setting: Setting of the law.
            path: Path of the record, a new MCAP file.

        Raises:
            ConfigError: The law refuses the gains.
            HardwareFault: The drives or the law were stopped, as on a machine that stalls. Or the
                arm isn't at the contour's end.
        """
        robot = self._robot
        robot.set_gains(setting.gains(self._dead_time))
        robot.wait(SETTLE)
        before = self._left_out()
        try:
            self._follow(trial, path)
            track = trial.track(*joint_angles(path, robot.config))
        except (HardwareFault, ConfigError) as error:
            raise HardwareFault(f"{setting}: {error}", name=error.name) from error
        return track, self._left_out() - before

    def _follow(self, trial: ContourTrial, path: Path) -> None:
        """Follow the contour once, and record it."""
        robot = self._robot
        recording = robot.record(path)
        assert recording is not None  # a file is written
        with recording:
            robot.follow_joints(trial.times, trial.positions, trial.velocities, wait=False)
            end = robot.time + trial.duration + AFTER
            robot.wait_until(lambda state: self._collect_until(state, end))

    def _collect_until(self, state: Snapshot, end: float) -> bool:
        """Collect the cycles' times, whose ring holds some seconds; say
        whether the end has come.
        """
        now = time.monotonic()
        if now > self._collected_at + COLLECT:
            self._collected_at = now
            self._recorder.collect()
        return state.time >= end

    def diagnosis(self) -> Diagnosis:
        """Next diagnosis of the bus.

        Raises:
            HardwareFault: None comes.
        """
        before = self._robot.diagnostics.get(BUS)
        end = time.monotonic() + DIAGNOSED
        while (newest := self._robot.diagnostics.get(BUS)) is before or newest is None:
            if time.monotonic() > end:
                raise HardwareFault(
                    f"no diagnosis of the bus within {DIAGNOSED:g} s", bound=DIAGNOSED
                )
            time.sleep(0.02)
        return newest

    def _left_out(self) -> int:
        return int(self.diagnosis().values["cycles left out"])


def joint_angles(path: Path, robot: RobotConfig) -> tuple[Array, Array]:
    """Times (k,) [s] and joint angles (k, n) [rad] of all joint states in a record."""
    reader = RobotStateReader(robot)
    messages = McapMessages(path, (JOINT_STATES,))
    states = [reader.read_message(read_message(data, JointState)) for _, _, data in messages]
    read = [state for state in states if state is not None]
    times = np.array([state.time for state in read])
    return times, np.array([state.q for state in read]).reshape(len(read), robot.n)
