"""A robot on a field bus, led without ROS: the law runs in the bus's process."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..control.controller import set_posture, zero_wrench
from ..control.motion_commands import JOG_LASTS
from ..control.requests import Value
from ..control.state_blocks import state_blocks
from ..core.errors import ConfigError, HardwareFault, RobotControlError
from ..core.types import Array
from ..fieldbus.process.bus_monitor import REPORT_PERIOD
from ..fieldbus.process.client import BusClient, BusSettings
from ..fieldbus.process.diagnosis import diagnose
from ..fieldbus.process.remote_loop import RemoteLoop
from ..fieldbus.supervisor import Action
from ..laws.running_law import RunningLaw
from ..robot.configuration import load_robot
from ..ros.periodic import Periodic
from .backend import Diagnosis
from .loop_parameters import LoopParameters
from .snapshot import Snapshot
from .state_feed import StateFeed

STATE_PERIOD = 0.02  # s between two states, as the controller's
TIME_CONSTANT = 0.2  # s in which gains are taken over, as the controller's
ENABLED_WITHIN = 10.0  # s for the drives to do what the law commands
POLL = 0.01  # s between two looks whether they do
STOPPED = (Action.DISABLE, Action.QUICK_STOP)


class BusBackend:
    """See :class:`~.backend.RobotBackend`: starts the bus's process, and the law in it.

    The drives are disabled until :meth:`enable`. They stop when this is closed, and when its
    process ends.

    Args:
        settings: Settings of the bus's process.
        law: Name of the law, or ``package.module:Class``.
        gains: Gains of the law by name; by default its own.

    Raises:
        ConfigError: unknown robot, law or bus; or the drives aren't those of the settings.
        HardwareFault: the bus doesn't start.
    """

    concurrent = True
    simulated = False
    record_topics = None
    gripper = None

    def __init__(
        self, settings: BusSettings, law: str, gains: Mapping[str, Any] | None = None
    ) -> None:
        self.config = load_robot(settings.robot, settings.profile)
        RunningLaw(self.config, law, gains)  # what is wrong with it is told before the bus starts
        self.feed = StateFeed()
        self._lock = threading.RLock()  # of the loop
        self._asking = threading.Lock()  # of requests to the driver
        self._client = BusClient(replace(settings, in_process=True))
        try:
            report = self._client.wait_until_ready()
            self.config = self.config.at_rate(1.0 / report["period"])
            running = RunningLaw(self.config, law, gains, TIME_CONSTANT)
            self._loop = RemoteLoop(
                self.config,
                running,
                None,
                TIME_CONSTANT,
                name=settings.robot,
                path=self._client.path,
            )
        except RobotControlError:
            self._client.close()
            raise
        self.model = self._loop.model
        self._parameters = LoopParameters(lambda: self._loop)
        self._laws = {law: running}
        self._keeping = Periodic(self.step, "robot on a bus")
        try:
            self._loop.reset()
            self.step()
        except RobotControlError:
            self._close_bus()
            raise
        self._keeping.start()

    # --- what it measures and does ---

    @property
    def law(self) -> str:
        return self._loop.running.name

    @property
    def diagnostics(self) -> dict[str, Diagnosis]:
        """Newest report of the bus and of each drive, by name."""
        report = self._client.report()
        status = self._client.status()
        if status is None or "drives" not in report:
            return {}
        return {
            each.name: Diagnosis(each.level, each.message, each.values)
            for each in diagnose(report, status, self._client.timing)
        }

    @property
    def process_number(self) -> int:
        """Number of the bus's process (PID)."""
        return self._client.process_number

    def parameters(self) -> dict[str, Value]:
        with self._lock:
            return self._parameters.values()

    def clock(self) -> float:
        return time.monotonic()

    def advance(self, seen: Snapshot | None, limit: float) -> None:
        self.feed.wait(seen, limit)

    def step(self) -> float:
        """Take what the loop has reported, and show that this process lives; returns a pause [s].

        A thread calls it again and again.
        """
        with self._lock:
            try:
                self._take()
                fault = self._fault()
            except RobotControlError as error:
                fault = str(error)
            self.feed.fail(HardwareFault(fault) if fault else None)
        return STATE_PERIOD

    def _take(self) -> None:
        """Take the newest state.

        Raises:
            RobotControlError: the bus's process has ended, reports nothing, or refuses a setting.
        """
        self._client.check()
        status = self._client.status()
        if status is None:
            return
        before = self._loop.state
        command = self._loop.tick(status.state)
        self.feed.touch(self._loop.contact.found)
        if self._loop.state is not before:
            blocks = state_blocks(self._loop, command)
            self.feed.put(Snapshot.of({name: each.copy() for name, each in blocks.items()}))

    def _fault(self) -> str:
        """Reason why the robot doesn't follow its targets; empty where it does, or where nobody
        has enabled it yet.
        """
        report = self._client.report()
        if report.get("stopped"):
            return f"the drives were stopped: {'; '.join(report['causes'])}"
        return self._loop.fault or self._loop.report().contact.message

    # --- what it shall do ---

    def move_to(self, pose: Array) -> float:
        with self._lock:
            self._loop.motion.move_to(pose)
            return time.time()  # the bus's process stamps states so

    def move_joints_to(self, q: Array) -> float:
        with self._lock:
            self._loop.motion.move_joints_to(q)
            return time.time()

    def follow_joints(self, times: Array, positions: Array, velocities: Array | None) -> float:
        with self._lock:
            self._loop.motion.follow_joints(times, positions, velocities)
            return time.time()

    def follow_joint_chunk(self, times: Array, positions: Array, start: float | None) -> float:
        with self._lock:
            self._loop.motion.follow_joint_chunk(times + self._until(start), positions)
            return time.time()

    def follow_tip_chunk(self, times: Array, poses: Array, start: float | None) -> float:
        with self._lock:
            self._loop.motion.follow_tip(times + self._until(start), poses)
            return time.time()

    def _until(self, start: float | None) -> float:
        """Time from the newest state to the start of a chunk [s]."""
        assert self.feed.newest is not None
        return 0.0 if start is None else start - self.feed.newest.time

    def set_posture(self, q: Array) -> float:
        with self._lock:
            set_posture(self._loop, q)
            return time.time()

    def jog(self, twist: Array) -> None:
        with self._lock:
            self._loop.motion.jog(twist, JOG_LASTS)

    def push(self, force: Array) -> None:
        raise ConfigError("push: nobody simulates this robot: push it by hand", name="push")

    def hold(self) -> None:
        with self._lock:
            self._loop.motion.hold()

    def interrupt(self) -> None:
        with suppress(RobotControlError):
            self.hold()

    def set_parameters(self, values: Mapping[str, Value]) -> None:
        with self._lock:
            self._parameters.change(values)
            self._take()  # with the next tick they are sent

    def set_law(self, name: str) -> None:
        with self._lock:
            if name not in self._laws:
                self._laws[name] = RunningLaw(self.config, name, time_constant=TIME_CONSTANT)
            law = self._laws[name]
            if law is not self._loop.running:
                law.gains.finish()
                self._loop.switch_law(law)

    def zero_wrench(self) -> str:
        with self._lock:
            return zero_wrench(self._loop)

    def clear_contact(self) -> str:
        with self._lock:
            return self._loop.contact.clear()

    def save_cycles(self, path: Path, seconds: float) -> None:
        raise ConfigError(
            "save_cycles: the law runs in the bus's process, which keeps no cycles; record() writes "
            "states",
            name="save_cycles",
        )

    def request(self, service: str) -> str:
        """Request something of the driver: enable, disable, quick_stop, reset_fault, …; a name
        with a node in front, such as ``ethercat/enable``, is the same.

        `enable` waits until the drives do what the law commands.
        """
        name = service.rpartition("/")[2]
        with self._asking:  # not the other lock: the thread has to show that this process lives
            answer = self._client.request(name)
            if name == "enable":
                before = self._client.status()
                self._wait_until_enabled(0 if before is None else before.cycle)
        return answer

    def _wait_until_enabled(self, since: int) -> None:
        """Wait until drives run that were asked to in a later cycle than `since`, and the report
        says so.

        Raises:
            HardwareFault: they are stopped before, or don't run in time.
        """
        until = time.monotonic() + ENABLED_WITHIN
        while time.monotonic() < until:
            status = self._client.status()
            stopped = self._client.report().get("stopped", False)
            if status is not None and status.action is Action.RUN and not stopped:
                self.step()
                return
            if status is not None and status.action in STOPPED and status.cycle > since + 2:
                time.sleep(2.0 * REPORT_PERIOD)
                message = self._client.report().get("message", "")
                raise HardwareFault(f"the drives aren't enabled: {message}", name="enable")
            time.sleep(POLL)
        message = self._client.report().get("message", "")
        raise HardwareFault(
            f"the drives aren't enabled within {ENABLED_WITHIN:g} s: {message}",
            name="enable",
            bound=ENABLED_WITHIN,
        )

    def close(self) -> None:
        """Stop the drives, and end the bus's process."""
        self._keeping.stop()
        with self._lock:
            self._close_bus()
        self.feed.fail(HardwareFault("the robot was closed"))

    def _close_bus(self) -> None:
        with suppress(RobotControlError):  # the process has ended: it has stopped the drives
            self._loop.stop()
        self._loop.close()
        self._client.close()
