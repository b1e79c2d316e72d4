"""Process data: layouts byte by byte, scaling there and back within one count, and targets that never jump."""

import math
import struct

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from robot_control_ros.errors import ConfigError
from robot_control_ros.plants.ethercat.cia402 import Mode, Targets
from robot_control_ros.plants.ethercat.drives import load_drive
from robot_control_ros.plants.ethercat.pdo import TYPES, VELOCITY_UNITS, Axis, Entry, Image, Pdo, ProcessData, Scale

I32, I16 = 2**31 - 1, 2**15 - 1


def entry(index, kind, sub_index=0):
    return Entry(index, sub_index, kind, 1 if kind == "bool" else TYPES[kind][0])


def pad(bits):
    return Entry(0, 0, "pad", bits)


def image(*entries):
    return Image("drive.yaml: rx", [Pdo(0x1600, entries)])


# --- layouts ---


def test_an_image_is_packed_little_endian_in_order():
    layout = image(entry(0x6040, "u16"), entry(0x6060, "i8"), pad(8), entry(0x607A, "i32"), entry(0x6071, "i16"))
    values = layout.blank()
    for index, value in ((0x6040, 0x000F), (0x6060, 8), (0x607A, -2), (0x6071, -300)):
        values[layout.slot(index)] = value
    data = bytearray(layout.size)
    layout.pack_into(data, 0, *values)
    assert data == bytes.fromhex("0f00 08 00 feffffff d4fe")
    assert layout.unpack(data)[layout.slot(0x6071)] == -300


def test_pdos_follow_each_other():
    layout = Image("x", [Pdo(0x1A00, (entry(0x6041, "u16"),)), Pdo(0x1A01, (entry(0x6064, "i32"),))])
    assert layout.size == 6
    assert layout.unpack(struct.pack("<Hi", 0x1237, -5)) == (0x1237, -5)


def test_bools_share_bytes_with_pads():
    layout = image(
        entry(0x2601, "bool"),
        pad(1),
        entry(0x2603, "bool"),
        pad(9),
        entry(0x2604, "bool"),
        pad(3),
        entry(0x6041, "u16"),
    )
    assert layout.size == 4
    values = layout.unpack(bytes([0b100, 0b0001_0000, 0x37, 0x12]))
    assert [layout.bit(values, index, 0) for index in (0x2601, 0x2603, 0x2604)] == [False, True, True]
    assert values[layout.slot(0x6041)] == 0x1237
    mine = layout.blank()
    layout.set_bit(mine, 0x2601, 0, True)
    layout.set_bit(mine, 0x2604, 0, True)
    layout.set_bit(mine, 0x2601, 0, False)
    data = bytearray(4)
    layout.pack_into(data, 0, *mine)
    assert data == bytes([0, 0b0001_0000, 0, 0])
    with pytest.raises(ConfigError, match=r"0x6041:0 isn't mapped as a bool; bools: 0x2601:0, 0x2603:0, 0x2604:0"):
        layout.bit(values, 0x6041, 0)


SMALL = st.one_of(st.integers(1, 20).map(pad), st.just("bool"))


@given(st.lists(st.one_of(st.sampled_from(sorted(TYPES)), SMALL), min_size=1, max_size=20), st.data())
def test_any_layout_reads_each_object_at_its_bit(kinds, data):
    """Against an independent reading: the whole image as one number, shifted."""
    entries, bit = [], 0
    for i, kind in enumerate(kinds):
        one = kind if isinstance(kind, Entry) else entry(0x2000 + i, kind)
        if one.type in TYPES and bit % 8:
            entries.append(pad(8 - bit % 8))
            bit += 8 - bit % 8
        entries.append(one)
        bit += one.bits
    if bit % 8:
        entries.append(pad(8 - bit % 8))
    layout = image(*entries)
    raw = data.draw(st.binary(min_size=layout.size, max_size=layout.size))
    whole, at, values = int.from_bytes(raw, "little"), 0, layout.unpack(raw)
    for one in entries:
        shown = whole >> at & (1 << one.bits) - 1
        if one.type == "bool":
            assert layout.bit(values, one.index, 0) == shown
        elif one.type in TYPES:
            assert values[layout.slot(one.index)] & (1 << one.bits) - 1 == shown
        at += one.bits
    assert at == 8 * layout.size


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([entry(0x2601, "bool"), entry(0x6041, "u16")], "drive.yaml: rx: 0x6041:0 u16 begins at bit 1 of a byte"),
        ([pad(4)], "4 bits: must be whole bytes"),
        ([entry(0x6041, "u16"), entry(0x6041, "u16")], "0x6041:0 u16 is there twice"),
    ],
)
def test_impossible_layouts_are_refused(entries, words):
    with pytest.raises(ConfigError, match=words):
        image(*entries)


def test_what_a_mapping_object_holds():
    assert entry(0x60FE, "u32", 1).mapping == 0x60FE0120
    assert pad(8).mapping == 0x00000008


# --- scaling ---

