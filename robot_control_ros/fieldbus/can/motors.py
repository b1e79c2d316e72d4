"""Families of motors: config/can/motors/<name>.yaml, or a file of the user's own.

A file says whose motors they are, which frames they take and send, and the ranges of each model.
Which motor moves which joint is in the arm's file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...core.errors import ConfigError, unknown
from ...robot.files import config_names, read_config
from ...robot.schema import SOME, entry, read_entries
from .frames import RANGED, TYPES, CanFrame, FrameLayout, Packer, Unpacker, typed_number

_FOLDER = "can/motors"
REGISTERS = ("mode", "position", "velocity", "torque", "timeout")
ORDERS = ("enable", "disable", "zero", "clear", "request", "status")


@dataclass(frozen=True)
class Register:
    """A number in the motor that can be read."""

    number: int = entry(lower=0, upper=0xFFFF, doc="Number of the register.")
    type: str = entry("unsigned", choices=TYPES[:3], doc="How its bits make a number.")
    bits: int = entry(32, choices=(8, 16, 32), doc="Number of its bits, from the lowest on.")
    unit: float = entry(1.0, above=0.0, doc="What 1 is in SI units.")
    value: float | None = entry(None, doc="Value that it must have.")

    def read(self, number: int) -> float:
        """The register's number in SI units, of the 32 bits that came."""
        return typed_number(number & ((1 << self.bits) - 1), self.type, self.bits) * self.unit


@dataclass(frozen=True)
class MotorModel:
    """Ranges of a model's fields: from minus to plus of position, velocity and torque, from 0 of
    the others.
    """

    position: float = entry(above=0.0, unit="rad", doc="Range of positions.")
    velocity: float = entry(above=0.0, unit="rad/s", doc="Range of velocities.")
    torque: float = entry(above=0.0, unit="N·m", doc="Range of torques.")
    peak_torque: float = entry(above=0.0, unit="N·m", doc="Torque that the motor can give.")
    stiffness: float = entry(500.0, above=0.0, unit="N·m/rad", doc="Range of stiffnesses.")
    damping: float = entry(5.0, above=0.0, unit="N·m·s/rad", doc="Range of dampings.")
    rotor_inertia: float | None = entry(
        None,
        above=0.0,
        unit="kg·m²",
        doc="Inertia of the rotor behind the gear, where it is known.",
    )

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """Lowest and highest number of each field that has a range."""
        ranges = {name: (-getattr(self, name), getattr(self, name)) for name in RANGED}
        return ranges | {
            "stiffness": (0.0, self.stiffness),
            "damping": (0.0, self.damping),
        }


@dataclass(frozen=True, kw_only=True)
class MotorFamily:
    """Motors that speak alike, by the name of their file."""

    name: str
    description: str = entry(doc="The motors, for people.")
    sources: tuple[str, ...] = entry(size=SOME, doc="Documents that the figures are from.")
    extended: bool = entry(False, doc="Whether identifiers have 29 bits.")
    bit_rate: float = entry(
        1e6, above=0.0, unit="bit/s", doc="Bit rate of the motors as they come."
    )
    command: FrameLayout = entry(doc="Position, velocity, stiffness, damping and torque in one.")
    replies: tuple[FrameLayout, ...] = entry(size=SOME, doc="What the motors send.")
    enable: FrameLayout | None = entry(
        None, doc="Enables a motor; left out where the first command does."
    )
    disable: FrameLayout = entry(doc="Takes the torque from a motor.")
    zero: FrameLayout = entry(doc="Makes the present position the zero.")
    clear: FrameLayout = entry(doc="Clears a motor's errors.")
    request: FrameLayout = entry(doc="Asks for the position, and commands nothing.")
    status: FrameLayout | None = entry(
        None, doc="Asks for temperature and errors, where the other replies lack them."
    )
    read: FrameLayout | None = entry(None, doc="Asks for a register.")
    states: Mapping[int, str] = entry(
        {}, keys=range(256), doc="Names of the states; all but `enabled` and `disabled` are faults."
    )
    enabled: int | None = entry(None, lower=0, upper=255, doc="State of an enabled motor.")
    disabled: int | None = entry(None, lower=0, upper=255, doc="State of a disabled motor.")
    errors: Mapping[int, str] = entry({}, keys=range(32), doc="Names of the error bits.")
    registers: Mapping[str, Register] = entry(
        {}, keys=REGISTERS, doc="Registers that are read before the first command."
    )
    models: Mapping[str, MotorModel] = entry(doc="Models by name.")
    notes: tuple[str, ...] = entry((), doc="What a user has to know.")

    def model(self, name: str) -> MotorModel:
        """One of the models; a ConfigError lists them."""
        if name not in self.models:
            raise unknown("model", name, self.models)
        return self.models[name]

    def error_text(self, state: int | None, errors: int) -> str:
        """Text about a state that is a fault, and error bits; empty where there is no error."""
        texts = []
        if state is not None and state not in (self.enabled, self.disabled):
            texts.append(self.states.get(state, f"state {state}"))
        texts += [
            self.errors.get(bit, f"error bit {bit}") for bit in range(32) if errors >> bit & 1
        ]
        return ", ".join(texts)


