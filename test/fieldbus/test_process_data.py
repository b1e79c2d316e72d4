"""Process data of drives: each object at its place, in SI units at the joints, and
targets that never jump.
"""

import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.fieldbus.ethercat.cia402 import Mode, TargetSource
from robot_control_ros.fieldbus.ethercat.drives import load_drive
from robot_control_ros.fieldbus.ethercat.pdo import OBJECT_TYPES, TYPES, Entry, Image, Pdo, bounds
from robot_control_ros.fieldbus.ethercat.process_data import Axis, ProcessData
from robot_control_ros.fieldbus.ethercat.scale import Scale

I32, I16 = 2**31 - 1, 2**15 - 1
ELBOW = Scale("elbow", 1000.0, 0.5, 10.0, -5.0)
LETTERS = {"i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I"}
INPUTS = (0x6041, 0x6061, 0x6064, 0x606C, 0x6077, 0x603F, 0x60F4)
OUTPUTS = (0x6040, 0x6060, 0x607A, 0x60FF, 0x6071, 0x60B1, 0x60B2)


def image(*entries):
    return Image("drive.yaml: rx", [Pdo(0x1600, entries)])


def entry(index):
    kind = OBJECT_TYPES[index]
    return Entry(index, kind, TYPES[kind])


def axis(scale=ELBOW):
    drive = load_drive("cia402")
    return Axis(scale, drive.rx_image, drive.tx_image)


class One:
    """The process data of a single drive, by plain numbers."""

    def __init__(self, of=None):
        self.data = ProcessData([axis() if of is None else of])

    def read(self, data):
        self.data.read([data])

    def write(self, word, mode, targets, value=0.0, velocity=0.0, torque=0.0):
        self.data.write(
            [word], mode, [targets], *(np.array([each]) for each in (value, velocity, torque))
        )

    @property
    def output(self):
        return self.data.outputs[0]


def answer(status=0x1237, mode=8, position=0, velocity=0, torque=0, error=0, following=0):
    return struct.pack("<HbxiihHi", status, mode, position, velocity, torque, error, following)


def taken(output):
    """(control word, mode, target position, velocity offset, torque offset, target
    torque, target velocity).
    """
    return struct.unpack("<Hbxiihhi", output)


def test_reading_gives_si_units_at_the_joint():
    one = One()
    one.read(answer(0x1237, 10, 1500, -20, 30, 0x8611, 100))
    data = one.data
    shown = data.status_words, data.mode_displays, data.error_codes, data.position_counts
    assert shown == ([0x1237], [10], [0x8611], [1500])
    measured = data.q.item(), data.v.item(), data.effort.item(), data.following_error.item()
    assert measured == (2.0, -2.0, -6.0, 0.1)


def test_what_was_read_stays_as_it_was():
    """A sample is kept by whoever took it, while the next one comes."""
    one = One()
    one.read(answer(position=1500))
    q, codes = one.data.q, one.data.error_codes
    one.read(answer(position=9999, error=7))
    assert (q.item(), codes) == (2.0, [0])


def test_each_mode_fills_its_target_and_leaves_the_others_where_nothing_happens():
    one = One()
    one.read(answer(position=1500, velocity=50, torque=30))
    one.write(0x0F, Mode.POSITION, TargetSource.COMMAND, 2.5, 3.0, 4.0)
    assert taken(one.output) == (0x0F, 8, 2000, 30, -20, 30, 0)
    one.write(0x0F, Mode.VELOCITY, TargetSource.COMMAND, 3.0, 9.0, 4.0)
    assert taken(one.output) == (0x0F, 9, 1500, 0, -20, 30, 30)
    one.write(0x0F, Mode.TORQUE, TargetSource.COMMAND, 4.0, 9.0, 9.0)
    assert taken(one.output) == (0x0F, 10, 1500, 0, 0, -20, 0)


@given(
    st.integers(-I32 - 1, I32), st.sampled_from([mode for mode in Mode if mode is not Mode.NONE])
)
def test_following_targets_are_the_measured_position_to_the_count(position, mode):
    one = One()
    one.read(answer(position=position, velocity=77, torque=88))
    one.write(0x06, mode, TargetSource.FOLLOW, 99.0, 99.0, 99.0)
    assert taken(one.output) == (0x06, mode, position, 0, 0, 0, 0)


