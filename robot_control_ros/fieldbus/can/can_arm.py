"""Arms of motors on CAN: config/can/<robot>.yaml, or a file of the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...core.errors import ConfigError, refused
from ...robot.files import read_config
from ...robot.schema import SOME, entry, errors_at, read_entries
from .motors import MotorCodec, MotorFamily, MotorModel, load_family

# bits of a frame with eight bytes of data, with as many stuffed bits as there can be, and the gap
# behind it: CAN 2.0, sections 3.1.1 and 5
STANDARD_FRAME_BITS = 135
EXTENDED_FRAME_BITS = 160
FULL = 0.8  # share of the bus's time from which on a warning says so


@dataclass(frozen=True, kw_only=True)
class _MotorEntry:
    """A motor of the file."""

    joint: str = entry(doc="Joint that the motor moves.")
    family: str = entry(
        doc="Family of motors, or the path of a file; relative paths start beside this file."
    )
    model: str = entry(doc="Model of the family.")
    id: int = entry(lower=1, upper=0x7FE, doc="Identity that the motor listens to.")
    reply_id: int = entry(
        0,
        lower=0,
        upper=0x7FE,
        doc="Identity that it sends to: MST_ID of Damiao, the host's of RobStride.",
    )
    sign: float = entry(1.0, choices=(1, -1), doc="-1 where the motor turns the other way.")
    offset: float = entry(0.0, unit="rad", doc="Joint angle at the motor's zero.")
    torque_limit: float | None = entry(
        None, above=0.0, unit="N·m", doc="Largest torque; the model's peak torque where left out."
    )
    temperature_limit: float = entry(
        80.0, above=0.0, unit="°C", doc="Temperature at which the arm is stopped."
    )
    stiffness: float = entry(
        lower=0.0, unit="N·m/rad", doc="The motor's, of stops and of position commands."
    )
    damping: float = entry(
        above=0.0, unit="N·m·s/rad", doc="The motor's, of stops and of position commands."
    )

    def motor(self, folder: Path) -> Motor:
        """The motor with its family's file read."""
        family = load_family(self.family, folder)
        model = family.model(self.model)
        ranges = {"stiffness": model.stiffness, "damping": model.damping}
        for name, upper in ranges.items():
            if getattr(self, name) > upper:
                rule = f"must be {upper:g} at most, which a frame of {self.model} can hold"
                raise refused(name, getattr(self, name), rule, upper)
        limit = model.peak_torque if self.torque_limit is None else self.torque_limit
        if limit > model.torque:
            rule = f"must be {model.torque:g} at most, which a frame of {self.model} can hold"
            raise refused("torque_limit", limit, rule, model.torque, unit="N·m")
        return Motor(
            joint=self.joint,
            family=family,
            model_name=self.model,
            model=model,
            id=self.id,
            reply_id=self.reply_id,
            sign=float(self.sign),
            offset=self.offset,
            torque_limit=limit,
            temperature_limit=self.temperature_limit,
            stiffness=self.stiffness,
            damping=self.damping,
        )


@dataclass(frozen=True, kw_only=True)
class Motor:
    """A motor that moves a joint; see :class:`_MotorEntry`."""

    joint: str
    family: MotorFamily
    model_name: str
    model: MotorModel
    id: int
    reply_id: int
    sign: float
    offset: float
    torque_limit: float
    temperature_limit: float
    stiffness: float
    damping: float

    def codec(self) -> MotorCodec:
        """What makes and reads its frames."""
        return MotorCodec(self.family, self.model, self.id, self.reply_id)

    def __str__(self) -> str:
        return f"{self.joint} ({self.family.name} {self.model_name}, id 0x{self.id:02X})"


