"""Layouts of process data, byte by byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.fieldbus.ethercat.pdo import TYPES, Entry, Image, Pdo


def entry(index, kind, sub_index=0):
    return Entry(index, kind, 1 if kind == "bool" else TYPES[kind], sub_index)


def pad(bits):
    return Entry(0, "pad", bits)


def image(*entries):
    return Image("drive.yaml: rx", [Pdo(0x1600, entries)])


# --- layouts ---


def test_objects_follow_each_other():
    layout = image(
        entry(0x6040, "u16"),
        entry(0x6060, "i8"),
        pad(8),
        entry(0x607A, "i32"),
        entry(0x6071, "i16"),
    )
    assert [layout.place(index) for index in (0x6040, 0x6060, 0x607A, 0x6071, 0x60FF)] == [
        0,
        2,
        4,
        8,
        None,
    ]
    assert layout.size == 10


def test_pdos_follow_each_other():
    layout = Image(
        "x", [Pdo(0x1A00, (entry(0x6041, "u16"),)), Pdo(0x1A01, (entry(0x6064, "i32"),))]
    )
    assert (layout.place(0x6041), layout.place(0x6064), layout.size) == (0, 2, 6)


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
    assert (layout.place(0x6041), layout.size) == (2, 4)
    assert layout.place(0x2601) is None  # less than a byte


SMALL = st.one_of(st.integers(1, 20).map(pad), st.just("bool"))


@given(st.lists(st.one_of(st.sampled_from(sorted(TYPES)), SMALL), min_size=1, max_size=20))
def test_any_layout_has_each_object_at_its_bit(kinds):
    entries, bit, places = [], 0, {}
    for i, kind in enumerate(kinds):
        one = kind if isinstance(kind, Entry) else entry(0x2000 + i, kind)
        if one.type in TYPES:
            if bit % 8:
                entries.append(pad(8 - bit % 8))
                bit += 8 - bit % 8
            places[one.index] = bit
        entries.append(one)
        bit += one.bits
    if bit % 8:
        entries.append(pad(8 - bit % 8))
        bit += 8 - bit % 8
    layout = image(*entries)
    assert 8 * layout.size == bit
    assert {index: 8 * layout.place(index) for index in places} == places


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        (
            [entry(0x2601, "bool"), entry(0x6041, "u16")],
            "drive.yaml: rx: 0x6041:0 u16 begins at bit 1 of a byte",
        ),
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
