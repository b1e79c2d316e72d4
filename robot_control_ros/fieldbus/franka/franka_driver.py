"""A Franka robot as a driver of the bus process: law and limits at 1 kHz inside, ROS outside."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from ...core.errors import ConfigError, HardwareFault, RobotControlError, refused, unknown
from ...core.types import Array, Command, CommandMode, RobotState, Wrench
from ...robot.configuration import RobotConfig
from ...robot.model import RobotModel
from ...sensing.momentum_observer import wrench_from_torque
from ..command_checks import check_command, describe_jump
from ..driver_options import read_options
from ..process.pacing import Timing
from ..process.rpc import BetweenCycles
from ..supervisor import Action, StateMeanings, Supervisor, SupervisorLimits
from .error_words import RECOVER, describe_errors
from .franka_connection import (
    Connection,
    FrankaSample,
    FrankaSettings,
    LibfrankaConnection,
    MotionEnded,
)
from .limits import (
    MAX_TORQUE,
    PERIOD,
    braking_torque,
    limited_position,
    limited_torque,
    velocity_limits,
)
from .load import check_load, load_besides, modelled_body, total_body

JOINTS = 7
WAIT = 20.0  # periods without a state after which a cycle is bad
LOOKS = 50  # cycles in which the robot shows what it was told
TRIES = 1000  # cycles in which enough good ones follow one another
AT_REST = 0.02  # rad/s, of all joints: then a stopped arm is left to the robot
WRENCHES = ("wrench", "torques")
WAITED = 1e-4  # s; who waited longer wasn't late
_NAME = "robot"


class FrankaState(Enum):
    """State of the robot, from its mode and from what was started here."""

    UNKNOWN = "no state was read yet"
    IDLE = "idle"
    ENABLED = "runs our motion"
    BRAKING = "brakes"
    AT_REST = "at rest"
    FOREIGN = "runs a motion of another program"
    REFLEX = "stopped by its reflex"
    USER_STOPPED = "stopped by the enabling switch or the stop button"
    GUIDING = "guided by hand"
    RECOVERY = "recovers from an error"
    OTHER = "not ready: see Desk"


_OF_MODE = {
    "Idle": FrankaState.IDLE,
    "Move": FrankaState.FOREIGN,
    "Reflex": FrankaState.REFLEX,
    "UserStopped": FrankaState.USER_STOPPED,
    "Guiding": FrankaState.GUIDING,
    "AutomaticErrorRecovery": FrankaState.RECOVERY,
    "Other": FrankaState.OTHER,
}
_MEANINGS = StateMeanings(
    enabled=FrankaState.ENABLED,
    moving={FrankaState.BRAKING},
    faults={FrankaState.REFLEX},
    unknown=FrankaState.UNKNOWN,
)
_MODES = {CommandMode.EFFORT, CommandMode.POSITION}


@dataclass(frozen=True)
class FrankaOptions:
    """Settings of the bus franka.

    Attributes:
        collision_torque: External torque of each joint that is a collision for the robot [N·m]: one
            number, or seven.
        collision_force: External force and torque on the tip that are a collision [N, N·m]: two
            numbers, or six.
        set_load: True where the robot is told the payload of the controller's model.
        payload_tolerance: Largest torque error of a wrong payload that is taken [N·m].
        flange: Frame of the description that is Franka's flange; empty for the one whose name ends
            with link8, else the tip.
        wrench_from: `wrench` takes the robot's own estimate, `torques` makes one of its estimated
            external torques, by the controller's model.
    """

    collision_torque: tuple[float, ...] = (40.0,)
    collision_force: tuple[float, ...] = (80.0, 25.0)
    set_load: bool = True
    payload_tolerance: float = 0.2
    flange: str = ""
    wrench_from: str = "wrench"

    def __post_init__(self) -> None:
        if self.wrench_from not in WRENCHES:
            raise unknown("wrench_from", self.wrench_from, WRENCHES)

    @property
    def torques(self) -> Array:
        """Thresholds (7,) of the joints [N·m]."""
        return _spread_over("collision_torque", self.collision_torque, (1, JOINTS), JOINTS)

    @property
    def forces(self) -> Array:
        """Thresholds (6,) at the tip [N, N·m]."""
        return _spread_over("collision_force", self.collision_force, (2, 6), 6)


def _spread_over(name: str, values: Any, sizes: tuple[int, int], n: int) -> Array:
    array = np.atleast_1d(np.asarray(values, dtype=float))
    rule = f"must be {sizes[0]} or {sizes[1]} numbers above 0"
    if array.shape not in ((sizes[0],), (sizes[1],)) or not (array > 0.0).all():
        raise refused(name, values, rule, sizes)
    return np.repeat(array, n // len(array))


class FrankaDriver:
    """A Franka robot on the network; see :class:`..driver.Driver`.

    Args:
        connection: Connection to the robot; by default one over pylibfranka.
        clock: Function that returns the time [s], of a clock that doesn't go back.
        robot, address, options, limits, timing, between: See :class:`..driver.DriverClass`.

    Raises:
        ConfigError: an unknown option or one beyond its bounds, or a robot without seven joints.
    """

    period = PERIOD
    measures_wrench = True

    def __init__(
        self,
        robot: RobotConfig,
        address: str,
        options: Mapping[str, Any],
        limits: SupervisorLimits,
        timing: Timing,
        between: BetweenCycles,
        *,
        connection: Connection | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if robot.n != JOINTS:
            raise refused("joints", list(robot.joints), f"must be {JOINTS}: a Franka robot's")
        self._options = read_options(FrankaOptions, options)
        self._torques = self._options.torques
        self._forces = self._options.forces
        self.joints = robot.joints
        self.overruns = 0
        self._warnings: list[str] = []
        self._robot = robot
        self._connection = LibfrankaConnection(address) if connection is None else connection
        self._clock = clock
        self._timing = timing
        self._between = between
        self._supervisor = Supervisor((_NAME,), _MEANINGS, limits)
        self._model: RobotModel | None = None  # of the requests
        self._cycle_model: RobotModel | None = None  # of the cycle, which is another thread
        self._flange = ""
        self._stiffness_frame = np.eye(4)
        self._safe_damping = np.asarray(robot.safe_damping, dtype=float)
        self._sample: FrankaSample | None = None
        self._settings: FrankaSettings | None = None
        self._asked = 0.0  # time when a state was asked for last
        self._received = 0.0
        self._due = 0.0
        self._failure = ""
        self._moves = False  # a motion of ours runs
        self._fresh = False
        self._action = Action.DISABLE
        self._command: Command | None = None
        self._commanded_at = -math.inf
        self._mode = CommandMode.EFFORT  # of the last command
        self._running_mode = CommandMode.EFFORT  # of the motion that runs
        self._sent = np.zeros(JOINTS)  # torque that was sent last
        self._wanted = np.zeros(JOINTS)  # position that was wanted last
        self._wanted_at = 0.0  # s, of the robot's time
        self._braked = 0
        self._clipped = 0
        self._supervisor.waits_for_commands = True

    @property
    def warnings(self) -> list[str]:
        return self._warnings

    @staticmethod
    def check_free(address: str) -> None:
        """Do nothing: the robot itself takes one program only."""

    # --- start and end ---

    def prepare(self) -> None:
        self._model = RobotModel.of(self._robot)
        if self._options.wrench_from == "torques":
            self._cycle_model = RobotModel.of(self._robot)
        self._flange = self._find_flange(self._model)
        self._connection.connect()
        self._take(self._connection.read())
        self._settings = self._connection.settings()
        self._stiffness_frame = self._settings.stiffness_frame
        sample = self._sample
        if sample is not None and sample.errors:
            self.note(f"the robot has errors: {describe_errors(sample.errors)}")
        if self._state() is FrankaState.IDLE:
            try:
                self._configure()
            except ConfigError as error:  # it is refused when the robot is to be enabled
                self._warnings.append(str(error))

    def _find_flange(self, model: RobotModel) -> str:
        frames = [frame for frame in model.frames if frame.endswith("link8")]
        chosen = self._options.flange or (frames[0] if len(frames) == 1 else model.tip)
        if chosen not in model.frames:
            raise refused(
                "flange", chosen, f"must be one of: {', '.join(model.frames)}", model.frames
            )
        return chosen

    def _configure(self) -> None:
        """Tell the robot its thresholds and its load; it takes them only while it is idle."""
        connection = self._connection
        connection.set_collision_behavior(self._torques, self._forces)
        if self._options.set_load:
            body = modelled_body(self._model_now(), self._flange)
            connection.set_load(load_besides(body, self._settings_now().end_effector))

    def operate(self) -> None:
        self._due = self._clock()

    def close(self) -> None:
        supervisor = self._supervisor
        if self._moves:
            supervisor.trip("the program ends")
            until = self._clock() + supervisor.limits.stop_time
            while self._moves and self._clock() < until:
                self.sense()
                self.act()
        if self._moves:
            self._let_go()
        self._connection.close()

    # --- the cycle ---

    def sense(self) -> bool:
        problem = ""
        fresh = False
        self._asked = self._clock()
        try:
            if self._connection.wait(WAIT * PERIOD):
                self._take(self._connection.read())
                fresh = True
            else:
                problem = f"no state from the robot for {WAIT:g} ms"
        except MotionEnded as error:
            self._moves = False
            self._connection.drop()
            self._failure = str(error)
            problem = f"the robot has ended the motion: {error}"
            self._supervisor.trip(problem)
        except HardwareFault as error:
            self._moves = False
            problem = str(error)
            self._supervisor.trip(problem)
        self._fresh = fresh
        self._supervisor.exchanges.count(problem)
        now = self._clock()
        self._action = self._supervisor.decide(
            now, (self._state(),), ("",), now - self._commanded_at
        )
        return fresh

    def _take(self, sample: FrankaSample) -> None:
        now = self._clock()
        last = self._sample
        cycles = 1 if last is None else max(1, round((sample.time - last.time) / PERIOD))
        self.overruns += cycles - 1
        # a state that was waited for has come now; one that lay there came a period after the last
        waited = now - self._asked > WAITED
        self._due = now if waited else min(now, self._due + cycles * PERIOD)
        self._received = now
        self._sample = sample
        if sample.mode != "Reflex":
            self._failure = ""

    def _state(self) -> FrankaState:
        sample = self._sample
        if sample is None:
            return FrankaState.UNKNOWN
        if not self._moves:
            return _OF_MODE.get(sample.mode, FrankaState.OTHER)
        if self._supervisor.action is Action.QUICK_STOP:
            return FrankaState.AT_REST if self._resting() else FrankaState.BRAKING
        return FrankaState.ENABLED

    def state(self, time: float) -> RobotState:
        sample = self._known()
        return RobotState(time, sample.q, sample.v, sample.torque, self._wrench(sample))

    def _wrench(self, sample: FrankaSample) -> Wrench | None:
        """Wrench on the flange; None where the robot estimates none, as at singular postures.

        The robot tells what it exerts, at its stiffness frame.
        """
        if self._cycle_model is not None:
            return self._wrench_of_torques(self._cycle_model, sample)
        if not sample.wrench.any():
            return None
        rotation = self._stiffness_frame[:3, :3]
        force = -rotation @ sample.wrench[:3]
        torque = -rotation @ sample.wrench[3:] + np.cross(self._stiffness_frame[:3, 3], force)
        return Wrench(force, torque, self._flange)

    def _wrench_of_torques(self, model: RobotModel, sample: FrankaSample) -> Wrench:
        """Wrench at the tip that explains the external torques, which the robot exerts."""
        kin = model.update(sample.q, sample.v)
        wrench = -wrench_from_torque(kin.jacobian, sample.external_torque)
        to_tip = kin.pose[:3, :3].T
        return Wrench(to_tip @ wrench[:3], to_tip @ wrench[3:], model.tip)

    def command(self, command: Command, time: float) -> None:
        if command.mode not in _MODES:
            valid = tuple(sorted(mode.value for mode in _MODES))
            raise ConfigError(
                f"command {command.mode.value}: this driver takes {' and '.join(valid)}",
                name="command",
                value=command.mode.value,
                bound=valid,
            )
        check_command(command, JOINTS)
        if self._moves and command.mode is not self._running_mode:
            self._check_change(command.mode)
        self._command = command
        self._commanded_at = time
        self._mode = command.mode
        self._supervisor.waits_for_commands = command.mode is CommandMode.EFFORT

    def _check_change(self, mode: CommandMode) -> None:
        """Refuse to change from torques to positions or back, unless the arm rests.

        Raises:
            ConfigError: it moves; or it carries something else than the model, under torques.
        """
        if not self._resting():
            raise ConfigError(
                f"command {mode.value}: the robot moves by {self._running_mode.value}, and changes this only at rest, "
                f"below {AT_REST:g} rad/s: hold first",
                name="command",
                value=mode.value,
                bound=(self._running_mode.value,),
            )
        if mode is CommandMode.EFFORT:
            self._compare_load()

    def act(self) -> None:
        action = self._supervisor.action
        try:
            if action is Action.DISABLE:
                if self._moves:
                    self._let_go()
            elif action is Action.ENABLE and not self._moves:
                self._begin()
            elif self._moves and self._fresh:
                if action is not Action.QUICK_STOP and self._mode is not self._running_mode:
                    self._change_mode()
                else:
                    self._send(action)
        except MotionEnded as error:
            self._moves = False
            self._connection.drop()
            self._failure = str(error)
            self._supervisor.trip(f"the robot has ended the motion: {error}")
        except RobotControlError as error:
            self._moves = False
            self._supervisor.trip(str(error))
        ready = self._clock()
        self._timing.add_cycle(
            self._due, self._received, self._received, ready, PERIOD, self.overruns
        )

    def _begin(self) -> None:
        """Start a motion, with a command that changes nothing: no torque, or where the arm is."""
        self._connection.start(self._mode)
        self._moves = True
        self._running_mode = self._mode
        sample = self._known()
        self._sent = np.zeros(JOINTS)
        self._wanted = sample.taken_q.copy()
        self._wanted_at = sample.time
        self._connection.send(self._last())

    def _change_mode(self) -> None:
        """End the motion of a resting arm and start one of the other mode; the robot holds it."""
        self._connection.finish(self._last())
        self._moves = False
        self._take(self._connection.read())
        self._begin()

    def _last(self) -> Array:
        """Command (7,) that goes on with the last one."""
        if self._running_mode is CommandMode.EFFORT:
            return self._sent
        return self._known().taken_q

    def _resting(self) -> bool:
        """True where no joint moves."""
        return float(np.abs(self._known().v).max()) <= AT_REST

    def _send(self, action: Action) -> None:
        sample = self._known()
        if self._running_mode is CommandMode.EFFORT:
            self._send_torque(action, sample)
        else:
            self._send_position(action, sample)

    def _send_torque(self, action: Action, sample: FrankaSample) -> None:
        wanted = -self._safe_damping * sample.v
        if action is not Action.QUICK_STOP and self._command is not None:
            wanted = self._command.values
        brake = braking_torque(sample.q, sample.v)
        if brake.any():
            self._braked += 1
            wanted = wanted + brake
        torque = limited_torque(wanted, self._sent, sample.taken_torque)
        self._clipped += not np.array_equal(torque, wanted)
        self._connection.send(torque)
        self._sent = torque

    def _send_position(self, action: Action, sample: FrankaSample) -> None:
        q = sample.taken_q
        velocity = np.zeros(JOINTS)
        wanted = self._wanted
        if action is Action.QUICK_STOP:
            wanted = q + sample.taken_v * PERIOD
        elif action is Action.RUN and self._command is not None:
            wanted = self._command.values
            velocity = (wanted - self._wanted) / max(PERIOD, sample.time - self._wanted_at)
            if jump := describe_jump(self.joints, self._wanted.tolist(), wanted.tolist()):
                self._supervisor.trip(jump)
                wanted = self._wanted
                velocity = np.zeros(JOINTS)
            self._wanted = wanted
            self._wanted_at = sample.time
        position = limited_position(wanted, velocity, q, sample.taken_v, sample.taken_a)
        self._connection.send(position)

    def _let_go(self) -> None:
        """End the motion; the robot then holds by itself."""
        last = self._last()
        self._moves = False
        try:
            self._connection.finish(last)
        except RobotControlError as error:
            self._connection.drop()
            self._supervisor.trip(str(error))

    @property
    def action(self) -> Action:
        return self._supervisor.action

    def trip(self, cause: str) -> None:
        self._supervisor.trip(cause)

    def note(self, message: str) -> None:
        self._supervisor.note(message)

    def counters(self) -> Mapping[str, float]:
        sample = self._sample
        return {
            "states left out": self.overruns,
            "commands that arrived [%]": 0.0 if sample is None else 100.0 * sample.success,
            "braked before a velocity limit": self._braked,
            "limited commands": self._clipped,
        }

    # --- beside the cycle ---

    def look(self) -> None:
        """Keep the robot's settings, as the last state has them."""
        self._between.add(self._look)

    def _look(self) -> None:
        self._settings = self._connection.settings()
        self._stiffness_frame = self._settings.stiffness_frame

    def describe(self) -> dict[str, Any]:
        supervisor = self._supervisor
        return {
            "message": supervisor.message,
            "stopped": supervisor.stopped,
            "causes": list(supervisor.causes),
            "events": [list(event) for event in supervisor.events],
            "drives": self._drives(),
            "facts": self._facts(),
        }

    def _drives(self) -> list[dict[str, Any]]:
        sample = self._sample
        if sample is None:
            return []
        state = self._state()
        lowest, highest = velocity_limits(sample.q)
        error = describe_errors(sample.errors)
        return [
            {
                "joint": joint,
                "state": state.value,
                "error": error,
                "failure": self._failure,
                "values": {
                    "velocity [rad/s]": f"{sample.v[i]:.4f}",
                    "velocity limits here [rad/s]": f"{lowest[i]:.3f} to {highest[i]:.3f}",
                    "torque [N·m]": f"{sample.torque[i]:.3f}",
                    "external torque [N·m]": f"{sample.external_torque[i]:.3f}",
                    "commanded torque [N·m]": f"{sample.taken_torque[i]:.3f} of {MAX_TORQUE[i]:g}",
                },
            }
            for i, joint in enumerate(self.joints)
        ]

    def _facts(self) -> dict[str, Any]:
        sample = self._sample
        settings = self._settings
        facts: dict[str, Any] = {
            "mode of the robot": "unknown" if sample is None else sample.mode,
            "errors of the last motion": describe_errors(sample.motion_errors)
            if sample is not None and sample.motion_errors
            else "none",
        }
        if settings is not None:
            body = total_body(settings)
            facts["carries on the flange [kg]"] = f"{body.mass:.3f}"
        return facts

    @property
    def requests(self) -> Mapping[str, Callable[..., str]]:
        return {
            "enable": self._enable,
            "disable": self._disable,
            "quick_stop": self._quick_stop,
            "reset_fault": self._recover,
        }

    def _enable(self) -> str:
        """Enable, after the robot and the controller agree about what the arm carries."""
        state = self._state()
        if state is FrankaState.IDLE:
            self._between.call(self._configure)
        elif state is not FrankaState.ENABLED:
            raise ConfigError(
                f"not enabled: {self._obstacle(state)}", name=_NAME, value=state.value
            )
        if self._mode is CommandMode.EFFORT:
            self._check_load()
        for _ in range(TRIES):
            obstacles = self._between.call(self._supervisor.request_enable)
            if not obstacles:
                return "enabling"
        raise ConfigError("not enabled: " + "; ".join(obstacles), name=_NAME)

    def _obstacle(self, state: FrankaState) -> str:
        """Text about what keeps the robot from being enabled, with the way out."""
        ways = {
            FrankaState.REFLEX: RECOVER,
            FrankaState.USER_STOPPED: "release the stop, press the enabling switch, then ~/enable",
            FrankaState.FOREIGN: "end the other program",
            FrankaState.GUIDING: "let go of the arm",
        }
        reason = f"; {self._failure}" if self._failure else ""
        return f"the robot is {state.value}{reason}; {ways.get(state, 'see Desk')}"

    def _check_load(self) -> None:
        """Compare what the robot carries by its own word with the controller's model.

        A load that it was told is in one of its next states.
        """
        for attempt in range(LOOKS):
            self._between.call(self._look)
            try:
                return self._compare_load()
            except ConfigError:
                if attempt == LOOKS - 1:
                    raise

    def _compare_load(self) -> None:
        sample = self._known()
        kin = self._model_now().update(sample.q, sample.v)
        most = self._options.payload_tolerance
        check_load(kin, self._flange, self._settings_now(), self.joints, most)

    def _disable(self) -> str:
        """Brake, then leave the arm to the robot: it isn't let go of while it moves."""
        self._between.call(lambda: self._supervisor.trip("disabled on request"))
        return "disabled"

    def _quick_stop(self) -> str:
        self._between.call(self._supervisor.request_quick_stop)
        return "stopping"

    def _recover(self) -> str:
        """Have the robot leave its error: it opens its brakes, and may move a little."""
        if self._moves:
            raise ConfigError("the robot runs our motion: nothing to recover from", name=_NAME)
        self._connection.recover()
        return "the robot has recovered: call ~/enable"

    # --- what must be known by now ---

    def _known(self) -> FrankaSample:
        if self._sample is None:
            raise ConfigError("the robot isn't connected: prepare first")
        return self._sample

    def _model_now(self) -> RobotModel:
        if self._model is None:
            raise ConfigError("the robot isn't connected: prepare first")
        return self._model

    def _settings_now(self) -> FrankaSettings:
        if self._settings is None:
            raise ConfigError("the robot isn't connected: prepare first")
        return self._settings
