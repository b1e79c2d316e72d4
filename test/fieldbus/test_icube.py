"""config/ros2_control/ethercat/<robot>/: what ICube's driver is told, made of the topology,
against the topology.
"""

import math
import re
import shutil
from dataclasses import replace

import pytest
import yaml

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.fieldbus.ethercat.topology import load_topology
from robot_control_ros.fieldbus.tools.icube import icube_files, write_icube
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.files import share_directory

SHARE = share_directory()
FOLDER = SHARE / "config/ros2_control/ethercat/ur5"
UR5 = load_robot("ur5", "icube")
TARGETS = {0x607A: "position", 0x60FF: "velocity", 0x6071: "effort"}
ACTUALS = {0x6064: "position", 0x606C: "velocity", 0x6077: "effort"}

# Two joints behind a coupler, against the cable's order; every drive family; a gear, a sign, an
# offset.
OTHER = """
slaves:
  - { name: coupler, vendor: 2, product: 0x044C2C52 }
  - { joint: j2, drive: synapticon_somanet, product: 0x301, alias: 7, gear_ratio: 50, rated_torque: 0.4, sign: -1,
      offset: -1.2, counts_per_revolution: 65536, encoder: joint }
  - { joint: j1, drive: maxon_epos4, product: 0x63500000, gear_ratio: 10.5, rated_torque: 0.2, offset: 0.3,
      counts_per_revolution: 4096 }
"""
J1_COUNTS, J2_COUNTS = 10.5 * 4096 / (2 * math.pi), -65536 / (2 * math.pi)  # per rad
RPM = 60 / (2 * math.pi)  # per rad/s


def made(tmp_path, text=OTHER, rate=250.0):
    """What is made of a topology for a robot with the joints j1 and j2, by joint and `bus`."""
    (tmp_path / "other.yaml").write_text(text, encoding="utf-8")
    robot = replace(UR5, name="other", joints=("j1", "j2")).at_rate(rate)
    files = icube_files(robot, load_topology(str(tmp_path / "other.yaml")))
    return {name.removesuffix(".yaml"): yaml.safe_load(content) for name, content in files.items()}


def channels(slave, direction):
    return {channel["index"]: channel for each in slave[direction] for channel in each["channels"]}


def sent(channel, command):
    """What ICube's driver sends for a command: ec_pdo_channel_manager.hpp,
    ec_update() and ec_write().
    """
    return math.trunc(channel.get("factor", 1.0) * command + channel.get("offset", 0.0))


def seen(channel, raw):
    """What it makes of what a drive sent: ec_read() there."""
    return channel.get("factor", 1.0) * raw + channel.get("offset", 0.0)


# --- the packaged files ---


def test_the_packaged_files_are_what_the_command_makes(tmp_path):
    written = write_icube(UR5, load_topology("ur5"), tmp_path / "new" / "folder")
    assert {path.name for path in written} == {f"{joint}.yaml" for joint in UR5.joints} | {
        "bus.yaml"
    }
    assert {path.name: path.read_bytes() for path in written} == {
        p.name: p.read_bytes() for p in FOLDER.iterdir()
    }
    for path in written:
        assert (
            "`robot_control ethercat icube --robot ur5 --output <this folder>`"
            in path.read_text(encoding="utf-8")
        )


def test_the_bus_has_the_places_of_the_topology_and_the_rate_of_the_profile():
    bus = yaml.safe_load((FOLDER / "bus.yaml").read_text(encoding="utf-8"))
    slaves = yaml.safe_load((SHARE / "config/ethercat/ur5.yaml").read_text(encoding="utf-8"))[
        "slaves"
    ]
    assert bus["rate"] == UR5.profile.rate
    assert {joint: entry["position"] for joint, entry in bus["joints"].items()} == {
        slave["joint"]: position for position, slave in enumerate(slaves)
    }
    assert all(
        entry["commands"] == ["position", "velocity", "effort"] for entry in bus["joints"].values()
    )


@pytest.mark.parametrize("joint", UR5.joints)
@pytest.mark.parametrize("angle", [-math.pi, -1.0, 0.0, 1e-3, math.pi / 2])
def test_a_packaged_drive_moves_as_far_as_its_gear_and_encoder_say(joint, angle):
    """By hand: 101 x 131072 counts per revolution of the joint; 1000 per 101 x the
    motor's rated torque.
    """
    slave = yaml.safe_load((FOLDER / f"{joint}.yaml").read_text(encoding="utf-8"))
    rated = 0.15 if joint.startswith("wrist") else 0.75
    per_si = {"position": 101 * 131072 / (2 * math.pi), "effort": 1000 / (101 * rated)}
    per_si["velocity"] = per_si["position"]  # counts/s
    for index, quantity in TARGETS.items():
        channel = channels(slave, "rpdo")[index]
        assert channel["command_interface"] == quantity
        # cut off, not rounded
        assert abs(sent(channel, angle) - angle * per_si[quantity]) < 1 + 1e-6
    for index, quantity in ACTUALS.items():
        channel = channels(slave, "tpdo")[index]
        assert channel["state_interface"] == quantity
        assert seen(channel, 12345) == pytest.approx(12345 / per_si[quantity], rel=1e-15)


