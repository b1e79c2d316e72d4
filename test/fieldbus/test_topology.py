"""Drive files and topologies: what they say, what is refused and how, and buses that
aren't what was expected.
"""

import copy
import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.fieldbus.ethercat.cia402 import Mode, describe_error
from robot_control_ros.fieldbus.ethercat.drives import (
    SdoWrite,
    drive_names,
    interpolation_writes,
    load_drive,
)
from robot_control_ros.fieldbus.ethercat.topology import DriveSlave, FoundSlave, load_topology
from robot_control_ros.robot.configuration import load_robot, robot_names
from robot_control_ros.robot.files import config_names
from robot_control_ros.robot.model import RobotModel

MINIMAL_DRIVE = {
    "description": "test drive",
    "vendor": 0xABC,
    "products": {0x402: "test"},
    "writable_mapping": True,
    "velocity_unit": "counts/s",
    "rated_torque_unit": "mN·m",
    "rx": {
        0x1600: [
            {"index": 0x6040, "type": "u16"},
            {"index": 0x6060, "type": "i8"},
            {"index": 0x6071, "type": "i16"},
        ]
    },
    "tx": {
        0x1A00: [
            {"index": 0x6041, "type": "u16"},
            {"index": 0x6061, "type": "i8"},
            {"index": 0x6064, "type": "i32"},
            {"index": 0x606C, "type": "i32"},
        ]
    },
}
AXIS = {
    "joint": "j1",
    "drive": "test.yaml",
    "gear_ratio": 100,
    "rated_torque": 0.5,
    "counts_per_revolution": 4096,
}


def written(path, content):
    path.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
    return str(path)


def drive(tmp_path, **changes):
    content = copy.deepcopy(MINIMAL_DRIVE) | changes
    return load_drive(
        written(
            tmp_path / "test.yaml", {key: each for key, each in content.items() if each is not None}
        )
    )


def topology(tmp_path, *slaves, **more):
    written(tmp_path / "test.yaml", MINIMAL_DRIVE)
    return load_topology(written(tmp_path / "bus.yaml", {"slaves": list(slaves), **more}))


# --- the package's own files ---


@pytest.mark.parametrize("name", drive_names())
def test_the_packages_drives_take_every_mode_and_the_offsets(name):
    one = load_drive(name)
    assert one.rx_image.modes == (Mode.POSITION, Mode.VELOCITY, Mode.TORQUE)
    assert one.rx_image.place(0x60B1) is not None
    assert one.rx_image.place(0x60B2) is not None
    assert one.tx_image.place(0x6077) is not None


def test_there_are_three_families():
    assert {"cia402", "maxon_epos4", "synapticon_somanet"} <= set(drive_names())


def test_sizes_of_public_layouts():
    """SOMANET: SOEM's slaveinfo of one; EPOS4: up to 40 bytes a direction."""
    somanet = load_drive("synapticon_somanet")
    assert (somanet.rx_image.size, somanet.tx_image.size) == (35, 47)
    assert somanet.mapping_writes() == []
    epos4 = load_drive("maxon_epos4")
    assert max(epos4.rx_image.size, epos4.tx_image.size) <= 40


def test_a_vendors_error_codes():
    codes = load_drive("maxon_epos4").error_codes
    assert describe_error(0x8A88, codes) == "0x8A88 safe torque off (STO)"
    assert describe_error(0x8611, codes) == "0x8611 following error"


@pytest.mark.parametrize("name", config_names("ethercat"))
def test_the_packages_topologies_fit_their_robots(name):
    assert name in robot_names()
    robot = load_robot(name)
    one = load_topology(name)
    assert len(one.in_order_of(robot.joints)) == robot.n
    one.check_bus([FoundSlave(s.vendor, s.product, s.revision, s.alias) for s in one.slaves])


def test_the_ur5_topology_reaches_the_arms_torques():
    robot, one = load_robot("ur5"), load_topology("ur5")
    for slave, effort in zip(
        one.in_order_of(robot.joints), RobotModel.of(robot).limits.effort, strict=True
    ):
        assert 1000 < effort * slave.scale.torque < 3000  # up to three times the rated torque


# --- drive files ---


def test_mapping_writes_empty_before_they_fill(tmp_path):
    assert drive(tmp_path).mapping_writes()[:6] == [
        SdoWrite(0x1C12, "u8", 0),
        SdoWrite(0x1600, "u8", 0),
        SdoWrite(0x1600, "u32", 0x60400010, 1),
        SdoWrite(0x1600, "u32", 0x60600008, 2),
        SdoWrite(0x1600, "u32", 0x60710010, 3),
        SdoWrite(0x1600, "u8", 3),
    ]
    assert drive(tmp_path).mapping_writes()[6:9] == [
        SdoWrite(0x1C12, "u16", 0x1600, 1),
        SdoWrite(0x1C12, "u8", 1),
        SdoWrite(0x1C13, "u8", 0),
    ]


