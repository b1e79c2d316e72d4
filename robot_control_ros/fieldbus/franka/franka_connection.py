"""The robot as the driver sees it, over pylibfranka, which is imported here alone.

pylibfranka keeps the interpreter's lock while it waits for a state. So the wait is done here, on its
socket: other threads go on meanwhile.
"""

from __future__ import annotations

import os
import re
import select
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...core.errors import ConfigError, HardwareFault, missing_extra
from ...core.types import Array, CommandMode
from .error_words import describe_errors


@dataclass(frozen=True, eq=False)
class FrankaSample:
    """One state of the robot.

    Attributes:
        time: Time of the robot [s]; whole milliseconds.
        q, v: (7,) joint angles and velocities.
        torque: (7,) measured joint torques, gravity included [N·m].
        external_torque: (7,) torques of external forces, estimated by the robot and filtered [N·m].
        taken_torque: (7,) torque command that it took last, without gravity [N·m].
        taken_q, taken_v, taken_a: (7,) position command that it took last, and its derivatives.
        wrench: (6,) estimated force and torque that the robot exerts, at the stiffness frame.
        mode: Mode of the robot, a name of `franka::RobotMode`.
        errors: Names of the present errors.
        motion_errors: Names of the errors that ended the last motion.
        success: Share of the last 100 commands that reached the robot.
    """

    time: float
    q: Array
    v: Array
    torque: Array
    external_torque: Array
    taken_torque: Array
    taken_q: Array
    taken_v: Array
    taken_a: Array
    wrench: Array
    mode: str
    errors: tuple[str, ...]
    motion_errors: tuple[str, ...]
    success: float


class FlangeBody(NamedTuple):
    """Body on the flange: mass [kg], centre (3,) [m], inertia about it (3, 3) [kg·m²]."""

    mass: float
    center: Array
    inertia: Array


@dataclass(frozen=True, eq=False)
class FrankaSettings:
    """Settings of the robot that change only on request.

    Attributes:
        end_effector: Body that is set in Desk.
        load: Body that was set by `set_load`.
        stiffness_frame: (4, 4) pose of the stiffness frame K on the flange.
    """

    end_effector: FlangeBody
    load: FlangeBody
    stiffness_frame: Array


class MotionEnded(HardwareFault):
    """The robot has ended the motion by itself; names of the errors are in `value`."""


class Connection(Protocol):
    """A connection to one robot. Its functions raise a HardwareFault where it is lost."""

    def connect(self) -> None:
        """Connect; a HardwareFault says why it fails, with the way out."""

    def wait(self, timeout: float) -> bool:
        """Wait for a state, at most so long [s]; returns True where one has come."""

    def read(self) -> FrankaSample:
        """The newest state; MotionEnded where the robot has ended a motion that was started here."""

    def settings(self) -> FrankaSettings:
        """Settings of the robot, in the state that was read last."""

    def start(self, mode: CommandMode) -> None:
        """Start a motion under torques or positions; commands must follow each millisecond."""

    def send(self, values: Array) -> None:
        """Send a command (7,) of the motion that runs."""

    def finish(self, values: Array) -> None:
        """End the motion that runs, with its last command (7,); the robot then holds by itself."""

    def drop(self) -> None:
        """Let go of a motion that the robot has ended, or have it stop the one that runs."""

    def set_load(self, load: FlangeBody) -> None:
        """Tell the robot what it carries besides the end effector; not while it moves."""

    def set_collision_behavior(self, torque: Array, force: Array) -> None:
        """Set the thresholds of the robot's reflex: torque (7,) of joints, force (6,) at the tip."""

    def recover(self) -> None:
        """Have the robot leave its error: `automatic_error_recovery`."""

    def close(self) -> None:
        """End the connection."""


