"""Topology: config/ethercat/<robot>.yaml, or a file of the user's own: which drive is where, and what is behind it.

A bus that isn't what the topology says is refused: a drive that moves another joint than it is thought to, or by other
units, is dangerous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import ConfigError
from ...profiles import finite, mapping
from ...share import config_names, read_config, share_directory
from .drives import DriveConfig, check_keys, choice, load_drive, whole
from .process_data import Axis, ProcessData
from .scale import Scale

_FOLDER = "ethercat"
_LARGEST = 0xFFFFFFFF
_RATED_TORQUE_TOLERANCE = 0.02  # of it: data sheets round
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


@dataclass(frozen=True)
class Slave:
    """One entry of the topology.

    Attributes:
        position: on the bus, from 0.
        name: the joint's, or that of a slave which moves none.
        vendor, product: identity.
        revision, alias: the same; 0 where it isn't checked.
        drive: None for a slave that moves no joint.
        scale: None, too, for such a one.
        rated_torque: the motor's [N·m].
    """

    position: int
    name: str
    vendor: int
    product: int
    revision: int = 0
    alias: int = 0
    drive: DriveConfig | None = None
    scale: Scale | None = None
    rated_torque: float = 0.0

    def axis(self) -> Axis:
        """The process data of its drive.

        Raises:
            ConfigError: it has none.
        """
        if self.drive is None or self.scale is None:
            raise ConfigError(f"{self}: moves no joint")
        return Axis(self.scale, self.drive.rx_image, self.drive.tx_image)

    def check_rated_torque(self, answer: int) -> None:
        """Compare the drive's 0x6076 with the topology: torques are thousandths of it.

        Raises:
            ConfigError: they differ by more than data sheets round.
        """
        if self.drive is None:
            return
        unit = self.drive.rated_torque_unit
        if abs(answer * unit - self.rated_torque) > _RATED_TORQUE_TOLERANCE * self.rated_torque + unit / 2:
            raise ConfigError(
                f"{self}: the drive's rated torque 0x6076 is {answer} x {unit:g} N·m = {answer * unit:g} N·m, the "
                f"topology's rated_torque {self.rated_torque:g} N·m: set the motor's data in the drive, or rated_torque"
            )

    def differs(self, found: FoundSlave) -> bool:
        """Whether a found slave isn't this one."""
        pairs = ((self.revision, found.revision), (self.alias, found.alias))
        return (self.vendor, self.product) != (found.vendor, found.product) or any(w and w != is_ for w, is_ in pairs)

    @property
    def expectation(self) -> str:
        """Its identity, in words."""
        known = self.drive.products.get(self.product, self.drive.description) if self.drive else ""
        revision = f", revision 0x{self.revision:08X}" if self.revision else ""
        alias = f", alias {self.alias}" if self.alias else ""
        kind = f" ({known})" if known else ""
        return f"vendor 0x{self.vendor:08X}, product 0x{self.product:08X}{revision}{alias}{kind}"

    def __str__(self) -> str:
        return f"slave {self.position} ({self.name})"


