"""A robot under a law in MuJoCo, in this process, without ROS."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..control.controller import set_posture, zero_wrench
from ..control.loop import ControlLoop
from ..control.motion_commands import JOG_LASTS
from ..control.requests import Value
from ..control.state_blocks import state_blocks
from ..control.warm_up import warm_up
from ..core.errors import ConfigError, HardwareFault
from ..core.types import Array
from ..laws.running_law import RunningLaw
from ..recording.cycle_file import CycleWriter, metadata_of
from ..recording.mcap_recording import McapRecording
from ..robot.configuration import load_robot
from ..robot.model import RobotModel
from ..simulation.imperfect.imperfect_plant import ImperfectPlant, arm_and_plant
from ..simulation.imperfect.imperfections import Imperfections
from ..simulation.in_process import Disturbance, Push
from ..simulation.scene import Scene, load_scene
from ..simulation.trouble import warn_of_description
from .backend import PUSH_LASTS, Diagnosis
from .loop_parameters import LoopParameters
from .snapshot import Snapshot
from .state_feed import StateFeed

STATE_RATE = 50.0  # Hz, as the controller's
MAX_BEHIND = 0.1  # s that a slow machine may be behind real time; more is left out


class SimulatedBackend:
    """See :class:`~.backend.RobotBackend` and :meth:`~.robot.Robot.simulated`.

    It simulates only while a call waits; in real time a thread does so all the time.
    """

    simulated = True
    record_topics = None

    def __init__(
        self,
        robot: str,
        law: str,
        gains: Mapping[str, Any] | None,
        scene: str | Scene | None,
        imperfections: str | Imperfections | None,
        push: Push | None,
        real_time: bool,
    ) -> None:
        self.config = load_robot(robot)
        self.feed = StateFeed()
        self.concurrent = real_time
        scene = load_scene(scene) if isinstance(scene, str) else scene
        self._arm, self._plant = arm_and_plant(self.config, imperfections, scene=scene)
        self.model = RobotModel.of(self.config)
        warn_of_description(self.model, self.config)
        self.gripper = self._arm.gripper
        self._law = law
        self._gains = dict(gains or {})
        self._push = push
        self._every = max(1, round(self.config.profile.rate / STATE_RATE))
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self.diagnostics: Mapping[str, Diagnosis] = {}  # nobody reports
        self._pushed_until = math.inf  # by the arm's clock [s]; infinite while nobody pushes
        self._parameters = LoopParameters(lambda: self._loop)
        self._plant.open()
        warm_up(self.config, [law])
        self.restart()
        if real_time:
            self._thread = threading.Thread(
                target=self._keep_pace, name="simulated robot", daemon=True
            )
            self._thread.start()

    @property
    def law(self) -> str:
        return self._loop.running.name

    def parameters(self) -> dict[str, Value]:
        with self._lock:
            return self._parameters.values()

    def clock(self) -> float:
        return time.monotonic() if self.concurrent else self._arm.time

    def advance(self, seen: Snapshot | None, limit: float) -> None:
        if self.concurrent:
            self.feed.wait(seen, limit)
            return
        faults = self.feed.faults
        while self.feed.newest is seen and self.feed.faults == faults and not self._closed.is_set():
            self._cycle()

    def move_to(self, pose: Array) -> float:
        with self._lock:
            self._loop.motion.move_to(pose)
            return _stamp(self._loop)

    def move_joints_to(self, q: Array) -> float:
        with self._lock:
            self._loop.motion.move_joints_to(q)
            return _stamp(self._loop)

    def follow_joints(self, times: Array, positions: Array, velocities: Array | None) -> float:
        with self._lock:
            self._loop.motion.follow_joints(times, positions, velocities)
            return _stamp(self._loop)

    def follow_joint_chunk(self, times: Array, positions: Array, start: float | None) -> float:
        with self._lock:
            self._loop.motion.follow_joint_chunk(times + self._until(start), positions)
            return _stamp(self._loop)

    def follow_tip_chunk(self, times: Array, poses: Array, start: float | None) -> float:
        with self._lock:
            self._loop.motion.follow_tip(times + self._until(start), poses)
            return _stamp(self._loop)

    def _until(self, start: float | None) -> float:
        """Time from the last sample to the start of a chunk [s]."""
        assert self.feed.newest is not None
        return (self.feed.newest.time if start is None else start) - _stamp(self._loop)

    def set_posture(self, q: Array) -> float:
        with self._lock:
            set_posture(self._loop, q)
            return _stamp(self._loop)

    def jog(self, twist: Array) -> None:
        with self._lock:
            self._loop.motion.jog(twist, JOG_LASTS)

    def push(self, force: Array) -> None:
        with self._lock:
            self._arm.push(self.config.tip, force, np.zeros(3))
            self._pushed_until = self._arm.time + PUSH_LASTS

    def hold(self) -> None:
        with self._lock:
            self._loop.motion.hold()

    def interrupt(self) -> None:
        if self.feed.fault is None:
            self.hold()

    def set_parameters(self, values: Mapping[str, Value]) -> None:
        with self._lock:
            self._parameters.change(values)

    def set_law(self, name: str) -> None:
        with self._lock:
            if name not in self._laws:
                self._laws[name] = RunningLaw(self.config, name)
                warm_up(self.config, [name])
            law = self._laws[name]
            if law is not self._loop.running:
                law.gains.finish()
                self._loop.switch_law(law)

    def zero_wrench(self) -> str:
        with self._lock:
            return zero_wrench(self._loop)

    def restart(self, q: Array | None = None, seed: int | None = None) -> None:
        """Begin anew: law, gains and time as in a new one.

        Args:
            q: Joint angles (n,) [rad]; by default where it began.
            seed: Seed of the random numbers of the imperfections, in place of theirs.
        """
        with self._lock:
            self._closed.clear()
            if isinstance(self._plant, ImperfectPlant):
                self._plant.reset(q, seed)
            else:
                self._plant.reset(q)
            self._disturb = Disturbance(self._arm, self.config, self._push)
            self.model.payload = self.config.payload
            self._loop = ControlLoop(self.config, self._law, self._gains, model=self.model)
            self._laws = {self._law: self._loop.running}
            self._count = 0
            self._pushed_until = math.inf
            self._cycle()

    def request(self, service: str) -> str:
        raise ConfigError(f"{service}: a simulation in this process has no services", name=service)

    def clear_contact(self) -> str:
        with self._lock:
            cleared = self._loop.contact.clear()
            self._report()
            return cleared

    def save_cycles(self, path: Path, seconds: float) -> None:
        with self._lock:
            record = self._loop.recorder.last(seconds)
        with McapRecording(path, simulated=True) as recording:
            CycleWriter(recording, self.model.n, metadata_of(self.config, self.model)).put(record)

    def close(self) -> None:
        self._closed.set()
        if self.concurrent and threading.current_thread() is not self._thread:
            self._thread.join()
        self._plant.close()
        self.feed.fail(HardwareFault("the robot was closed"))

    def _cycle(self) -> None:
        """One control cycle; its state is passed on where it is time to."""
        with self._lock:
            try:
                self._end_push()
                self._disturb()
                command = self._loop.tick(self._plant.read())
                self._plant.write(command)
            except HardwareFault as error:
                self._closed.set()
                self.feed.fail(error)
                return
            self._report()
            self._count += 1
            if self._count % self._every == 1 % self._every:
                self.feed.put(
                    Snapshot.of(
                        {
                            name: each.copy()
                            for name, each in state_blocks(self._loop, command).items()
                        }
                    )
                )

    def _end_push(self) -> None:
        """End a push that nobody has renewed."""
        if self._arm.time > self._pushed_until:
            self._arm.push(self.config.tip, np.zeros(3), np.zeros(3))
            self._pushed_until = math.inf

    def _report(self) -> None:
        fault = self._loop.fault or self._loop.contact.message
        self.feed.touch(self._loop.contact.found)
        self.feed.fail(HardwareFault(fault) if fault else None)

    def _keep_pace(self) -> None:
        start = time.monotonic() - self._arm.time
        while not self._closed.wait(self.config.period):
            while (
                behind := time.monotonic() - start - self._arm.time
            ) > 0.0 and not self._closed.is_set():
                if behind > MAX_BEHIND:
                    start += behind
                self._cycle()


def _stamp(loop: ControlLoop) -> float:
    """Stamp of the last sample [s]."""
    assert loop.state is not None
    return loop.state.time