@dataclass(frozen=True, kw_only=True)
class CanArm:
    """Motors of an arm on one CAN bus, and the file that describes them."""

    path: Path
    description: str = entry("", doc="The arm, for people.")
    period: float = entry(
        0.002, lower=0.0005, upper=0.1, unit="s", doc="Time between two commands to each motor."
    )
    bit_rate: float = entry(1e6, above=0.0, unit="bit/s", doc="Bit rate of the bus.")
    guard: float = entry(
        0.0,
        lower=0.0,
        upper=1.0,
        doc="Share of stiffness and damping that each torque's frame carries, about the measured "
        "state: with it the motors hold by themselves when frames stop coming.",
    )
    at_end: str = entry(
        "hold",
        choices=("hold", "release"),
        doc="What motors do when the driver ends: hold where they are, or let go of the arm.",
    )
    motors: tuple[Motor, ...] = entry(
        of=tuple[_MotorEntry, ...], size=SOME, doc="Motors in any order."
    )

    def in_order_of(self, joints: Sequence[str]) -> tuple[Motor, ...]:
        """The motors in the order of a robot's joints; a ConfigError where they move others, or
        not all.
        """
        by_joint = {motor.joint: motor for motor in self.motors}
        missing = [joint for joint in joints if joint not in by_joint]
        strange = [joint for joint in by_joint if joint not in joints]
        if missing or strange:
            problem = (
                f"no motor moves {', '.join(missing)}"
                if missing
                else f"unknown joint {', '.join(strange)}"
            )
            raise ConfigError(f"{self.path}: {problem}; the robot's joints: {', '.join(joints)}")
        return tuple(by_joint[joint] for joint in joints)

    @property
    def load(self) -> float:
        """Share of the bus's time that commands and replies take, at most."""
        bits = sum(
            2 * (EXTENDED_FRAME_BITS if motor.family.extended else STANDARD_FRAME_BITS)
            for motor in self.motors
        )
        return bits / self.bit_rate / self.period


def load_arm(name: str) -> CanArm:
    """Read an arm's motors: those of a robot by its name, or a YAML file by its path.

    Raises:
        ConfigError: unknown arm, family or model; a missing, unknown or unusable entry; two motors
            with one identity; more frames than fit into a period.
    """
    path, data = read_config("arm", name, "can")
    values = read_entries(CanArm, data, str(path))
    motors = []
    for i, each in enumerate(values["motors"]):
        with errors_at(f"{path}: motors[{i}] ({each.joint})"):
            motors.append(each.motor(path.parent))
    values["motors"] = tuple(motors)
    _check_identities(path, motors)
    arm = CanArm(path=path, **values)
    if arm.load > 1.0:
        shortest = arm.load * arm.period
        raise refused(
            "period",
            arm.period,
            f"must be {shortest:.3g} s or more: so long take the frames of {len(motors)} motors at "
            f"{arm.bit_rate:g} bit/s",
            shortest,
            where=f"{path}: ",
            unit="s",
        )
    return arm


def _check_identities(path: Path, motors: Sequence[Motor]) -> None:
    joints: set[str] = set()
    commands: dict[tuple[bool, int], str] = {}
    replies: dict[tuple[int, int, int, int], str] = {}
    for motor in motors:
        if motor.joint in joints:
            raise ConfigError(f"{path}: joint {motor.joint} has two motors", name=motor.joint)
        joints.add(motor.joint)
        codec = motor.codec()
        frame = codec.command(0.0, 0.0, 0.0, 0.0, 0.0)
        address = (motor.family.extended, frame.identifier)
        other = commands.setdefault(address, motor.joint)
        if other != motor.joint:
            raise ConfigError(
                f"{path}: {other} and {motor.joint} have the same id 0x{motor.id:02X}: give each "
                "motor its own, with its maker's program",
                name="id",
                value=motor.id,
            )
        for reply in codec.replies:
            seen = replies.setdefault(
                (reply.identifier_mask, reply.data_mask, *reply.key), motor.joint
            )
            if seen != motor.joint:
                raise ConfigError(
                    f"{path}: the replies of {seen} and {motor.joint} can't be told apart: give "
                    "each motor its own reply_id (Damiao: MST_ID)",
                    name="reply_id",
                    value=motor.reply_id,
                )