SCALES = st.builds(
    Scale.of_drive,
    st.just("elbow"),
    counts_per_revolution=st.sampled_from([512, 4096, 131072, 2**20, 2**24]),
    velocity_unit=st.sampled_from(sorted(VELOCITY_UNITS)),
    rated_torque=st.floats(0.01, 50.0),
    gear_ratio=st.floats(0.5, 320.0),
    sign=st.sampled_from([1.0, -1.0]),
    offset=st.floats(-7.0, 7.0),
    encoder_on_joint=st.booleans(),
)


@given(SCALES, st.integers(-I32, I32), st.integers(-I32, I32), st.integers(-I16, I16))
def test_counts_come_back_exactly(scale, position, velocity, torque):
    assert scale.position_counts(scale.angle(position)) == position
    assert scale.velocity_counts(velocity / scale.velocity) == velocity
    assert scale.torque_counts(torque / scale.torque) == torque


@given(SCALES, st.floats(-6.3, 6.3), st.floats(-10.0, 10.0), st.floats(-500.0, 500.0))
def test_si_values_come_back_within_one_count(scale, q, v, tau):
    for value, counts, per_unit, offset, largest in (
        (q, scale.position_counts(q), scale.position, scale.offset, I32),
        (v, scale.velocity_counts(v), scale.velocity, 0.0, I32),
        (tau, scale.torque_counts(tau), scale.torque, 0.0, I16),
    ):
        assume(abs((value - offset) * per_unit) < largest)
        assert abs(counts / per_unit + offset - value) <= 1.0 / abs(per_unit)


def test_a_scale_written_out():
    """A joint behind a gear of 100, motor the other way round, encoder of 4096 counts, 0.5 N·m, rpm."""
    scale = Scale.of_drive(
        "elbow",
        counts_per_revolution=4096,
        velocity_unit="rpm",
        rated_torque=0.5,
        gear_ratio=100.0,
        sign=-1.0,
        offset=math.pi / 2,
    )
    assert scale.position_counts(math.pi / 2) == 0
    assert scale.position_counts(math.pi / 2 + 2 * math.pi) == -409600  # a turn of the joint: 100 of the motor
    assert scale.velocity_counts(2 * math.pi) == -6000  # a turn per second: 100 of the motor, 6000 a minute
    assert scale.torque_counts(50.0) == -1000  # rated torque times gear


@pytest.mark.parametrize(
    ("unit", "counts"), [("counts/s", 409600), ("rpm", 6000), ("0.1 rpm", 60000), ("0.001 rpm", 6000000)]
)
def test_velocity_units(unit, counts):
    scale = Scale.of_drive("j", counts_per_revolution=4096, velocity_unit=unit, rated_torque=1.0, gear_ratio=100.0)
    assert scale.velocity_counts(2 * math.pi) == counts


def test_an_encoder_on_the_joint_counts_the_joints_turns_but_torque_still_goes_through_the_gear():
    scale = Scale.of_drive(
        "j",
        counts_per_revolution=4096,
        velocity_unit="rpm",
        rated_torque=0.5,
        gear_ratio=100.0,
        encoder_on_joint=True,
    )
    assert scale.position_counts(2 * math.pi) == 4096
    assert scale.velocity_counts(2 * math.pi) == 60
    assert scale.torque_counts(50.0) == 1000


@given(SCALES, st.floats(1e12, 1e300), st.sampled_from([1.0, -1.0]))
def test_values_beyond_an_object_saturate_on_their_side(scale, value, side):
    assert scale.position_counts(side * value) == math.copysign(I32, side * scale.position)
    assert scale.velocity_counts(side * value) == math.copysign(I32, side * scale.velocity)
    assert scale.torque_counts(side * value) == math.copysign(I16, side * scale.torque)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("quantity", ["position", "velocity", "torque"])
def test_what_is_no_finite_number_is_refused(value, quantity):
    scale = Scale("elbow", 1000.0, 0.0, 10.0, 5.0)
    with pytest.raises(ConfigError, match=rf"elbow: {quantity} = {value} .*: must be a finite number"):
        getattr(scale, f"{quantity}_counts")(value)


# --- a drive ---


def axis(name="cia402", scale=None):
    drive = load_drive(name)
    return Axis(Scale("elbow", 1000.0, 0.5, 10.0, -5.0) if scale is None else scale, drive.rx_image, drive.tx_image)


def answer(status=0x1237, mode=8, position=0, velocity=0, torque=0, error=0, following=0):
    return struct.pack("<HbxiihHi", status, mode, position, velocity, torque, error, following)


def output(one):
    """(control word, mode, target position, velocity offset, torque offset, target torque, target velocity)."""
    return struct.unpack("<Hbxiihhi", one.output)


def test_reading_gives_si_units_at_the_joint():
    one = axis()
    one.read(answer(0x1237, 10, 1500, -20, 30, 0x8611, 100))
    assert (one.status_word, one.mode_display, one.error_code, one.position_counts) == (0x1237, 10, 0x8611, 1500)
    assert (one.q, one.v, one.effort, one.following_error) == (2.0, -2.0, -6.0, 0.1)


