"""Topology: config/ethercat/<robot>.yaml, or a file of the user's own: which drive is where, and
what is behind it.

A bus that isn't what the topology says is refused: a drive that moves another joint than it is
thought to, or by other units, is dangerous.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...core.errors import ConfigError
from ...robot.files import read_config
from ...robot.schema import SOME, entry, errors_at, read_entries
from .drives import MAX_ID, DriveConfig, interpolation_writes, load_drive
from .process_data import Axis
from .scale import Scale

_RATED_TORQUE_TOLERANCE = 0.02  # of it: data sheets round
# s
MIN_CYCLE = 1e-4
MAX_CYCLE = 0.1
ENCODERS = ("motor", "joint")


@dataclass(frozen=True)
class FoundSlave:
    """A slave as the bus reports it; 0 where its EEPROM has nothing."""

    vendor: int
    product: int
    revision: int = 0
    alias: int = 0
    name: str = ""

    def __str__(self) -> str:
        if not self.vendor:
            return f"a slave without a readable identity (EEPROM){f', {self.name!r}' if self.name else ''}"
        alias = f", alias {self.alias}" if self.alias else ""
        name = f" {self.name!r}" if self.name else ""
        return f"vendor 0x{self.vendor:08X}, product 0x{self.product:08X}, revision 0x{self.revision:08X}{alias}{name}"


@dataclass(frozen=True, kw_only=True)
class Slave:
    """One entry of the topology: a slave that moves no joint; a drive's name is its joint's.

    Attributes:
        position: Place on the bus, from 0.
    """

    name: str = entry(doc="Of a slave that moves no joint.")
    vendor: int = entry(lower=1, upper=MAX_ID, doc="Identity.")
    product: int = entry(lower=0, upper=MAX_ID, doc="Identity.")
    revision: int = entry(0, lower=0, upper=MAX_ID, doc="Identity; 0 where it isn't checked.")
    alias: int = entry(0, lower=0, upper=0xFFFF, doc="Identity; 0 where it isn't checked.")
    position: int = 0

    def differs(self, found: FoundSlave) -> bool:
        """True where a found slave isn't this one."""
        pairs = ((self.revision, found.revision), (self.alias, found.alias))
        return (self.vendor, self.product) != (found.vendor, found.product) or any(
            w and w != is_ for w, is_ in pairs
        )

    @property
    def kind(self) -> str:
        """Name of the slave's product; empty where that isn't known."""
        return ""

    @property
    def expectation(self) -> str:
        """Identity of the slave, for people."""
        revision = f", revision 0x{self.revision:08X}" if self.revision else ""
        alias = f", alias {self.alias}" if self.alias else ""
        kind = f" ({self.kind})" if self.kind else ""
        return f"vendor 0x{self.vendor:08X}, product 0x{self.product:08X}{revision}{alias}{kind}"

    def __str__(self) -> str:
        return f"slave {self.position} ({self.name})"


@dataclass(frozen=True, kw_only=True)
class DriveSlave(Slave):
    """A slave that moves a joint; `rated_torque` is the motor's [N·m]."""

    drive: DriveConfig
    scale: Scale
    rated_torque: float

    @property
    def kind(self) -> str:
        return self.drive.products.get(self.product, self.drive.description)

    @property
    def axis(self) -> Axis:
        """The process data of its drive."""
        return Axis(self.scale, self.drive.rx_image, self.drive.tx_image)

    def check_rated_torque(self, answer: int) -> None:
        """Refuse a drive's 0x6076 that isn't the topology's, but for rounding: torques
        are thousandths of it.
        """
        unit = self.drive.rated_torque_unit
        if (
            abs(answer * unit - self.rated_torque)
            > _RATED_TORQUE_TOLERANCE * self.rated_torque + unit / 2
        ):
            raise ConfigError(
                f"{self}: the drive's rated torque 0x6076 is {answer} x {unit:g} N·m = {answer * unit:g} N·m, the "
                f"topology's rated_torque {self.rated_torque:g} N·m: set the motor's data in the drive, or "
                "rated_torque",
                name="rated_torque",
                value=answer * unit,
                bound=self.rated_torque,
            )


