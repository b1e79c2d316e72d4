"""One configured controller: its topics, its control cycle, and what it does when
something is missing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from sensor_msgs.msg import JointState

from ...control.controller import Controller, settings_of, zero_wrench
from ...control.loop import BRIDGED
from ...control.payload_input import robot_note
from ...control.wrench_supply import check_wrench_supply
from ...core.errors import ConfigError, RobotControlError, refused
from ...core.types import Command, RobotState
from ...laws.running_law import RunningLaw
from ...ros.entities import Entities, newest_waiting
from ...ros.fallback import Fallback
from ...ros.findings import Finding, Level, describe, errors
from ...ros.message_type import message_type
from ...ros.own_stop import OwnStop
from ...ros.qos import ACKNOWLEDGED_WITHIN, STATE_QOS
from ...ros.refusals import KEY
from ...ros.ros_params import TunedParameters
from ...ros.system_check import (
    check_claim,
    check_conflicting_publishers,
    check_controllers,
    check_system,
    check_wrench_publishers,
    how_to_resume,
    joint_state_publishers,
)
from .answers import INACTIVE, Answers
from .command_execution import CommandExecution
from .commands import CommandPublishers
from .cycle_records import CycleRecords
from .diagnostics import LoopMonitor
from .effort_check import EffortCheck
from .gain_monitor import GainMonitor
from .intake import Intake
from .other_commands import OtherCommands
from .rivals import Precedence, PublisherCounts, Rivals
from .services.contact_services import ContactServices
from .services.cycle_service import CycleService
from .services.payload_services import PayloadServices
from .state_input import StateInput
from .targets.follow_joint_trajectory import FollowJointTrajectory
from .targets.target_topics import Targets
from .targets.trajectory_goal import PATH_TOLERANCE_VIOLATED
from .telemetry import Telemetry
from .watchdog_presence import WatchdogPresence

# s for which others may object to a claim of the robot, and s between two looks
CLAIM = 0.25
CLAIM_LOOK = 0.025
LAST_COMMANDS = 3  # of the same values at the end: best-effort readers may miss one
BRAKED_WITHIN = 0.6  # s in which a robot comes to rest when the controller is deactivated
AT_REST = 0.02  # rad/s (m/s)
# s in which the middleware delivers the next of the joint states that wait
DELIVERED_WITHIN = 0.001
CATCHING_UP = 20  # looks, at most, for newer joint states after a standstill
STANDSTILL = 2.5  # periods without a command of ours, after which another may have commanded
HAND_OVER = 5.0  # periods after a standstill, in which the other may still send a command
CROSSING = 1.5  # periods after a command of another, within which its next one may cross ours
SHORTEST_TIMEOUT = 3.0  # periods
DIAGNOSTICS_PERIOD = 1.0  # s
# s between two looks at the age of the last joint state; also of safe outputs at rest
FRESHNESS_PERIOD = 0.02
STOPPED_WITHIN = 1.5  # s of silence after which a robot whose joint states have stopped is at rest


class ControllerRuntime:
    """One controller with its loop, topics and services, from the node's configure to its cleanup.

    Attributes:
        active: True while joint states are answered with commands.

    Args:
        node: Node whose topics and services are used.
        loop: Loop that controls the robot.
        parameters: Parameters of the node, to which those of the loop are added.
        telemetry_rate: Rate of each topic of telemetry [Hz].
        state_timeout: Age of the last joint state at which the safe output is sent [s].
        checked: True where laws are only taken if the system offers what they need.
        without_watchdog: Reaction to a watchdog that has gone; see :class:`WatchdogPresence`.
        deactivate: Function that deactivates the node, where it yields to another controller; see
            :class:`Rivals`.
        records: Folder for records, and True where faults are saved there; see
            :class:`CycleRecords`.

    Raises:
        ConfigError, ParameterException: A value given for one of the parameters is refused.
    """

    def __init__(
        self,
        node: Node,
        loop: Controller,
        parameters: TunedParameters,
        telemetry_rate: float,
        state_timeout: float,
        checked: bool,
        without_watchdog: str = "profile",
        deactivate: Callable[[], None] = lambda: None,
        records: tuple[str, bool] = ("", False),
    ) -> None:
        self.active = False
        self._deactivate = deactivate
        # sends nothing while it is active, as another controller commands
        self._stands_back = False
        self._checked = checked
        self._node = node
        self._loop = loop
        self._period = loop.robot.period
        self._state_timeout = max(state_timeout, SHORTEST_TIMEOUT * self._period)
        self._sent_at = -math.inf  # steady time of the last command [s]
        self._follows_until = -math.inf  # until when another may command the robot [s]
        self._crosses_until = -math.inf  # until when its next command may cross ours [s]
        self._simulated = bool(node.get_parameter("use_sim_time").value)
        self._clock = (
            (lambda: node.get_clock().now().nanoseconds * 1e-9) if self._simulated else time.time
        )
        self._input = StateInput(loop.robot, loop.model, self._clock)
        self._monitor = LoopMonitor(node, loop, self._simulated)
        self._payload = PayloadServices(node, loop)
        self._effort_check = EffortCheck(loop.robot, loop.model)
        self._gains = GainMonitor(loop)
        # when the last good joint state came, by the steady clock
        self._state_at: float | None = None
        self._stale = False
        self._looked = False
        # texts: other nodes that command, nodes that publish joint states, the refusal of both
        self._seen = ("", "", "")
        self._unpublished = False  # True where the last diagnosis lacks something new
        self._inactive = INACTIVE  # reason why it commands nothing
        self._entities = Entities(node)
        try:
            simulated = loop.robot.profile.simulated_time
            self._watchdog = WatchdogPresence(self._entities, without_watchdog, simulated)
            self._records = CycleRecords(self._entities, loop, *records)
            CycleService(self._entities, loop)
            self._make_entities(parameters, telemetry_rate)
            self.check_law(loop.running)
        except (RobotControlError, ParameterException):
            self._entities.close()
            raise

    def _make_entities(self, parameters: TunedParameters, telemetry_rate: float) -> None:
        loop = self._loop
        entities = self._entities
        self._answers = Answers(entities, loop)
        intake = Intake(lambda: self.active, self._rest, self._monitor.refuse)
        self._intake = intake
        for prefix, settings in settings_of(loop).items():
            entities.tuned(parameters, prefix, settings, loop.robot.joints)
        self._goals = FollowJointTrajectory(
            entities, loop, parameters, lambda: self.active, self._monitor.refuse
        )
        self._commands = CommandPublishers(entities, loop)
        self._rivals = Rivals(self._node, loop, self._commands)
        self._publisher_counts = PublisherCounts(self._node, self._watched_topics)
        self._others = OtherCommands(entities, loop)
        self._own_stop = OwnStop(entities, loop.robot, Fallback(entities, loop.robot))
        self._diagnostics = entities.publisher(DiagnosticArray, "/diagnostics", 10)
        self._telemetry = Telemetry(entities, loop, telemetry_rate)
        self._contacts = ContactServices(self._node, entities, loop)
        self._states = entities.subscription(
            JointState, "joint_states", self._on_joint_state, STATE_QOS, raw=True, newest=True
        )
        entities.subscription(WrenchStamped, "wrench", intake.messages(self._input.on_wrench))
        self._subscribe_to_sensors()
        self._execution = CommandExecution(entities, loop, self._on_execution)
        self._targets = Targets(
            entities,
            loop,
            lambda callback: intake.messages(intake.when_ready(callback), self._answers.reply),
            self._monitor.refuse,
        )
        for name, action, done in (
            ("zero_wrench", lambda: zero_wrench(loop), ""),
            ("add_payload_sample", self._payload.add_sample, ""),
            ("identify_payload", self._payload.identify, ""),
            ("go_home", loop.motion.go_home, "moving home"),
            ("learn_contact_thresholds", self._contacts.learn, ""),
        ):
            entities.trigger(f"~/{name}", intake.when_ready(action), done)
        entities.trigger("~/hold", self._hold, "holding")
        entities.trigger("~/reset_ringing", loop.ringing.reset, "the gains count again as they are")
        entities.timer(0.5 * DIAGNOSTICS_PERIOD, self._diagnose)
        entities.timer(FRESHNESS_PERIOD, self._check_freshness)
        self._stopping = entities.timer(self._period, self._send_safe)
        self._stopping.cancel()

    def _subscribe_to_sensors(self) -> None:
        """Read the profile's further sensors.

        Raises:
            ConfigError: The law runs in a bus process, or a type of messages isn't installed.
        """
        readings = self._input.readings
        if readings.sensors and not self._loop.publishes_commands:
            rule = "must be empty where the law runs in the bus process, which has no topics"
            raise refused("sensors", self._loop.robot.profile.sensors, rule, ())
        for number, sensor in enumerate(readings.sensors):

            def take(message: Any, number: int = number) -> None:
                readings.take(number, message, time.monotonic())

            self._entities.subscription(
                message_type(sensor.message), sensor.topic, self._intake.messages(take)
            )

    def claim(self) -> None:
        """Make the publishers of commands, and see that no other node has any.

        No command is sent yet. Of two controllers that claim a robot at once, each sees the other's
        publishers, and at most one goes on.

        Raises:
            ConfigError: Another node publishes commands; these publishers are gone again then.
        """
        self._commands.open()
        if not self._checked:
            return
        robot = self._loop.robot
        mode = self._loop.running.mode
        end = time.monotonic() + CLAIM
        try:
            while time.monotonic() < end:
                _raise_errors(check_conflicting_publishers(self._node, robot, mode))
                time.sleep(CLAIM_LOOK)
            _raise_errors(check_claim(self._node, robot, mode))
        except ConfigError:
            self._commands.close()
            raise

    def activate(self) -> None:
        """Answer joint states from the next one on; the first command holds the robot."""
        self._loop.reset()
        self._targets.forget()
        self._payload.reset()
        self._monitor.restart()
        self._state_at = None
        self._stale = False
        self._sent_at = -math.inf
        self._inactive = ""
        self._rivals.begin(time.monotonic())
        self._stands_back = False
        self.active = True
        self._monitor.rests(self._execution.reason, True, begun=False)

    def deactivate(self) -> None:
        """Send the safe output, wait until it has arrived, and stop answering joint states.

        Nothing is sent where another controller leads the robot.
        """
        leading = self._rivals.others if self._stands_back else ()
        if self.active:
            self._goals.abort("the controller was deactivated")
            self.leave()
            self._commands.wait(ACKNOWLEDGED_WITHIN)
        self._commands.close()
        self._inactive = self._answers.inactive(leading)

    def leave(self) -> None:
        """Bring the robot to rest, and stop answering joint states.

        Nothing is sent where another controller leads the robot.
        """
        if self.active and not self._execution.reason and not self._stands_back:
            self._bring_to_rest()
        self.active = False
        self._stands_back = False
        self._stopping.cancel()

    def _bring_to_rest(self) -> None:
        """Send safe outputs until they stay the same, at most for 0.6 s.

        They answer fresh joint states where there are any.
        """
        until = time.monotonic() + BRAKED_WITHIN
        same = 0
        before = self._commands.last
        while same < LAST_COMMANDS and time.monotonic() < until:
            command = self._braking_command()
            if command is None or self._loop.state is None:
                return
            self._commands.send(command, self._loop.state.time)
            same = (
                same + 1
                if before is not None and np.array_equal(command.values, before.values)
                else 0
            )
            before = command
            time.sleep(self._period)

    def _braking_command(self) -> Command | None:
        """The next command on the way to rest; None where there is no safe output.

        While the robot moves, it answers a fresh joint state where there is one. Else, and at rest,
        it is the safe output without a joint state, which the robot keeps at the end.
        """
        data = newest_waiting(self._states, JointState)
        moving = self._loop.state is not None and np.abs(self._loop.state.v).max() > AT_REST
        if data is not None and moving:
            try:
                state = self._input.read(data, time.monotonic(), executing=False)
                if state is not None:
                    self._state_at = time.monotonic()
                    return self._loop.brake(state)
            except RobotControlError as error:
                self._monitor.refuse(error)
        return self._loop.stop(self._silence())

    def check_system(self, forward_follows: bool = False) -> list[str]:
        """See that the system offers what the law needs; returns warnings.

        With `forward_follows` there is no warning of an inactive forward controller: whoever starts
        this node activates it next.

        Raises:
            ConfigError: Something is missing; the message says what, and what to do.
        """
        if not self._checked:
            return []
        running = self._loop.running
        robot = self._loop.robot
        self._check_graph(running)
        findings = check_controllers(self._node, robot, running.mode, forward_follows)
        _raise_errors(findings)
        return [describe([finding]) for finding in findings if finding.level is Level.WARNING]

    def notes(self) -> list[str]:
        """Lines for the log: the law that runs, and notes on this robot under this profile."""
        robot = self._loop.robot
        notes = self._loop.robot.profile.all_notes
        if compensated := " and ".join(robot.profile.compensated_by_robot):
            notes.insert(0, f"{compensated} is the robot's own job here: the law's is off")
        if self._loop.model.payload.mass > 0.0:
            notes.insert(0, f"payload: {self._loop.model.payload}")
            notes += filter(None, [robot_note(robot)])
        mode = self._loop.running.mode
        name = robot.description or robot.name
        topic = self._node.resolve_topic_name(robot.profile.command_topic(mode))
        runs = f"law {self._loop.running.name}: {mode.value} commands on {topic}, {robot.profile.rate:g} Hz nominal"
        return [runs, *(f"{name} (profile {robot.profile_name}): {note}" for note in notes)]

    def check_law(self, law: RunningLaw) -> None:
        """Raise ConfigError for a law that couldn't take over now.

        It answers at once, because the robot is controlled meanwhile.
        """
        topic = self._node.resolve_topic_name("wrench")
        remapped = topic != self._node.resolve_topic_name("wrench", only_expand=True)
        check_wrench_supply(
            law, self._loop.wrench.settings.target.source, topic if remapped else ""
        )
        if self.active and law is not self._loop.running:
            self._loop.check_switch(law)
            if self._checked:
                self._check_graph(law)

    def _check_graph(self, law: RunningLaw) -> None:
        _raise_errors(
            check_system(self._node, self._loop.robot, law, "wrench" if self._is_sensed else None)
        )

    @property
    def _is_sensed(self) -> bool:
        """True where the wrench comes from a topic."""
        return bool(self._loop.wrench.settings.target.source == "sensor")

    def switch_law(self, law: RunningLaw) -> None:
        """Go on with another law; see :meth:`Controller.switch_law`."""
        if law is not self._loop.running:
            law.gains.finish()  # what was changed while it didn't run needs no fading
            self._loop.switch_law(law)
            self._execution.update()

    def close(self) -> None:
        """Deactivate, and take topics, services and the loop back."""
        self.deactivate()
        self._entities.close()
        self._gains.close()
        self._loop.close()

    def _on_joint_state(self, message: bytes) -> None:
        if not self.active or self._stands_back:
            return
        arrived = time.monotonic()
        if arrived - self._sent_at > STATE_QOS.depth * self._period:
            message = self._catch_up(message)
            arrived = time.monotonic()
        try:
            state = self._input.read(message, arrived, not self._execution.reason)
            if state is None:
                return
            if arrived - self._sent_at > STANDSTILL * self._period:
                self._follows_until = arrived + HAND_OVER * self._period
            if arrived < self._follows_until:
                self._follow_others(arrived)
        except RobotControlError as error:
            self._refuse_state(error, arrived)
            return
        try:
            command = self._answer(state)
        except RobotControlError as error:
            self._on_failed_cycle(error, state, arrived)
            return
        self._commands.send(command, state.time)
        self._sent_at = arrived
        self._state_at = arrived
        if self._stale:
            self._stale = False
            self._stopping.cancel()
        self._answers.fault(
            self._rest() or self._loop.fault or self._contacts.message or self._rivals.text
        )
        self._monitor.cycle(arrived, state.time)
        if self._loop.repeats == 0:
            self._goals.cycle()
            self._telemetry.cycle(command)
            self._targets.cycle(state.time)
            self._contacts.cycle(state.time)

    def _catch_up(self, message: bytes) -> bytes:
        """Return the newest joint state (serialised) after a standstill of this process.

        More joint states than the reader keeps wait in the middleware then. It delivers them one
        after the other. If each were answered, the law would start anew several times.
        """
        for _ in range(CATCHING_UP):
            time.sleep(DELIVERED_WITHIN)
            newer = newest_waiting(self._states, JointState)
            if newer is None:
                return message
            message = newer
        return message

    def _answer(self, state: RobotState) -> Command:
        """The command for a joint state that can be used."""
        if self._execution.reason:
            return self._loop.idle(state)
        if self._watchdog.stops:
            return self._loop.brake(state)
        return self._loop.tick(state)

    def _rest(self) -> str:
        """Reason why no targets are taken; empty where they are."""
        if self._stands_back:
            return self._rivals.text
        return self._execution.rest or (self._watchdog.text if self._watchdog.holds else "")

    def _follow_others(self, now: float) -> None:
        """Let the loop go on from the command of another node, after a standstill of this process.

        The watchdog, for one, may have commanded the robot meanwhile. Its next command may cross
        ours. So ours repeats its last one for a while.

        Args:
            now: Steady time [s].
        """
        mode = self._loop.running.mode
        crossing = now < self._crosses_until
        command = self._others.newest(mode, self._commands.recent, crossing)
        if command is not None:
            self._crosses_until = now + CROSSING * self._period
            self._loop.follow_on(command)
        elif crossing and self._commands.last is not None:
            self._loop.follow_on(self._commands.last)

    def _on_failed_cycle(self, error: RobotControlError, state: RobotState, arrived: float) -> None:
        """Brake the robot after a cycle whose joint state the law refused, and report the refusal.

        A joint state that the brake can't use either is refused like one that can't be read.
        """
        try:
            command = self._loop.brake(state)
        except RobotControlError:
            self._refuse_state(error, arrived)
            return
        self._commands.send(command, state.time)
        self._sent_at = arrived
        self._state_at = arrived
        self._monitor.refuse(error)
        self._answers.fault(str(error))
        self._goals.abort(str(error), PATH_TOLERANCE_VIOLATED)

    def _refuse_state(self, error: Exception, arrived: float) -> None:
        """Pass over a joint state that can't be used; stop the robot where good ones have ended."""
        if self._state_at is not None and arrived - self._state_at <= BRIDGED * self._period:
            self._monitor.refuse(error)
        else:
            self._stop(error)

    def _on_execution(self, reason: str) -> None:
        """Take a new reason why commands aren't executed; empty where they are again.

        The law rests meanwhile, and goals are aborted. Then it begins where the robot is.
        """
        self._input.allow_rest(time.monotonic())
        self._monitor.rests(reason, self.active, self._execution.executed)
        if reason and self.active:
            self._goals.abort(reason, PATH_TOLERANCE_VIOLATED)

    def _hold(self) -> str | None:
        self._intake.check_active()
        if reason := self._execution.rest:
            return f"{reason}; it begins where the robot is"
        self._targets.forget()
        self._loop.motion.hold()
        return None

    def _stop(self, error: Exception) -> None:
        """Report the error, and send the safe output, period by period until the robot rests."""
        self._monitor.refuse(error)
        self._answers.fault(str(error))
        self._goals.abort(str(error), PATH_TOLERANCE_VIOLATED)
        if not self._stale:
            self._stale = True
            self._stopping.reset()
            self._send_safe()

    def _silence(self) -> float:
        """Time since the last joint state that could be used [s].

        In simulated time it is the shorter one of real and simulated time.
        """
        if self._state_at is None:
            return 0.0
        age = time.monotonic() - self._state_at
        if self._simulated and self._loop.state is not None:
            age = min(age, abs(self._clock() - self._loop.state.time))
        return age

    def _send_safe(self) -> None:
        """Send the next safe output; the next good joint state ends that."""
        if not self.active or self._stands_back:
            return
        silence = self._silence()
        command = self._loop.stop(silence)
        if command is not None and self._loop.state is not None:
            self._commands.send(command, self._loop.state.time)
            self._sent_at = time.monotonic()
        if silence > STOPPED_WITHIN:
            self._stopping.cancel()

    def _check_freshness(self) -> None:
        """Send the safe output to a robot whose joint states have stopped.

        While simulated time stands still, no joint state is too old.
        """
        now = time.monotonic()
        self._records.note_fault(self._present_fault())
        self._records.look(now)
        if self._watchdog.look(now):
            self._on_watchdog()
        self._watch_others()
        if not self.active or self._stands_back or self._state_at is None:
            return
        silence = self._silence()
        if silence <= self._state_timeout:
            return
        if self._stale:
            self._send_safe()
            self._own_stop.ask(now, self._state_at)
            return
        message = f"no joint state for {silence:.3f} s: must be at most {self._state_timeout:g} s; safe output"
        resume = how_to_resume(self._loop.robot)
        self._stop(
            ConfigError(
                f"{message}. {resume}",
                name="state_timeout",
                value=silence,
                bound=self._state_timeout,
            )
        )

    def _present_fault(self) -> str:
        """The fault of the moment; empty where there is none.

        There is none while another node leads the robot, or while nobody executes commands.
        """
        if not self.active or self._stands_back or self._execution.reason:
            return ""
        return self._answers.text if self._stale else self._loop.fault

    def _on_watchdog(self) -> None:
        """Report that the watchdog has gone or is back; hold the arm where that is wanted."""
        text = self._watchdog.text
        if text:
            self._node.get_logger().error(text)
        else:
            self._node.get_logger().info("the watchdog is there again")
        if self.active and self._watchdog.holds:
            self._goals.abort(text, PATH_TOLERANCE_VIOLATED)
            with suppress(ConfigError):  # there is nothing to hold yet
                self._loop.motion.hold()
        self._publish_diagnostics()

    def _diagnose(self) -> None:
        """Look for trouble or publish, by turns: both in one call make a sample late at 500 Hz."""
        self._looked = not self._looked
        if self._looked:
            self._look()
        else:
            self._publish_diagnostics()

    def _look(self) -> None:
        """See which other nodes command the robot; log warnings of efforts, gains and payload."""
        self._look_at_others()
        if self.active:
            effort = self._effort_check.look(self._input.sent)
            looks = (effort, self._gains.look(), self._input.look(), self._payload.look())
            for warning in filter(None, looks):
                self._node.get_logger().warning(warning)
            if learnt := self._contacts.look():
                self._node.get_logger().info(learnt)

    def _watched_topics(self) -> list[str]:
        """Topics on which another publisher disturbs control: commands, joint states, wrench."""
        commands = self._loop.robot.profile.command_topic(self._loop.running.mode)
        return [commands, "joint_states", *(["wrench"] if self._is_sensed else [])]

    def _watch_others(self) -> None:
        """Publish soon that a node comes or goes, or that joint states begin to be late.

        Looking and publishing in one call make a sample late at 500 Hz, so the next call publishes.
        """
        if self._unpublished:
            self._unpublished = False
            self._publish_diagnostics()
            return
        if self._publisher_counts.changed() or self._rivals.unnamed or self._stands_back:
            before = self._seen
            self._look_at_others()
            self._unpublished = self._seen != before
        elif self.active and self._monitor.begins_late():
            self._unpublished = True

    def _look_at_others(self) -> None:
        """See which nodes publish commands, joint states and wrench; yield where that is due."""
        precedence = self._rivals.look(time.monotonic())
        senders = joint_state_publishers(self._node)
        self._monitor.senders = ", ".join(senders) if len(senders) > 1 else ""
        conflict = ""
        if not self.active:
            self._inactive = self._answers.inactive(self._rivals.leading)
        elif self._checked:
            conflict = self._refuse_others()
            self._take_precedence(precedence)
        self._seen = (self._rivals.text, self._monitor.senders, conflict)

    def _refuse_others(self) -> str:
        """Report other nodes that command the robot, and a second publisher of its wrench.

        Returns the report; empty where there are none.
        """
        running = self._loop.running
        conflicting = check_conflicting_publishers(self._node, self._loop.robot, running.mode)
        if self._is_sensed:
            conflicting += errors(check_wrench_publishers(self._node, running, "wrench"))
        if not conflicting:
            return ""
        text = describe(conflicting)
        if not self._stands_back:
            self._monitor.refuse(ConfigError(text))
        return text

    def _take_precedence(self, precedence: Precedence) -> None:
        """Lead, stand back, or yield.

        A controller that stands back sends nothing. One that yields ends without a braking command:
        the other one leads the arm, and two that command in turns make steps of torque. Where the
        other one dies, the watchdog brakes.
        """
        if precedence is Precedence.LEAD:
            if self._stands_back:
                self._node.get_logger().info(
                    "no other controller commands the robot any more: this one begins anew"
                )
                self.activate()
            return
        if not self._stands_back:
            self._stands_back = True
            self._stopping.cancel()
            text = self._rivals.text
            self._node.get_logger().warning(
                f"{text}; this controller is young, and sends nothing from now on"
            )
            self._answers.fault(text)
            self._goals.abort(text, PATH_TOLERANCE_VIOLATED)
        if precedence is Precedence.YIELD:
            self._node.get_logger().warning(
                f"{self._rivals.text}; this controller yields, and is deactivated"
            )
            self._deactivate()

    def _publish_diagnostics(self) -> None:
        values = {"effort": self._effort_check.text, "wrench sensor": self._input.old_wrench}
        values["further sensors"] = self._input.readings.silent(time.monotonic())
        values |= self._gains.values() | self._contacts.values() | self._payload.values()
        values["commanded by"] = ", ".join(self._rivals.leading)
        values[KEY] = self._entities.refusals.text
        self._diagnostics.publish(
            self._monitor.message(
                values, self._gains.report.warning, self._inactive, self._watchdog.text
            )
        )


def _raise_errors(findings: list[Finding]) -> None:
    if found := errors(findings):
        raise ConfigError(describe(found))