def test_an_sdo_as_bytes():
    assert SdoWrite(0x60C2, "i8", -3, 2).data() == b"\xfd"
    assert SdoWrite(0x60A9, "u32", 0x00B44700).data() == bytes.fromhex("0047b400")


@pytest.mark.parametrize(
    ("period", "value", "index"),
    [(0.001, 1, -3), (0.002, 2, -3), (0.0005, 5, -4), (0.00125, 125, -5)],
)
def test_interpolation_time(period, value, index):
    assert [write.value for write in interpolation_writes(period)] == [value, index]
    assert value * 10.0**index == pytest.approx(period)


@pytest.mark.parametrize("period", [0.0, 0.0010001, 1e-9, math.nan])
def test_cycles_that_no_drive_can_be_told_are_refused(period):
    with pytest.raises(ConfigError) as caught:
        interpolation_writes(period)
    assert caught.value.name == "cycle"


def entries(direction, *changed):
    pdo = 0x1600 if direction == "rx" else 0x1A00
    return {direction: {pdo: [*MINIMAL_DRIVE[direction][pdo], *changed]}}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"speed": 1}, r"unknown \['speed'\]; entries: description, rx, tx"),
        ({"velocity_unit": None}, r"missing \['velocity_unit'\]"),
        (
            {"velocity_unit": "rad/s"},
            "velocity_unit = 'rad/s': must be one of: counts/s, rpm, 0.1 rpm",
        ),
        ({"rated_torque_unit": "Nm"}, "rated_torque_unit = 'Nm': must be one of: N·m, mN·m, µN·m"),
        ({"writable_mapping": 1}, "writable_mapping = 1: must be true or false"),
        ({"vendor": -1}, "vendor = -1: must be a whole number from 1 to 0xFFFFFFFF"),
        ({"products": {"EPOS4": 1}}, "products: key = 'EPOS4': must be a whole number"),
        ({"counts_per_revolution": 0}, "counts_per_revolution = 0: must be a whole number from 1"),
        ({"sdo": {}}, "sdo = {}: must be a list"),
        (
            {"sdo": [{"index": 0x60C2, "type": "i8", "value": 200}]},
            r"sdo\[0\]: value = 200: .* from -128 to 127",
        ),
        (
            {"error_codes": {0x12345: "x"}},
            "error_codes: key = 0x12345: must be a whole number from 0 to 0xFFFF",
        ),
        ({"rx": []}, r"rx = \[\]: must be a mapping"),
        ({"rx": {0x1A00: []}}, "rx: key = 0x1A00: must be a whole number from 0x1600 to 0x17FF"),
        ({"rx": {0x1600: []}}, r"rx: 0x1600 = \[\]: must be a list of one or more"),
        (
            entries("rx", {"index": 0x607A, "type": "f32"}),
            r"0x1600\[3\]: type = 'f32': must be one of: i8, .*pad",
        ),
        (
            entries("rx", {"index": 0x607A, "type": "u32"}),
            "type = 'u32': object 0x607A of CiA 402 is i32",
        ),
        (
            entries("rx", {"index": 0x607A, "type": "i32", "sub": 1}),
            r"unknown \['sub'\]; entries: index, type, bits, sub_index",
        ),
        (entries("rx", {"type": "pad"}), "bits is missing: it goes with type pad"),
        (
            entries("rx", {"type": "pad", "bits": 8, "index": 1}),
            "index has no meaning here: it goes with type i8, u8",
        ),
        (entries("rx", {"type": "i16"}), "index is missing: it goes with type i8, u8"),
        (entries("rx", {"index": 0x6071, "type": "i16"}), "0x6071:0 i16 is there twice"),
        (entries("rx", {"index": 0x2601, "type": "bool"}), "bits: must be whole bytes"),
        (
            {"rx": {0x1600: MINIMAL_DRIVE["rx"][0x1600][:2]}},
            "rx: no target is mapped; one or more of: 0x607A",
        ),
        (
            {"rx": {0x1600: MINIMAL_DRIVE["rx"][0x1600][1:]}},
            "rx: object 0x6040 is missing; needed: 0x6040, 0x6060",
        ),
        (
            {"tx": {0x1A00: MINIMAL_DRIVE["tx"][0x1A00][::2]}},
            "tx: object 0x6061 is missing; needed: 0x6041, 0x6061",
        ),
    ],
)
def test_what_is_wrong_in_a_drive_file_is_named(tmp_path, changes, words):
    with pytest.raises(ConfigError, match=words) as caught:
        drive(tmp_path, **changes)
    assert "test.yaml" in str(caught.value)