@dataclass(frozen=True, kw_only=True)
class _JointSlave:
    joint: str = entry(doc="The joint that the drive moves.")
    drive: str = entry(
        doc="A drive of the package, or the path of a file; relative paths start beside this file."
    )
    gear_ratio: float = entry(
        lower=1e-3, upper=1e5, doc="Revolutions of the motor per revolution of the joint."
    )
    rated_torque: float = entry(
        lower=1e-5, upper=1e5, unit="N·m", doc="The motor's, which thousandths refer to."
    )
    vendor: int | None = entry(
        None, lower=1, upper=MAX_ID, doc="Identity; the drive file's where left out."
    )
    product: int | None = entry(
        None, lower=0, upper=MAX_ID, doc="Identity; the drive file's only one where left out."
    )
    revision: int = entry(0, lower=0, upper=MAX_ID, doc="Identity; 0 where it isn't checked.")
    alias: int = entry(
        0,
        lower=0,
        upper=0xFFFF,
        doc="Tells drives of the same kind apart; 0 where it isn't checked.",
    )
    sign: float = entry(1.0, choices=(1, -1), doc="-1 where the motor turns the other way.")
    offset: float = entry(0.0, unit="rad", doc="Joint angle at count 0.")
    counts_per_revolution: int | None = entry(
        None, lower=1, upper=MAX_ID, doc="Of the encoder; the drive file's where left out."
    )
    encoder: str = entry("motor", choices=ENCODERS, doc="The shaft that the encoder is on.")

    def slave(self, position: int, folder: Path) -> DriveSlave:
        try:
            drive = load_drive(self.drive, folder)
        except ConfigError as error:
            raise ConfigError(f"drive: {error}") from error
        counts = self.counts_per_revolution or drive.counts_per_revolution
        if not counts:
            raise ConfigError(
                f"counts_per_revolution is missing: drive {drive.name} doesn't say it either"
            )
        scale = Scale.of_drive(
            self.joint,
            counts_per_revolution=float(counts),
            velocity_unit=drive.velocity_unit,
            rated_torque=self.rated_torque,
            gear_ratio=self.gear_ratio,
            sign=self.sign,
            offset=self.offset,
            encoder_on_joint=self.encoder == "joint",
        )
        return DriveSlave(
            position=position,
            name=self.joint,
            vendor=self._vendor(drive),
            product=self._product(drive),
            revision=self.revision,
            alias=self.alias,
            drive=drive,
            scale=scale,
            rated_torque=self.rated_torque,
        )

    def _vendor(self, drive: DriveConfig) -> int:
        vendor = self.vendor or drive.vendor
        if vendor is None:
            raise ConfigError(f"vendor is missing: drive {drive.name} may be anybody's")
        if drive.vendor not in (None, vendor):
            message = f"vendor = 0x{vendor:08X}: drive {drive.name} is of 0x{drive.vendor:08X}"
            raise ConfigError(message, name="vendor", value=vendor, bound=drive.vendor)
        return vendor

    def _product(self, drive: DriveConfig) -> int:
        only = next(iter(drive.products)) if len(drive.products) == 1 else None
        product = only if self.product is None else self.product
        products = ", ".join(f"0x{code:08X} ({name})" for code, name in drive.products.items())
        if product is None:
            raise ConfigError(
                f"product is missing: drive {drive.name} has {products or 'none of its own'}"
            )
        if drive.products and product not in drive.products:
            message = f"product = 0x{product:08X}: drive {drive.name} has {products}"
            raise ConfigError(message, name="product", value=product, bound=tuple(drive.products))
        return product


