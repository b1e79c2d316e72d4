"""The watchdog: commands the robot's safe output when its controller has died or fallen silent.

A process of its own, which never contradicts a controller that lives. Topics and parameters:
docs/watchdog.md.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Empty, Float64MultiArray, MultiArrayDimension, MultiArrayLayout

from ...control.command_watchdog import CommandWatchdog
from ...core.bounded import Bounded
from ...core.errors import ConfigError
from ...core.timeout import Timeout
from ...core.types import Command, CommandMode, RobotState
from ...robot.configuration import load_robot, robot_names
from ...robot.model import RobotModel
from ...robot.profile import EXPECTED_RATE
from ...ros.entities import Entities, full_name
from ...ros.fallback import Fallback
from ...ros.hearing import Hearing
from ...ros.messages import numbers, read_message
from ...ros.own_stop import OwnStop
from ...ros.periodic import Periodic
from ...ros.polled import PolledSubscriptions
from ...ros.qos import ACKNOWLEDGED_WITHIN, LATCHED_QOS, STATE_QOS
from ...ros.refusals import KEY
from ...ros.robot_states import RobotStateReader
from ...ros.ros_params import PREFIX_TEXT, declare
from ...ros.running import PRIORITY, PRIORITY_TEXT, run, take_priority
from ...ros.system_check import WATCHDOG_ALIVE

# of the dimension of its commands; forward command controllers read the data only
LABEL = "watchdog"
# s that a look may take; a watchdog that hangs longer ends with an exit status of its own
WATCH_LIMIT = 1.0
DIAGNOSTICS_PERIOD = 1.0  # s
SIGN_PERIOD = 0.05  # s between two signs of life
WATCH_PERIOD = 0.008  # s between two looks at what has come, while commands do
ACT_PERIOD = 0.002  # the same while they don't; also of its own commands
SHUTDOWN_WAIT = 1.0  # s in which controllers that got the same signal have stopped commanding
MAX_END = 1.7  # s from the signal, at most, in which a robot that was taken over comes to rest
NO_STATES = 1.0  # s without joint states after which the diagnosis says so
HEARING_PERIOD = 0.02  # s between two messages to itself, at most
# of state_timeout: where nobody sends, and none of its own came back for so long, it may be deaf
DOUBT = 0.5
# s without joint states, real and simulated, after which it waits for no arm at the end
GONE = {False: 0.3, True: 1.0}

# s, at most, that a robot without torque waits for the fallback controller to brake it
COASTING = 0.3

_PRIORITY = PRIORITY + 1  # the controller must not keep it from watching
_PARAMETERS = {
    "robot": ("ur5", "Robot: a name ({robots}) or the path of a YAML file."),
    "profile": ("sim", "Hardware profile of the robot's file."),
    "prefix": ("", PREFIX_TEXT),
    "realtime_priority": (-1, PRIORITY_TEXT.format(priority=_PRIORITY)),
}
NUMBERS = {
    "rate": EXPECTED_RATE,
    "timeout": Bounded(
        default=0.04,
        lower=0.005,
        upper=10.0,
        unit="s",
        doc="Timeout of commands, while joint states come, after which it takes over.",
    ),
    "state_timeout": Bounded(
        default=0.2,
        lower=0.02,
        upper=20.0,
        unit="s",
        doc="The same where joint states fail to come as well; above the controller's.",
    ),
}


class WatchdogNode(Node):
    """Hears commands and joint states; sends commands itself where nobody else does.

    Attributes:
        hearing: Test whether this process hears at all; a deaf watchdog must not take over.
    """

    def __init__(self) -> None:
        super().__init__("watchdog")
        chosen = declare(self, _PARAMETERS, NUMBERS, {"robots": ", ".join(robot_names())})
        robot = load_robot(chosen["robot"], chosen["profile"], chosen["prefix"]).at_rate(
            chosen["rate"]
        )
        self._simulated = bool(self.get_parameter("use_sim_time").value)
        self._doubt = DOUBT * chosen["state_timeout"]
        self.hearing = Hearing.of(self, min(HEARING_PERIOD, 0.4 * self._doubt))
        self._takeover = CommandWatchdog(
            robot, RobotModel.of(robot), chosen["timeout"], chosen["state_timeout"], self._simulated
        )
        self._robot = robot
        self._reader = RobotStateReader(robot)
        label = MultiArrayDimension(label=LABEL, size=robot.n, stride=robot.n)
        self._command = Float64MultiArray(layout=MultiArrayLayout(dim=[label]))
        self._acting = False
        self._takeovers = 0
        self._reason = ""
        self._handed_over = False  # True while the fallback controller has the robot
        self._since = 0.0  # steady time of the last takeover [s]
        self._gone = GONE[self._simulated]
        # s
        self._missing_states = Timeout(self._gone)
        self._without_states = 0.0
        self._missing_states.restart(time.monotonic())
        self._stamp = 0.0  # s, of the last joint state
        self._last_moment = Timeout(MAX_END)
        # since when; a process that stood still has had no time to brake
        self._ending: Timeout | None = None
        self._diagnostics_due = time.monotonic() + DIAGNOSTICS_PERIOD
        self._sign_due = 0.0  # steady time of the next sign of life [s]
        self._executing = True  # until the robot says that it doesn't
        self._stopped = False  # whether STOP holds the controller, which then has to be silent
        self._entities = Entities(self)
        self._fallback = Fallback(self._entities, robot)
        self._own_stop = OwnStop(self._entities, robot, self._fallback)
        self._make_entities()
        take_priority(self, chosen["realtime_priority"], _PRIORITY)
        self._watching = Periodic(self._watch, "watching", WATCH_LIMIT)
        self._watching.start()
        self.get_logger().debug(f"watching {robot.name} (profile {robot.profile_name})")

    def unfinished(self) -> bool:
        """Return True while the robot still needs the watchdog after a signal; see :func:`run`."""
        takeover = self._takeover
        steady = time.monotonic()
        now = self._stamp if self._simulated else steady  # a slow simulation has a slow arm
        if self._ending is None:
            self._ending = Timeout(SHUTDOWN_WAIT)
            self._last_moment = Timeout(MAX_END)
            self._ending.restart(now)
            self._last_moment.restart(steady)
        ending = self._ending.poll(now)
        # whatever the simulation's clock and the watching thread do
        if self._last_moment.poll(steady) > MAX_END:
            return False
        if not takeover.armed or self._without_states > self._gone:
            return False
        return not takeover.at_rest if takeover.active else ending < SHUTDOWN_WAIT

    def close(self) -> None:
        """Leave the robot with a command that doesn't brake any more, and take the topics back."""
        command = self.leave()
        if command is not None:
            self._commands[command.mode].wait_for_all_acked(ACKNOWLEDGED_WITHIN)
        self._entities.close()

    def leave(self) -> Command | None:
        """Watch no more; end the braking of a robot that was taken over and isn't at rest.

        Returns the last command, which doesn't brake any more; None where there was nothing to end.
        """
        self._watching.stop()
        command = None
        for command in self._takeover.final_commands():
            self._publish(command)
            time.sleep(self._robot.period)
        if command is not None and self._takeover.moves:
            self.get_logger().warning("the watchdog ends while the arm still moves")
        return command

    def _make_entities(self) -> None:
        entities = self._entities
        profile = self._robot.profile
        if profile.joint_commands:
            raise ConfigError(
                f"profile {self._robot.profile_name} needs no watchdog: the node that takes commands on "
                f"{profile.joint_commands} checks them itself"
            )
        topics = {mode: profile.command_topic(mode) for mode in profile.commands}
        self._commands = {
            mode: entities.publisher(Float64MultiArray, topic) for mode, topic in topics.items()
        }
        self._diagnostics = entities.publisher(DiagnosticArray, "/diagnostics", 10)
        self._sign_of_life = entities.publisher(Empty, WATCHDOG_ALIVE, STATE_QOS)
        inputs = PolledSubscriptions(self)
        entities.on_close(inputs.close)
        self._new_states = inputs.add(JointState, "joint_states")
        self._new_commands = {
            mode: inputs.add(Float64MultiArray, topic) for mode, topic in topics.items()
        }
        if profile.running_topic:
            entities.subscription(Bool, profile.running_topic, self._on_running, LATCHED_QOS)
        entities.subscription(Bool, "controller/stopped", self._on_stopped, LATCHED_QOS)

    def _watch(self) -> float:
        """Look once; returns the time until the next look [s].

        A thread calls it, so that a busy executor doesn't hold it up. A sleep costs a third of a
        timer.
        """
        acts = self._poll()
        now = time.monotonic()
        if now >= self._sign_due:
            self._sign_due = now + SIGN_PERIOD
            self._sign_of_life.publish(Empty())
        if now >= self._diagnostics_due:
            self._diagnostics_due = now + DIAGNOSTICS_PERIOD
            # here: a thread that is dead or hangs can't say that it watches
            self._publish_diagnostics()
        return ACT_PERIOD if acts else WATCH_PERIOD

    def _poll(self) -> bool:
        """Hear and act; returns True where commands are missing.

        Commands are read before joint states. So a watchdog that was held up itself finds the
        commands that answer them.
        """
        now = time.monotonic()
        takeover = self._takeover
        heard = self._hear(now)
        if not self._executing:  # it may be moved by hand: what was commanded before counts no more
            takeover.disarm()
            self._acting = False
            return False
        state = self._latest_state()
        if state is not None:
            self._stamp = state.time
            self._missing_states.restart(now)
            self._send(takeover.on_state(state, now), "command", now)
        self._without_states = self._missing_states.poll(now)
        clock = self.get_clock().now().nanoseconds * 1e-9 if self._simulated else 0.0
        hears = self.hearing.proven(now, self._doubt)
        blind = takeover.poll(now, clock, hears)
        self._send(blind, "joint state and no command", now)
        if blind is not None:
            self._own_stop.ask(now, self._since)
        if self._done_here(now) and self._fallback.has_robot(now, self._since):
            takeover.disarm()  # the fallback controller has the robot now, and may move it
            self._acting = False
            self._handed_over = True
        return takeover.active or (state is not None and not heard)

    def _done_here(self, now: float) -> bool:
        """Return True where the fallback controller may have the robot.

        It may at rest, or 0.3 s after a takeover where this watchdog's torques don't brake the arm.
        """
        takeover = self._takeover
        coasts = takeover.mode is CommandMode.EFFORT and self._robot.profile.gravity_by_robot
        return takeover.at_rest or (self._acting and coasts and now - self._since > COASTING)

    def _on_running(self, message: Bool) -> None:
        self._executing = message.data

    def _on_stopped(self, message: Bool) -> None:
        self._stopped = message.data

    def _hear(self, now: float) -> bool:
        """Take the newest command of each topic; returns True where there was one.

        The topic of the present mode comes first: a new command of another mode is a switch of
        laws, and counts. The time of arrival is known to half a period.
        """
        heard = False
        for mode in sorted(self._new_commands, key=lambda mode: mode is not self._takeover.mode):
            values = self._newest_command(mode)
            if values is not None:
                heard |= self._takeover.on_command(
                    Command(mode, np.array(values)), now - 0.5 * WATCH_PERIOD
                )
        if heard:
            self._handed_over = False
        if heard and self._acting:
            self._acting = False
            self.get_logger().info(
                f"commands come again after {now - self._since:.3f} s: the watchdog sends no more"
            )
        return heard

    def _newest_command(self, mode: CommandMode) -> Sequence[float] | None:
        """Values of the newest command that no watchdog has sent; None where none has come."""
        for data in reversed(self._new_commands[mode]()):
            with self._entities.refusals.told(self._robot.profile.command_topic(mode)):
                message = read_message(data, Float64MultiArray)
                if not _is_own(message):
                    return message.data
        return None

    def _latest_state(self) -> RobotState | None:
        for data in reversed(self._new_states()):
            with self._entities.refusals.told("joint_states"):
                state = self._reader.read(data)
                if state is not None:
                    return state
        return None

    def _send(self, command: Command | None, missing: str, now: float) -> None:
        if command is None:
            return
        self._publish(command)
        if not self._acting:
            self._acting = True
            self._since = now
            self._takeovers += 1
            silence = self._takeover.silence
            mode = command.mode.value
            self._reason = (
                f"no {missing} for {silence:.3f} s: the watchdog sends the safe output ({mode})"
            )
            if self._stopped:
                self._reason = f"STOP was pressed: the watchdog sends the safe output ({mode})"
            if self._ending is None and not self._stopped:
                self.get_logger().error(self._reason)
            else:  # rclpy takes one severity from one call
                self.get_logger().info(self._reason)

    def _publish(self, command: Command) -> None:
        self._command.data = numbers(command.values)
        self._commands[command.mode].publish(self._command)

    def _publish_diagnostics(self) -> None:
        level, text = self._judge()
        status = DiagnosticStatus(level=level, name=f"{full_name(self)}: commands", message=text)
        status.hardware_id = self._robot.name
        values = {
            "profile": self._robot.profile_name,
            "takeovers": str(self._takeovers),
            "timeout [ms]": f"{self._takeover.timeout * 1e3:.0f}",
            "longest silence without a takeover [ms]": f"{self._takeover.longest_silence * 1e3:.1f}",
            KEY: self._entities.refusals.text,
        }
        status.values = [KeyValue(key=key, value=value) for key, value in values.items()]
        array = DiagnosticArray(status=[status])
        array.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(array)

    def _judge(self) -> tuple[bytes, str]:
        if self._acting:
            rest = "at rest" if self._takeover.at_rest else "not at rest"
            level = DiagnosticStatus.WARN if self._stopped else DiagnosticStatus.ERROR
            return level, f"{self._reason}, since {time.monotonic() - self._since:.0f} s; {rest}"
        if not self._executing:
            return DiagnosticStatus.OK, "the robot executes no commands"
        if self._handed_over:
            return DiagnosticStatus.OK, f"{self._robot.profile.fallback_controller} has the robot"
        if not self._takeover.armed:
            return DiagnosticStatus.WARN, "nobody has commanded yet"
        if self._without_states > NO_STATES:
            return DiagnosticStatus.WARN, "no joint states"
        return DiagnosticStatus.OK, "watching"


def _is_own(message: Float64MultiArray) -> bool:
    """Return True where a watchdog has sent the command."""
    return any(dimension.label == LABEL for dimension in message.layout.dim)


def main() -> None:
    """Run the node."""
    run(WatchdogNode)
