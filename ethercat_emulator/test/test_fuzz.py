"""The emulator outlives any frames, as a slave's silicon does: in bounded memory, and a good
master gets it to OP.
"""

import struct
import time

import pytest
from ethercat_emulator_fuzz import (
    INPUTS,
    OP,
    OUTPUTS,
    Fuzz,
    GoodMaster,
    make_bus,
    real_frames,
    size_of,
)
from ethercat_emulator_support import MS, Master

from ethercat_emulator import Bus, Load, Machine, Mapped, Pdo, Rotors, drive_slave

ENABLED = 0x27
BATCH = 500  # frames between two visits of a good master
# bytes that a bus may take beyond those after the first batch: queues and plans, filled
GROWTH = 200_000


def outlive(frames: int, seed: int) -> None:
    """Run so many fuzzed frames; a good master comes after each batch. Every other batch
    leaves the slaves in OP.
    """
    bus = make_bus()
    master = GoodMaster(bus)
    fuzz = Fuzz(seed, real_frames())
    memories = [len(slave.esc.memory) for slave in bus.slaves]
    first = 0
    for batch in range(frames // BATCH):
        for _ in range(BATCH):
            master.line.exchange(fuzz.frame(calm=batch % 2 == 0), master.now)
            master.now += fuzz.pause()
        master.bring_to_op()
        assert master.enable() == ENABLED
        master.sent.clear()
        assert [len(slave.esc.memory) for slave in bus.slaves] == memories
        first = first or size_of(master.line)
        assert size_of(master.line) < first + GROWTH, f"after {BATCH * (batch + 1)} frames"


@pytest.mark.parametrize("seed", range(3))
def test_the_emulator_outlives_ten_thousand_fuzzed_frames(seed):
    outlive(10_000, seed)


@pytest.mark.long
def test_the_emulator_outlives_a_million_fuzzed_frames():
    outlive(1_000_000, 2024)


# --- one thing at a time ---


@pytest.fixture
def master() -> GoodMaster:
    """In OP."""
    master = GoodMaster(make_bus())
    master.bring_to_op()
    return master


def test_a_master_that_starts_after_one_that_was_killed_finds_its_registers_where_they_were(master):
    """SOEM begins with zeros in all FMMUs and sync managers, while the slave is still in OP."""
    bus = master.bus
    sizes = [len(slave.esc.memory) for slave in bus.slaves]
    second = GoodMaster(bus)
    second.now = master.now
    for address, size in ((0x0600, 128), (0x0800, 64)):
        assert second.one("BWR", 0, address, bytes(size))[1] == 2
        second.wait(5 * MS)
    assert [len(slave.esc.memory) for slave in bus.slaves] == sizes
    assert second.read(0, 0x0000, 10)[4:6] == bytes((8, 8))
    second.bring_to_op()
    assert second.enable() == ENABLED


@pytest.mark.parametrize(
    ("number", "start", "length", "control", "state", "code"),
    [
        (0, 0x1000, 4, 0x26, 0x11, 0x16),
        (1, 0x1400, 64, 0x22, 0x11, 0x16),
        (2, 0x1800, OUTPUTS + 1, 0x64, 0x12, 0x1D),
        (2, 0xFFFF, OUTPUTS, 0x64, 0x12, 0x1D),
        (3, 0x2000, 1, 0x20, 0x12, 0x1E),
        (3, 0x0100, INPUTS, 0x20, 0x12, 0x1E),
    ],
)
def test_a_slave_whose_sync_managers_change_leaves_its_state(
    master, number, start, length, control, state, code
):
    master.write(0, 0x0800 + 8 * number, struct.pack("<HHBBBB", start, length, control, 0, 1, 0))
    assert master.state(0) == (state, code)
    assert master.state(1) == (OP, 0)


def test_what_a_slave_knows_of_logical_datagrams_is_bounded(master):
    def ask(first: int, end: int) -> int:
        for logical in range(first, end):
            master.one("LRD", logical, 0, bytes(4))
        master.sent.clear()
        return size_of(master.line)

    few = ask(0, 1000)
    assert ask(1000, 5000) < few + 10_000


def test_fmmus_of_single_bits_over_the_whole_memory_take_no_longer_than_others():
    master = Master(make_bus())
    for number in range(8):
        master.fmmu(0, number, 0, 5000, 0x1000, 3, bits=(1, 7, 1))
    began = time.process_time()
    for logical in range(10):
        assert master.one("LRW", logical, 0, bytes(1000))[1] == 3
    assert time.process_time() - began < 0.5


def test_48_single_bits_are_mapped_bit_by_bit():
    bits = 48
    rx = Pdo(0x1600, (Mapped(0x6040, 0, 16), *(Mapped(0x2100, n + 1, 1) for n in range(bits))))
    tx = Pdo(0x1A00, (Mapped(0x6041, 0, 16), *(Mapped(0x2101, n + 1, 1) for n in range(bits))))
    slave, drive = drive_slave(pdos=(rx, tx))
    master = Master(Bus([slave], Machine([drive], Rotors([Load()]))))
    master.to_op(1, 8, 8)
    pattern = 0x5A3C_F00F_1234
    began = time.process_time()
    for n in range(200):
        wanted = pattern >> n % 8
        assert master.one("LWR", 0, 0, struct.pack("<Q", wanted << 16))[1] == 1
        for bit in range(bits):
            slave.dictionary.values[0x2101 << 8 | bit + 1] = slave.dictionary.number(
                0x2100, bit + 1
            )
        master.wait(MS)
        assert int.from_bytes(master.one("LRD", 0x1000, 0, bytes(8))[0], "little") >> 16 == wanted
    assert time.process_time() - began < 1.0


def test_requests_wait_and_emergencies_are_lost_where_nobody_reads_the_mailbox(master):
    before = size_of(master.line)
    for n in range(1000):
        master.bus.slaves[0].emergency(n, 1, b"")
        master.post(0, struct.pack("<HBBHH", 8 << 12, 1, 0, 0, 1))
    master.sent.clear()
    assert size_of(master.line) < before + 10_000
    read = [message[2] for message in (master.fetch(0) for _ in range(1000)) if message is not None]
    assert len(read) < 30
    # the first request, and the one that waited
    assert sum(message[1] >> 4 == 8 for message in read) == 2


def test_a_complete_download_longer_than_its_object_is_refused_at_its_first_request(master):
    answer = master.sdo(0, 0x31, 0x1018, 0, struct.pack("<I", 0xFFFFFFFF))
    assert struct.unpack("<BHBI", answer) == (0x80, 0x1018, 0, 0x06070012)