@dataclass(frozen=True, kw_only=True)
class Topology:
    """A bus, and the file that describes it."""

    path: Path
    slaves: tuple[Slave, ...] = entry(
        of=tuple[_JointSlave | Slave, ...], size=SOME, doc="In the order of the bus."
    )
    description: str = entry("", doc="The bus, for people.")
    cycle: float = entry(
        0.001,
        lower=MIN_CYCLE,
        upper=MAX_CYCLE,
        unit="s",
        doc="Time between two exchanges of process data.",
    )
    watchdog: float = entry(
        0.02,
        above=0.0,
        unit="s",
        doc="Time after which a slave without process data stops by itself.",
    )
    without_watchdog: bool = entry(
        False, doc="Slaves never stop by themselves, whatever happens to the master."
    )

    @property
    def drives(self) -> tuple[DriveSlave, ...]:
        """The slaves that move joints, in the order of the bus."""
        return tuple(slave for slave in self.slaves if isinstance(slave, DriveSlave))

    def in_order_of(self, joints: Sequence[str]) -> tuple[DriveSlave, ...]:
        """The slaves that move a robot's joints, in its order; a ConfigError where they move
        others, or not all.
        """
        by_joint = {slave.name: slave for slave in self.drives}
        missing = [joint for joint in joints if joint not in by_joint]
        unknown = [joint for joint in by_joint if joint not in joints]
        if missing or unknown:
            problem = (
                f"no slave moves {', '.join(missing)}"
                if missing
                else f"unknown joint {', '.join(unknown)}"
            )
            raise ConfigError(f"{self.path}: {problem}; the robot's joints: {', '.join(joints)}")
        return tuple(by_joint[joint] for joint in joints)

    def check_bus(self, found: Sequence[FoundSlave]) -> None:
        """Refuse a bus that isn't this one.

        Slaves that are alike are told apart by their aliases only; where those are 0, nobody can
        see a wrong order.

        Raises:
            ConfigError: lists each difference: which slave, what was expected, what was found.
        """
        there = self.slaves[: len(found)]
        absent = self.slaves[len(found) :]
        problems = [self._difference(slave, found) for slave in there]
        if absent:
            last = f"after {there[-1]}" if there else "at the master"
            names = ", ".join(str(slave) for slave in absent)
            problems.append(f"{names}: found nothing; the bus ends {last}: cable, or power?")
        for position, extra in enumerate(found[len(self.slaves) :], len(self.slaves)):
            problems.append(f"slave {position}: expected the end of the bus, found {extra}")
        if problems := [problem for problem in problems if problem]:
            counts = f"{len(self.slaves)} expected, {len(found)} found"
            raise ConfigError(
                f"the bus isn't that of {self.path} (slaves: {counts}):\n  " + "\n  ".join(problems)
            )

    def _difference(self, slave: Slave, found: Sequence[FoundSlave]) -> str:
        there = found[slave.position]
        if not slave.differs(there):
            return ""
        elsewhere = [
            other
            for other, candidate in enumerate(found)
            if not slave.differs(candidate)
            and (other >= len(self.slaves) or self.slaves[other].differs(candidate))
        ]
        hint = f"; such a one is at position {elsewhere[0]}: wrong order?" if elsewhere else ""
        return f"{slave}: expected {slave.expectation}, found {there}{hint}"


def load_topology(name: str) -> Topology:
    """Read a topology, a robot's or a YAML file by its path, and its drives, which may be files
    beside it.

    Raises:
        ConfigError: unknown topology or drive, a missing, unknown or unusable entry; lists the
            valid ones.
    """
    path, data = read_config("topology", name, "ethercat")
    values = read_entries(Topology, data, str(path))
    values["slaves"] = tuple(_slave(i, each, path) for i, each in enumerate(values["slaves"]))
    slaves: tuple[Slave, ...] = values["slaves"]
    names = (slave.name for slave in slaves)
    aliases = (str(slave.alias) for slave in slaves if slave.alias)
    for what, counts in (("joint or name", Counter(names)), ("alias", Counter(aliases))):
        if twice := sorted(value for value, count in counts.items() if count > 1):
            raise ConfigError(f"{path}: {what} {', '.join(twice)}: is there twice")
    if any(isinstance(slave, DriveSlave) and slave.drive.interpolation_time for slave in slaves):
        with errors_at(str(path)):
            interpolation_writes(values["cycle"])
    return Topology(path=path, **values)


def _slave(position: int, given: _JointSlave | Slave, path: Path) -> Slave:
    if isinstance(given, Slave):
        return replace(given, position=position)
    with errors_at(f"{path}: slaves[{position}] ({given.joint})"):
        return given.slave(position, path.parent)
