"""Motors on a CAN bus as a driver of the bus process."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core.errors import ConfigError, HardwareFault
from ...core.types import Array, Command, RobotState
from ...robot.configuration import RobotConfig
from ...robot.model import RobotModel
from ..driver_options import read_options
from ..process.pacing import Timing
from ..process.realtime import sleep_until
from ..process.rpc import BetweenCycles
from ..supervisor import Action, SupervisorLimits
from .can_arm import FULL, CanArm, Motor, load_arm
from .can_bus import CanBus, read_address
from .frames import CanFrame
from .motor_cycle import MotorCycle

ANSWER = 0.2  # s for motors to answer
SILENCE = 0.02  # s without a frame, after which no second motor answers as the first one
ATTEMPTS = 4  # questions to a motor before it counts as missing
REST = 1.0  # s for a stopped arm to be at rest at the end
RELEASE = 0.1  # s for motors to let go at the end
TOLERANCE = 1e-3  # of a register's value: it is a float of 32 bits


@dataclass(frozen=True)
class CanOptions:
    """Settings of a CAN bus.

    Attributes:
        arm: Name or file of the arm's motors; empty takes the robot's name.
        reply_timeout: Longest wait for replies after a cycle's time [s]. On a real bus they are
            there by then. On an emulated one, where machines stall, more makes sense.
    """

    arm: str = ""
    reply_timeout: float = 0.0


class CanDriver:
    """Motors of one robot on a CAN bus; see :class:`~..driver.Driver`.

    Args:
        robot: Robot that the motors move.
        address: Channel of the bus, see :func:`.can_bus.read_address`.
        options: Settings of :class:`CanOptions` by name.
        limits: Limits at which the supervisor stops the motors.
        timing: Record of how the cycles were kept.
        between: Queue of actions that are done between two cycles.
        bus: Bus to use; by default one through python-can.
    """

    measures_wrench = False

    def __init__(
        self,
        robot: RobotConfig,
        address: str,
        options: Mapping[str, Any],
        limits: SupervisorLimits,
        timing: Timing,
        between: BetweenCycles,
        bus: CanBus | None = None,
    ) -> None:
        chosen = read_options(CanOptions, options)
        read_address(address)
        self.joints = tuple(robot.joints)
        self.arm: CanArm = load_arm(chosen.arm or robot.name)
        self.period = self.arm.period
        self.overruns = 0
        self._warnings: list[str] = []
        self._robot = robot
        self._address = address
        self._reply_timeout = chosen.reply_timeout
        self._limits = limits
        self._timing = timing
        self._between = between
        self._bus = CanBus() if bus is None else bus
        self._cycle: MotorCycle | None = None
        self._due = 0.0
        self._woken = 0.0
        self._received = 0.0
        self._facts: dict[str, Any] = {}
        self.arm.in_order_of(self.joints)

    @staticmethod
    def check_free(address: str) -> None:
        """Refuse an address that can't be one; several programs may share a bus."""
        read_address(address)

    @property
    def cycle(self) -> MotorCycle:
        """Cycle of the motors; a ConfigError before :meth:`prepare`."""
        if self._cycle is None:
            raise ConfigError("the bus is not open: prepare it first")
        return self._cycle

    # --- start ---

    @property
    def warnings(self) -> Sequence[str]:
        """Warnings of :meth:`prepare` for the user."""
        return self._warnings

    def prepare(self) -> None:
        """Connect, and see that each motor is there, alone with its id, and what the file says.

        Nothing is enabled, and no command is sent.

        Raises:
            ConfigError: the channel isn't fit; two motors with one id; a register that isn't the
                file's.
            HardwareFault: a motor doesn't answer.
        """
        model = RobotModel.of(self._robot)

        def weight(q: Array) -> Array:
            return model.at(q).gravity

        cycle = MotorCycle(self.arm, self.joints, weight, self._limits)
        self._bus.open(self._address, self.arm.bit_rate)
        try:
            self._check_motors(cycle.motors)
        except Exception:
            self._bus.close()
            raise
        self._cycle = cycle
        self._warnings += self._bus.warnings
        if self.arm.load > FULL:
            self._warnings.append(
                f"frames may take {100.0 * self.arm.load:.0f} % of the bus's time: replies may be "
                f"late; a period above {self.arm.load * self.arm.period / FULL:.2g} s is safe"
            )
        if not self.arm.guard:
            self._warnings.append(
                f"guard is 0 in {self.arm.path.name}: where frames stop coming, the motors keep "
                "their last torque"
            )

    def _check_motors(self, motors: tuple[Motor, ...]) -> None:
        """Ask each motor for its state until all have answered; then read their registers."""
        asked = [0] * len(motors)
        answers = [0] * len(motors)
        strangers: set[str] = set()
        for _ in range(ATTEMPTS):
            for i, motor in enumerate(motors):
                if not answers[i]:
                    asked[i] += 1
                    self._bus.send([_request_of(motor)])
            until = time.monotonic() + ANSWER
            while not all(answers) and time.monotonic() < until:
                self._count_answer(motors, answers, strangers, ANSWER)
            if all(answers):
                break
        while self._count_answer(motors, answers, strangers, SILENCE):
            pass  # a second motor with the same id answers as well
        self._check_answers(motors, asked, answers, strangers)
        for motor in motors:
            self._check_registers(motor)

    def _count_answer(
        self, motors: tuple[Motor, ...], answers: list[int], strangers: set[str], timeout: float
    ) -> bool:
        """Count the next frame for its motor; returns True where one came in time [s]."""
        frame = self._bus.wait(timeout)
        if frame is None:
            return False
        for i, motor in enumerate(motors):
            if _numbers_of(motor, frame, "position") is not None:
                answers[i] += 1
                return True
        strangers.add(f"0x{frame.identifier:X}")
        return True

    def _check_answers(
        self,
        motors: tuple[Motor, ...],
        asked: list[int],
        answers: list[int],
        strangers: set[str],
    ) -> None:
        silent = [str(motor) for motor, count in zip(motors, answers, strict=True) if not count]
        if silent:
            others = f"; frames of nobody: {', '.join(sorted(strangers))}" if strangers else ""
            trouble = f"; {self._bus.trouble}" if self._bus.trouble else ""
            raise HardwareFault(
                f"no answer of {', '.join(silent)}{others}{trouble}: power, cable, id and reply_id "
                f"({self.arm.path.name}), bit rate {self.arm.bit_rate:.0f}",
                name="motors",
                value=silent,
            )
        for motor, questions, count in zip(motors, asked, answers, strict=True):
            if count > questions:
                raise ConfigError(
                    f"{count} answers to {questions} questions to {motor}: two motors have this "
                    "id; give each its own, with its maker's program",
                    name="id",
                    value=motor.id,
                )

    def _check_registers(self, motor: Motor) -> None:
        codec = motor.codec()
        for name, register in motor.family.registers.items():
            question = codec.read(register)
            if question is None:
                continue
            value = self._read(motor, question, register.number)
            if value is None:
                self._warnings.append(f"{motor}: register {name} doesn't answer, and isn't checked")
                continue
            number = register.read(value)
            if name == "timeout":
                self._facts.setdefault("motors stop by themselves after [s]", {})[motor.joint] = (
                    number or "never"
                )
                continue
            expected = register.value if name == "mode" else getattr(motor.model, name)
            if expected is not None and abs(number - expected) > TOLERANCE * max(
                1.0, abs(expected)
            ):
                raise ConfigError(
                    f"{motor}: register {name} ({register.number}) is {number:g}, and must be "
                    f"{expected:g}, as frames are made for it: set it with the maker's program, or "
                    f"correct {motor.family.name}.yaml",
                    name=name,
                    value=number,
                    bound=expected,
                )

    def _read(self, motor: Motor, question: CanFrame, number: int) -> int | None:
        for _ in range(ATTEMPTS):
            self._bus.send([question])
            until = time.monotonic() + ANSWER
            while (left := until - time.monotonic()) > 0.0:
                frame = self._bus.wait(left)
                numbers = None if frame is None else _numbers_of(motor, frame, "value")
                if numbers is not None and int(numbers["register"]) == number:
                    return int(numbers["value"])
        return None

    def operate(self) -> None:
        """Begin with the cycles."""
        self._bus.receive()
        self._due = time.monotonic()
        self._bus.send(self.cycle.act())

    # --- the cycle ---

    def sense(self) -> bool:
        """Wait for the cycle's time, and take the replies to the last frames."""
        self._due += self.period
        now = time.monotonic()
        if now - self._due > 0.5 * self.period:  # what is lost isn't made up for
            overruns = round((now - self._due) / self.period)
            self.overruns += overruns
            self._due += overruns * self.period
        sleep_until(self._due)
        self._woken = time.monotonic()
        trouble = self._bus.trouble  # of sending
        frames = self._bus.receive()
        self._wait_for_replies(frames)
        self._received = time.monotonic()
        return self.cycle.sense(self._received, frames, self._bus.trouble or trouble)

    def _wait_for_replies(self, frames: list[CanFrame]) -> None:
        """Wait until there are as many frames as motors, if that is wanted."""
        until = self._woken + self._reply_timeout
        while len(frames) < len(self.joints) and (left := until - time.monotonic()) > 0.0:
            frame = self._bus.wait(left)
            if frame is None:
                return
            frames.append(frame)

    def act(self) -> None:
        """Send the frames of this cycle."""
        frames = self.cycle.act()
        self._bus.send(frames)
        self._timing.add_cycle(
            self._due,
            self._woken,
            self._received,
            time.monotonic(),
            self.period,
            self.overruns,
        )

    def state(self, time: float) -> RobotState:
        """The joints in the last fresh cycle, stamped [s]."""
        return self.cycle.state(time)

    def command(self, command: Command, time: float) -> None:
        """Take a command; see :meth:`.motor_cycle.MotorCycle.command`."""
        self.cycle.command(command, time)

    @property
    def action(self) -> Action:
        """Action of the motors."""
        return self.cycle.action

    def trip(self, cause: str) -> None:
        """Stop all motors because of something."""
        self.cycle.supervisor.trip(cause)

    def note(self, message: str) -> None:
        """Keep an event that stops nothing."""
        self.cycle.supervisor.note(message)

    def counters(self) -> Mapping[str, float]:
        """Numbers for the diagnostics, by name."""
        cycle = self.cycle
        return {
            "lost replies": cycle.lost_replies,
            "frames of nobody": cycle.strange_frames,
            "torques cut off": cycle.clipped,
        }

    # --- beside the cycle ---

    def look(self) -> None:
        """Do nothing: each cycle's replies show all there is."""

    def describe(self) -> dict[str, Any]:
        """Report for people, see :class:`~..driver.Driver`."""
        supervisor = self.cycle.supervisor
        return {
            "message": supervisor.message,
            "stopped": supervisor.stopped,
            "causes": list(supervisor.causes),
            "events": [list(event) for event in supervisor.events],
            "drives": self.cycle.describe(),
            "facts": {
                "arm": self.arm.path.name,
                "guard": self.arm.guard,
                "bus load at most [%]": round(100.0 * self.arm.load),
                **{name: str(fact) for name, fact in self._facts.items()},
            },
        }

    @property
    def requests(self) -> Mapping[str, Callable[..., str]]:
        """What a user may ask for; only `enable` enables, and only `zero` moves a zero."""
        return {
            "enable": self._enable,
            "disable": self._disable,
            "quick_stop": self._quick_stop,
            "reset_fault": self._reset_fault,
            "zero": self._zero,
        }

    def _enable(self) -> str:
        obstacles = self._between.call(self.cycle.supervisor.request_enable)
        if obstacles:
            raise ConfigError("not enabled: " + "; ".join(obstacles))
        return "enabling"

    def _disable(self) -> str:
        self._between.call(self.cycle.release)
        return "disabled: the motors let go of the arm"

    def _quick_stop(self) -> str:
        self._between.call(self.cycle.supervisor.request_quick_stop)
        return "stopping: the motors brake, and then hold"

    def _reset_fault(self) -> str:
        if not self.cycle.supervisor.idle:
            raise ConfigError("the motors are enabled, or still being stopped")
        self._between.call(lambda: self._bus.send(self.cycle.orders("clear")))
        return "errors are cleared; motors that were in a fault stay disabled"

    def _zero(self) -> str:
        """Make the present position of each joint the motor's zero; only while all are disabled."""
        if not self.cycle.is_released:
            raise ConfigError(
                "zero: disable the motors first, and hold the arm where it is to be 0"
            )
        self._between.call(lambda: self._bus.send(self.cycle.orders("zero")))
        return "the present positions are the motors' zeros"

    def close(self) -> None:
        """Stop the arm, then hold it or let it go as the file says, and let the bus go."""
        if self._cycle is None:
            return
        cycle = self._cycle
        cycle.supervisor.request_quick_stop()
        until = time.monotonic() + REST
        while not cycle.is_still and time.monotonic() < until:
            self.sense()
            self.act()
        if self.arm.at_end == "release":
            cycle.release()
            for _ in range(round(RELEASE / self.period)):
                self.sense()
                self.act()
        self._cycle = None
        self._bus.close()


def _request_of(motor: Motor) -> CanFrame:
    """The frame that asks a motor for its state."""
    frame = motor.codec().order("request")
    assert frame is not None  # each family has one
    return frame


def _numbers_of(motor: Motor, frame: CanFrame, needed: str) -> dict[str, float] | None:
    """Numbers of a motor's reply that has one of this name; None where the frame is another."""
    if frame.extended != motor.family.extended:
        return None
    data = int.from_bytes(frame.data.ljust(8, b"\0"), "big")
    for reply in motor.codec().replies:
        key = (frame.identifier & reply.identifier_mask, data & reply.data_mask)
        if key == reply.key:
            numbers = reply.unpack(frame.identifier, data)
            if needed in numbers:
                return numbers
    return None