class LibfrankaConnection:
    """A connection over pylibfranka.

    Args:
        address: Name or IP address of the robot.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._library: Any = None
        self._robot: Any = None
        self._control: Any = None
        self._mode = CommandMode.EFFORT
        self._state: Any = None
        self._connected = False
        self._poll: select.poll | None = None

    def connect(self) -> None:
        try:
            import pylibfranka
        except ImportError as error:
            raise missing_extra("the bus franka", "pylibfranka", "franka") from error
        self._library = pylibfranka
        sockets = _datagram_sockets()
        try:
            self._robot = pylibfranka.Robot(self._address, pylibfranka.RealtimeConfig.kIgnore)
            self._state = self._robot.read_once()
        except Exception as error:
            raise HardwareFault(
                f"the robot at {self._address} can't be reached: {_text(error)}. See that the address is right, "
                "the brakes are open, FCI is activated in Desk, and no other program is connected",
                name="address",
                value=self._address,
            ) from error
        self._connected = True
        new = _datagram_sockets() - sockets
        if len(new) == 1:
            self._poll = select.poll()
            self._poll.register(new.pop(), select.POLLIN)

    @property
    def waits_alone(self) -> bool:
        """True where other threads go on while this one waits for a state."""
        return self._poll is not None

    def wait(self, timeout: float) -> bool:
        if not self._connected:
            time.sleep(timeout)
            return False
        return self._poll is None or bool(self._poll.poll(timeout * 1e3))

    def read(self) -> FrankaSample:
        library = self._library
        try:
            if self._control is None:
                self._state = self._robot.read_once()
            else:
                self._state = self._control.readOnce()[0]
        except library.ControlException as error:
            text = _text(error)
            names = _error_names(text)
            raise MotionEnded(describe_errors(names) or text, name="motion", value=names) from error
        except RuntimeError as error:
            raise self._lost(error) from error
        return _sample(self._state)

    def settings(self) -> FrankaSettings:
        state = self._state
        return FrankaSettings(
            FlangeBody(state.m_ee, np.array(state.F_x_Cee), _square(state.I_ee, 3)),
            FlangeBody(state.m_load, np.array(state.F_x_Cload), _square(state.I_load, 3)),
            _square(state.F_T_EE, 4) @ _square(state.EE_T_K, 4),
        )

    def start(self, mode: CommandMode) -> None:
        robot = self._robot
        library = self._library
        try:
            if mode is CommandMode.EFFORT:
                self._control = robot.start_torque_control()
            else:
                impedance = library.ControllerMode.JointImpedance
                self._control = robot.start_joint_position_control(impedance)
        except (library.ControlException, library.InvalidOperationException) as error:
            raise HardwareFault(f"the robot starts no motion: {_text(error)}") from error
        except RuntimeError as error:
            raise self._lost(error) from error
        self._mode = mode

    def send(self, values: Array) -> None:
        self._write(self._command(values))

    def finish(self, values: Array) -> None:
        command = self._command(values)
        command.motion_finished = True
        try:
            self._write(command)
        finally:
            self._control = None

    def _command(self, values: Array) -> Any:
        kind = "Torques" if self._mode is CommandMode.EFFORT else "JointPositions"
        return getattr(self._library, kind)(values.tolist())

    def _write(self, command: Any) -> None:
        library = self._library
        try:
            self._control.writeOnce(command)
        except library.ControlException as error:
            text = _text(error)
            names = _error_names(text)
            raise MotionEnded(describe_errors(names) or text, name="motion", value=names) from error
        except RuntimeError as error:
            raise self._lost(error) from error

    def drop(self) -> None:
        self._control = None  # libfranka stops a motion that still runs

    def set_load(self, load: FlangeBody) -> None:
        values = load.mass, load.center.tolist(), load.inertia.T.ravel().tolist()
        self._ask("set_load", *values)

    def set_collision_behavior(self, torque: Array, force: Array) -> None:
        torques = torque.tolist()
        forces = force.tolist()
        self._ask("set_collision_behavior", torques, torques, forces, forces)

    def recover(self) -> None:
        self._ask("automatic_error_recovery")

    def _ask(self, name: str, *arguments: Any) -> None:
        try:
            getattr(self._robot, name)(*arguments)
        except self._library.CommandException as error:
            raise ConfigError(f"the robot refuses {name}: {_text(error)}", name=name) from error
        except RuntimeError as error:
            raise self._lost(error) from error

    def _lost(self, error: Exception) -> HardwareFault:
        self._connected = False
        return HardwareFault(
            f"the connection to the robot at {self._address} is lost: {_text(error)}. "
            "See the cable, the brakes and FCI in Desk; then start this program again",
            name="address",
            value=self._address,
        )

    def close(self) -> None:
        self._connected = False
        self._control = None
        self._robot = None
        self._poll = None


def _sample(state: Any) -> FrankaSample:
    return FrankaSample(
        time=state.time.to_sec(),
        q=np.array(state.q),
        v=np.array(state.dq),
        torque=np.array(state.tau_J),
        external_torque=np.array(state.tau_ext_hat_filtered),
        taken_torque=np.array(state.tau_J_d),
        taken_q=np.array(state.q_d),
        taken_v=np.array(state.dq_d),
        taken_a=np.array(state.ddq_d),
        wrench=np.array(state.K_F_ext_hat_K),
        mode=state.robot_mode.name,
        errors=_active(state.current_errors),
        motion_errors=_active(state.last_motion_errors),
        success=state.control_command_success_rate,
    )


def _active(errors: Any) -> tuple[str, ...]:
    """Names of the errors that are set."""
    return _error_names(str(errors)) if errors else ()


def _error_names(text: str) -> tuple[str, ...]:
    """Names in the brackets of a text of libfranka: `… ["joint_reflex"]`."""
    return tuple(re.findall(r'"([a-z0-9_]+)"', text.partition("[")[2]))


def _square(values: Sequence[float], n: int) -> Array:
    """Matrix (n, n) of values that stand column by column."""
    return np.array(values).reshape(n, n).T


def _text(error: Exception) -> str:
    return " ".join(str(error).split())


def _datagram_sockets() -> set[int]:
    """Descriptors of this process's datagram sockets."""
    descriptors = set()
    for entry in os.listdir("/proc/self/fd"):
        try:
            if not os.readlink(f"/proc/self/fd/{entry}").startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(entry))) as each:
                if each.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE) == socket.SOCK_DGRAM:
                    descriptors.add(int(entry))
        except OSError:
            continue  # the descriptor of the listing itself, closed by now
    return descriptors