@pytest.mark.parametrize("joint", UR5.joints)
def test_a_packaged_drive_that_nobody_commands_stays_and_what_isnt_commanded_is_0(joint):
    slave = yaml.safe_load((FOLDER / f"{joint}.yaml").read_text(encoding="utf-8"))
    rpdo, tpdo = channels(slave, "rpdo"), channels(slave, "tpdo")
    assert math.isnan(rpdo.pop(0x607A)["default"])  # the driver puts the measured position there
    assert rpdo.pop(0x6060)["default"] == 8
    assert {index: channel["default"] for index, channel in rpdo.items()} == dict.fromkeys(
        (0x6040, 0x60B1, 0x60B2, 0x6071, 0x60FF), 0
    )
    assert 0x6061 in tpdo  # without it, positions never count
    assert slave["auto_fault_reset"] is False
    assert (slave["vendor_id"], slave["product_id"], slave["assign_activate"]) == (
        0xABC,
        0x402,
        0x300,
    )


# --- other topologies ---


def test_scales_have_gear_sign_unit_offset_and_rated_torque(tmp_path):
    files = made(tmp_path)
    expected = {
        "j1": {
            "position": (J1_COUNTS, 0.3),
            "velocity": (10.5 * RPM, 0.0),  # rpm of the motor
            "effort": (1000 / (0.2 * 10.5), 0.0),
        },
        "j2": {
            "position": (J2_COUNTS, -1.2),
            "velocity": (-RPM * 1000, 0.0),  # 0.001 rpm of the joint's shaft
            "effort": (-1000 / (0.4 * 50), 0.0),
        },
    }
    for joint, scales in expected.items():
        targets, actuals = channels(files[joint], "rpdo"), channels(files[joint], "tpdo")
        for index, quantity in TARGETS.items():
            per_si, offset = scales[quantity]
            for value in (-2.0, 0.0, 0.7):
                assert abs(sent(targets[index], value) - (value - offset) * per_si) < 1 + 1e-6
        for index, quantity in ACTUALS.items():
            per_si, offset = scales[quantity]
            for raw in (-4321, 0, 99):
                assert seen(actuals[index], raw) == pytest.approx(raw / per_si + offset, rel=1e-14)


def test_factors_are_numbers_to_yaml_however_small(tmp_path):
    """1e-05 is a word in YAML 1.1."""
    text = OTHER.replace("gear_ratio: 10.5, rated_torque: 0.2", "gear_ratio: 1, rated_torque: 0.01")
    assert channels(made(tmp_path, text)["j1"], "tpdo")[0x6077]["factor"] == 1e-05


def test_a_measured_position_comes_back_as_target_to_a_count(tmp_path):
    """The driver's default target is the command's factor and offset on the measured angle."""
    for joint in ("j1", "j2"):
        slave = made(tmp_path)[joint]
        target, actual = channels(slave, "rpdo")[0x607A], channels(slave, "tpdo")[0x6064]
        for counts in (*range(-3000, 3000), 2_000_000_000, -2_000_000_000):
            assert abs(sent(target, seen(actual, counts)) - counts) <= 1


def test_places_are_those_on_the_bus_whatever_else_is_on_it(tmp_path):
    bus = made(tmp_path)["bus"]
    assert bus["rate"] == 250
    assert {joint: entry["position"] for joint, entry in bus["joints"].items()} == {
        "j1": 2,
        "j2": 1,
    }


def test_targets_that_arent_mapped_are_no_commands(tmp_path):
    drive = (SHARE / "config/ethercat/drives/cia402.yaml").read_text(encoding="utf-8")
    drive = "\n".join(
        line for line in drive.splitlines() if "0x607A" not in line and "0x6071" not in line
    )
    (tmp_path / "speed.yaml").write_text(drive, encoding="utf-8")
    entry = "drive: speed.yaml, vendor: 1, product: 2, gear_ratio: 1, rated_torque: 1, counts_per_revolution: 100"
    files = made(tmp_path, f"slaves: [{{ joint: j1, {entry} }}, {{ joint: j2, {entry} }}]")
    assert files["bus"]["joints"]["j1"]["commands"] == ["velocity"]
    assert channels(files["j1"], "rpdo")[0x6060]["default"] == 9


def test_sdos_are_the_cycle_and_those_of_the_drive_as_the_driver_can_read_them(tmp_path):
    files = made(tmp_path, rate=250.0)
    cycle = [(0x60C2, 1, "uint8", 4), (0x60C2, 2, "int8", -3)]
    for joint, unit in (("j1", 0x00B44700), ("j2", 0xFDB44700)):
        sdo = [
            tuple(entry[key] for key in ("index", "sub_index", "type", "value"))
            for entry in files[joint]["sdo"]
        ]
        assert sdo[:2] == cycle
        ((index, sub_index, kind, value),) = sdo[2:]
        assert (index, sub_index, kind) == (0x60A9, 0, "uint32")
        assert -(1 << 31) <= value < 1 << 31  # ec_sdo_manager.hpp: as<int>()
        assert value & 0xFFFFFFFF == unit


