"""The bus that a topology describes, emulated: each slave as the file says it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ethercat_emulator import (
    Bus,
    Drive,
    DriveSettings,
    Identity,
    Machine,
    Mapped,
    Mechanics,
    Motor,
    Pdo,
    Slave,
    drive_slave,
    terminal,
)

from ...core.errors import ConfigError
from ..ethercat.scale import VELOCITY_UNITS
from ..ethercat.topology import DriveSlave, Topology
from ..ethercat.topology import Slave as Entry

PEAK_TORQUE = 3.0  # of the motors, in units of their rated torque

_CLOCKS_APART = 1_000_000_000  # ns: the clocks of real slaves begin at different times, too
_ROUNDING = 1e-9  # of the topology's scale


def bus_of(topology: Topology, joints: Sequence[str], mechanics: Mechanics) -> Bus:
    """Emulated slaves that a master with this topology takes for its own.

    Positions, velocities and torques are those of the joints in the drives' units; process data are
    mapped as the drive files say; velocity loops are tuned for the mechanics' inertia. A slave that
    moves no joint becomes a coupler, which has no process data.

    Args:
        topology: Topology of the bus.
        joints: Names of the joints, in the order of the mechanics.
        mechanics: Mechanics that the drives turn, an arm for example.

    Raises:
        ConfigError: the topology's joints aren't these.
    """
    topology.in_order_of(joints)
    slaves: list[Slave] = []
    drives: dict[str, Drive] = {}
    for entry in topology.slaves:
        if isinstance(entry, DriveSlave):
            slave, drives[entry.name] = _drive(entry, mechanics.inertia[joints.index(entry.name)])
        else:
            slave = _coupler(entry)
        slaves.append(slave)
    return Bus(slaves, Machine([drives[joint] for joint in joints], mechanics))


def _coupler(entry: Entry) -> Slave:
    plain = terminal(0, 0, name=entry.name, identity=_identity(entry))
    return Slave(
        replace(plain.sii, alias=entry.alias), plain.dictionary, plain.device, eeprom_8_bytes=False
    )


def _drive(entry: DriveSlave, inertia: float) -> tuple[Slave, Drive]:
    config = entry.drive
    pdos = [
        Pdo(
            pdo.index,
            tuple(Mapped(e.index, e.sub_index, e.bits) for e in pdo.entries),
            not config.writable_mapping,
        )
        for pdo in (*config.rx, *config.tx)
    ]
    return drive_slave(
        DriveSettings(motor=_motor(entry, inertia), rated_torque_unit=config.rated_torque_unit),
        name=entry.kind,
        identity=_identity(entry),
        alias=entry.alias,
        pdos=pdos,
        assigned=[pdo.index for pdo in pdos],
        clock_start=entry.position * _CLOCKS_APART,
    )


def _identity(entry: Entry) -> Identity:
    return Identity(entry.vendor, entry.product, entry.revision, serial=entry.position + 1)


def _motor(entry: DriveSlave, inertia: float) -> Motor:
    """The motor whose units are those of the topology's scale."""
    scale = entry.scale
    gear = 1000.0 / (entry.rated_torque * scale.torque)
    unit = VELOCITY_UNITS[entry.drive.velocity_unit]
    # where velocities are counts per second, both may be alike for a master
    for encoder_at_joint in (False, True):
        turns = 1.0 if encoder_at_joint else abs(gear)
        motor = Motor(
            rated_torque=entry.rated_torque,
            max_torque=PEAK_TORQUE,
            counts=round(2.0 * math.pi * abs(scale.position) / turns),
            gear=gear,
            encoder_at_joint=encoder_at_joint,
            zero=round(-scale.offset * scale.position),
            velocity_unit=0.0 if math.isnan(unit) else unit,
            inertia=inertia,
        )
        pairs = (
            (motor.counts_per_radian, scale.position),
            (motor.velocity_per_radian, scale.velocity),
        )
        if all(math.isclose(have, want, rel_tol=_ROUNDING) for have, want in pairs):
            return motor
    raise ConfigError(
        f"{entry}: no encoder has a whole number of counts per turn with this scale: {scale}"
    )
