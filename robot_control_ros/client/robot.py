"""One object for a running controller, and for a simulation in this process."""

from __future__ import annotations

import math
import os
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..control.motion_commands import JOG_LASTS
from ..control.payload_input import figures_of, robot_note
from ..control.requests import SETTINGS, Value
from ..core.errors import (
    ConfigError,
    HardwareFault,
    NotReached,
    RobotControlError,
    missing_extra,
    refused,
    unknown,
)
from ..core.gains import short_names
from ..core.types import Array, CommandMode
from ..laws import law_class
from ..recording.file_recording import LARGEST, FileRecording
from ..robot.configuration import RobotConfig, equipped, load_robot
from ..robot.files import config_names
from ..robot.model import JointLimits, RobotModel
from ..robot.payload import Payload
from ..ros.process_environment import environment
from ..sensing.contact_detector import GUARD, DetectedContact
from ..simulation.log import Log, LogSample
from .backend import PUSH_LASTS, Diagnosis, RobotBackend, told_payload
from .goals import (
    MotionGoal,
    finite,
    send_chunk,
    send_joint_path,
    send_joint_target,
    send_tip_target,
    tip_target,
)
from .recording.state_channel import record_robot
from .robot_gripper import Gripper
from .snapshot import Snapshot
from .state_recording import StateRecording
from .taught_path import TaughtPath
from .user_callbacks import Callbacks
from .waiting import SLICE, held_on_interrupt, wait_for

MAX_DOMAIN = 232  # of ROS: beyond it Fast DDS ends the process
LOST_AFTER = 0.4  # s; a call then ends within 0.5 s
SLOWEST = 0.001  # of the robot's speed: the least that a move can have
# By end of a guarded move: the controller's reaction to its contact.
GUARD_ENDS = {"hold": "brake", "retreat": "retreat", "go on": "none"}
REPLAYED_POINTS = 500  # at most; a controller takes 1000
REPLAY_SPEED = 0.01, 10.0
BEGINS = 0.5  # s before a replayed path begins
REACTION_STATES = 25  # of half a second, in which an arm reacts to a contact
FRANKA = "franka"  # bus and profile of robots with an address
SILENT_CYCLES = 2  # of 20 ms without a state of the robot each, that stop it
REALTIME_PRIORITY = 40  # of the process that keeps their cycles, where it is permitted