def test_each_mode_fills_its_target_and_leaves_the_others_where_nothing_happens():
    one = axis()
    one.read(answer(position=1500, velocity=50, torque=30))
    one.write(0x0F, Mode.POSITION, Targets.COMMAND, 2.5, 3.0, 4.0)
    assert output(one) == (0x0F, 8, 2000, 30, -20, 30, 0)
    one.write(0x0F, Mode.VELOCITY, Targets.COMMAND, 3.0, 9.0, 4.0)
    assert output(one) == (0x0F, 9, 1500, 0, -20, 30, 30)
    one.write(0x0F, Mode.TORQUE, Targets.COMMAND, 4.0, 9.0, 9.0)
    assert output(one) == (0x0F, 10, 1500, 0, 0, -20, 0)


@given(st.integers(-I32 - 1, I32), st.sampled_from([mode for mode in Mode if mode is not Mode.NONE]))
def test_following_targets_are_the_measured_position_to_the_count(position, mode):
    one = axis()
    one.read(answer(position=position, velocity=77, torque=88))
    one.write(0x06, mode, Targets.FOLLOW, 99.0, 99.0, 99.0)
    assert output(one) == (0x06, mode, position, 0, 0, 0, 0)


def test_kept_and_halted_targets():
    one = axis()
    one.read(answer(position=1500, torque=30))
    one.write(0x0F, Mode.POSITION, Targets.COMMAND, 2.5, 3.0, 4.0)
    one.read(answer(position=9999, torque=99))
    one.write(0x0F, Mode.TORQUE, Targets.KEEP, 0.0)
    assert output(one) == (0x0F, 10, 2000, 30, -20, 30, 0)
    one.write(0x02, Mode.TORQUE, Targets.HALT, 0.0)
    assert output(one) == (0x02, 10, 2000, 0, 0, 0, 0)


def test_a_command_that_is_no_number_leaves_the_output_alone():
    one = axis()
    one.read(answer())
    one.write(0x0F, Mode.TORQUE, Targets.COMMAND, 4.0)
    before = bytes(one.output)
    with pytest.raises(ConfigError, match="elbow: torque = nan"):
        one.write(0x0F, Mode.TORQUE, Targets.COMMAND, math.nan)
    with pytest.raises(ConfigError, match="elbow: torque = inf"):
        one.write(0x0F, Mode.POSITION, Targets.COMMAND, 1.0, 0.0, math.inf)
    assert one.output == before


def test_saturation_is_shown():
    one = axis()
    one.read(answer())
    one.write(0x0F, Mode.TORQUE, Targets.COMMAND, 4.0)
    assert not one.saturated
    one.write(0x0F, Mode.TORQUE, Targets.COMMAND, 1e6)
    assert one.saturated
    assert output(one)[5] == -I16


def test_objects_that_are_not_mapped():
    rx = image(entry(0x6040, "u16"), entry(0x6060, "i8"), entry(0x6071, "i16"))
    tx = image(entry(0x6041, "u16"), entry(0x6061, "i8"), entry(0x6064, "i32"), entry(0x606C, "i32"))
    one = Axis(Scale("elbow", 1000.0, 0.0, 10.0, 5.0), rx, tx)
    assert one.modes == (Mode.TORQUE,)
    assert not one.takes_velocity_offset
    assert not one.takes_torque_offset
    one.read(struct.pack("<Hbii", 0x1237, 10, 1500, 20))
    assert math.isnan(one.effort)
    assert (one.q, one.error_code, one.following_error) == (1.5, 0, 0.0)
    one.write(0x0F, Mode.TORQUE, Targets.COMMAND, 2.0)
    assert one.output == struct.pack("<Hbh", 0x0F, 10, 10)


def test_an_axis_without_a_needed_object_is_refused():
    with pytest.raises(ConfigError, match="elbow: object 0x6061 must be in the drive's process data"):
        Axis(Scale("elbow", 1.0, 0.0, 1.0, 1.0), image(entry(0x6040, "u16")), image(entry(0x6041, "u16")))


def test_sizes_that_the_bus_has_mapped_otherwise_are_refused():
    axis().check_sizes(20, 20)
    with pytest.raises(
        ConfigError, match=r"elbow: the drive has mapped 19 bytes of outputs and 20 of inputs; .* 20 and 20"
    ):
        axis().check_sizes(19, 20)


def test_all_drives_in_the_order_of_the_joints():
    axes = [axis(scale=Scale(name, 1000.0, 0.0, 10.0, 5.0)) for name in ("a", "b")]
    data = ProcessData(axes)
    data.read([answer(position=1000, velocity=1, torque=5), answer(position=2000, velocity=2, torque=10)])
    np.testing.assert_array_equal([data.q, data.v, data.effort], [[1.0, 2.0], [0.1, 0.2], [1.0, 2.0]])
    data.write([0x0F, 0x06], Mode.POSITION, [Targets.COMMAND, Targets.FOLLOW], np.array([1.5, 9.0]), None, np.ones(2))
    assert output(axes[0])[:5] == (0x0F, 8, 1500, 0, 5)
    assert output(axes[1])[:5] == (0x06, 8, 2000, 0, 0)
    with pytest.raises(ValueError, match="zip"):
        data.read([answer()])
