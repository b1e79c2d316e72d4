"""The protocol of a control loop, wherever it runs: in this process, or in that
of an EtherCAT bus.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..core.errors import ConfigError, refused
from ..core.gains import ParameterSet
from ..core.spatial import pose_error
from ..core.types import Array, Command, Reference, RobotState
from ..laws.running_law import RunningLaw
from ..references.clearance import Clearance
from ..references.workspace import Workspace
from ..robot.configuration import RobotConfig
from ..robot.model import RobotDynamics, RobotModel
from ..sensing.contact_detector import DetectedContact
from ..sensing.sensor_drift import AT_REST
from .reactions.contact_monitor import ContactReport
from .recorder import CycleRecorder
from .wrench_supply import estimate

# gains by which a law of the tip holds the posture of the null space
POSTURE_GAINS = ("posture_stiffness", "posture_rate")


@dataclass(frozen=True, eq=False)
class LoopReport:
    """The report of a loop on its last cycle.

    Attributes:
        state, reference: State of the robot in that cycle, and the reference.
        terms: Terms (n,) of the law's command, by name; see :class:`~..laws.law.ControlLaw`.
        saturated, rate_limited: (n,) see :class:`~.safety.Safety`.
        soft_limited: (n,) True where :class:`~.soft_limits.SoftLimits` added a torque.
        fault: Reason why the safe output was sent; empty where it wasn't.
        wrench_reason: Reason why there is no wrench, or why the last sample was refused; empty
            where all is well.
        restarts, restart_reason: Number of restarts, and the last reason; see :class:`Controller`.
        spring_load: Force of the law's spring without its bound over the bound, 0 to 1; 0 without a
            bound.
        contact: Contact and reaction, see :class:`~.reactions.contact_monitor.ContactReport`.
        ringing_margin: 1 far from an alarm of ringing, 0 at one; see
            :class:`~..sensing.ringing.RingingDetector`.
        ringing_scale: Fraction of the stiffness that ringing has left; see `scale` of
            RingingReaction.
        moving: True where the reference moves.
        since_zero: Time since the wrench was made zero [s]; NaN where it never was.
        chunk_delay, seam_step, seam_jerk: Figures of a policy's chunks, see
            :data:`~..core.cycle.CYCLE`; NaN where none are followed.
    """

    state: RobotState
    reference: Reference
    terms: Mapping[str, Array]
    saturated: NDArray[np.bool_]
    rate_limited: NDArray[np.bool_]
    soft_limited: NDArray[np.bool_]
    fault: str
    wrench_reason: str
    restarts: int
    restart_reason: str
    spring_load: float
    contact: ContactReport
    ringing_margin: float
    ringing_scale: float
    moving: bool
    since_zero: float
    chunk_delay: float
    seam_step: float
    seam_jerk: float


class Motion(Protocol):
    """The commands that move the reference; see :class:`~.motion_commands.MotionCommands`."""

    stream: ParameterSet

    @property
    def trajectory(self) -> object:
        """Trajectory that is followed, an object of its own; None where there is none."""

    def hold(self) -> None: ...
    def move_to(self, pose: Array) -> None: ...
    def move_joints_to(self, goal: Array) -> None: ...
    def follow_joints(self, times: Array, positions: Array, velocities: Array | None) -> None: ...
    def follow_joint_chunk(self, times: Array, positions: Array) -> None: ...
    def follow_tip(self, times: Array, poses: Array) -> None: ...
    def set_posture(self, goal: Array) -> None: ...
    def go_home(self) -> None: ...
    def jog(self, twist: Array, lasting: float) -> None: ...
    def set_feedforward_wrench(self, wrench: Array | None, lasting: float = math.inf) -> None: ...


class WrenchInput(Protocol):
    """The input of the wrench that a law sees; see :class:`~..sensing.wrench.WrenchPipeline`."""

    settings: ParameterSet

    @property
    def reason(self) -> str:
        """Reason why there is no wrench, or why the last one was refused; else empty."""

    def zero(self) -> object: ...
    def set_tare(self, tare: Array) -> None: ...


class PayloadSettings(Protocol):
    """The payload at the tip; see :class:`~.payload_input.PayloadInput`."""

    settings: ParameterSet


class ContactInput(Protocol):
    """The detection of contacts, and the reaction to them.

    See :class:`~.reactions.contact_monitor.ContactMonitor`.
    """

    settings: ParameterSet
    found: DetectedContact | None
    reaction: str

    def clear(self) -> str: ...
    def begin_learning(self) -> object: ...
    def learned(self) -> dict[str, list[float]]: ...


class RingingControl(Protocol):
    """The reaction to ringing; see :class:`~.reactions.ringing_reaction.RingingReaction`."""

    settings: ParameterSet

    def reset(self) -> None: ...


class Controller(Protocol):
    """A robot under a law, as the controller node needs it; see :class:`~.loop.ControlLoop`.

    Attributes:
        publishes_commands: True where the caller has to send its commands; False where they are
            sent in the process in which the loop runs.
        robot: Configuration of the robot.
        model: Model of the robot.
        running: Law that runs.
        workspace: Box that targets must stay in.
        clearance: Distances that the arm keeps from itself and its cell.
        state, kin, reference: State, dynamics and reference of the last cycle; state and kin are
            None before the first.
        repeats: Number of samples in a row that brought no new time.
        late_samples: Number of samples that came after a newer one and were dropped, since the last
            reset.
        restarts: Number of times that the loop has started anew, or that a reaction to a contact
            has begun.
        restart_reason: Reason of the last of them, and what it ended; empty where there was none.
        warning: Reason why the law does less than its gains and targets say; empty where it
            doesn't.
        recorder: Recorder of the last cycles; None where another process runs the law.
    """

    publishes_commands: bool
    robot: RobotConfig
    model: RobotModel
    running: RunningLaw
    workspace: Workspace
    clearance: Clearance
    state: RobotState | None
    kin: RobotDynamics | None
    restarts: int
    restart_reason: str

    @property
    def recorder(self) -> CycleRecorder | None: ...
    @property
    def repeats(self) -> int: ...
    @property
    def late_samples(self) -> int: ...
    @property
    def warning(self) -> str: ...
    @property
    def motion(self) -> Motion: ...
    @property
    def wrench(self) -> WrenchInput: ...
    @property
    def payload(self) -> PayloadSettings: ...
    @property
    def limits(self) -> ParameterSet: ...
    @property
    def integral(self) -> ParameterSet: ...
    @property
    def contact(self) -> ContactInput: ...
    @property
    def ringing(self) -> RingingControl: ...
    @property
    def reference(self) -> Reference: ...
    @property
    def fault(self) -> str: ...

    def tick(self, state: RobotState) -> Command: ...
    def idle(self, state: RobotState) -> Command: ...
    def follow_on(self, command: Command) -> None: ...
    def brake(self, state: RobotState) -> Command: ...
    def stop(self, silence: float = 0.0) -> Command | None: ...
    def reset(self) -> None: ...
    def close(self) -> None: ...
    def report(self) -> LoopReport: ...
    def timing(self) -> dict[str, float]: ...
    def switch_law(self, running: RunningLaw) -> None: ...
    def check_switch(self, running: RunningLaw) -> None: ...
    def tip(self) -> Array: ...
    def pose_error(self) -> Array: ...


def settings_of(loop: Controller) -> dict[str, ParameterSet]:
    """Settings of a loop that may be changed at any time, by the prefix of their parameters."""
    return {
        "payload": loop.payload.settings,
        "wrench": loop.wrench.settings,
        "workspace": loop.workspace.settings,
        "clearance": loop.clearance.settings,
        "stream": loop.motion.stream,
        "contact": loop.contact.settings,
        "ringing": loop.ringing.settings,
        "integral": loop.integral,
        "limits": loop.limits,
    }


def tip_error(reference: Reference, kin: RobotDynamics | None) -> Array:
    """Reference minus pose (6,); zeros where either is unknown."""
    if kin is None or reference.pose is None:
        return np.zeros(6)
    return pose_error(reference.pose, kin.pose)


def missing_wrench(running: RunningLaw, reason: str) -> str:
    """Reason why a law that needs a wrench doesn't run; `reason` says why there is none."""
    return (
        f"law {running.name}: {reason}; it needs one on the topic wrench{estimate(running.robot)}"
    )