class Reply:
    """A motor's reply of one layout.

    Attributes:
        identifier_mask, data_mask: Bits that tell whose reply a frame is, and which.
        key: What these bits are in the motor's replies.
    """

    def __init__(self, layout: FrameLayout, codec: MotorCodec) -> None:
        places = ("motor", "reply")
        width = (1 << (29 if codec.family.extended else 11)) - 1
        others = layout.bits_in("identifier") & ~layout.bits_in("identifier", places)
        self.identifier_mask = width & ~others
        self.data_mask = layout.mask | layout.bits_in("data", places)
        addressed = Packer(layout, (), {}, codec.address, codec.family.extended).pack()
        self.key = (
            addressed.identifier & self.identifier_mask,
            int.from_bytes(addressed.data, "big") & self.data_mask,
        )
        self._unpacker = Unpacker(layout, codec.model.ranges)

    def unpack(self, identifier: int, data: int) -> dict[str, float]:
        """The numbers of a frame by name, in SI units."""
        return self._unpacker.unpack(identifier, data)


class MotorCodec:
    """Frames to and from one motor.

    Args:
        family, model: What the motor is.
        motor: Identity that the motor listens to.
        reply: Identity that it sends to.

    Attributes:
        address: The two identities by the names of their fields.
        replies: Replies that the motor may send; those that more bits tell from others come first.
    """

    def __init__(self, family: MotorFamily, model: MotorModel, motor: int, reply: int) -> None:
        self.family = family
        self.model = model
        self.address = {"motor": motor, "reply": reply}
        self._command = self._packer(family.command, RANGED)
        self._orders = {
            name: self._packer(layout, ()).pack()
            for name in ORDERS
            if (layout := getattr(family, name)) is not None
        }
        replies = (Reply(layout, self) for layout in family.replies)
        self.replies = tuple(
            sorted(replies, key=lambda reply: reply.data_mask.bit_count(), reverse=True)
        )

    def _packer(self, layout: FrameLayout, names: tuple[str, ...]) -> Packer:
        return Packer(layout, names, self.model.ranges, self.address, self.family.extended)

    def command(
        self, position: float, velocity: float, stiffness: float, damping: float, torque: float
    ) -> CanFrame:
        """The frame of a command, in the motor's coordinates [rad, rad/s, N·m/rad, N·m·s/rad, N·m].

        The motor gives stiffness (position - q) + damping (velocity - v) + torque.
        """
        return self._command.pack(position, velocity, stiffness, damping, torque)

    def order(self, name: str) -> CanFrame | None:
        """The frame of one of ORDERS; None where the family has none."""
        return self._orders.get(name)

    def read(self, register: Register) -> CanFrame | None:
        """The frame that asks for a register; None where the family has none."""
        if self.family.read is None:
            return None
        return self._packer(self.family.read, ("register",)).pack(register.number)


def family_names() -> list[str]:
    """Names of the families that the package brings."""
    return config_names(_FOLDER)


def load_family(name: str, beside: Path | None = None) -> MotorFamily:
    """Read a family of motors.

    Args:
        name: Name of one of the package's, or the path of a YAML file, which starts from the folder
            `beside`.

    Raises:
        ConfigError: unknown family, or a missing, unknown or unusable entry; lists the valid ones.
    """
    path, data = read_config("motor", name, _FOLDER, beside)
    family = MotorFamily(name=path.stem, **read_entries(MotorFamily, data, str(path)))
    missing = [field for field in RANGED if field not in family.command.fields]
    if missing:
        raise ConfigError(
            f"{path}: command: fields: {', '.join(missing)}: missing; needed: {', '.join(RANGED)}",
            bound=RANGED,
        )
    if not any("position" in reply.fields for reply in family.replies):
        raise ConfigError(f"{path}: replies: none of them has a position", name="replies")
    return family
