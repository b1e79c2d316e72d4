"""One object for a running controller, whatever stands behind it, and for a simulation in this process."""

from __future__ import annotations

import math
import os
import weakref
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..control.motion_commands import JOG_LASTS
from ..control.payload_input import figures_of, robot_note
from ..core.errors import NotReached, RobotControlError, missing_extra, refused, unknown
from ..core.types import CommandMode
from ..laws import law_class
from ..recording.file_recording import LARGEST, FileRecording
from ..robot.configuration import equipped
from ..robot.payload import Payload
from ..ros.process_environment import environment
from ..simulation.log import Log
from .backend import RobotBackend, Value
from .goals import finite, joint_goal, tip_goal, tip_target
from .recording.state_channel import record_robot
from .robot_readings import RobotReadings
from .snapshot import Snapshot
from .state_recording import StateRecording
from .user_callbacks import Callbacks
from .waiting import held_on_interrupt, wait_for

MAX_DOMAIN = 232  # of ROS: beyond it Fast DDS ends the process
LOST_AFTER = 0.4  # s; a call then ends within 0.5 s


class Robot(RobotReadings):
    """A robot under a law, led from Python::

        with Robot("ur5") as robot:
            robot.set_gains(stiffness=300.0)
            robot.move_to(robot.pose[:3, 3] + (0.0, 0.0, 0.1))

    Poses are in the base. A call that waits ends with the fault that stops the robot, as HardwareFault, or as
    StaleStateError within 0.5 s where the controller is gone. A Ctrl-C in such a call holds the robot.

    Args:
        name: of the robot, which the controller must have; empty takes what it has.
        namespace: of the controller; that of an arm of a work cell is the arm's name where it is empty.
        controller: name of its node.
        domain: of ROS; None takes ROS_DOMAIN_ID.
        timeout: to find the controller [s].
        lost_after: time without a sign of life after which the controller counts as gone [s].
        backend: what to lead in place of a controller over ROS.

    Attributes:
        close: ends the connection, as the end of a ``with`` block does; the robot goes on as it is.

    Raises:
        ConfigError: rclpy isn't installed, the controller isn't active, or has another robot.
        StaleStateError: there is no such controller; names the others.
    """

    def __init__(
        self,
        name: str = "",
        *,
        namespace: str = "",
        controller: str = "controller",
        domain: int | None = None,
        timeout: float = 10.0,
        lost_after: float = LOST_AFTER,
        backend: RobotBackend | None = None,
    ) -> None:
        backend = backend or _over_ros(name, namespace, controller, domain, timeout, lost_after)
        super().__init__(backend)
        self._callbacks = Callbacks(backend.concurrent)
        self._recording = StateRecording()
        self._files: list[FileRecording] = []
        self.close = weakref.finalize(self, _close, os.getpid(), backend, self._callbacks, self._files)
        backend.feed.listeners += [self._recording.take, self._callbacks.take]

    @classmethod
    def simulated(
        cls,
        name: str = "ur5",
        law: str = "impedance",
        gains: Mapping[str, Any] | None = None,
        *,
        scene: Any = None,
        imperfections: Any = None,
        push: Any = None,
        gripper: str = "",
        real_time: bool = False,
    ) -> Robot:
        """The same on a simulation in this process.

        It is simulated while a call waits, as fast as it goes, and stands still otherwise: so a script gives the same
        each time. In real time it goes on by itself.

        Args:
            name, law, gains, scene, imperfections, push: see :func:`~..simulation.in_process.simulate`.
            gripper: on its tip: a name, or the path of a YAML file.
            real_time: whether simulated time follows the clock.

        Raises:
            ConfigError, ModelError: an argument is refused.
        """
        from .simulated_backend import SimulatedBackend

        name = equipped(name, gripper)
        return cls(backend=SimulatedBackend(name, law, gains, scene, imperfections, push, real_time))

    def __enter__(self) -> Robot:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # --- motion ---

    def move_to(self, pose: Any = None, *, q: Any = None, wait: bool = True, timeout: float = 30.0) -> Snapshot:
        """Move to a pose or to joint angles, within the robot's limits; returns the state there.

        It waits until the reference is at the goal and the arm rests; for 2 s at most where the arm doesn't rest.
        An arm that can't get there ends the wait early, and is held: its way is blocked for 1 s, or it rests more than
        50 mm or 0.2 rad away, or more than 5 mm or 0.02 rad from a pose that is beyond reach.

        Args:
            pose: (4, 4), or (3,) a position, to which the rotation of the reference is kept.
            q: (n,) joint angles [rad] in place of it.
            wait: False returns once the target is taken.
            timeout: [s]; after it the robot holds.

        Raises:
            ConfigError: the controller refuses the target.
            NotReached: in time, or because the arm can't get there, or another target or a hold took its place.
        """
        if (pose is None) == (q is None):
            raise refused("pose, q", None if pose is None else "both", "exactly one must be given")
        backend = self._backend
        with held_on_interrupt(backend):
            faults = backend.feed.faults
            goal = tip_goal(backend, pose) if q is None else joint_goal(backend, q)
            if not wait:
                return self.state
            try:
                return wait_for(backend, goal.reached, timeout, faults, "the goal")
            except NotReached:
                if self.state.moving or goal.arrived is not None:
                    backend.interrupt()
                raise

    def set_target(self, pose: Any, stiffness: Any = None) -> None:
        """A target of a stream, as often as you like; returns once it is taken.

        Args:
            pose: see :meth:`move_to`.
            stiffness: a gain that goes with it; nothing is sent where it is the present one. A change costs a service
                call, and acts with `gain_time_constant`.

        Raises:
            ConfigError: one of the two is refused; then neither the target nor the stiffness is changed, where it is
                the stiffness.
        """
        with held_on_interrupt(self._backend):
            if stiffness is not None:
                present = self._backend.parameters().get("stiffness")
                if not _is_set(_value("stiffness", stiffness), present):
                    self.set_gains(stiffness=stiffness)
            self._backend.move_to(tip_target(self._backend, pose))

    def jog(self, twist: Any, duration: float = 0.0) -> None:
        """Move with a twist (6,), base axes [m/s, rad/s], for `duration`, or for 0.2 s without waiting."""
        twist = finite("twist", twist, (6,))
        with held_on_interrupt(self._backend):
            self._backend.jog(twist)
            end = self.time + duration
            while (left := end - self.time) > JOG_LASTS / 2.0:
                self.wait(JOG_LASTS / 2.0)
                self._backend.jog(twist)
            self.wait(left)

    def hold(self) -> None:
        """Hold the robot where it is; a motion brakes."""
        self._backend.hold()

    def save_cycles(self, path: str | Path, seconds: float = 60.0) -> Path:
        """Write the last control cycles, of a minute at most, to a new MCAP file; returns its path.

        They are at the full rate, and may be replayed: see ``robot_control replay --help``.

        Raises:
            ConfigError: the file is there, or can't be written; the controller runs on another machine, or refuses.
        """
        if not (math.isfinite(seconds) and seconds > 0.0):
            raise refused("seconds", seconds, "must be above 0 s", (0.0, math.inf))
        self._backend.save_cycles(Path(path), seconds)
        return Path(path)

    def go_home(self, wait: bool = True, timeout: float = 30.0) -> Snapshot:
        """Move the joints to the robot's home; see :meth:`move_to`."""
        return self.move_to(q=self.config.home, wait=wait, timeout=timeout)

    # --- gains, law, sensor ---

    def set_gains(self, values: Mapping[str, Any] | None = None, **named: Any) -> None:
        """Change gains of the law and settings, all or none, as in ``set_gains(stiffness=300.0, damping_ratio=1.0)``.

        Raises:
            ConfigError: one is refused; its name, value and bound are those of the error.
        """
        given = {name: _value(name, value) for name, value in {**(values or {}), **named}.items()}
        known = self._backend.parameters()
        for name in given:
            if name not in known:
                raise unknown("gain", name, known)
        if given:
            with held_on_interrupt(self._backend):
                self._backend.set_parameters(given)

    def set_law(self, name: str) -> None:
        """Go on with another law, without a jump; ConfigError where it is refused."""
        with held_on_interrupt(self._backend):
            self._backend.set_law(name)

    def set_payload(self, mass: float, center: Any = 0.0, inertia: Any = 0.0) -> str:
        """Tell what the tip carries from now on, as after a grasp; the arm goes on without a jump.

        Args:
            mass: [kg]; 0 takes the payload away.
            center: (3,) centre of gravity in the tip's frame [m].
            inertia: (6,) about it along the tip's axes: xx, yy, zz, xy, xz, yz [kg·m²]; one number for the first three.

        Returns:
            What has to be done besides, where the robot compensates gravity itself; else an empty text.

        Raises:
            ConfigError: no body is like that, or the joints can't hold it at this posture.
        """
        payload = Payload(mass, center, inertia)
        self.set_gains({f"payload.{name}": value for name, value in figures_of(payload).items()})
        return robot_note(self.config)

    def zero_wrench(self) -> str:
        """Make the present wrench zero; returns what was done, with a warning where the arm moves."""
        with held_on_interrupt(self._backend):
            return self._backend.zero_wrench()

    # --- waiting ---

    def wait(self, duration: float) -> Snapshot:
        """Wait by the robot's clock [s]; returns the state then."""
        end = self.time + duration
        with held_on_interrupt(self._backend):
            return wait_for(self._backend, lambda state: state.time >= end - 1e-9)

    def wait_until(self, condition: Callable[[Snapshot], Any], timeout: float = np.inf) -> Snapshot:
        """Wait for a state with a condition, and return it; NotReached after a time-out [s]."""
        with held_on_interrupt(self._backend):
            return wait_for(self._backend, condition, timeout)

    def clear_contact(self) -> str:
        """End the reaction to a contact, so that the robot takes targets again; returns what was cleared."""
        with held_on_interrupt(self._backend):
            return self._backend.clear_contact()

    def on_contact(self, callback: Callable[[Snapshot], object], force: float | None = None) -> None:
        """Call with the state at each new contact; `contact` then says where and how hard.

        Args:
            callback: gets the newest state.
            force: a bound of the measured force [N], in place of the controller's detection. It needs a wrist sensor.
        """
        self._callbacks.on_contact(callback, force)

    def on_fault(self, callback: Callable[[RobotControlError], object]) -> None:
        """Call with the error when the robot doesn't follow its targets any more."""
        self._callbacks.on_fault(callback)

    def on_stop(self, callback: Callable[[Snapshot], object]) -> None:
        """Call with the state when a motion of the reference ends, at its goal or before."""
        self._callbacks.on_stop(callback)

    # --- recording ---

    def record(self, path: str | Path | None = None, *, largest: int = LARGEST) -> FileRecording | None:
        """Keep each state from now on, and forget those that were kept before; or write a file.

        Args:
            path: of a new file, which is written until the result is closed, or the robot. A file that ends in .csv
                has the states, in the columns of the log. Any other is an MCAP file: it has the states and, of a
                running controller, each topic that it uses.
            largest: bytes of one file, after which the next one begins: run.mcap, run_1.mcap.

        Raises:
            ConfigError: mcap isn't installed, or the file is there, or can't be written.
        """
        if path is None:
            self._recording.restart(self.time)
            return None
        recording = record_robot(self._backend, path, largest)
        self._files.append(recording)
        recording.on_close.callback(self._files.remove, recording)
        return recording

    def log(self) -> Log:
        """What was recorded; its times count from the call of :meth:`record`.

        Raises:
            ConfigError: nothing was.
        """
        mode = self.gains.get("output") or law_class(self.law).mode
        return Log.of(self.config.joints, CommandMode(mode), self._recording.samples, self.limits)