def test_unknown_names_list_the_known_ones(tmp_path):
    with pytest.raises(
        ConfigError, match=r"unknown .*'elmo'; .*cia402, maxon_epos4, synapticon_somanet"
    ):
        load_drive("elmo")
    with pytest.raises(ConfigError, match=r"unknown topology 'scara'; topologies: .*ur5"):
        load_topology("scara")
    with pytest.raises(ConfigError, match=r"slaves\[0\] \(j1\): drive: unknown .*'elmo'"):
        topology(tmp_path, AXIS | {"drive": "elmo"})


# --- topologies ---


def test_drive_files_lie_beside_the_topology_and_units_come_together(tmp_path):
    one = topology(tmp_path, AXIS | {"sign": -1, "offset": 0.5, "encoder": "motor"}, cycle=0.002)
    (slave,) = one.slaves
    assert (slave.vendor, slave.product, one.cycle, one.watchdog) == (0xABC, 0x402, 0.002, 0.02)
    assert 2 * math.pi * slave.scale.position == pytest.approx(-409600)
    assert 50.0 * slave.scale.torque == pytest.approx(-1000)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"gear": 3}, r"slaves\[0\] \(j1\): unknown \['gear'\]; entries: joint, drive, gear_ratio"),
        (
            {"gear_ratio": 0},
            r"slaves\[0\] \(j1\): gear_ratio = 0: must be a finite number from 0.001 to 100000",
        ),
        (
            {"gear_ratio": math.inf},
            "gear_ratio = inf: must be a finite number from 0.001 to 100000",
        ),
        (
            {"rated_torque": "big"},
            r"rated_torque = 'big': must be a finite number from 1e-05 to 100000 \[N·m\]",
        ),
        ({"sign": 0}, "sign = 0: must be one of: 1, -1"),
        ({"sign": True}, "sign = True: must be one of: 1, -1"),
        ({"offset": math.nan}, r"offset = nan: must be a finite number \[rad\]"),
        ({"encoder": "output"}, "encoder = 'output': must be one of: motor, joint"),
        ({"alias": 70000}, "alias = 0x11170: must be a whole number from 0 to 0xFFFF"),
        ({"vendor": 0xFB}, "vendor = 0x000000FB: drive test is of 0x00000ABC"),
        ({"product": 0x403}, r"product = 0x00000403: drive test has 0x00000402 \(test\)"),
        ({"counts_per_revolution": 0}, "counts_per_revolution = 0: must be a whole number from 1"),
        ({"drive": "cia402"}, "vendor is missing: drive cia402 may be anybody's"),
        ({"drive": "cia402", "vendor": 1}, "product is missing: drive cia402 has none of its own"),
        (
            {"drive": "maxon_epos4"},
            r"product is missing: drive maxon_epos4 has 0x61500000 \(EPOS4 Module/Compact 50/5\)",
        ),
    ],
)
def test_what_is_wrong_in_a_topology_is_named(tmp_path, changes, words):
    with pytest.raises(ConfigError, match=words) as caught:
        topology(tmp_path, AXIS | changes)
    assert "bus.yaml" in str(caught.value)


@pytest.mark.parametrize(
    ("slaves", "more", "words"),
    [
        ([], {}, r"slaves = \[\]: must be a list of one or more"),
        ([AXIS, AXIS], {}, "joint or name j1: is there twice"),
        ([AXIS | {"alias": 3}, AXIS | {"joint": "j2", "alias": 3}], {}, "alias 3: is there twice"),
        (
            [AXIS],
            {"rate": 1000},
            r"unknown \['rate'\]; entries: slaves, description, cycle, watchdog",
        ),
        ([AXIS], {"cycle": 0}, r"cycle = 0: must be a finite number from 0.0001 to 0.1 \[s\]"),
        (["j1"], {}, r"slaves\[0\] = 'j1': must be a mapping"),
        (
            [{"name": "coupler"}],
            {},
            r"missing \['vendor', 'product'\]; entries: name, vendor, product",
        ),
        (
            [{k: v for k, v in AXIS.items() if k != "counts_per_revolution"}],
            {},
            "counts_per_revolution is missing",
        ),
    ],
)
def test_what_is_wrong_in_the_whole_is_named(tmp_path, slaves, more, words):
    with pytest.raises(ConfigError, match=words):
        topology(tmp_path, *slaves, **more)


