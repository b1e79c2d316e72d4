"""The steps of the demonstration on EtherCAT: enable the drives, set gains, follow a contour."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from sensor_msgs.msg import JointState

from robot_control_ros.client.backend import Diagnosis
from robot_control_ros.client.robot import Robot
from robot_control_ros.client.snapshot import Snapshot
from robot_control_ros.core.errors import ConfigError, HardwareFault, NotReached
from robot_control_ros.core.types import Array
from robot_control_ros.fieldbus.ethercat.topology import Topology
from robot_control_ros.fieldbus.tools.jitter import COLLECT, Jitter, TimingRecorder
from robot_control_ros.recording.mcap_reader import McapMessages
from robot_control_ros.robot.configuration import RobotConfig
from robot_control_ros.ros.messages import read_message
from robot_control_ros.ros.robot_states import RobotStateReader

from .contour_steps import ContourSteps
from .contour_trial import LEAD, ContourTrial, Setting, Track, dead_time

BUS = "ethercat: bus"  # name of the bus's diagnosis
LOOP = "controller: control loop"  # name of the control loop's diagnosis
JOINT_STATES = "/joint_states"
ENABLE_LIMIT = 30.0  # s until the drives are enabled
DIAGNOSED = 10.0  # s: diagnoses come once a second, on a machine that has time
SETTLE = 1.0  # s: five time constants of gains
AFTER = 0.5  # s that are recorded after the contour's last rest
TRIAL = 2.0  # s in which the machine shows whether it keeps the rate
SLOWEST = 0.5  # fraction of cycles on time, below which the machine is too slow
# s: age of a state that reaches this process, so that the path it is told for begins in time
FRESH = 0.2 * LEAD
SHOWN = 0.2  # s between two looks at the progress
RUNNING = 0  # level of the bus's diagnosis while the drives do what is commanded


class ContourSession:
    """A robot on the bus, which follows contours.

    Args:
        robot: Robot that is led.
        topology: Topology of the bus.
        recorder: Recorder of the cycles' times.
        over_topics: True where the law answers joint states on topics, not in the bus's process.

    Attributes:
        warnings: What the controller has said on the way along contours, each with its setting.
    """

    def __init__(
        self,
        robot: Robot,
        topology: Topology,
        recorder: TimingRecorder,
        *,
        over_topics: bool = False,
    ) -> None:
        self.warnings: list[str] = []
        self._robot = robot
        self._over_topics = over_topics
        self._cycle = topology.cycle
        self._dead_time = dead_time(topology)
        self._recorder = recorder
        self._shown_at = -np.inf  # when the progress was shown last [s]
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
        before = self._answered() if self._over_topics else (0, 0)
        time.sleep(TRIAL)
        on_time = self.jitter().on_time
        if on_time < SLOWEST:
            raise self._too_slow(f"{on_time:.0%} of the cycles are on time", on_time, SLOWEST)
        if not self._over_topics:
            return
        answered, missed = np.subtract(self._answered(), before).tolist()
        share = answered / max(answered + missed, 1)
        if share < SLOWEST:
            text = f"{share:.0%} of the joint states reach the controller in time"
            raise self._too_slow(text, share, SLOWEST)

    def _answered(self) -> tuple[int, int]:
        """Numbers of joint states that the controller has answered, and that were late or lost."""
        values = self.diagnosis(LOOP).values
        return int(values["cycles"]), int(values["missed deadlines"])

    def _too_slow(self, text: str, value: float, bound: float) -> HardwareFault:
        rate = f"this machine is too slow for {1.0 / self._cycle:g} Hz"
        way_out = "end other programs, or give a lower --rate"
        return HardwareFault(f"{rate}: {text}; {way_out}", name="rate", value=value, bound=bound)

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

    def follow(
        self, trial: ContourTrial, setting: Setting, path: Path, steps: ContourSteps
    ) -> tuple[Track, int]:
        """Follow the contour, and record it; returns the track, and the cycles left out meanwhile.

        Args:
            trial: Trial that has the contour.
            setting: Setting of the law.
            path: Path of the record, a new MCAP file.
            steps: Progress of the demonstration.

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
            steps.begin(f"{setting}: on the bus")
            self._follow(trial, setting, path, steps)
            steps.end()
            track = trial.track(*joint_angles(path, robot.config))
        except (HardwareFault, ConfigError) as error:
            raise HardwareFault(f"{setting}: {error}", name=error.name) from error
        return track, self._left_out() - before

    def _follow(
        self, trial: ContourTrial, setting: Setting, path: Path, steps: ContourSteps
    ) -> None:
        """Follow the contour once, and record it."""
        robot = self._robot
        recording = robot.record(path)
        assert recording is not None  # a file is written
        with recording:
            self._wait_for_fresh_state()
            robot.follow_joints(trial.times, trial.positions, trial.velocities, wait=False)
            begin = robot.time
            end = begin + trial.duration + AFTER

            def ended(state: Snapshot) -> bool:
                now = time.monotonic()
                if now > self._shown_at + SHOWN:
                    self._shown_at = now
                    steps.show(state.time - begin)
                return self._collect_until(state, end, setting)

            robot.wait_until(ended)

    def _wait_for_fresh_state(self) -> None:
        """Wait for a state that isn't old: a path begins by the time of the newest one.

        The start of a record holds this process up. A path that is told late would begin in the
        past, and lead the arm to its present point at once.

        Raises:
            HardwareFault: None comes.
        """
        ages = []

        def is_fresh(state: Snapshot) -> bool:
            ages.append(time.time() - state.time)
            return ages[-1] < FRESH

        try:
            self._robot.wait_until(is_fresh, DIAGNOSED)
        except NotReached as error:
            youngest = min(ages, default=DIAGNOSED)
            text = f"states reach this program {youngest:.2f} s late"
            raise self._too_slow(text, youngest, FRESH) from error

    def _collect_until(self, state: Snapshot, end: float, setting: Setting) -> bool:
        """Collect the cycles' times, whose ring holds some seconds, and what the controller says.

        Returns True where the end has come.
        """
        said = self._robot.diagnostics.get(LOOP)
        if said is not None and said.level != RUNNING:
            warning = f"{setting}: {said.message}"
            if warning not in self.warnings:
                self.warnings.append(warning)
        now = time.monotonic()
        if now > self._collected_at + COLLECT:
            self._collected_at = now
            self._recorder.collect()
        return state.time >= end

    def diagnosis(self, name: str = BUS) -> Diagnosis:
        """Next diagnosis of the bus, or of the part that is named.

        Raises:
            HardwareFault: None comes.
        """
        before = self._robot.diagnostics.get(name)
        end = time.monotonic() + DIAGNOSED
        while (newest := self._robot.diagnostics.get(name)) is before or newest is None:
            if time.monotonic() > end:
                text = f"no diagnosis of {name} within {DIAGNOSED:g} s"
                raise HardwareFault(text, name=name, bound=DIAGNOSED)
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
