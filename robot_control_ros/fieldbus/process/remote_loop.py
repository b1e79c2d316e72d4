"""A proxy of the loop in the bus's process: the :class:`~..control.controller.Controller` of
the controller node.
"""

from __future__ import annotations

import math
import os
import time
from pathlib import Path

from ...control.controller import LoopReport, check_takeover, known_state, settings_of, tip_error
from ...control.integral_action import integral_settings
from ...control.payload_input import PayloadInput
from ...control.reactions.ringing_reaction import ringing_settings
from ...control.safety import limit_settings
from ...core.errors import ConfigError, HardwareFault, RobotControlError, StaleStateError
from ...core.gains import ParameterSet
from ...core.types import Array, Command, Reference, RobotState, Wrench
from ...laws.running_law import RunningLaw
from ...references import StreamSettings
from ...references.clearance import Clearance
from ...references.workspace import Workspace
from ...robot.configuration import RobotConfig
from ...robot.model import RobotDynamics, RobotModel
from ...sensing.contact_detector import DetectedContact
from ...sensing.contact_settings import ContactSettings
from ...sensing.wrench import WrenchPipeline
from .in_process_loop import NOT_ENABLED, LoopTelemetry
from .protocol import CONTROLLER, open_memory
from .rpc import RpcClient, decode, encode
from .shared_memory import Latest

REPLY_TIMEOUT = 5.0  # s for an answer: a law that is used for the first time has to be made
FIRST_CYCLE = 2.0  # s until the first cycle of a loop is reported
MAX_SILENCE = 0.1  # s without telemetry
POLL = 0.0005  # s between two looks for one


class LoopConnection:
    """Connection to the loop in the bus's process, by the memory shared with it.

    Attributes:
        call: Function that has the loop's process do a call between two cycles, see
            :meth:`RpcClient.call`. It ends at once where the process has ended.

    Raises:
        ConfigError: there is none, or another controller has it.
    """

    def __init__(self, path: Path) -> None:
        self._memory = open_memory(path)
        try:
            number, report = Latest(self._memory.region("report")).get()
            if number and not decode(report).get("in_process", True):
                raise ConfigError(
                    "the bus's process takes no loop: start the bus's node with in_process:=true"
                )
            if not self._memory.lock(self._memory.LED):
                raise ConfigError(
                    "a controller's loop runs in the bus's process already: end that controller first"
                )
        except ConfigError:
            self._memory.close()
            raise
        self.call = RpcClient(self._memory, CONTROLLER, REPLY_TIMEOUT, self._wait).call
        self._telemetry, self._pulse = (
            Latest(self._memory.region(name)) for name in ("telemetry", "pulse")
        )
        self._taken = 0
        self._newest: LoopTelemetry | None = None
        self._last_pulse = b""

    def close(self) -> None:
        """Leave the loop to another controller."""
        self._memory.close()

    def telemetry(self) -> LoopTelemetry | None:
        """The newest telemetry; None where there is none."""
        if self._telemetry.number != self._taken:
            self._taken, record = self._telemetry.get()
            if record:
                self._newest = LoopTelemetry.decode(record)
        return self._newest

    def forget(self) -> None:
        """Forget the newest telemetry."""
        self._taken = self._telemetry.number
        self._newest = None

    def pulse(self, wrench: Wrench | None) -> None:
        """Show that the controller lives, and what its sensor has measured."""
        self._last_pulse = encode(wrench)
        self._pulse.put(self._last_pulse)

    @property
    def lives(self) -> bool:
        """True while the bus's process, or the one that started it, lives."""
        return self._memory.owned

    def _wait(self) -> None:
        """Show that the controller lives while it waits for an answer.

        A HardwareFault says that nobody is left to answer.
        """
        if not self.lives:
            raise HardwareFault("the bus's process has ended", name="bus")
        if self._last_pulse:
            self._pulse.put(self._last_pulse)


class RemoteMotion:
    """The commands that move the reference over there; see
    :class:`~...control.motion_commands.MotionCommands`.

    Attributes:
        trajectory: Number of the trajectory that is followed there; None for nothing.
        stream: Settings of chunks; they are sent with the next tick.
    """

    def __init__(self, connection: LoopConnection) -> None:
        self._call = connection.call
        self.trajectory: int | None = None
        self.stream = ParameterSet(StreamSettings, 0, {})

    def follow(self, number: int) -> None:
        """Take the number of the trajectory that is followed; 0 is none."""
        if number != self.trajectory:  # the same one stays the same object
            self.trajectory = number or None

    def hold(self) -> None:
        self.follow(self._call("hold"))

    def move_to(self, pose: Array) -> None:
        self.follow(self._call("move_to", pose))

    def move_joints_to(self, goal: Array) -> None:
        self.follow(self._call("move_joints_to", goal))

    def follow_joints(self, times: Array, positions: Array, velocities: Array | None) -> None:
        self.follow(self._call("follow_joints", times, positions, velocities))

    def follow_joint_chunk(self, times: Array, positions: Array) -> None:
        self.follow(self._call("follow_joint_chunk", times, positions))

    def follow_tip(self, times: Array, poses: Array) -> None:
        self.follow(self._call("follow_tip", times, poses))

    def set_posture(self, goal: Array) -> None:
        self.follow(self._call("set_posture", goal))

    def go_home(self) -> None:
        self.follow(self._call("go_home"))

    def jog(self, twist: Array, lasting: float) -> None:
        self.follow(self._call("jog", twist, lasting))

    def set_feedforward_wrench(self, wrench: Array | None, lasting: float = math.inf) -> None:
        self._call("set_feedforward_wrench", wrench, lasting)


