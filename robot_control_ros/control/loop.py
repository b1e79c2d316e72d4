"""One control cycle, shared by everything that controls: model, then reference,
then law, then safety.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.cycle import NONE, SOFT_LIMITED, Cycles
from ..core.errors import ConfigError, refused
from ..core.gains import ParameterSet
from ..core.spatial import wrap
from ..core.types import (
    FLOAT,
    Array,
    Command,
    CommandMode,
    Reference,
    RobotState,
    SensedState,
    as_row,
    is_finite,
)
from ..laws.compiled_law import NO_WRENCH, write_reference, write_sensors, write_state
from ..laws.running_law import RunningLaw
from ..laws.softening import Softening
from ..references import ChunkStream, Trajectory
from ..references.clearance import Clearance
from ..references.governor import ONSET
from ..references.joint_reference import JointReference
from ..references.workspace import Workspace
from ..robot.configuration import RobotConfig
from ..robot.model import JointLimits, RobotDynamics, RobotModel
from ..sensing.contact_detector import OTHERS, POSITIONS, VELOCITIES
from ..sensing.joint_jumps import JointJumps
from ..sensing.wrench import WrenchPipeline
from .blind_stop import BlindStop, RecentMotion
from .clearance_guard import ClearanceGuard
from .controller import LoopReport, check_takeover, known_state, missing_wrench, tip_error
from .cycle_times import CycleTimes
from .held_load import LOAD_PERIOD, per_kilogram_at
from .impact import ImpactBound, driven_speed
from .integral_action import IntegralAction
from .motion_commands import NO_CHUNK, MotionCommands
from .payload_input import PayloadInput
from .reactions.contact_monitor import ContactMonitor
from .reactions.late_samples import LateSamples
from .reactions.ringing_reaction import RingingReaction
from .recorder import SECONDS, CycleRecorder
from .safety import Safety
from .sample_order import MAX_GAP, Arrival, SampleOrder
from .sense import sense
from .singular_damping import SingularDamping
from .soft_limits import SoftLimits
from .standing_tip import StandingTip, touches
from .transition import BumplessTransition

_UNWATCHED = 0, 0.0, 0.0
_COMMANDED = {
    CommandMode.EFFORT: OTHERS,
    CommandMode.POSITION: POSITIONS,
    CommandMode.VELOCITY: VELOCITIES,
}
BRAKED = "the arm is brought to rest"  # in the record
STOPPED = "the arm is brought to rest without usable joint states"
BRIDGED = 2.5  # periods without a usable sample, for which one that can't be used is passed over


class ControlLoop:
    """A robot under a law.

    The owner of time calls :meth:`tick` once per sample. Gains and references may change between
    two ticks, and never make the command jump.

    Time is that of the stamps. A sample that is not newer than the newest one gets the last command
    again: ros2_control repeats stamps in simulated time, and relays deliver old samples. A stamp
    that comes more than 0.1 s later starts the loop anew where the robot is. So does a clock that
    was set back: see :class:`SampleOrder`. So do joints that have jumped, and stay there: see
    :class:`JointJumps`. Stamps that stand still for 0.08 s of samples are a fault, and so are three
    restarts in a row.

    Args:
        robot: Configuration of the robot.
        law: Name of a law, or ``package.module:Class``.
        gains: Gains by name, over the robot's own and the law's defaults.
        model: Model of the robot; None for that of the configuration's description.
        gain_time_constant: Time constant with which changed gains are taken over [s].
        recorded: Time that the recorder keeps [s].

    Attributes:
        motion: Commands that move the reference.
        state, kin: State of the last tick, with the wrench, and the dynamics there. A joint that
            turns without end is counted on from the last state.
        cycles: Record of the last cycle, see :data:`~..core.cycle.CYCLE`.
        recorder: Recorder of the last cycles.

        The other attributes are those of :class:`~.controller.Controller`.

    Raises:
        ConfigError: the law, a gain, or the pairing of law and robot is refused.
        ModelError: the description lacks a joint or frame.
    """

    publishes_commands = True

    def __init__(
        self,
        robot: RobotConfig,
        law: str | RunningLaw,
        gains: Mapping[str, Any] | None = None,
        *,
        model: RobotModel | None = None,
        gain_time_constant: float = 0.2,
        recorded: float = SECONDS,
    ) -> None:
        self.robot = robot
        self.running = (
            law
            if isinstance(law, RunningLaw)
            else RunningLaw(robot, law, gains, gain_time_constant)
        )
        self.model = RobotModel.of(robot) if model is None else model
        self.running.check_model(self.model)
        self.clearance = Clearance(robot, self.model)
        self.soft_limits = SoftLimits(robot, self.model, ClearanceGuard(self.clearance, self.model))
        self._impact = ImpactBound()
        self.safety = Safety(robot, self.model.limits, self.soft_limits, self._impact)
        self._singular_damping = SingularDamping(robot)
        self._integral_action = IntegralAction(robot)
        self._standing_tip = StandingTip(robot, self.model.limits)
        self._late_samples = LateSamples(robot)
        self._softening = Softening()
        self.wrench = WrenchPipeline(robot.profile.wrench_settings, robot.profile.measures_torque)
        self.payload = PayloadInput(self.model, lambda: self.kin)
        self.workspace = Workspace(robot.profile.workspace, self.model.reach)
        self.ringing = RingingReaction(robot, self.model, gain_time_constant)
        self.times = CycleTimes(robot.period)
        self.state: RobotState | None = None
        self.kin: RobotDynamics | None = None
        self.cycles = Cycles(robot.n)
        self.cycles.payload[0] = self.model.payload.row
        self._n = robot.n
        self._shape = (robot.n,)
        self.recorder = CycleRecorder(robot.n, robot.period, recorded)
        self._written: Reference | None = None  # into the record
        self._sampled: Trajectory | None = None  # in the last cycle
        self._follows_chunks = False  # whether that is one along chunks
        self._begins = 0.0  # 1 where the law begins anew in this cycle
        self._had_parts = False  # whether the last command had more than its values
        self._transition = BumplessTransition(gain_time_constant, robot.profile.delay)
        bounds = self.workspace, self.safety.settings, self._impact, self.clearance
        self.motion = MotionCommands(robot, self.model, *bounds, self._transition, self._known)
        self.contact = ContactMonitor(robot, self.model, self.wrench, self.motion)
        self._joint_reference = JointReference(
            self.model, np.array(robot.axes), np.array(robot.tip_speed)
        )
        self._contact_rows = self.contact.rows
        self._ringing_rows = self.ringing.rows
        self._turns = bool(self.model.cyclic.any())
        # for the last sample; None where the next one starts anew
        self._sent: Command | None = None
        self._order = SampleOrder(robot.period)
        self._jumps = JointJumps(self.model, robot.period)
        self._recent_motion = RecentMotion()
        self._blind_stop: BlindStop | None = None
        self._since_look = 0.0  # s since the last look at what changes slowly
        self._stopped_at = 0.0  # silence [s] at the last command of the blind stop
        self.restarts = 0
        self.restart_reason = ""

    @property
    def repeats(self) -> int:
        """Samples in a row that brought no new time."""
        return self._order.unchanged

    @property
    def late_samples(self) -> int:
        """Samples that came after a newer one and were dropped, since the last reset."""
        return self._order.late

    @property
    def reference(self) -> Reference:
        """Reference of the last tick."""
        return self.motion.reference

    @property
    def limits(self) -> ParameterSet:
        """Limits that may be changed at any time, see :class:`~.safety.LimitSettings`."""
        return self.safety.settings

    @property
    def integral(self) -> ParameterSet:
        """Settings of the integral action, see :class:`~.integral_action.IntegralSettings`."""
        return self._integral_action.settings

    @property
    def fault(self) -> str:
        """Reason why the safe output is sent; empty where it isn't sent."""
        return self.safety.fault

    def report(self) -> LoopReport:
        """Report of the last cycle.

        Raises:
            ConfigError: there was none.
        """
        added = {
            "singular_damping": self._singular_damping.torque,
            "integral": self._integral_action.torque,
        }
        return _report(self, added)

    @property
    def warning(self) -> str:
        """Reason why the law did less than it should in the last second; empty where it didn't.

        It should do what its gains and targets say.
        """
        ringing = ""
        if self.state is not None:
            now = self.state.time
            ringing = self.contact.explained(self.ringing.warning(now), now)
        limited = self.contact.message or ringing or self._late_samples.message
        if limited or self.state is None:
            return limited or self.running.warning
        limited = self.contact.warning or self.soft_limits.warning(self.state.time)
        limited = limited or self.motion.warning or self._drift_warning()
        return limited or self._standing_warning() or self.running.warning

    def _drift_warning(self) -> str:
        """Warning of a drifting sensor, see :meth:`WrenchPipeline.drift_warning`; empty for none.

        A law that uses no wrench bears a drift.
        """
        if self.state is None or not self.running.needs_wrench:
            return ""
        return self.wrench.drift_warning(self.state.time)

    def _standing_warning(self) -> str:
        """Warning that the tip stands away from its target, see :meth:`StandingTip.warning`."""
        if self.state is None or self.kin is None or self.fault:
            return ""
        return self._standing_tip.warning(
            self.running, self.pose_error(), self.state, self.kin, self.safety.held
        )

    def timing(self) -> dict[str, float]:
        """Percentiles of the cycle times [s], and counters; see :meth:`CycleTimes.summary`."""
        return self.times.summary()

    def tip(self) -> Array:
        """Pose (4, 4) of the tip in the base, at the last tick.

        Raises:
            ConfigError: there is no fresh state.
        """
        return self._known()[1].pose

    def pose_error(self) -> Array:
        """Reference minus pose (6,), at the last tick; zeros where the reference has no pose."""
        return tip_error(self.reference, self.kin)

    def switch_law(self, running: RunningLaw) -> None:
        """Change the law with the next tick, without a jump of the command; targets and moves go
        on.

        If the robot is far from the reference, the new law approaches it within the limits of
        moves. A law of positions or velocities that uses no wrench doesn't give way. Where the tip
        is pressed by such a law's target, the reference rests where the tip is.

        Raises:
            ConfigError: it needs a wrench, and there is none.
        """
        self.check_switch(running)
        self.running = running
        self._transition.request()
        if self.motion.trajectory is None or self.state is None or self.kin is None:
            return
        yields = running.mode is CommandMode.EFFORT or running.needs_wrench
        if not yields and self._is_pressed(self.state):
            self.motion.start(self.state, self.kin)
        else:
            self.motion.approach(self.state, self.kin, running.joint_space)

    def _is_pressed(self, state: RobotState) -> bool:
        """Return True where something holds the tip away from its resting reference."""
        wrench = state.wrench_on_tip
        if self.motion.is_moving() or wrench is None:
            return False
        return touches(wrench) and float(wrench.dot(self.pose_error())) < 0.0

    def check_switch(self, running: RunningLaw) -> None:
        """Refuse a law that can't run now; see :meth:`switch_law`."""
        running.check_model(self.model)
        check_takeover(running, self.state, self.wrench.reason)

    def reset(self) -> None:
        """Forget what was commanded: the next tick holds the robot where it is then,
        whatever its stamp.
        """
        self.ringing.restart()
        self._rest()
        self._order = SampleOrder(self.robot.period)
        self._jumps = JointJumps(self.model, self.robot.period)
        self.safety.reset()
        self._integral_action.forget()

    def follow_on(self, command: Command) -> None:
        """Measure the next command against this one, with which another has led the robot.

        The other may send one more before it hears ours.
        """
        if self.safety.usable(command):
            self.safety.take_over(command, crossing=True)

    def brake(self, state: RobotState) -> Command:
        """The next command on the robot's way to rest, for a new sample; the next tick starts anew.

        Raises:
            ConfigError: see :meth:`tick`.
        """
        state = _with_rows(state)
        _check_state(state, self.robot.n, self.model.limits)
        self._jumps.check(state.time, state.q, state.v)
        self._jumps.accept(state.time, state.q, state.v)
        dt = self.robot.period if self.state is None else max(state.time - self.state.time, 0.0)
        self._rest()
        self._recent_motion.observe(state)
        self.state = state
        self.kin = self.model.update(state.q, state.v)
        sent = self.safety.safe_output(self._sent_mode, state, self.kin, dt)
        return self._record_without_law(state, self.kin, sent, BRAKED)

    def brake_or_stop(self, state: RobotState) -> Command | None:
        """The next command on the robot's way to rest, for a new sample that may not be usable.

        The last command stays where a sample or two can't be used; see :meth:`stop`.
        """
        try:
            return self.brake(state)
        except ConfigError:
            silence = 0.0 if self.state is None else max(state.time - self.state.time, 0.0)
            if self._sent is not None and silence <= BRIDGED * self.robot.period:
                return self._sent
            return self.stop(silence)

    @property
    def _sent_mode(self) -> CommandMode:
        """Mode of the last command: the law may be newer than that."""
        return self.running.mode if self.safety.mode is None else self.safety.mode

    def stop(self, silence: float = 0.0) -> Command | None:
        """The next command on the robot's way to rest, where no sample can be used; the next tick
        starts anew.

        It keeps the limits and rates of every command; call it once a period until the robot rests.

        Args:
            silence: Time since the last sample that :meth:`tick` has taken [s].

        Returns:
            The command; None where no sample has ever come.
        """
        if self.state is None or self.kin is None:
            return None
        if self._blind_stop is None:
            self._rest()
            self._order.interrupt("joint states were missing, or could not be used")
            acceleration = self._recent_motion.acceleration(self.state)
            mass = self.safety.held_mass
            self._blind_stop = BlindStop(
                self.robot, self.model, self.state, acceleration, silence, mass
            )
            self._stopped_at = silence - self.robot.period
        dt = silence - self._stopped_at
        self._stopped_at = silence
        sent = self.safety.brake_blindly(self._sent_mode, self._blind_stop, silence, dt)
        return self._record_without_law(self.state, self.kin, sent, STOPPED)

    def idle(self, state: RobotState) -> Command:
        """The command that holds the robot at a state while it executes none; the next tick starts
        anew.

        Raises:
            ConfigError: see :meth:`tick`.
        """
        state = _with_rows(state)
        _check_state(state, self.robot.n, self.model.limits)
        self._rest()
        self._order = SampleOrder(self.robot.period)
        self._jumps = JointJumps(self.model, self.robot.period)
        self.safety.reset()
        self.kin = self.model.update(state.q, state.v)
        self.state = state
        sent = Command(
            self.running.mode, self.safety.holding(self.running.mode, self.state, self.kin)
        )
        return self._record_without_law(self.state, self.kin, sent, "")

    def _rest(self) -> None:
        """Follow nothing; the next tick starts anew."""
        self.motion.trajectory = None
        self._sent = None
        self._blind_stop = None

    def close(self) -> None:
        """Release what the loop uses outside of itself; call nothing after that."""

    # --- the cycle ---

    def tick(self, state: RobotState) -> Command:
        """The command for one sample.

        Args:
            state: Sample with arrays (n,) in the order of the robot's joints, and `wrench` in a
                frame of the description.

        Raises:
            ConfigError: a sample of the wrong size, with a number that isn't finite, or one
                that no joint can have or have reached, see :class:`JointJumps`. Nothing has
                changed then. A wrench that can't be used isn't an error of the sample, see
                :class:`WrenchPipeline`.
        """
        begin = time.perf_counter()
        state = _with_rows(state)
        arrival = self._admit(state)
        if not arrival.new and self._sent is not None:
            self._jumps.pass_over()
            return self._repeat(self._sent, state)
        self._sent = self._respond(state, arrival)
        self.times.add(time.perf_counter() - begin, arrival.gap)
        return self._sent

    def _respond(self, sample: RobotState, arrival: Arrival) -> Command:
        """The command for a sample that brings new time, in the four stages of a cycle."""
        running = self.running
        weight = self.payload.take()
        if weight is not None:
            self.cycles.payload[0] = self.model.payload.row
            self._transition.bridge()
            self.safety.hand_over_load(weight)
        # sense: what the sample tells
        kin = self.model.update(self._counted_on(sample.q) if self._turns else sample.q, sample.v)
        if self._impact.acts or self.contact.settings.current.max_impact > 0.0:
            self._update_impact(kin)
        state = _sensed(self.wrench, sample, kin)
        contact, rings = self._sense(state, kin, arrival)
        # decide: go on or begin anew, soften, or send something else in place of the law's command
        trajectory, dt = self._go_on(arrival, contact, state, kin)
        reference = self._reference_at(trajectory, state, kin, dt)
        gains = running.gains.advance(dt)
        ringing = self.ringing.observe(running, rings, state, self._sent, self.safety, dt)
        if self.ringing.lateness > 0.0:
            state = replace(state, age=state.age + self.ringing.lateness)
        softening = min(ringing, self._late_samples.observe(running, gains, state, kin, dt))
        if softening != 1.0:
            gains = self._softening.of(gains, softening)
        sent = self._in_place_of_law(state, kin, reference, dt)
        asked = None
        load = 0.0
        if sent is None:
            # compute: what the law asks for
            asked = running.command(self.cycles, state, kin, reference, gains, dt)
            load = running.spring_load
            if load > ONSET or self.motion.governor.rate < 1.0:
                self.motion.governor.observe(
                    load and load * gains.governor, reference, kin.pose, dt
                )
            # protect: what may be sent of it
            command = self._transition.blend(asked, running.variant, self.safety, state, kin, dt)
            command = self._singular_damping.add(command, running, reference, state, kin, dt)
            if self._integral_action.acts:
                command = self._integral_action.add(
                    command, running, state, kin, dt, self._is_free(load)
                )
            sent = self.safety.apply(command, state, kin, dt)
            if self.safety.fault:
                self.safety.fault = self.contact.explained(self.safety.fault, state.time)
                self.motion.trajectory = None
            else:
                self._since_look += dt
                if self._since_look >= LOAD_PERIOD:
                    self._look(sent, state, kin)
        self.state = state
        self.kin = kin
        self.motion.reference = reference
        self._record(asked, sent, gains, self.safety.fault, dt, softening, load)
        return sent

    def _update_impact(self, kin: RobotDynamics) -> None:
        """Bound the tip's speed by what a blow would be."""
        settings = self.contact.settings.current
        driven = self.running.mode is not CommandMode.EFFORT
        most = driven_speed(self.robot, settings, self.contact.sees_force) if driven else math.inf
        self._impact.update(settings, kin, most)

    def _admit(self, state: RobotState) -> Arrival:
        """Judge what a sample brings, and accept one that brings new time.

        Raises:
            ConfigError: see :meth:`tick`.
        """
        sized = state.q.shape == state.v.shape == self._shape
        if sized and self._jumps.take_usual(state.time, state.q, state.v, MAX_GAP):
            return self._order.judge(state.time)
        _check_state(state, self.robot.n, self.model.limits)
        if jumped := self._jumps.check(state.time, state.q, state.v):
            self._order.interrupt(jumped)
            if self.motion.trajectory is None:  # stopped meanwhile, because of the samples before
                self._tell_restart(jumped)
        arrival = self._order.judge(state.time)
        if arrival.new or self._sent is None:
            self._jumps.accept(state.time, state.q, state.v)
        return arrival

    def _sense(self, state: RobotState, kin: RobotDynamics, arrival: Arrival) -> tuple[int, int]:
        """Write the sample into the record, and look for contacts and ringing; see
        :func:`.sense.sense`.

        Contacts aren't looked for where the loop starts anew.

        Returns:
            Answers of the detectors of contacts and of ringing.
        """
        self._blind_stop = None
        self._recent_motion.observe(state)
        watched = _UNWATCHED
        if self.motion.trajectory is not None and not arrival.restart:
            watched = self.contact.prepare(self.running, state, kin, self._sent, arrival.gap)
        commanded = OTHERS if self._sent is None else _COMMANDED[self._sent.mode]
        wrench = NO_WRENCH if state.wrench_on_tip is None else state.wrench_on_tip
        write_sensors(self.cycles, 0, state.sensors)
        return sense(
            self.cycles.rows,
            state.time,
            state.age,
            state.q,
            state.v,
            state.effort,
            wrench,
            kin.pose,
            kin.jacobian,
            kin.gravity,
            self._contact_rows,
            *watched,
            commanded,
            arrival.gap,
            self._ringing_rows,
            self._n,
        )

    def _counted_on(self, q: Array) -> Array:
        """Joint angles (n,) [rad] of an arm with joints that turn without end: these are counted
        on from the last state.
        """
        if self.state is None:
            return q
        return np.asarray(self.state.q + wrap(q - self.state.q, self.model.cyclic))

    def _repeat(self, sent: Command, sample: RobotState) -> Command:
        """The answer to a sample without new time."""
        self.times.repeat()
        reason = self._order.stands_still()
        if not reason:
            return sent
        newest = sample if self.state is None or sample.time >= self.state.time else self.state
        self.motion.trajectory = None
        kin = self.model.update(newest.q, newest.v)
        self._sent = self.safety.stop(self.running.mode, newest, kin, reason, self.robot.period)
        return self._record_without_law(newest, kin, self._sent, reason)

    def _go_on(
        self, arrival: Arrival, contact: int, state: RobotState, kin: RobotDynamics
    ) -> tuple[Trajectory, float]:
        """Go on with the present trajectory; start anew where there is none, or a restart is due.

        Returns:
            The trajectory that is followed, and the time step for the law [s].
        """
        trajectory = self.motion.trajectory
        if trajectory is not None and not arrival.restart:
            if reason := self.contact.observe(contact, state, kin, arrival.gap):
                self.restarts += 1
                self.restart_reason = reason
                trajectory = self.motion.stop_here(state, kin)
            if self._transition.requested:
                self._begin_anew(state, kin)
            return trajectory, arrival.gap
        if trajectory is not None:
            self._tell_restart(arrival.restart)
            if self.motion.is_moving() or self.motion.feedforward_wrench is not None:
                self.restart_reason += ", and its motion has ended"
        dt = min(arrival.gap, self.robot.period) if arrival.gap > 0.0 else self.robot.period
        return self._start(state, kin), dt

    def _tell_restart(self, reason: str) -> None:
        self.restarts += 1
        self.restart_reason = reason + "; the arm holds where it is"

    def _start(self, state: RobotState, kin: RobotDynamics) -> Trajectory:
        """Hold the robot where it is."""
        self.running.gains.finish()
        self._begin_anew(state, kin)
        self._transition.reset(self.running.variant)
        if self.running.mode is CommandMode.EFFORT and self.safety.held_mass > 0.0:
            self._transition.hold(self.safety.held_mass * per_kilogram_at(kin))
        self.contact.restart(state.time)
        if not self.safety.fault:
            self.safety.restart(state)
        return self.motion.start(state, kin)

    def _look(self, sent: Command, state: RobotState, kin: RobotDynamics) -> None:
        """Learn the load that the arm holds, and watch the drift of its force-torque sensor.

        Both change slowly: call it from time to time. A safe output goes on to hold the load. While
        a law regulates a force, the sensor's drift can't be seen.
        """
        if sent.mode is CommandMode.EFFORT:
            self.safety.learn_load(sent.values, state, kin, self._since_look)
        force_axes = getattr(self.running.gains.current, "force_axes", None)
        regulated = force_axes is not None and bool(force_axes.any())
        self.wrench.watch_drift(state, regulated)
        self._since_look = 0.0

    def _is_free(self, load: float) -> bool:
        """Return True where the reference rests and nothing holds it.

        `load` is that of the law's spring, 0 to 1.
        """
        return load <= ONSET and self.contact.found is None and not self.motion.is_moving()

    def _begin_anew(self, state: RobotState, kin: RobotDynamics) -> None:
        """Let the law begin anew at a state."""
        self._begins = 1.0
        self.cycles.followed_v[0] = NONE
        self.running.law.reset(state, kin)
        self._joint_reference.reset(state.q)

    def _reference_at(
        self, trajectory: Trajectory, state: RobotState, kin: RobotDynamics, dt: float
    ) -> Reference:
        """Sample the reference at a state, and write it into the record."""
        time = state.time
        reference = self.motion.sample(trajectory, time)
        if self.running.joint_space:
            posture = self.motion.posture
            reference = self._joint_reference.complete(reference, trajectory, time, dt, posture)
        if trajectory is not self._sampled:
            self._sampled = trajectory
            self._follows_chunks = isinstance(trajectory, ChunkStream)
        if self._follows_chunks or self.motion.chunk_figures is not NO_CHUNK:
            self._watch_chunks(state, kin)
        if reference is not self._written:
            write_reference(self.cycles, 0, reference, self._written)
            self._written = reference
        return reference

    def _watch_chunks(self, state: RobotState, kin: RobotDynamics) -> None:
        """Write into the record how chunks are followed."""
        self.motion.watch_chunks(state, kin)
        delay, step, jerk = self.motion.chunk_figures
        self.cycles.chunk_delay[0] = delay
        self.cycles.seam_step[0] = step
        self.cycles.seam_jerk[0] = jerk

    def _in_place_of_law(
        self, state: RobotState, kin: RobotDynamics, reference: Reference, dt: float
    ) -> Command | None:
        """Return the command that is sent in place of the law's; None where the law commands.

        It is the safe output, or a reaction to a contact. After a fault nothing is followed any
        more. Without a wrench that the law needs, the reference rests where it is, and the law
        begins anew from there. In a reaction to a contact the arm holds where it is.
        """
        running = self.running
        if (
            fault := self._order.fault
            or self.ringing.fault
            or self._late_samples.fault
            or self.soft_limits.overrun
        ):
            self.motion.trajectory = None
            return self.safety.stop(
                running.mode, state, kin, self.contact.explained(fault, state.time), dt
            )
        if running.needs_wrench and state.wrench_on_tip is None:
            self.motion.rest(state, kin, reference)
            return self.safety.stop(
                running.mode, state, kin, missing_wrench(running, self.wrench.reason), dt
            )
        if not self.contact.reaction:
            return None
        reaction = self.contact.command(running.mode, state, kin, self.safety, dt)
        if reaction is None:
            return None
        self.motion.stop_here(state, kin)
        return self.safety.apply(reaction, state, kin, dt)

    def _record(
        self,
        asked: Command | None,
        sent: Command,
        gains: Any,
        fault: str,
        dt: float = 0.0,
        softening: float = 1.0,
        load: float = 0.0,
    ) -> None:
        """Complete the record of a cycle by the parts of the commands asked and sent; keep it.

        See :meth:`.recorder.CycleRecorder.add`.
        """
        cycles = self.cycles
        if asked is None:
            cycles.asked[0] = NONE
            cycles.followed_v[0] = NONE
        has_parts = sent.feedforward is not None or sent.velocity is not None
        if asked is not None:
            has_parts = has_parts or asked.feedforward is not None or asked.velocity is not None
        if has_parts or self._had_parts:
            shape = self._shape
            _write(None if asked is None else asked.feedforward, shape, cycles.asked_feedforward[0])
            _write(None if asked is None else asked.velocity, shape, cycles.asked_velocity[0])
            _write(sent.feedforward, shape, cycles.sent_feedforward[0])
            _write(sent.velocity, shape, cycles.sent_velocity[0])
            self._had_parts = has_parts
        limited = self._limited() if self.soft_limits.acts else self.safety.limited
        begins = self._begins
        self.recorder.add(
            cycles, self.running, gains, fault, sent.values, limited, dt, begins, softening, load
        )
        self._begins = 0.0

    def _limited(self) -> Array:
        """Marks (n,) of what limited the last command, where a soft limit acts; see
        :data:`~..core.cycle.CYCLE`.
        """
        return np.asarray(self.safety.limited + SOFT_LIMITED * self.soft_limits.active, dtype=float)

    def _record_without_law(
        self, state: RobotState, kin: RobotDynamics, sent: Command, fault: str
    ) -> Command:
        """Keep a cycle in which the law wasn't asked; returns what was sent."""
        write_state(self.cycles, 0, state, kin)
        self._begins = 0.0
        self._record(None, sent, self.running.gains.current, fault)
        return sent

    def _known(self) -> tuple[RobotState, RobotDynamics]:
        return known_state(
            self.fault or self.contact.message, self.state, self.kin, self.motion.trajectory
        )