def test_kept_and_halted_targets():
    one = One()
    one.read(answer(position=1500, torque=30))
    one.write(0x0F, Mode.POSITION, TargetSource.COMMAND, 2.5, 3.0, 4.0)
    one.read(answer(position=9999, torque=99))
    one.write(0x0F, Mode.TORQUE, TargetSource.KEEP)
    assert taken(one.output) == (0x0F, 10, 2000, 30, -20, 30, 0)
    one.write(0x02, Mode.TORQUE, TargetSource.HALT)
    assert taken(one.output) == (0x02, 10, 2000, 0, 0, 0, 0)


def test_a_command_that_is_no_number_leaves_the_output_alone():
    one = One()
    one.read(answer())
    one.write(0x0F, Mode.TORQUE, TargetSource.COMMAND, 4.0)
    before = one.output
    with pytest.raises(ConfigError):
        one.write(0x06, Mode.TORQUE, TargetSource.COMMAND, math.nan)
    with pytest.raises(ConfigError) as caught:
        one.write(0x06, Mode.POSITION, TargetSource.COMMAND, 1.0, 0.0, math.inf)
    assert (caught.value.name, caught.value.value) == ("elbow", math.inf)
    assert one.output == before
    one.write(0x0F, Mode.TORQUE, TargetSource.KEEP)
    assert one.output == before


@pytest.mark.parametrize(("side", "counts"), [(1.0, -I16), (-1.0, I16)])
def test_commands_beyond_an_object_saturate(side, counts):
    one = One()
    one.read(answer())
    one.write(0x0F, Mode.TORQUE, TargetSource.COMMAND, side * 1e6)
    assert taken(one.output)[5] == counts
    one.write(0x0F, Mode.POSITION, TargetSource.COMMAND, side * 1e9)
    assert taken(one.output)[2] == side * I32


def test_objects_that_are_not_mapped():
    rx = image(entry(0x6040), entry(0x6060), entry(0x6071))
    tx = image(entry(0x6041), entry(0x6061), entry(0x6064), entry(0x606C))
    of = Axis(Scale("elbow", 1000.0, 0.0, 10.0, 5.0), rx, tx)
    assert of.rx.modes == (Mode.TORQUE,)
    one = One(of)
    one.read(struct.pack("<Hbii", 0x1237, 10, 1500, 20))
    data = one.data
    assert math.isnan(data.effort.item())
    assert (data.q.item(), data.error_codes, data.following_error.item()) == (1.5, [0], 0.0)
    one.write(0x0F, Mode.TORQUE, TargetSource.COMMAND, 2.0)
    assert one.output == struct.pack("<Hbh", 0x0F, 10, 10)


def test_an_error_code_that_is_not_mapped_is_what_was_told():
    silent = Axis(
        ELBOW,
        image(entry(0x6040), entry(0x6060)),
        image(*map(entry, (0x6041, 0x6061, 0x6064, 0x606C))),
    )
    data = ProcessData([axis(), silent])
    assert data.unmapped_errors == (1,)
    data.set_error_code(1, 0x7300)
    assert data.error_codes == [0, 0x7300]
    data.read([answer(error=0x8611), struct.pack("<Hbii", 0x1237, 10, 1500, 20)])
    assert data.error_codes == [0x8611, 0x7300]


def test_sizes_that_the_bus_has_mapped_otherwise_are_refused():
    axis().check_sizes(20, 20)
    with pytest.raises(ConfigError) as caught:
        axis().check_sizes(19, 20)
    assert (caught.value.name, caught.value.value, caught.value.bound) == (
        "elbow",
        (19, 20),
        (20, 20),
    )


def test_all_drives_in_the_order_of_the_joints():
    data = ProcessData([axis(Scale(name, 1000.0, 0.0, 10.0, 5.0)) for name in ("a", "b")])
    data.read(
        [answer(position=1000, velocity=1, torque=5), answer(position=2000, velocity=2, torque=10)]
    )
    np.testing.assert_array_equal(
        [data.q, data.v, data.effort], [[1.0, 2.0], [0.1, 0.2], [1.0, 2.0]]
    )
    data.write(
        [0x0F, 0x06],
        Mode.POSITION,
        [TargetSource.COMMAND, TargetSource.FOLLOW],
        np.array([1.5, 9.0]),
        None,
        np.ones(2),
    )
    assert taken(data.outputs[0])[:5] == (0x0F, 8, 1500, 0, 5)
    assert taken(data.outputs[1])[:5] == (0x06, 8, 2000, 0, 0)
    with pytest.raises(ValueError, match="must be 40"):
        data.read([answer()])


