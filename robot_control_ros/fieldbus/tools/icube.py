"""Configuration of ICube's ethercat_driver_ros2, made of a topology: which drive is where is
written down once.

What its plug-in EcCiA402Drive reads, and does: ethercat_driver_ros2, branch jazzy (b90c921):
sphinx/user_guide/ config_cia402_drive.rst and config_generic_slave.rst;
generic_ec_cia402_drive.cpp, generic_ec_slave.cpp, ec_pdo_channel_manager.hpp, ec_sdo_manager.hpp,
ec_master.cpp.

- A command is sent as factor x value + offset, cut off towards zero; a state is read as factor x
  raw + offset.
- It fills control word and mode of operation itself, and the target position with the measured one
  while nobody commands positions; that is why its `default` is NaN, and why 0x6061 must be mapped.
- The master (IgH) writes PDO mapping and assignment from rpdo and tpdo, so these aren't among the
  SDOs.
"""

from __future__ import annotations

from pathlib import Path

from ...core.errors import ConfigError
from ...core.output_files import write_text
from ...robot.configuration import RobotConfig
from ..ethercat import pdo
from ..ethercat.drives import DriveConfig, SdoWrite, interpolation_writes
from ..ethercat.pdo import OBJECT_NAMES, TYPES, Entry, Pdo
from ..ethercat.scale import Scale
from ..ethercat.topology import DriveSlave, Topology

BUS_FILE = "bus.yaml"
_TYPES = {
    "i8": "int8",
    "u8": "uint8",
    "i16": "int16",
    "u16": "uint16",
    "i32": "int32",
    "u32": "uint32",
    "bool": "bool",
}
_COMMANDS = {
    pdo.TARGET_POSITION: "position",
    pdo.TARGET_VELOCITY: "velocity",
    pdo.TARGET_TORQUE: "effort",
}
_STATES = {
    pdo.ACTUAL_POSITION: "position",
    pdo.ACTUAL_VELOCITY: "velocity",
    pdo.ACTUAL_TORQUE: "effort",
}
_NAMES = {0x60C2: "interpolation time", **OBJECT_NAMES}


def icube_files(robot: RobotConfig, topology: Topology) -> dict[str, str]:
    """Texts by file name: slaves, <joint>.yaml, and BUS_FILE, which
    urdf/ros2_control/ethercat.xacro reads.

    Args:
        robot: Robot under the profile whose rate the controller manager has; the cycle is its
            inverse. The topology's own cycle is that of this package's driver.
        topology: Topology of its bus; slaves that move no joint may be among the drives.

    Raises:
        ConfigError: the topology's joints aren't the robot's, a rate that 0x60C2 can't express, or
            process data that EcCiA402Drive can't have.
    """
    slaves = topology.in_order_of(robot.joints)
    rate = f"{robot.profile.rate:g}"
    origin = (
        f"# Made from the topology {topology.path.name}, which is what to change, by\n"
        f"# `robot_control ethercat icube --robot {robot.name} --output <this folder>`."
    )
    files = {}
    bus = [
        f"# The drives of {robot.name} for urdf/ros2_control/ethercat.xacro.",
        origin,
        f"rate: {rate} # Hz; its inverse is in the slave files, and the controller manager must have the same",
        "joints: # place on the bus, from 0, and the targets that are in the process data",
    ]
    for slave in slaves:
        drive = slave.drive
        header = [f"# {slave}: drive {drive.name}, for EcCiA402Drive at {rate} Hz.", origin]
        files[f"{slave.name}.yaml"] = (
            "\n".join([*header, *_slave_lines(slave, robot.period)]) + "\n"
        )
        commands = ", ".join(
            word for index, word in _COMMANDS.items() if drive.rx_image.place(index) is not None
        )
        bus.append(f"  {slave.name}: {{ position: {slave.position}, commands: [{commands}] }}")
    return {**files, BUS_FILE: "\n".join(bus) + "\n"}