@dataclass(frozen=True)
class Topology:
    """A bus.

    Attributes:
        path: of the file.
        description: for people.
        cycle: time between two exchanges of process data [s].
        watchdog: time after which a slave without process data stops by itself [s].
        slaves: in the order of the bus.
    """

    path: Path
    description: str
    cycle: float
    watchdog: float
    slaves: tuple[Slave, ...]

    @property
    def drives(self) -> tuple[Slave, ...]:
        """The slaves that move joints, in the order of the bus."""
        return tuple(slave for slave in self.slaves if slave.drive is not None)

    def in_order_of(self, joints: Sequence[str]) -> tuple[Slave, ...]:
        """The slaves that move a robot's joints, in its order.

        Raises:
            ConfigError: the topology's joints aren't just these.
        """
        by_joint = {slave.name: slave for slave in self.drives}
        missing = [joint for joint in joints if joint not in by_joint]
        unknown = [joint for joint in by_joint if joint not in joints]
        if missing or unknown:
            problem = f"no slave moves {', '.join(missing)}" if missing else f"unknown joint {', '.join(unknown)}"
            raise ConfigError(f"{self.path}: {problem}; the robot's joints: {', '.join(joints)}")
        return tuple(by_joint[joint] for joint in joints)

    def process_data(self, joints: Sequence[str]) -> ProcessData:
        """Process data of all drives in the order of a robot's joints.

        Raises:
            ConfigError: see :meth:`in_order_of`.
        """
        return ProcessData([slave.axis() for slave in self.in_order_of(joints)])

    def check_bus(self, found: Sequence[FoundSlave]) -> None:
        """Refuse a bus that isn't this one.

        Slaves that are alike are told apart by their aliases only; where those are 0, nobody can see a wrong order.

        Raises:
            ConfigError: lists each difference: which slave, what was expected, what was found.
        """
        there, absent = self.slaves[: len(found)], self.slaves[len(found) :]
        problems = [self._difference(slave, found) for slave in there]
        if absent:
            last = f"after {there[-1]}" if there else "at the master"
            names = ", ".join(str(slave) for slave in absent)
            problems.append(f"{names}: found nothing; the bus ends {last}: cable, or power?")
        for position, extra in enumerate(found[len(self.slaves) :], len(self.slaves)):
            problems.append(f"slave {position}: expected the end of the bus, found {extra}")
        problems = [problem for problem in problems if problem]
        if problems:
            counts = f"{len(self.slaves)} expected, {len(found)} found"
            raise ConfigError(f"the bus isn't that of {self.path} (slaves: {counts}):\n  " + "\n  ".join(problems))

    def _difference(self, slave: Slave, found: Sequence[FoundSlave]) -> str:
        there = found[slave.position]
        if not slave.differs(there):
            return ""
        elsewhere = [
            other
            for other, candidate in enumerate(found)
            if not slave.differs(candidate) and (other >= len(self.slaves) or self.slaves[other].differs(candidate))
        ]
        hint = f"; such a one is at position {elsewhere[0]}: wrong order?" if elsewhere else ""
        return f"{slave}: expected {slave.expectation}, found {there}{hint}"


def topology_names() -> list[str]:
    """Names of the topologies that the package brings."""
    return config_names(_FOLDER)


def load_topology(name: str) -> Topology:
    """Read a topology and its drives.

    Args:
        name: a robot's, of those the package brings, or the path of a YAML file; its drive files may be beside it.

    Raises:
        ConfigError: unknown topology or drive, a missing, unknown or unusable entry; lists the valid ones.
    """
    if name in topology_names():
        name = str(share_directory() / "config" / _FOLDER / f"{name}.yaml")
    elif not name.endswith((".yaml", ".yml")):
        known = ", ".join(topology_names())
        raise ConfigError(f"unknown topology {name!r}; topologies: {known}, or a path ending in .yaml")
    path, data = read_config("robot", name)
    check_keys(str(path), data, ("slaves",), ("description", "cycle", "watchdog"))
    entries = data["slaves"]
    if not isinstance(entries, list) or not entries:
        raise ConfigError(f"{path}: slaves = {entries!r}: must be a list of one or more slaves")
    slaves = tuple(_SlaveReader(path, i, entry).slave() for i, entry in enumerate(entries))
    names, aliases = [s.name for s in slaves], [str(s.alias) for s in slaves if s.alias]
    for what, values in (("joint or name", names), ("alias", aliases)):
        twice = sorted({value for value in values if values.count(value) > 1})
        if twice:
            raise ConfigError(f"{path}: {what} {', '.join(twice)}: is there twice")
    return Topology(
        path=path,
        description=str(data.get("description", "")),
        cycle=_positive(f"{path}: cycle", data.get("cycle", 0.001), "s"),
        watchdog=_positive(f"{path}: watchdog", data.get("watchdog", 0.02), "s"),
        slaves=slaves,
    )


_IDENTITY = ("vendor", "product", "revision", "alias")
_AXIS_NEEDED = ("joint", "drive", "gear_ratio", "rated_torque")
_AXIS_OPTIONAL = ("sign", "offset", "counts_per_revolution", "encoder")


