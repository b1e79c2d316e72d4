"""The bus of motors that an arm's file describes, emulated: each motor as the file says it is."""

from __future__ import annotations

from collections.abc import Sequence

from can_emulator import (
    Bus,
    DamiaoMotor,
    Frame,
    Mechanics,
    Model,
    Motor,
    MyActuatorMotor,
    RobStrideMotor,
)

from ...core.errors import HardwareFault, StaleStateError, unknown
from ...core.types import Command, RobotState
from ...robot.configuration import RobotConfig
from ...robot.model import RobotModel
from ...simulation.scene import Scene
from ..can.can_arm import CanArm
from ..can.can_arm import Motor as Entry
from ..can.frames import CanFrame
from ..can.motor_cycle import BRAKE_TIME, ENABLE_EVERY, MotorCycle
from ..supervisor import SupervisorLimits
from .arm import MujocoArm

_CLASSES: dict[str, type[Motor]] = {
    "damiao": DamiaoMotor,
    "robstride": RobStrideMotor,
    "myactuator": MyActuatorMotor,
}


class MotorShafts:
    """Mechanics as the motors' shafts see them: their own directions and zeros.

    Args:
        mechanics: Mechanics in the joints' coordinates.
        motors: Motors in the order of the mechanics.
    """

    def __init__(self, mechanics: Mechanics, motors: Sequence[Entry]) -> None:
        self._mechanics = mechanics
        self._signs = [motor.sign for motor in motors]
        self._offsets = [motor.offset for motor in motors]
        self.inertia = list(mechanics.inertia)
        self._sense()

    def advance(self, torque: Sequence[float], braked: Sequence[bool], dt: float) -> None:
        """Let time pass; see :class:`ethercat_emulator.drive.mechanics.Mechanics`."""
        torques = [sign * each for sign, each in zip(self._signs, torque, strict=True)]
        self._mechanics.advance(torques, braked, dt)
        self._sense()

    def _sense(self) -> None:
        mechanics = self._mechanics
        pairs = zip(self._signs, self._offsets, mechanics.position, strict=True)
        self.position = [sign * (q - offset) for sign, offset, q in pairs]
        self.velocity = [sign * v for sign, v in zip(self._signs, mechanics.velocity, strict=True)]


def bus_of(
    arm: CanArm, joints: Sequence[str], mechanics: Mechanics, supported: bool = False
) -> Bus:
    """Emulated motors that a driver with this file takes for its own.

    Args:
        arm: Motors of the arm.
        joints: Names of the joints, in the order of the mechanics.
        mechanics: Mechanics that the motors turn, an arm for example.
        supported: True where a stand holds each joint until its motor is enabled first.

    Raises:
        ConfigError: the arm's joints aren't these, or the emulator has no such motors.
    """
    entries = arm.in_order_of(joints)
    motors = [_motor(entry) for entry in entries]
    return Bus(motors, MotorShafts(mechanics, entries), supported)


def _motor(entry: Entry) -> Motor:
    name = entry.family.name
    if name not in _CLASSES:
        raise unknown("family", name, _CLASSES)
    model = entry.model
    return _CLASSES[name](
        entry.id,
        entry.reply_id,
        Model(
            position=model.position,
            velocity=model.velocity,
            torque=model.torque,
            peak_torque=model.peak_torque,
            stiffness=model.stiffness,
            damping=model.damping,
        ),
    )


class EmulatedBus:
    """A bus in this process, as a driver sees one: lockstep, without sockets.

    Args:
        bus: Emulated motors.

    Attributes:
        now: Time of the frames [s]; whoever steps the clock sets it.
        trouble: What the controller says is wrong with the bus; empty where nothing is.
    """

    def __init__(self, bus: Bus) -> None:
        self.bus = bus
        self.now = 0.0
        self.trouble = ""
        self._answers: list[Frame] = []

    def send(self, frames: Sequence[CanFrame]) -> None:
        """Send frames; the answers wait until they are taken."""
        for frame in frames:
            sent = Frame(frame.identifier, frame.data, frame.extended)
            self._answers += self.bus.process(sent, self.now)

    def receive(self) -> list[CanFrame]:
        """Answers since the last call; error frames become `trouble`."""
        self.trouble = ""
        frames = []
        for frame in self._answers:
            if frame.error:
                self.trouble = "bus-off"
            else:
                frames.append(CanFrame(frame.identifier, frame.data, frame.extended))
        self._answers = []
        return frames


class LockstepMotors:
    """Motors of an arm in MuJoCo behind the emulated bus, deterministic: the driver's own cycle,
    without threads, sockets and clocks.

    As on the real bus, a motor samples its state when a command arrives, and the driver sees it a
    period later. It is a Plant that a ControlLoop can run on, after :meth:`enable`.

    Args:
        robot: Robot that the motors move.
        arm: Motors of the robot.
        limits: Limits of the supervisor.
        scene: Objects that stand around the robot.

    Attributes:
        mechanics: Arm in MuJoCo.
        bus: Emulated bus.
        cycle: Cycle of the motors.
        time: Time of the present cycle [s].
    """

    def __init__(
        self,
        robot: RobotConfig,
        arm: CanArm,
        limits: SupervisorLimits | None = None,
        scene: Scene | None = None,
    ) -> None:
        model = RobotModel.of(robot)
        self.mechanics = MujocoArm(robot, scene)
        self.bus = bus_of(arm, robot.joints, self.mechanics, supported=True)
        self.cycle = MotorCycle(arm, robot.joints, lambda q: model.at(q).gravity, limits)
        self.time = 0.0
        self._period = arm.period
        self._line = EmulatedBus(self.bus)
        self._line.send(self.cycle.act())

    def sense(self) -> bool:
        """Let a period pass, and take what came; returns True where each motor replied."""
        self.time += self._period
        self.bus.advance(self.time)
        self._line.now = self.time
        frames = self._line.receive()
        return self.cycle.sense(self.time, frames, self._line.trouble)

    def act(self) -> None:
        """Send the frames of this cycle."""
        self._line.send(self.cycle.act())

    def run(self, seconds: float) -> None:
        """Run cycles without a command."""
        for _ in range(round(seconds / self._period)):
            self.sense()
            self.act()

    def enable(self) -> None:
        """Enable the motors, as a user does; a HardwareFault says why they aren't."""
        self.run(self._period * (self.cycle.supervisor.limits.good_cycles + 1))
        obstacles = self.cycle.supervisor.request_enable()
        if obstacles:
            raise HardwareFault("; ".join(obstacles))
        self.run(ENABLE_EVERY * 3 * self._period)

    def open(self) -> None:
        """Do nothing: there is nothing to open."""

    def read(self) -> RobotState:
        """The next sample; a StaleStateError where the motors are stopped without one."""
        for _ in range(self.cycle.supervisor.limits.bad_cycles):
            if self.sense():
                return self.cycle.state(self.time)
            self.act()
        raise StaleStateError(f"no sample from the bus: {self.cycle.supervisor.message}")

    def write(self, command: Command) -> None:
        """Send a command; it has no effect while the motors aren't enabled."""
        self.cycle.command(command, self.time)
        self.act()

    def close(self) -> None:
        """Stop the arm, and hold it."""
        self.cycle.supervisor.request_quick_stop()
        self.run(BRAKE_TIME)