class Robot:
    """A robot under a law, led from Python::

        with Robot("ur5") as robot:
            robot.set_gains(stiffness=300.0)
            robot.move_to(robot.pose[:3, 3] + (0.0, 0.0, 0.1))

    Poses are in the base. A call that waits ends with the fault that stops the robot, as
    HardwareFault. It ends as StaleStateError within 0.5 s where the controller is gone. A Ctrl-C in
    it holds the robot.

    Args:
        name: Name of the robot, which the controller must have. Empty takes what it has.
        namespace: Namespace of the controller. Empty takes that of an arm of a work cell: its name.
        controller: Name of the controller's node.
        domain: ROS domain; None takes ROS_DOMAIN_ID.
        timeout: Time to find the controller [s].
        lost_after: Time without a sign of life after which the controller counts as gone [s].
        ip: Address of a robot that this package drives by its maker's library, as a Franka's. It is
            led without ROS: the law runs in a process beside this one, and ends with it. Nothing
            moves before ``request("enable")``.
        law, gains: Law, by default impedance, and its gains, of a robot with an `ip`. A controller
            over ROS has its own.
        backend: Robot that is led in place of a controller over ROS.

    Attributes:
        close: Function that ends the connection, as the end of a ``with`` block does. The robot
            goes on as it is.

    Raises:
        ConfigError: rclpy isn't installed, the controller isn't active, or has another robot.
        StaleStateError: There is no such controller; the error names the others.
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
        ip: str = "",
        law: str = "",
        gains: Mapping[str, Any] | None = None,
        backend: RobotBackend | None = None,
    ) -> None:
        if ip:
            backend = _by_address(name, ip, law or "impedance", gains)
        elif law or gains:
            raise ConfigError(
                "law and gains need the ip of a robot that this package drives; a controller over ROS has its own: "
                "use set_law and set_gains",
                name="law",
                value=law,
            )
        elif backend is None:
            backend = _over_ros(name, namespace, controller, domain, timeout, lost_after)
        self._backend = backend
        self._callbacks = Callbacks(backend.concurrent)
        self._samples: list[LogSample] = []  # what record() keeps
        self._recording = StateRecording(self._samples.append, math.inf)
        self._files: list[FileRecording] = []
        self.close = weakref.finalize(
            self, _close, os.getpid(), backend, self._callbacks, self._files
        )
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
        """Lead a simulation in this process.

        It is simulated while a call waits, as fast as it goes, and stands still otherwise.
        So a script gives the same each time. In real time it goes on by itself.

        Args:
            name, law, gains, scene, imperfections, push: See
                :func:`~..simulation.in_process.simulate`.
            gripper: Gripper on the tip: its name, or the path of a YAML file.
            real_time: True lets simulated time follow the clock.

        Raises:
            ConfigError, ModelError: An argument is refused.
        """
        from .simulated_backend import SimulatedBackend

        name = equipped(name, gripper)
        return cls(
            backend=SimulatedBackend(name, law, gains, scene, imperfections, push, real_time)
        )

    def __enter__(self) -> Robot:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # --- what it measures, and what it is set to; `state` is all of one sample ---

    @property
    def config(self) -> RobotConfig:
        """Configuration of the robot: joints, frames, home."""
        return self._backend.config

    @property
    def model(self) -> RobotModel:
        """Kinematics and dynamics of the robot."""
        return self._backend.model

    @property
    def state(self) -> Snapshot:
        """Newest state, all of one sample; the last one where the robot has been lost."""
        newest = self._backend.feed.newest
        assert newest is not None  # a backend begins with one
        return newest

    @property
    def time(self) -> float:
        """Time of the newest state, by the robot's clock [s]."""
        return self.state.time

    @property
    def pose(self) -> Array:
        """Pose of the tip in the base, a copy (4, 4)."""
        return self.state.pose.copy()

    @property
    def twist(self) -> Array:
        """Twist of the tip (6,), base axes [m/s, rad/s]."""
        return self.state.twist

    @property
    def wrench(self) -> Array:
        """Wrench (6,) by the environment on the tip, base axes [N, N·m]; NaN without one."""
        return self.state.wrench

    @property
    def q(self) -> Array:
        """Joint angles (n,) [rad]."""
        return self.state.q

    @property
    def v(self) -> Array:
        """Joint velocities (n,) [rad/s]."""
        return self.state.v

    @property
    def effort(self) -> Array:
        """Joint torques (n,) [N·m]."""
        return self.state.effort

    @property
    def law(self) -> str:
        """Name of the law that runs."""
        return self._backend.law

    @property
    def gains(self) -> dict[str, Any]:
        """Gains of the law by name; arrays where they have several numbers."""
        parameters = self._backend.parameters().items()
        return {name: _array(value) for name, value in parameters if not name.startswith(SETTINGS)}

    @property
    def settings(self) -> dict[str, Any]:
        """Settings by name, such as ``wrench.…`` and ``workspace.…``."""
        parameters = self._backend.parameters().items()
        return {name: _array(value) for name, value in parameters if name.startswith(SETTINGS)}

    @property
    def payload(self) -> Payload:
        """Payload that the robot was told."""
        return told_payload(self._backend.parameters())

    @property
    def limits(self) -> JointLimits:
        """Limits of the joints; `config.tip_speed` and `config.tip_acceleration` are the tip's."""
        return self._backend.model.limits

    @property
    def gripper(self) -> Gripper:
        """Gripper on the tip; ConfigError where there is none."""
        fingers = self._backend.gripper
        if fingers is None:
            names = config_names("grippers")
            text = f"robot {self.config.name} has no gripper: start it with one; grippers: {', '.join(names)}"
            raise ConfigError(text, name="gripper", bound=tuple(names))
        return Gripper(self._backend, fingers)

    @property
    def fault(self) -> str:
        """Reason why the robot doesn't follow its targets; empty where it does."""
        return str(self._backend.feed.fault or "")

    @property
    def contact(self) -> DetectedContact | None:
        """Last contact that the controller has found; None before the first, and after a clear."""
        return self._backend.feed.contact

    @property
    def diagnostics(self) -> Mapping[str, Diagnosis]:
        """Newest report of each part on /diagnostics, by its name; none in a simulation."""
        return self._backend.diagnostics

    # --- motion ---

    def move_to(
        self,
        pose: Any = None,
        *,
        q: Any = None,
        speed: float | None = None,
        wait: bool = True,
        timeout: float = 30.0,
    ) -> Snapshot:
        """Move to a pose or to joint angles, within the robot's limits; returns the state there.

        It waits until the reference is at the goal and the arm rests; for 2 s at most where the arm
        doesn't rest. An arm that can't get there ends the wait early, and is held: its way is
        blocked for 1 s, or it rests more than 50 mm or 0.2 rad away, or more than 5 mm or 0.02 rad
        from a pose that is beyond reach.

        Args:
            pose: Pose (4, 4), or a position (3,), to which the rotation of the reference is kept.
            q: Joint angles (n,) [rad] in place of the pose.
            speed: Largest speed of the tip on the way to a pose [m/s]; None for the robot's own. It
                counts for this move alone, which must be waited for.
            wait: False returns once the target is taken.
            timeout: Time after which the robot holds [s].

        Raises:
            ConfigError: The controller refuses the target or the speed.
            NotReached: The time is over, or the arm can't get there, or another target or a hold
                took the target's place.
        """
        if (pose is None) == (q is None):
            value = None if pose is None else "both"
            raise refused("pose, q", value, "exactly one must be given")
        changes = {} if speed is None else {"limits.speed": self._scale_of(speed)}
        if changes and (q is not None or not wait):
            rule = "is that of a move to a pose that is waited for; set limits.speed for others"
            raise refused("speed", speed, rule)
        backend = self._backend
        with held_on_interrupt(backend), self._set_meanwhile(changes):
            faults = backend.feed.faults
            goal = send_tip_target(backend, pose) if q is None else send_joint_target(backend, q)
            return self._wait_for_goal(goal, faults, timeout) if wait else self.state

    def move_until(
        self,
        pose: Any = None,
        *,
        force: float,
        speed: float = 0.02,
        direction: Any = None,
        distance: float = 0.1,
        end: str = "hold",
        timeout: float = 30.0,
    ) -> DetectedContact | None:
        """Move until the tip's force has changed by so much; returns the contact, or None without.

        The controller ends the move itself, in the cycle that sees the force. It measures the
        change from the beginning of the move.

        Args:
            pose: Goal of the move if nothing is met, see :meth:`move_to`. None moves along
                `direction`.
            force: Change of the force that ends the move [N].
            speed: Largest speed of the tip on the way [m/s].
            direction: Direction (3,) of the move in base axes; None for the tip's z axis.
            distance: Length of the way along the direction [m].
            end: What the arm does at the contact: ``hold`` brakes and holds it there, ``retreat``
                goes back for a moment, ``go on`` goes on to the goal.
            timeout: Time after which the robot holds [s].

        Raises:
            ConfigError: An argument is refused, or no force is measured.
            NotReached: See :meth:`move_to`.
        """
        if end not in GUARD_ENDS:
            raise unknown("end", end, GUARD_ENDS)
        if not np.isfinite(self.wrench).all():
            rule = "must be measured: the arm needs a force-torque sensor, or joint torques"
            raise refused("force", force, rule)
        if not (math.isfinite(force) and force > 0.0):
            raise refused("force", force, "must be above 0 N", (0.0, math.inf))
        if not (math.isfinite(distance) and distance > 0.0):
            raise refused("distance", distance, "must be above 0 m", (0.0, math.inf))
        if pose is None:
            goal = self.state.reference_pose.copy()
            goal[:3, 3] += distance * self._direction(direction)
        elif direction is not None:
            raise refused("pose, direction", "both", "exactly one must be given")
        else:
            goal = tip_target(self._backend, pose)
        changes: dict[str, Value] = {
            "contact.guard_force": float(force),
            "contact.guard_reaction": GUARD_ENDS[end],
            "limits.speed": self._scale_of(speed),
        }
        since = self.time
        with held_on_interrupt(self._backend), self._set_meanwhile(changes):
            try:
                self.move_to(goal, timeout=timeout)
            except HardwareFault:
                contact = self._contact_after_reaction(since)
                if contact is None or contact.detector != GUARD:
                    raise
                self._backend.clear_contact()
                return contact
            return self._contact_since(since)

    def _contact_since(self, time: float) -> DetectedContact | None:
        """The last contact, where it has lasted beyond a time [s]; else None."""
        contact = self.contact
        return contact if contact is not None and contact.last > time else None

    def _contact_after_reaction(self, time: float) -> DetectedContact | None:
        """The contact since a time [s], when the arm has reacted to it; None where there is none."""
        for _ in range(REACTION_STATES):
            self._backend.advance(self._backend.feed.newest, SLICE)
        return self._contact_since(time)

    def _direction(self, direction: Any) -> Array:
        """Unit vector (3,) of a direction in base axes; the tip's z axis for None."""
        if direction is None:
            return np.asarray(self.state.reference_pose[:3, 2])
        vector = finite("direction", direction, (3,))
        length = float(np.linalg.norm(vector))
        if length == 0.0:
            raise refused("direction", direction, "must not be zero")
        return np.asarray(vector / length)

    def _scale_of(self, speed: float) -> float:
        """Value of `limits.speed` with which a move of the tip has a speed [m/s]."""
        fastest = self.config.tip_speed[0]
        least = SLOWEST * fastest
        if not least <= speed <= fastest:
            rule = (
                f"must be from {least:g} to {fastest:g} m/s (tip_speed of robot {self.config.name})"
            )
            raise refused("speed", speed, rule, (least, fastest))
        return speed / fastest

    @contextmanager
    def _set_meanwhile(self, changes: Mapping[str, Value]) -> Iterator[None]:
        """Change settings within a block, and put them back at its end, where the robot is there."""
        before = {name: self._backend.parameters()[name] for name in changes}
        if changes:
            self._backend.set_parameters(changes)
        try:
            yield
        except BaseException:
            with suppress(RobotControlError):  # the first error counts
                self._backend.set_parameters(before)
            raise
        if before:
            self._backend.set_parameters(before)

    def follow_joints(
        self,
        times: Any,
        positions: Any,
        velocities: Any = None,
        *,
        wait: bool = True,
        timeout: float = 30.0,
    ) -> Snapshot:
        """Follow joint angles over time, as a planner gives them; returns the state at their end.

        Args:
            times: Times (k,) from now [s]. The arm gets to the first point from where it is.
            positions: Joint angles (k, n) [rad].
            velocities: Joint velocities (k, n) [rad/s]; None finds them from the positions.
            wait: False returns once the path is taken.
            timeout: Time beyond the last of `times` after which the robot holds [s].

        Raises:
            ConfigError: The controller refuses the path.
            NotReached: See :meth:`move_to`.
        """
        backend = self._backend
        with held_on_interrupt(backend):
            faults = backend.feed.faults
            goal = send_joint_path(backend, times, positions, velocities)
            limit = timeout + float(np.asarray(times)[-1])
            return self._wait_for_goal(goal, faults, limit) if wait else self.state

    def follow_chunk(
        self, q: Any = None, dt: float = 0.0, stamp: float | None = None, *, poses: Any = None
    ) -> Snapshot:
        """Follow a chunk of a policy, and the newer ones that come after it, within limits of jerk.

        It returns once the chunk is taken. If no newer one comes, the robot stops at the last
        point. What was followed before goes on where a chunk is refused.

        Args:
            q: Joint angles (k, n) [rad].
            dt: Time from one point to the next [s].
            stamp: Time of the first point, by the robot's clock [s]: that of the state on which the
                policy has looked. None for the newest state, as if the policy took no time.
            poses: Poses (k, 4, 4) of the tip in place of the joint angles.

        Raises:
            ConfigError: The chunk isn't finite, has other joints, is beyond a limit, or too late.
        """
        if (q is None) == (poses is None):
            value = None if q is None else "both"
            raise refused("q, poses", value, "exactly one must be given")
        if not (math.isfinite(dt) and dt > 0.0):
            raise refused("dt", dt, "must be above 0 s", (0.0, math.inf))
        if stamp is not None and not math.isfinite(stamp):
            raise refused("stamp", stamp, "must be finite, by the robot's clock")
        backend = self._backend
        with held_on_interrupt(backend):
            send_chunk(backend, q, poses, dt, stamp)
        return self.state

    def set_posture(self, q: Any) -> None:
        """Move the elbow: the null space goes to joint angles (n,) [rad] while the tip stays.

        It is for arms with more joints than the tip has axes. It goes on while the tip moves, until
        the joints are moved or held. Impedance needs `posture_stiffness` for it.

        Raises:
            ConfigError: The arm or its law has no null space, or the posture is refused.
        """
        with held_on_interrupt(self._backend):
            self._backend.set_posture(finite("q", q, (self.config.n,)))

    # --- teaching by hand ---

    @contextmanager
    def guide(self, damping: Any = None) -> Iterator[None]:
        """Let a hand lead the arm within a block: it floats, damped.

        Under torques that is the law gravity_compensation, else admittance without stiffness. At
        the end the arm holds where it is, under the law and the gains that it had.

        Args:
            damping: Damping of that law, in its unit; None for its default.

        Raises:
            ConfigError: The robot takes neither law, or no force is measured for the second one.
        """
        law = self.law
        commands = self.config.profile.commands
        guided = "gravity_compensation" if CommandMode.EFFORT in commands else "admittance"
        self.set_law(guided)
        before = dict(self._backend.parameters())
        changes = {"stiffness": 0.0} if guided == "admittance" else {}
        if damping is not None:
            changes["damping"] = damping
        try:
            self.set_gains(changes)
            yield
        finally:
            with suppress(RobotControlError):  # an error of the block counts
                self.hold()
                self._backend.set_parameters({name: before[name] for name in changes})
                self.set_law(law)

    def record_path(
        self, seconds: float, meanwhile: Callable[[Snapshot], object] = lambda state: None
    ) -> TaughtPath:
        """Record the joints for some time, while a hand leads the arm; see :meth:`guide`.

        Args:
            seconds: Duration of the record [s].
            meanwhile: Function that is called with each state of the record, in this thread.

        Raises:
            ConfigError: Not above 0 s.
            RobotControlError: A fault stops the robot meanwhile.
        """
        if not (math.isfinite(seconds) and seconds > 0.0):
            raise refused("seconds", seconds, "must be above 0 s", (0.0, math.inf))
        states = [self.state]

        def is_over(state: Snapshot) -> bool:
            if state.time > states[-1].time:
                states.append(state)
                meanwhile(state)
            return state.time >= states[0].time + seconds

        with held_on_interrupt(self._backend):
            wait_for(self._backend, is_over, what="the end of the record")
        times = np.array([state.time for state in states])
        q = np.array([state.q for state in states])
        return TaughtPath(self.config.joints, times - times[0], q)

    def replay(
        self, path: TaughtPath, *, stiffness: Any = None, speed: float = 1.0, timeout: float = 30.0
    ) -> Snapshot:
        """Move to the begin of a path, and follow it; returns the state at its end.

        Args:
            path: Path that :meth:`record_path` returned, or that was loaded.
            stiffness: Gain of the law meanwhile, which then comes back; None leaves it.
            speed: Speed of the replay, as a fraction of the shown one, 0.01 to 10.
            timeout: Time beyond the path's duration after which the robot holds [s].

        Raises:
            ConfigError: The path is another robot's, or is refused; the speed is refused.
            NotReached: See :meth:`move_to`.
        """
        path.check_joints(self.config.joints)
        least, most = REPLAY_SPEED
        if not least <= speed <= most:
            raise refused("speed", speed, f"must be from {least:g} to {most:g}", REPLAY_SPEED)
        value = None if stiffness is None else _plain_value("stiffness", stiffness)
        points = path.thinned(REPLAYED_POINTS)
        with held_on_interrupt(self._backend):
            self.move_to(q=points.q[0], timeout=timeout)
            with self._set_meanwhile({} if value is None else {"stiffness": value}):
                times = BEGINS + points.times / speed
                return self.follow_joints(times, points.q, timeout=timeout)

    def _wait_for_goal(self, goal: MotionGoal, faults: int, timeout: float) -> Snapshot:
        """Wait until a goal is reached.

        Where it isn't, an arm is held that still moves, or whose reference had arrived.

        Args:
            goal: Goal that the robot has taken.
            faults: Number of faults before the motion; one more ends the wait.
            timeout: Longest time of the wait [s].

        Raises:
            NotReached: See :meth:`move_to`.
        """
        try:
            return wait_for(self._backend, goal.reached, timeout, faults, "the goal")
        except NotReached:
            if self.state.moving or goal.arrived is not None:
                self._backend.interrupt()
            raise

    def set_target(self, pose: Any, stiffness: Any = None) -> None:
        """Set a target of a stream, as often as you like; returns once it is taken.

        Args:
            pose: See :meth:`move_to`.
            stiffness: Gain that goes with the target. Nothing is sent where it is the present one.
                A change costs a service call, and acts with `gain_time_constant`.

        Raises:
            ConfigError: The target or the stiffness is refused. A refused stiffness leaves the
                target.
        """
        with held_on_interrupt(self._backend):
            if stiffness is not None:
                present = self._backend.parameters().get("stiffness")
                if not _is_set(_plain_value("stiffness", stiffness), present):
                    self.set_gains(stiffness=stiffness)
            self._backend.move_to(tip_target(self._backend, pose))

    def jog(self, twist: Any, duration: float = 0.0) -> None:
        """Move with a twist (6,), base axes [m/s, rad/s], for `duration`; 0 is 0.2
        s, without waiting.
        """
        twist = finite("twist", twist, (6,))
        with held_on_interrupt(self._backend):
            self._renew(lambda: self._backend.jog(twist), JOG_LASTS, duration)

    def push(self, force: Any, duration: float = 0.0) -> None:
        """Push the tip of a simulated arm with a force (3,), base axes [N], as a hand would.

        Args:
            force: Force (3,) at the origin of the tip.
            duration: Time for which this call pushes [s]. 0 pushes for 0.2 s without waiting.

        Raises:
            ConfigError: Nobody simulates the arm, or the force isn't three finite numbers.
        """
        force = finite("force", force, (3,))
        with held_on_interrupt(self._backend):
            self._renew(lambda: self._backend.push(force), PUSH_LASTS, duration)

    def _renew(self, act: Callable[[], object], lasts: float, duration: float) -> None:
        """Do what lasts for some time [s] again and again, until a duration [s] is over."""
        act()
        end = self.time + duration
        while (left := end - self.time) > lasts / 2.0:
            self.wait(lasts / 2.0)
            act()
        self.wait(left)

    def hold(self) -> None:
        """Hold the robot where it is; a motion brakes."""
        self._backend.hold()

    def save_cycles(self, path: str | Path, seconds: float = 60.0) -> Path:
        """Write the last control cycles, of a minute at most, to a new MCAP file; returns its path.

        They are at the full rate, and may be replayed: see ``robot_control replay --help``.

        Raises:
            ConfigError: The file is there, or can't be written; the controller runs on another
                machine, or refuses.
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
        """Change gains and settings, all or none, as in ``set_gains(stiffness=300.0)``.

        A gain may have the name of its ROS parameter, as in ``{"impedance.stiffness": 300.0}``.

        Raises:
            ConfigError: A value is refused; the error has its name, value and bound.
        """
        known = self._backend.parameters()
        short = short_names(self.law, {**(values or {}), **named}, known)
        changes = {name: _plain_value(name, value) for name, value in short.items()}
        for name in changes:
            if name not in known:
                raise unknown("gain", name, known)
        if changes:
            with held_on_interrupt(self._backend):
                self._backend.set_parameters(changes)

    def set_law(self, name: str) -> None:
        """Go on with another law, without a jump; ConfigError where it is refused."""
        with held_on_interrupt(self._backend):
            self._backend.set_law(name)

    def set_payload(self, mass: float, center: Any = 0.0, inertia: Any = 0.0) -> str:
        """Tell what the tip carries from now on, as after a grasp; the arm goes on without a jump.

        Args:
            mass: Mass [kg]; 0 takes the payload away.
            center: Centre of gravity (3,) in the tip's frame [m].
            inertia: Inertia (6,) about it along the tip's axes: xx, yy, zz, xy, xz, yz [kg·m²]. One
                number stands for the first three.

        Returns:
            Text of what has to be done besides, where the robot compensates gravity itself; else
            empty.

        Raises:
            ConfigError: No body is like that, or the joints can't hold it at this posture.
        """
        figures = figures_of(Payload(mass, center, inertia))
        self.set_gains({f"payload.{name}": value for name, value in figures.items()})
        return robot_note(self.config)

    def zero_wrench(self) -> str:
        """Make the present wrench zero; returns what was done, and warns where the arm moves."""
        with held_on_interrupt(self._backend):
            return self._backend.zero_wrench()

    def request(self, service: str) -> str:
        """Request a service of the robot's nodes that has no method here; returns its answer.

        Args:
            service: Name of a service of type std_srvs/Trigger, in the robot's namespace, such as
                ``ethercat/enable`` or ``controller/reset_ringing``.

        Raises:
            ConfigError: The service refuses, or isn't there.
        """
        with held_on_interrupt(self._backend):
            return self._backend.request(service)

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
        """End the reaction to a contact: targets are taken again. Returns what was cleared."""
        with held_on_interrupt(self._backend):
            return self._backend.clear_contact()

    def on_contact(
        self, callback: Callable[[Snapshot], object], force: float | None = None
    ) -> None:
        """Call with the state at each new contact; `contact` then says where and how hard.

        Args:
            callback: Function that gets the newest state.
            force: Bound of the measured force [N], in place of the controller's detection. It needs
                a wrist sensor.
        """
        self._callbacks.on_contact(callback, force)

    def on_fault(self, callback: Callable[[RobotControlError], object]) -> None:
        """Call with the error when the robot doesn't follow its targets any more."""
        self._callbacks.on_fault(callback)

    def on_stop(self, callback: Callable[[Snapshot], object]) -> None:
        """Call with the state when a motion of the reference ends, at its goal or before."""
        self._callbacks.on_stop(callback)

    # --- recording ---

    def record(
        self, path: str | Path | None = None, *, largest: int = LARGEST
    ) -> FileRecording | None:
        """Keep each state from now on, and forget those that were kept before; or write a file.

        Args:
            path: Path of a new file, which is written until the result is closed, or the robot. A
                file that ends in .csv has the states, in the columns of the log. Any other is an
                MCAP file: it has the states and, of a running controller, each topic that it uses.
            largest: Bytes of one file, after which the next one begins: run.mcap, run_1.mcap.

        Raises:
            ConfigError: mcap isn't installed, or the file is there, or can't be written.
        """
        if path is None:
            self._recording.restart(self.time)
            self._samples.clear()
            return None
        recording = record_robot(self._backend, path, largest)
        self._files.append(recording)
        recording.on_close.callback(self._files.remove, recording)
        return recording

    def log(self) -> Log:
        """Log of what was recorded; its times count from the call of :meth:`record`.

        Raises:
            ConfigError: Nothing was recorded.
        """
        mode = self.gains.get("output") or law_class(self.law).mode
        return Log.of(self.config.joints, CommandMode(mode), self._samples, self.limits)