def _write(part: Array | None, shape: tuple[int, ...], place: Array) -> None:
    """Write a part of a command into a record; NaN where there is none, or one of another shape."""
    place[:] = NONE if part is None or part.shape != shape else part


def _report(loop: ControlLoop, added: Mapping[str, Array]) -> LoopReport:
    if loop.state is None:
        raise ConfigError("there has been no cycle yet")
    safety = loop.safety
    soft_limits = loop.soft_limits
    terms = loop.running.law.terms
    if loop.running.mode is CommandMode.EFFORT:
        terms = {**terms, "soft_limits": soft_limits.torque, **added}
    return LoopReport(
        loop.state,
        loop.reference,
        terms,
        saturated=safety.saturated,
        rate_limited=safety.rate_limited,
        soft_limited=soft_limits.active,
        fault=loop.fault,
        wrench_reason=loop.wrench.reason,
        restarts=loop.restarts,
        restart_reason=loop.restart_reason,
        spring_load=loop.running.spring_load,
        ringing_margin=loop.ringing.margin(loop.state.time),
        ringing_scale=loop.ringing.scale,
        moving=loop.motion.is_moving(),
        contact=loop.contact.report(),
        since_zero=loop.wrench.time_since_zero(loop.state.time),
        chunk_delay=loop.motion.chunk_figures[0],
        seam_step=loop.motion.chunk_figures[1],
        seam_jerk=loop.motion.chunk_figures[2],
    )