class _SlaveReader:
    def __init__(self, path: Path, position: int, entry: Any) -> None:
        self.where, self.path, self.position = f"{path}: slave {position}", path, position
        if "joint" in mapping(self.where, entry):
            check_keys(self.where, entry, _AXIS_NEEDED, (*_IDENTITY, *_AXIS_OPTIONAL))
        else:
            check_keys(self.where, entry, ("name", "vendor", "product"), ("revision", "alias"))
        self.entry = entry

    def slave(self) -> Slave:
        revision, alias = self._number("revision", _LARGEST), self._number("alias", 0xFFFF)
        if "joint" not in self.entry:
            vendor, product = self._number("vendor", _LARGEST, 1), self._number("product", _LARGEST)
            return Slave(self.position, str(self.entry["name"]), vendor, product, revision, alias)
        joint = str(self.entry["joint"])
        self.where += f" ({joint})"
        try:
            drive = load_drive(str(self.entry["drive"]), self.path.parent)
        except ConfigError as error:
            raise ConfigError(f"{self.where}: drive: {error}") from error
        vendor, product = self._identity(drive)
        rated_torque = self._positive("rated_torque", "N·m")
        scale = self._scale(joint, drive, rated_torque)
        return Slave(self.position, joint, vendor, product, revision, alias, drive, scale, rated_torque)

    def _identity(self, drive: DriveConfig) -> tuple[int, int]:
        vendor = self.entry.get("vendor", drive.vendor)
        if vendor is None:
            raise ConfigError(f"{self.where}: vendor is missing: drive {drive.name} may be anybody's")
        vendor = whole(f"{self.where}: vendor", vendor, 1, _LARGEST)
        if drive.vendor is not None and vendor != drive.vendor:
            raise ConfigError(f"{self.where}: vendor = 0x{vendor:08X}: drive {drive.name} is of 0x{drive.vendor:08X}")
        only = next(iter(drive.products)) if len(drive.products) == 1 else None
        product = self.entry.get("product", only)
        products = ", ".join(f"0x{code:08X} ({name})" for code, name in drive.products.items())
        if product is None:
            raise ConfigError(
                f"{self.where}: product is missing: drive {drive.name} has {products or 'none of its own'}"
            )
        product = whole(f"{self.where}: product", product, 0, _LARGEST)
        if drive.products and product not in drive.products:
            raise ConfigError(f"{self.where}: product = 0x{product:08X}: drive {drive.name} has {products}")
        return vendor, product

    def _scale(self, joint: str, drive: DriveConfig, rated_torque: float) -> Scale:
        entry = self.entry
        counts = float(self._number("counts_per_revolution", _LARGEST, 1)) or drive.counts_per_revolution
        if not counts:
            raise ConfigError(
                f"{self.where}: counts_per_revolution is missing: drive {drive.name} doesn't say it either"
            )
        sign = entry.get("sign", 1)
        if sign not in (1, -1) or isinstance(sign, bool):
            raise ConfigError(f"{self.where}: sign = {sign!r}: must be 1 or -1")
        offset = entry.get("offset", 0.0)
        if not finite(offset):
            raise ConfigError(f"{self.where}: offset = {offset!r}: must be a finite number of rad")
        return Scale.of_drive(
            joint,
            counts_per_revolution=counts,
            velocity_unit=drive.velocity_unit,
            rated_torque=rated_torque,
            gear_ratio=self._positive("gear_ratio", "motor revolutions per joint revolution"),
            sign=float(sign),
            offset=float(offset),
            encoder_on_joint=choice(f"{self.where}: encoder", entry.get("encoder", "motor"), ENCODERS) == "joint",
        )

    def _number(self, key: str, largest: int, smallest: int = 0) -> int:
        return whole(f"{self.where}: {key}", self.entry[key], smallest, largest) if key in self.entry else 0

    def _positive(self, key: str, unit: str) -> float:
        return _positive(f"{self.where}: {key}", self.entry[key], unit)


def _positive(what: str, value: Any, unit: str) -> float:
    if not (finite(value) and value > 0.0):
        raise ConfigError(f"{what} = {value!r}: must be a number above 0 [{unit}]")
    return float(value)
