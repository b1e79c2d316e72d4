"""CiA 402 drives written independently of the driver, whose joints move only as a test says,
and a bus of three.
"""

import math
import struct
from dataclasses import dataclass, field

import numpy as np

from robot_control_ros.core.types import Command, CommandMode
from robot_control_ros.fieldbus.ethercat.drive_cycle import DriveCycle
from robot_control_ros.fieldbus.ethercat.topology import load_topology
from robot_control_ros.fieldbus.supervisor import SupervisorLimits

CYCLE = 0.001
JOINTS = ("base", "elbow", "wrist")  # on the bus: wrist, base, elbow
GEARS = {"base": 101, "elbow": 50, "wrist": 7}
SIGNS = {"base": 1, "elbow": -1, "wrist": 1}
OFFSETS = {"base": 0.0, "elbow": 0.7, "wrist": -1.2}
RATED = {"base": 0.75, "elbow": 0.3, "wrist": 0.05}
COUNTS = 131072
EXPECTED = 9
POSITION, VELOCITY, TORQUE = 8, 9, 10
MODES = {POSITION: CommandMode.POSITION, VELOCITY: CommandMode.VELOCITY, TORQUE: CommandMode.EFFORT}
OUT, IN = struct.Struct("<HbBiihhi"), struct.Struct("<HbBiihHi")
DISABLED, READY, ON, ENABLED, STOPPING, FAULT = 0x0240, 0x0231, 0x0233, 0x0237, 0x0217, 0x0218
GARBAGE = b"\x37\x02" + b"\x5a" * (IN.size - 2)  # says that it's enabled


def bus_of_three(folder):
    """The topology of these drives, read from a file in a folder."""
    lines = [
        f"  - {{ joint: {joint}, drive: cia402, vendor: 0xABC, product: 0x402, gear_ratio: {GEARS[joint]}, "
        f"counts_per_revolution: {COUNTS}, rated_torque: {RATED[joint]}, sign: {SIGNS[joint]}, "
        f"offset: {OFFSETS[joint]} }}\n"
        for joint in ("wrist", "base", "elbow")
    ]
    path = folder / "three.yaml"
    path.write_text("slaves:\n" + "".join(lines), encoding="utf-8")
    return load_topology(str(path))


@dataclass
class Drive:
    """One CiA 402 drive as the standard has it, whose joint moves only as the test says."""

    joint: str
    q: float
    switching: int = 1  # cycles that a change of mode takes
    state: int = DISABLED
    mode: int = 0
    error: int = 0
    torque: float = 0.0  # measured, N·m at the joint
    v: float = 0.0
    frozen: int | None = None
    coming: int = 0

    @property
    def per_rad(self):
        return SIGNS[self.joint] * GEARS[self.joint] * COUNTS / (2.0 * math.pi)

    @property
    def per_newton_metre(self):
        return SIGNS[self.joint] * 1000.0 / (RATED[self.joint] * GEARS[self.joint])

    def inputs(self):
        counts = (
            round((self.q - OFFSETS[self.joint]) * self.per_rad)
            if self.frozen is None
            else self.frozen
        )
        torque = round(self.torque * self.per_newton_metre)
        return IN.pack(
            self.state, self.mode, 0, counts, round(self.v * self.per_rad), torque, self.error, 0
        )

    def obey(self, output):
        word, mode, _, position, speed, torque_offset, torque, velocity = OUT.unpack(output)
        self.word = word
        self.coming = self.coming + 1 if mode != self.mode else 0
        if self.coming >= self.switching:
            self.mode, self.coming = mode, 0
        self._power(word)
        self.target_q = position / self.per_rad + OFFSETS[self.joint]
        self.target_v = velocity / self.per_rad
        self.target_torque = torque / self.per_newton_metre
        self.offset_v, self.offset_torque = (
            speed / self.per_rad,
            torque_offset / self.per_newton_metre,
        )

    def _power(self, word):
        if self.state == FAULT:
            if word & 0x80 and not self.last & 0x80:
                self.state, self.error = DISABLED, 0
        elif not word & 2:
            self.state = DISABLED
        elif not word & 4:
            if self.state == STOPPING:
                self._come_to_rest()
            else:
                self.state = STOPPING if self.state == ENABLED else DISABLED
        elif self.state == STOPPING:
            pass
        elif word & 7 == 6:
            self.state = READY
        elif word & 15 == 7 and self.state in (READY, ON, ENABLED):
            self.state = ON
        elif word & 15 == 15 and self.state in (ON, ENABLED):
            self.state = ENABLED
        self.last = word

    def _come_to_rest(self):
        self.stopping += 1
        if self.stopping == 5:
            self.state, self.stopping = DISABLED, 0

    stopping: int = 0
    last: int = 0
    word: int = 0
    target_q: float = math.nan
    target_v: float = math.nan
    target_torque: float = math.nan
    offset_v: float = 0.0
    offset_torque: float = 0.0


@dataclass
class Rig:
    """A DriveCycle and its drives, in the robot's order."""

    topology: object
    switching: int = 1
    limits: SupervisorLimits | None = None
    time: float = 5.0
    fresh: bool = True
    drives: list = field(init=False)

    def __post_init__(self):
        self.cycle = DriveCycle(self.topology, JOINTS, EXPECTED, self.limits)
        self.drives = [
            Drive(joint, q, self.switching)
            for joint, q in zip(JOINTS, (0.3, -0.4, 1.1), strict=True)
        ]

    @property
    def action(self):
        return self.cycle.supervisor.action

    @property
    def q(self):
        return np.array([drive.q for drive in self.drives])

    @property
    def targets(self):
        return np.array([drive.target_q for drive in self.drives])

    @property
    def torques(self):
        return np.array([drive.target_torque for drive in self.drives])

    @property
    def words(self):
        return [drive.word for drive in self.drives]

    def run(self, cycles=1, command=None, counter=EXPECTED, late=False, age=0.0, lost=False):
        for _ in range(cycles):
            good = counter == EXPECTED and not late
            inputs = [drive.inputs() if good else GARBAGE for drive in self.drives]
            self.fresh = self.cycle.sense(self.time, counter, inputs, late)
            if command is not None:
                self.cycle.command(command, self.time - age)
            self.cycle.act()
            self.cycle.watch()
            for drive, output in zip(self.drives, self.cycle.data.outputs, strict=True):
                if not lost:
                    drive.obey(output)
            self.time += CYCLE
        return self.action

    def enabled(self, command=None):
        self.run(30, command)
        assert self.cycle.supervisor.request_enable() == []
        self.run(12 + 5 * self.switching, command)
        assert [drive.state for drive in self.drives] == [ENABLED] * 3
        return self


def position(values, **parts):
    return Command(CommandMode.POSITION, np.array(values, float), **parts)


def effort(values):
    return Command(CommandMode.EFFORT, np.array(values, float))


def velocity(values):
    return Command(CommandMode.VELOCITY, np.array(values, float))