def test_joints_come_in_the_robots_order_not_the_buss(tmp_path):
    coupler = {"name": "coupler", "vendor": 2, "product": 0x44C2C52}
    one = topology(tmp_path, coupler, AXIS | {"joint": "j2"}, AXIS)
    assert [slave.position for slave in one.in_order_of(["j1", "j2"])] == [2, 1]
    assert [slave.name for slave in one.drives] == ["j2", "j1"]
    with pytest.raises(ConfigError, match="no slave moves j3; the robot's joints: j1, j2, j3"):
        one.in_order_of(["j1", "j2", "j3"])
    with pytest.raises(ConfigError, match="unknown joint j2; the robot's joints: j1"):
        one.in_order_of(["j1"])
    assert not isinstance(one.slaves[0], DriveSlave)


def test_a_rated_torque_in_another_unit_is_found(tmp_path):
    slave = topology(tmp_path, AXIS).slaves[0]
    for answer in (500, 495, 505):
        slave.check_rated_torque(answer)
    for answer, torque in ((500000, 500.0), (0, 0.0)):
        with pytest.raises(ConfigError) as caught:
            slave.check_rated_torque(answer)
        error = caught.value
        assert (error.name, error.value, error.bound) == ("rated_torque", torque, 0.5)


# --- the bus ---


@pytest.fixture(scope="module")
def bus(tmp_path_factory):
    first = AXIS | {"alias": 1}
    return topology(
        tmp_path_factory.mktemp("bus"),
        {"name": "coupler", "vendor": 2, "product": 0x44C2C52},
        first,
        first | {"joint": "j2", "alias": 2},
    )


COUPLER = FoundSlave(2, 0x44C2C52, 0x120000, 0, "EK1100")
J1, J2 = (FoundSlave(0xABC, 0x402, 1, alias, "test drive") for alias in (1, 2))
OTHER = FoundSlave(0x22D2, 0x401, 0xF000005, 0, "SOMANET")


def refusal(bus, *found):
    with pytest.raises(ConfigError) as caught:
        bus.check_bus(found)
    return str(caught.value)


def test_the_right_bus_passes(bus):
    bus.check_bus([COUPLER, J1, J2])


def test_another_device_is_named_with_what_was_expected(bus):
    message = refusal(bus, COUPLER, OTHER, J2)
    assert "bus.yaml (slaves: 3 expected, 3 found)" in message
    assert (
        "slave 1 (j1): expected vendor 0x00000ABC, product 0x00000402, alias 1 (test), "
        "found vendor 0x000022D2, product 0x00000401, revision 0x0F000005 'SOMANET'"
    ) in message
    assert "slave 2" not in message


def test_swapped_cables_are_seen_by_the_aliases(bus):
    message = refusal(bus, COUPLER, J2, J1)
    assert "slave 1 (j1): expected" in message
    assert "such a one is at position 2: wrong order?" in message
    assert "such a one is at position 1: wrong order?" in message


def test_missing_slaves_say_where_the_bus_ends(bus):
    assert "slave 2 (j2): found nothing; the bus ends after slave 1 (j1)" in refusal(
        bus, COUPLER, J1
    )
    message = refusal(bus)
    assert (
        "slave 0 (coupler), slave 1 (j1), slave 2 (j2): found nothing; the bus ends at the master"
        in message
    )


def test_a_slave_too_many_is_named(bus):
    assert "slave 3: expected the end of the bus, found vendor 0x000022D2" in refusal(
        bus, COUPLER, J1, J2, OTHER
    )


def test_a_slave_whose_eeprom_cannot_be_read(bus):
    assert "found a slave without a readable identity (EEPROM)" in refusal(
        bus, COUPLER, FoundSlave(0, 0), J2
    )


def test_another_revision_matters_only_where_it_is_asked_for(tmp_path):
    found = FoundSlave(0xABC, 0x402, 2)
    topology(tmp_path, AXIS).check_bus([found])
    assert "expected vendor 0x00000ABC, product 0x00000402, revision 0x00000001" in refusal(
        topology(tmp_path, AXIS | {"revision": 1}), found
    )


@given(found=st.lists(st.sampled_from([COUPLER, J1, J2, OTHER, FoundSlave(0, 0)]), max_size=5))
def test_every_other_bus_is_refused(bus, found):
    if found == [COUPLER, J1, J2]:
        bus.check_bus(found)
    else:
        refusal(bus, *found)


@pytest.mark.parametrize("name", config_names("ethercat"))
def test_each_topology_of_ours_has_a_robot_with_a_profile_of_its_cycle(name):
    topology, robot = load_topology(name), load_robot(name, "ethercat")
    assert robot.period == pytest.approx(topology.cycle)
    topology.in_order_of(robot.joints)