def write_icube(robot: RobotConfig, topology: Topology, folder: Path) -> list[Path]:
    """Write :func:`icube_files` into a folder, which is made if need be; returns what was written.

    Raises:
        ConfigError: see :func:`icube_files`; nothing is written then.
    """
    files = icube_files(robot, topology)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_text(folder / name, text, ".yaml")
    return [folder / name for name in files]


def _slave_lines(slave: DriveSlave, period: float) -> list[str]:
    drive = slave.drive
    lines = [f"vendor_id: 0x{slave.vendor:08X}", f"product_id: 0x{slave.product:08X}"]
    if drive.assign_activate:
        lines.append(f"assign_activate: 0x{drive.assign_activate:04X} # distributed clocks")
    lines.append(
        "auto_fault_reset: false # a fault stays until somebody has looked: command interface reset_fault"
    )
    lines += ["sdo:", *(_sdo(write) for write in [*interpolation_writes(period), *drive.sdo])]
    for direction, pdos in (("rpdo", drive.rx), ("tpdo", drive.tx)):
        lines.append(f"{direction}:")
        for each in pdos:
            if entries := _entries(slave, each):
                lines += [f"  - index: 0x{each.index:04X}", "    channels:"]
                lines += [_channel(entry, direction, drive, slave.scale) for entry in entries]
    return lines


def _entries(slave: DriveSlave, each: Pdo) -> list[Entry]:
    """Entries that go into a PDO: no gaps.

    EcCiA402Drive counts them among the channels, but not among the entries of the process data that
    it looks up there. Where the mapping is the master's choice they are dropped, and with them the
    bits that they fill up to bytes.
    """
    drive = slave.drive
    if drive.writable_mapping:
        return [entry for entry in each.entries if entry.type in TYPES]
    if any(entry.type == "pad" for entry in each.entries):
        raise ConfigError(
            f"{slave}: PDO 0x{each.index:04X} of drive {drive.name} has gaps, which EcCiA402Drive confounds with "
            "objects: only drives without them, or with writable_mapping, can be on ICube's driver"
        )
    return list(each.entries)


def _sdo(write: SdoWrite) -> str:
    # The driver reads an int of 32 bits, which it casts; the conversion of anything larger throws.
    value = write.value - (1 << 32) if write.value >= 1 << 31 else write.value
    fields = f"index: 0x{write.index:04X}, sub_index: {write.sub_index}, type: {_TYPES[write.type]}, value: {value}"
    return f"  - {{ {fields} }} # {_NAMES.get(write.index, hex(write.value))}"


def _channel(entry: Entry, direction: str, drive: DriveConfig, scale: Scale) -> str:
    fields = [
        f"index: 0x{entry.index:04X}",
        f"sub_index: {entry.sub_index}",
        f"type: {_TYPES[entry.type]}",
    ]
    counts = {"position": scale.position, "velocity": scale.velocity, "effort": scale.torque}
    main = entry.sub_index == 0
    if direction == "tpdo":
        if main and (word := _STATES.get(entry.index)):
            fields += [f"state_interface: {word}", f"factor: {_number(1.0 / counts[word])}"]
            if word == "position" and scale.offset:
                fields.append(f"offset: {_number(scale.offset)}")
    elif main and (word := _COMMANDS.get(entry.index)):
        fields += [f"command_interface: {word}", f"factor: {_number(counts[word])}"]
        if word == "position" and scale.offset:
            fields.append(f"offset: {_number(-scale.offset * scale.position)}")
        fields.append(f"default: {'.nan' if word == 'position' else 0}")
    elif entry.type != "bool":  # written as a whole byte, if it had a default
        fields.append(
            f"default: {drive.rx_image.modes[0].value if main and entry.index == pdo.MODE else 0}"
        )
    name = _NAMES.get(entry.index, "") if main else ""
    return f"      - {{ {', '.join(fields)} }}{f' # {name}' if name else ''}"


def _number(value: float) -> str:
    """All digits, with the point that YAML 1.1 wants in a number."""
    text = repr(value)
    return text if "." in text else text.replace("e", ".0e")