def zero_wrench(loop: Controller) -> str:
    """Make the present wrench the tare; returns what was done, with a warning where the arm moves.

    One sample is taken. What is mounted beyond the sensor has inertia: its forces in a motion would
    stay in the tare.

    Raises:
        ConfigError: there is no fresh wrench.
    """
    loop.wrench.zero()
    done = "the present wrench counts as zero"
    state = loop.state
    speed = 0.0 if state is None else float(np.abs(state.v).max())
    if speed <= AT_REST:
        return done
    return f"{done}; but the arm moves, joints by up to {speed:.3f} rad/s: forces of inertia are in it. Repeat at rest."


def set_posture(loop: Controller, goal: Array) -> None:
    """Move the null space of a loop to joint angles (n,); see MotionCommands.set_posture.

    Raises:
        ConfigError: its law holds no posture, or its gains are 0; or the goal is refused.
    """
    running = loop.running
    gains = running.gains.target
    names = [name for name in POSTURE_GAINS if hasattr(gains, name)]
    if not (running.joint_space or any(np.any(getattr(gains, name)) for name in names)):
        if not names:
            rule = "holds no posture; use impedance, admittance, or a law of the joints"
            raise refused("law", running.name, rule, where="target posture: ")
        name = f"{running.name}.{names[0]}"
        raise refused(name, 0.0, "must be above 0, or else nothing holds the posture", 0.0)
    loop.motion.set_posture(goal)


def check_takeover(running: RunningLaw, state: RobotState | None, reason: str) -> None:
    """Refuse a law that needs a wrench where the last state has none.

    Raises:
        ConfigError: gives the reason.
    """
    if running.needs_wrench and state is not None and state.wrench_on_tip is None:
        raise ConfigError(missing_wrench(running, reason))


def known_state(
    fault: str, state: RobotState | None, kin: RobotDynamics | None, trajectory: object
) -> tuple[RobotState, RobotDynamics]:
    """The last state and its dynamics.

    Raises:
        ConfigError: the loop has a fault, or no fresh state.
    """
    if fault:
        raise ConfigError(fault)
    if state is None or kin is None or trajectory is None:
        raise ConfigError("no fresh joint state has arrived: there is nothing to start from")
    return state, kin