def _sensed(pipeline: WrenchPipeline, state: RobotState, kin: RobotDynamics) -> RobotState:
    """The sample with its wrench at the tip, and the joint angles of `kin`."""
    wrench = pipeline.on_tip(state, kin)
    if wrench is not None:
        sample = state.time, kin.q, state.v, state.effort, state.wrench
        return SensedState(*sample, age=state.age, sensors=state.sensors, wrench_on_tip=wrench)
    if kin.q is state.q and state.wrench_on_tip is None:
        return state
    sample = state.time, kin.q, state.v, state.effort, state.wrench
    return RobotState(*sample, age=state.age, sensors=state.sensors)


def _with_rows(state: RobotState) -> RobotState:
    """The sample, with its numbers as compiled functions take them."""
    q = state.q
    v = state.v
    effort = state.effort
    rows = q.flags.carray and v.flags.carray and effort.flags.carray
    floats = q.dtype is FLOAT and v.dtype is FLOAT and effort.dtype is FLOAT
    if rows and floats and type(state.time) is float and type(state.age) is float:
        return state
    q = as_row(q)
    v = as_row(v)
    effort = as_row(effort)
    return replace(state, time=float(state.time), age=float(state.age), q=q, v=v, effort=effort)


def _check_state(state: RobotState, n: int, limits: JointLimits) -> None:
    for name, values in (("position", state.q), ("velocity", state.v)):
        if values.shape != (n,) or not (is_finite(values) or np.isfinite(values).all()):
            raise refused(name, values, f"must be {n} finite numbers", n, where="joint state: ")
    if not math.isfinite(state.time):
        raise refused("time", state.time, "must be finite", where="joint state: ")
    limits.check_sample(state.q, state.v)