def layouts(objects, needed):
    """An image of some of the objects, in any order, with pads and other objects between them."""
    chosen = st.permutations([each for each in objects if each not in needed]).flatmap(
        lambda rest: st.integers(0, len(rest)).flatmap(
            lambda n: st.permutations([*needed, *rest[:n]])
        )
    )
    gaps = st.lists(st.sampled_from([0, 8, 24]), min_size=len(objects), max_size=len(objects))

    def made(order, between):
        entries = []
        for index, bits in zip(order, between, strict=False):
            entries += [Entry(0, "pad", bits)] if bits else []
            entries.append(entry(index))
        return entries

    return st.builds(made, chosen, gaps)


AXES = st.tuples(
    layouts(OUTPUTS, (0x6040, 0x6060)), layouts(INPUTS, (0x6041, 0x6061, 0x6064, 0x606C))
)


def packed(entries, values):
    """Bytes of a layout by struct, which the package doesn't use for this; what
    isn't in `values` is 0.
    """
    letters = [
        "x" * (each.bits // 8) if each.type == "pad" else LETTERS[each.type] for each in entries
    ]
    return struct.pack(
        "<" + "".join(letters),
        *[values.get(each.index, 0) for each in entries if each.type != "pad"],
    )


@given(st.lists(AXES, min_size=1, max_size=7), st.sampled_from(list(TargetSource)), st.data())
@settings(deadline=None)
def test_any_drives_side_by_side_each_with_a_layout_of_its_own(layouts, first, data):
    """Against numbers worked out drive by drive: all that is written and read,
    whatever is mapped where.
    """
    n = len(layouts)
    scales = [Scale(f"joint {i}", 1000.0 + i, 0.1 * i, -10.0 - i, 5.0 + i) for i in range(n)]
    bus = ProcessData(
        [
            Axis(scale, image(*rx), image(*tx))
            for scale, (rx, tx) in zip(scales, layouts, strict=True)
        ]
    )

    def draw(kind):
        return data.draw(st.integers(*bounds(kind)))

    shown = [{index: draw(OBJECT_TYPES[index]) for index in INPUTS} for _ in range(n)]
    mapped = [{each.index for each in tx} for _, tx in layouts]
    bus.read([packed(tx, values) for (_, tx), values in zip(layouts, shown, strict=True)])
    assert bus.status_words == [values[0x6041] for values in shown]
    assert bus.mode_displays == [values[0x6061] for values in shown]
    assert bus.position_counts == [values[0x6064] for values in shown]
    for i, (values, scale) in enumerate(zip(shown, scales, strict=True)):
        assert bus.q[i] == values[0x6064] / scale.position + scale.offset
        assert bus.v[i] == values[0x606C] / scale.velocity
        assert bus.error_codes[i] == (values[0x603F] if 0x603F in mapped[i] else 0)
        assert bus.following_error[i] == (
            values[0x60F4] / scale.position if 0x60F4 in mapped[i] else 0.0
        )
        effort = values[0x6077] / scale.torque if 0x6077 in mapped[i] else math.nan
        np.testing.assert_array_equal(bus.effort[i], effort)
    mode = data.draw(st.sampled_from([Mode.POSITION, Mode.VELOCITY, Mode.TORQUE]))
    targets = [first, *[data.draw(st.sampled_from(list(TargetSource))) for _ in range(n - 1)]]
    words = [draw("u16") for _ in range(n)]
    value, velocity, torque = (
        np.array([data.draw(st.floats(-9.0, 9.0)) for _ in range(n)]) for _ in range(3)
    )
    bus.write(words, mode, targets, value, velocity, torque)
    for i, ((rx, _), scale) in enumerate(zip(layouts, scales, strict=True)):
        wanted = {0x6040: words[i], 0x6060: int(mode)}
        if targets[i] is TargetSource.COMMAND:
            measured = shown[i][0x6077] if 0x6077 in mapped[i] else 0
            wanted |= {0x607A: shown[i][0x6064], 0x6071: measured}
            if mode is Mode.TORQUE:
                wanted[0x6071] = round(value[i] * scale.torque)
            else:
                wanted[0x60B2] = round(torque[i] * scale.torque)
            if mode is Mode.POSITION:
                wanted |= {0x607A: round((value[i] - scale.offset) * scale.position)}
                wanted |= {0x60B1: round(velocity[i] * scale.velocity)}
            if mode is Mode.VELOCITY:
                wanted[0x60FF] = round(value[i] * scale.velocity)
        elif targets[i] is TargetSource.FOLLOW:
            wanted[0x607A] = shown[i][0x6064]
        assert bus.outputs[i] == packed(rx, wanted)