def _over_ros(
    name: str, namespace: str, controller: str, domain: int | None, timeout: float, lost_after: float
) -> RobotBackend:
    """A controller over ROS; wheels of ROS find their parts by a variable that nobody sets."""
    if find_spec("rclpy") is None:
        raise missing_extra("a running robot", "rclpy", "ros")
    if domain is not None and domain not in range(MAX_DOMAIN + 1):
        raise refused("domain", domain, f"must be a whole number from 0 to {MAX_DOMAIN}", (0, MAX_DOMAIN))
    if path := environment().get("AMENT_PREFIX_PATH"):
        os.environ["AMENT_PREFIX_PATH"] = path
    from .ros_backend import RosBackend

    return RosBackend(name, namespace, controller, domain, timeout, lost_after)


def _close(process: int, backend: RobotBackend, callbacks: Callbacks, files: list[FileRecording]) -> None:
    if process != os.getpid():
        return  # a forked process ends: the robot is its parent's
    callbacks.close()
    try:
        for each in tuple(files):
            each.close()
    finally:
        backend.close()


def _is_set(value: Value, present: Value | None) -> bool:
    """Whether a gain has a value, or has it for each of its numbers."""
    return value == present or (isinstance(present, tuple) and present == (value,) * len(present))


def _value(name: str, value: Any) -> Value:
    """A gain's value as plain Python; a matrix row by row."""
    if isinstance(value, (bool, str)):
        return value
    try:
        numbers = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise refused(name, value, "must be a number, several numbers, true, false or a word") from error
    return float(numbers) if numbers.ndim == 0 else tuple(numbers.ravel().tolist())