def test_process_data_are_the_drive_files_in_its_order_without_gaps(tmp_path):
    types = {
        "u8": "uint8",
        "i8": "int8",
        "u16": "uint16",
        "i16": "int16",
        "u32": "uint32",
        "i32": "int32",
    }
    slaves = {"synapticon_somanet": made(tmp_path)["j2"], "maxon_epos4": made(tmp_path)["j1"]}
    slaves["cia402"] = yaml.safe_load((FOLDER / "elbow_joint.yaml").read_text(encoding="utf-8"))
    for name, slave in slaves.items():
        drive = yaml.safe_load(
            (SHARE / f"config/ethercat/drives/{name}.yaml").read_text(encoding="utf-8")
        )
        for ours, theirs in (("rx", "rpdo"), ("tx", "tpdo")):
            expected = [
                (
                    pdo,
                    [
                        (e["index"], e.get("sub_index", 0), types[e["type"]])
                        for e in entries
                        if e["type"] != "pad"
                    ],
                )
                for pdo, entries in drive[ours].items()
            ]
            got = [
                (pdo["index"], [(c["index"], c["sub_index"], c["type"]) for c in pdo["channels"]])
                for pdo in slave[theirs]
            ]
            assert got == expected, name


def with_bits(tmp_path, bits, writable):
    """A topology of drives that have something of less than a byte, in a PDO of its own."""
    drive = (SHARE / "config/ethercat/drives/maxon_epos4.yaml").read_text(encoding="utf-8")
    drive = drive.replace("\ntx:\n", f"\n  0x1601: [{bits}]\ntx:\n")
    drive = drive.replace("writable_mapping: true", f"writable_mapping: {writable}")
    (tmp_path / "bits.yaml").write_text(drive, encoding="utf-8")
    return OTHER.replace("maxon_epos4", "bits.yaml")


BIT = "{ index: 0x60FE, sub_index: %d, type: bool }"
PADDED = f"{BIT % 1}, {{ type: pad, bits: 7 }}"
WHOLE = ", ".join(BIT % i for i in range(1, 9))


def test_gaps_and_the_bits_before_them_are_left_out_where_the_master_maps(tmp_path):
    files = made(tmp_path, with_bits(tmp_path, PADDED, "true"))
    assert [pdo["index"] for pdo in files["j1"]["rpdo"]] == [0x1600]


def test_gaps_that_are_the_drives_own_are_refused(tmp_path):
    with pytest.raises(
        ConfigError, match=r"slave 2 \(j1\): PDO 0x1601 of drive bits has gaps, .* writable_mapping"
    ):
        made(tmp_path, with_bits(tmp_path, PADDED, "false"))


def test_bits_without_gaps_are_there_and_nobody_writes_them(tmp_path):
    _, pdo = made(tmp_path, with_bits(tmp_path, WHOLE, "false"))["j1"]["rpdo"]
    assert pdo["channels"] == [
        {"index": 0x60FE, "sub_index": i, "type": "bool"} for i in range(1, 9)
    ]


def test_a_drive_without_distributed_clocks_has_none(tmp_path):
    drive = (SHARE / "config/ethercat/drives/maxon_epos4.yaml").read_text(encoding="utf-8")
    (tmp_path / "free.yaml").write_text(
        re.sub(r"assign_activate: .*\n", "", drive), encoding="utf-8"
    )
    files = made(tmp_path, OTHER.replace("maxon_epos4", "free.yaml"))
    assert "assign_activate" not in files["j1"]
    assert files["j2"]["assign_activate"] == 0x300


@pytest.mark.parametrize(
    ("text", "rate", "words"),
    [
        (OTHER, 300.0, "cycle = 0.0033.* s: must be a whole number"),
        (OTHER.replace("j2", "j3"), 250.0, "no slave moves j2; the robot's joints: j1, j2"),
    ],
)
def test_what_cant_be_made_is_refused_and_nothing_is_written(tmp_path, text, rate, words):
    (tmp_path / "other.yaml").write_text(text, encoding="utf-8")
    robot = replace(UR5, joints=("j1", "j2")).at_rate(rate)
    with pytest.raises(ConfigError, match=words):
        write_icube(robot, load_topology(str(tmp_path / "other.yaml")), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_files_made_before_are_written_over(tmp_path):
    shutil.copytree(FOLDER, tmp_path / "copy")
    write_icube(UR5.at_rate(1000.0), load_topology("ur5"), tmp_path / "copy")
    assert (
        yaml.safe_load((tmp_path / "copy" / "bus.yaml").read_text(encoding="utf-8"))["rate"] == 1000
    )