def _over_ros(
    name: str,
    namespace: str,
    controller: str,
    domain: int | None,
    timeout: float,
    lost_after: float,
) -> RobotBackend:
    """Connect to a controller over ROS; wheels of ROS find their parts by a variable set here."""
    if find_spec("rclpy") is None:
        raise missing_extra("a running robot", "rclpy", "ros")
    if domain is not None and domain not in range(MAX_DOMAIN + 1):
        rule = f"must be a whole number from 0 to {MAX_DOMAIN}"
        raise refused("domain", domain, rule, (0, MAX_DOMAIN))
    if path := environment().get("AMENT_PREFIX_PATH"):
        os.environ["AMENT_PREFIX_PATH"] = path
    from .ros_backend import RosBackend

    return RosBackend(name, namespace, controller, domain, timeout, lost_after)


def _by_address(name: str, ip: str, law: str, gains: Mapping[str, Any] | None) -> RobotBackend:
    """A robot that its maker's library reaches at an address.

    Raises:
        ConfigError: unknown robot, or one that this package reaches by no library; unknown law or
            gains.
        HardwareFault: the robot doesn't answer.
    """
    from ..fieldbus.process.client import BusSettings
    from .bus_backend import BusBackend

    load_robot(name, FRANKA)  # refuses a robot that isn't driven so
    settings = BusSettings(
        bus=FRANKA,
        address=ip,
        robot=name,
        profile=FRANKA,
        priority=REALTIME_PRIORITY,
        bad_cycles=SILENT_CYCLES,
    )
    return BusBackend(settings, law, gains)


def _close(
    process: int, backend: RobotBackend, callbacks: Callbacks, files: list[FileRecording]
) -> None:
    """End what a robot uses; not in a forked process, as the robot is its parent's."""
    if process != os.getpid():
        return
    callbacks.close()
    try:
        for each in tuple(files):
            each.close()
    finally:
        backend.close()


def _is_set(value: Value, present: Value | None) -> bool:
    """Say whether a gain has a value, or has it for each of its numbers."""
    if value == present:
        return True
    return isinstance(present, tuple) and present == (value,) * len(present)


def _plain_value(name: str, value: Any) -> Value:
    """Value of a gain as plain Python; a matrix row by row."""
    if isinstance(value, (bool, str)):
        return value
    try:
        numbers = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        rule = "must be a number, several numbers, true, false or a word"
        raise refused(name, value, rule) from error
    return float(numbers) if numbers.ndim == 0 else tuple(numbers.ravel().tolist())


def _array(value: Value) -> Any:
    """Value of a gain for a user: several numbers as an array."""
    return np.array(value) if isinstance(value, tuple) else value