class RemoteWrench:
    """The wrench of the loop over there; see :class:`~...sensing.wrench.WrenchPipeline`.

    Attributes:
        settings: Settings of the wrench; they are sent with the next tick.
        reason: Reason why there is no wrench or a sample was refused, as it was last reported;
            empty where all is well.
    """

    def __init__(self, connection: LoopConnection, robot: RobotConfig) -> None:
        self._call = connection.call
        self.settings = WrenchPipeline(
            robot.profile.wrench_settings, robot.profile.measures_torque
        ).settings
        self.reason = ""

    def zero(self) -> object:
        return self._call("zero_wrench")

    def set_tare(self, tare: Array) -> None:
        self._call("set_tare", tare)


class RemoteContact:
    """Contact detection of the loop over there; see
    :class:`~...control.reactions.contact_monitor.ContactMonitor`.

    Attributes:
        settings: Settings of contact detection; they are sent with the next tick.
        found, reaction: Contact that was detected and reaction to it, as they were last reported.
    """

    def __init__(self, connection: LoopConnection, robot: RobotConfig) -> None:
        self._call = connection.call
        self.found: DetectedContact | None = None
        self.reaction = ""
        self.settings = ParameterSet(ContactSettings, robot.n, robot.contact)

    def clear(self) -> str:
        return str(self._call("clear_contact"))

    def begin_learning(self) -> object:
        return self._call("begin_learning")

    def learned(self) -> dict[str, list[float]]:
        return dict(self._call("learned"))


class RemoteRinging:
    """Reaction of the loop over there to ringing.

    See :class:`~...control.reactions.ringing_reaction.RingingReaction`.

    Attributes:
        settings: Settings of the reaction to ringing; they are sent with the next tick.
    """

    def __init__(self, connection: LoopConnection) -> None:
        self._call = connection.call
        self.settings = ringing_settings()

    def reset(self) -> None:
        self._call("reset_ringing")


class RemoteLoop:
    """The proxy of a ControlLoop whose cycles happen in the bus's process, at the bus's rate.

    :meth:`tick` gives what happened there last, as all figures here; what is asked for here is done
    there.

    Args:
        robot, law, gain_time_constant: Robot, law and time constant of the gains [s], see
            :class:`~...control.loop.ControlLoop`; the rate is that of the joint states here.
        description: Text of the robot description, where it isn't the configuration's.
        name: Name of the robot, or its file.
        path: Path of the memory shared with the bus's process.

    Attributes: see :class:`~...control.controller.Controller`.

    Raises:
        ConfigError: no such process, or it refuses; also what ControlLoop raises.
        HardwareFault: it doesn't answer.
    """

    publishes_commands = False
    recorder = None  # the cycles are those of the bus's process

    def __init__(
        self,
        robot: RobotConfig,
        law: RunningLaw,
        description: str | None,
        gain_time_constant: float,
        *,
        name: str,
        path: Path,
    ) -> None:
        self.robot = robot
        self.running = law
        self.model = RobotModel.of(robot, description)
        self.workspace = Workspace(robot.profile.workspace, self.model.reach)
        self.clearance = Clearance(robot, self.model)
        self.state: RobotState | None = None
        self.kin: RobotDynamics | None = None
        self.reference = Reference()
        # Joint states of ROS are only shown.
        self.repeats = 0
        self.late_samples = 0
        self.restarts = 0
        self.restart_reason = ""
        connection = LoopConnection(path)
        self._connection = connection
        self.motion = RemoteMotion(connection)
        self.wrench = RemoteWrench(connection, robot)
        self.payload = PayloadInput(self.model, lambda: self.kin)
        self.contact = RemoteContact(connection, robot)
        self.ringing = RemoteRinging(connection)
        self.integral = integral_settings(robot.n)
        self.limits = limit_settings(robot)
        self._telemetry: LoopTelemetry | None = None
        self._begun = False
        self._telemetry_time = 0.0
        self._sent = {call: tuned.target for call, tuned in self._tuned().items()}
        try:
            connection.call(
                "attach",
                process=os.getpid(),
                robot=name,
                profile=robot.profile_name,
                description=robot.urdf() if description is None else description,
                law=law.name,
                gains=self._sent["set_gains"],
                settings={name: settings.target for name, settings in settings_of(self).items()},
                gain_time_constant=gain_time_constant,
            )
        except RobotControlError:
            connection.close()
            raise

    def _tuned(self) -> dict[str, ParameterSet]:
        """Gains and settings that may be changed here at any time, by the call that sends them."""
        settings = {f"set_{name}": settings for name, settings in settings_of(self).items()}
        return {"set_gains": self.running.gains, **settings}

    def close(self) -> None:
        self._connection.close()

    # --- what happened there ---

    def tick(self, state: RobotState) -> Command:
        """Command that was sent last; `state` is the joint state of ROS, with the sensor's wrench.

        Raises:
            StaleStateError: the bus's process reports nothing new.
        """
        if not self._begun:
            self.reset()
        self._send_changes()
        self._connection.pulse(state.wrench)
        now = time.monotonic()
        telemetry = self._connection.telemetry()
        if telemetry is not None and telemetry is not self._telemetry:
            self._telemetry_time = now
            self._take(telemetry)
        silence = now - self._telemetry_time
        if self._telemetry is None or silence > MAX_SILENCE:
            message = f"the loop in the bus's process has reported nothing for {silence:.2f} s"
            raise StaleStateError(message, name="telemetry", value=silence, bound=MAX_SILENCE)
        return self._telemetry.command

    def idle(self, state: RobotState) -> Command:
        return self.tick(state)  # the loop over there rests by itself while the drives don't run

    def _take(self, telemetry: LoopTelemetry) -> None:
        self.payload.take()
        self._telemetry = telemetry
        report = telemetry.report
        self.state = report.state
        self.reference = report.reference
        self.kin = self.model.update(report.state.q, report.state.v)
        self.restarts = report.restarts
        self.restart_reason = report.restart_reason
        self.wrench.reason = report.wrench_reason
        self.contact.found = report.contact.contact
        self.contact.reaction = report.contact.reaction
        self.motion.follow(telemetry.trajectory)

    @property
    def fault(self) -> str:
        return (
            ""
            if self._telemetry is None
            else self._telemetry.report.fault or self._telemetry.refusal
        )

    @property
    def warning(self) -> str:
        return self.running.warning if self._telemetry is None else self._telemetry.warning

    def report(self) -> LoopReport:
        if self._telemetry is None:
            raise ConfigError("there has been no cycle yet")
        return self._telemetry.report

    def timing(self) -> dict[str, float]:
        return {} if self._telemetry is None else self._telemetry.times

    def tip(self) -> Array:
        if self._telemetry is not None and not self._telemetry.running:
            raise ConfigError(NOT_ENABLED)
        held = "" if self._telemetry is None else self._telemetry.report.contact.message
        return known_state(self.fault or held, self.state, self.kin, self.motion.trajectory)[1].pose

    def pose_error(self) -> Array:
        return tip_error(self.reference, self.kin)

    # --- what shall happen there ---

    def _send_changes(self) -> None:
        """Send gains and settings that were set here."""
        for call, tuned in self._tuned().items():
            if tuned.target is not self._sent[call]:
                tuned.finish()
                self._connection.call(call, tuned.target)
                self._sent[call] = tuned.target

    def reset(self) -> None:
        """Let the loop command from the next cycle on.

        Raises:
            HardwareFault: no report of that cycle comes.
        """
        self.motion.trajectory = None
        self._telemetry = None
        self.wrench.reason = ""
        self._send_changes()
        self._connection.forget()
        self._connection.pulse(None)
        self._connection.call("begin")
        until = time.monotonic() + FIRST_CYCLE
        while self._connection.telemetry() is None:
            if time.monotonic() > until:
                raise HardwareFault(
                    f"the bus brings no samples: none within {FIRST_CYCLE:g} s", bound=FIRST_CYCLE
                )
            time.sleep(POLL)
        self._begun = True
        self._telemetry_time = time.monotonic()

    def follow_on(self, command: Command) -> None:
        """Do nothing: nobody else commands the drives."""

    def brake(self, state: RobotState) -> Command:
        self.stop()
        return self.idle(state)

    def stop(self, silence: float = 0.0) -> Command | None:
        """Let the loop command no longer: the bus's process then stops the drives.

        Where that process has ended, it has done so.
        """
        self.motion.trajectory = None
        self._begun = False
        try:
            self._connection.call("stop")
        except HardwareFault:
            if self._connection.lives:
                raise
        return None

    def check_switch(self, running: RunningLaw) -> None:
        check_takeover(running, self.state, self.wrench.reason)

    def switch_law(self, running: RunningLaw) -> None:
        self.check_switch(running)
        self._connection.call("switch_law", running.name, running.gains.target)
        self.running = running
        self._sent["set_gains"] = running.gains.target
