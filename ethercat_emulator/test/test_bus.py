"""The emulated bus: frames and commands, registers, EEPROM, memory windows, clocks, states.
No privileges needed.
"""

import struct

import pytest
from ethercat_emulator_support import COMMANDS, MS, Master, answers, datagram, ethernet, frame
from hypothesis import given, settings
from hypothesis import strategies as st

from ethercat_emulator.bus.chain import Bus
from ethercat_emulator.bus.devices import drive_slave, terminal
from ethercat_emulator.drive.drive import Machine
from ethercat_emulator.drive.mechanics import Load, Rotors
from ethercat_emulator.esc.sii import Identity, Sii, build

US = 1_000  # ns


def drives(count: int, **options) -> Bus:
    """A bus of equal drives, whose clocks start 1 ms apart."""
    pairs = [drive_slave(clock_start=n * MS, **options) for n in range(count)]
    return Bus(
        [slave for slave, _ in pairs], Machine([d for _, d in pairs], Rotors([Load()] * count))
    )


@pytest.fixture
def master() -> Master:
    return Master(drives(3))


def addressed(count: int = 3, **options) -> Master:
    """Slaves with station addresses 1001, 1002 and so on."""
    result = Master(drives(count, **options))
    for slave in range(count):
        result.write(slave, 0x0010, struct.pack("<H", 1001 + slave))
    return result


# --- frames ---


def test_a_frame_comes_back_with_its_size_index_and_padding(master):
    sent = frame(("BRD", 0, 0x0000, b"\x00"))
    reply = master.bus.process(sent, master.now)
    assert len(reply) == len(sent) == 60
    assert reply[:6] == sent[:6]
    assert reply[6] == sent[6] | 0x02  # the first slave marks the source address
    assert reply[7:16] == sent[7:16]
    assert [(index, wkc) for _, index, _, _, wkc in answers(reply)] == [(0, 3)]


def test_every_datagram_of_a_frame_is_processed_in_order(master):
    replies = master.send(
        ("BWR", 0, 0x0010, b"\x05\x00"),
        ("BRD", 0, 0x0010, b"\x00\x00"),
        ("NOP", 0, 0, b"\xaa\xbb"),
        ("FPRD", 5, 0x0010, b"\x00\x00"),
    )
    assert replies == [(b"\x05\x00", 3), (b"\x05\x00", 3), (b"\xaa\xbb", 0), (b"\x05\x00", 3)]


def test_indices_are_kept(master):
    parts = [
        datagram("BRD", 0, 0, b"\x00", index=index, more=index != 77) for index in (200, 3, 77)
    ]
    reply = master.bus.process(ethernet(b"".join(parts)), master.now)
    assert [index for _, index, _, _, _ in answers(reply)] == [200, 3, 77]


def test_a_working_counter_is_added_to_what_is_there_and_wraps(master):
    sent = ethernet(datagram("BRD", 0, 0, b"\x00", wkc=0xFFFE))
    assert answers(master.bus.process(sent, master.now))[0][4] == 1


@pytest.mark.parametrize(
    "sent",
    [
        ethernet(datagram("BRD", 0, 0, b"\x00"), ethertype=0x0800),
        ethernet(datagram("BRD", 0, 0, b"\x00"), kind=4),  # network variables
        ethernet(b""),
        ethernet(datagram("BRD", 0, 0, b"\x00")[:-1]),  # no room for the working counter
        ethernet(datagram("BRD", 0, 0, b"\x00", more=True)),  # and none follows
        ethernet(datagram("BRD", 0, 0, bytes(40)))[:50],
        b"\xff" * 10,
        b"",
    ],
    ids=[
        "IPv4",
        "network variables",
        "no datagram",
        "truncated",
        "none follows",
        "cut",
        "short",
        "empty",
    ],
)
def test_what_is_no_whole_ethercat_frame_is_not_answered(master, sent):
    assert master.bus.process(sent, master.now) is None
    assert master.one("BRD", 0, 0, b"\x00")[1] == 3  # and does no harm


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=120), st.integers(0, 0xFFFF))
def test_no_bytes_bring_the_core_down(payload, length):
    bus = drives(2)
    sent = (
        b"\xff" * 6 + bytes(6) + b"\x88\xa4" + struct.pack("<H", length & 0x07FF | 0x1000) + payload
    ).ljust(60)
    for now in (0, 3 * MS):
        reply = bus.process(sent, now)
        assert reply is None or len(reply) == len(sent)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(COMMANDS)),
            st.sampled_from([0, 1001, 0xFFFF]),
            st.integers(0, 0x3000)
            | st.sampled_from([0x120, 0x500, 0x502, 0x600, 0x800, 0x80D, 0x910, 0x1000, 0x1400]),
            st.binary(min_size=1, max_size=140),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_no_datagrams_bring_the_core_down(datagrams):
    bus = drives(2)
    master = Master(bus)
    for item in datagrams:
        reply = bus.process(frame(item), master.now)
        assert answers(reply)[0][1] == 0
        master.now += MS // 4


# --- commands ---


@pytest.mark.parametrize("slave", range(3))
def test_position_addressing_reaches_one_slave_and_counts_them_all(master, slave):
    position = -slave & 0xFFFF
    for command, wkc in (("APWR", 1), ("APRD", 1), ("APRW", 3)):
        reply = answers(
            master.bus.process(frame((command, position, 0x0010, b"\x2a\x00")), master.now)
        )[0]
        assert reply[2] == (position + 3) & 0xFFFF  # each slave adds 1
        assert reply[3:] == (b"\x2a\x00", wkc)
    assert [master.word(n, 0x0010) for n in range(3)] == [0x2A * (n == slave) for n in range(3)]


def test_position_addressing_beyond_the_last_slave_does_nothing(master):
    assert master.one("APRD", -3 & 0xFFFF, 0x0000, b"\x07") == (b"\x07", 0)


def test_station_addressing():
    master = addressed()
    assert master.one("FPRD", 1002, 0x0010, bytes(2)) == (struct.pack("<H", 1002), 1)
    assert master.one("FPWR", 1003, 0x0100, b"\x01\x00")[1] == 1
    assert master.one("FPRD", 1004, 0x0010, b"\x09\x09") == (b"\x09\x09", 0)


def test_reading_and_writing_in_one_command_gives_the_old_and_takes_the_new():
    master = addressed()
    assert master.one("FPRW", 1002, 0x0010, struct.pack("<H", 7)) == (struct.pack("<H", 1002), 3)
    assert master.word(1, 0x0010) == 7
    assert master.one("APRW", 0, 0x0010, struct.pack("<H", 8)) == (struct.pack("<H", 1001), 3)
    assert master.word(0, 0x0010) == 8


def test_an_alias_answers_only_where_the_master_allows_it():
    master = addressed(alias=500)
    assert master.word(0, 0x0012) == 500
    assert master.one("FPRD", 500, 0x0012, bytes(2))[1] == 0
    assert master.one("BWR", 0, 0x0103, b"\x01")[1] == 3
    assert master.one("FPRD", 500, 0x0012, bytes(2))[1] == 3
    assert master.write(0, 0x0012, b"\x01\x00") == 0  # the alias comes from the EEPROM


def test_broadcasts():
    master = addressed()
    reply = answers(master.bus.process(frame(("BRD", 7, 0x0010, b"\x00\x80")), master.now))[0]
    assert reply[2] == 10
    assert reply[3:] == (struct.pack("<H", 0x8000 | 1001 | 1002 | 1003), 3)
    assert master.one("BWR", 0, 0x0010, b"\x0f\x00") == (b"\x0f\x00", 3)
    assert [master.word(n, 0x0010) for n in range(3)] == [15] * 3
    master.write(1, 0x0010, b"\xf0\x00")
    assert master.one("BRW", 0, 0x0010, b"\x00\x01") == (struct.pack("<H", 0x01FF), 9)
    # each takes what reaches it
    assert [master.word(n, 0x0010) for n in range(3)] == [0x100, 0x10F, 0x1FF]


def test_read_one_write_others():
    master = addressed()
    assert master.one("FRMW", 1001, 0x0010, bytes(2)) == (struct.pack("<H", 1001), 3)
    assert [master.word(n, 0x0010) for n in range(3)] == [1001] * 3

    master = addressed()
    reply = answers(master.bus.process(frame(("ARMW", 0, 0x0010, bytes(2))), master.now))[0]
    assert reply[2:] == (3, struct.pack("<H", 1001), 3)
    assert [master.word(n, 0x0010) for n in range(3)] == [1001] * 3

    master = addressed()  # the one before writes what the master sent
    master.one("FRMW", 1002, 0x0010, struct.pack("<H", 5))
    assert [master.word(n, 0x0010) for n in range(3)] == [5, 1002, 1002]


def test_unknown_commands_pass_untouched(master):
    sent = bytearray(frame(("BRD", 0, 0, b"\x2a")))
    sent[16] = 99
    assert master.bus.process(bytes(sent), master.now)[16:] == bytes(sent[16:])


def test_access_beyond_the_memory_counts_nothing(master):
    assert master.one("APRD", 0, 0x2FFF, bytes(2))[1] == 0
    assert master.one("APRD", 0, 0xFFFF, bytes(1))[1] == 0
    assert master.one("APWR", 0, 0x2FFF, bytes(2))[1] == 0


# --- logical memory ---


def test_logical_reads_and_writes():
    master = Master(drives(2))
    master.to_op(2)
    outputs = b"\x80" + bytes(15)
    read = master.one("LRD", 0x1000, 0, bytes(40))
    assert read[1] == 2
    assert master.one("LWR", 0, 0, outputs * 2) == (outputs * 2, 2)
    assert master.bus.slaves[1].dictionary.number(0x6040) == 0x80


def test_one_logical_datagram_reads_and_writes_with_a_working_counter_of_three_per_slave():
    master = Master(drives(6))
    for slave in range(6):
        master.preop(slave)
        master.process_data(slave, logical=(16 * slave, 96 + 20 * slave))
        master.request(slave, 0x04)
        master.request(slave, 0x08)
    outputs = b"".join(struct.pack("<HbxiihH", 0, 8, 100 + n, 0, 0, 0) for n in range(6))
    data, wkc = master.one("LRW", 0, 0, outputs + bytes(120))
    assert wkc == 18
    assert data[:96] == outputs
    for n, slave in enumerate(master.bus.slaves):
        status = struct.unpack_from("<H", data, 96 + 20 * n)[0]
        assert status & 0x6F == 0x40
        assert slave.dictionary.number(0x607A) == 100 + n
    # two slaves' outputs, and 8 bytes of a third's
    assert master.one("LRW", 16, 0, bytes(40))[1] == 6


def test_outputs_and_inputs_may_overlap():
    """As kickcat maps them."""
    master = Master(drives(1))
    master.preop()
    master.process_data(0, logical=(0, 0))
    master.request(0, 0x04)
    master.request(0, 0x08)
    data, wkc = master.one("LRW", 0, 0, struct.pack("<HbxiihH", 0, 0, 42, 0, 0, 0) + bytes(4))
    assert wkc == 3
    assert struct.unpack_from("<H", data)[0] & 0x6F == 0x40
    assert master.bus.slaves[0].dictionary.number(0x607A) == 42


def test_logical_addresses_have_32_bits():
    master = Master(drives(1))
    master.preop()
    master.process_data(0, logical=(0x12340000, 0x12341000))
    master.request(0, 0x04)
    assert master.one("LWR", 0x0000, 0x1234, bytes(16))[1] == 1
    assert master.one("LWR", 0x0000, 0x0000, bytes(16))[1] == 0


def test_bits_are_mapped_and_the_others_stay():
    """A mailbox's state as one bit of the process data, as masters map it."""
    master = Master(drives(1))
    master.preop()
    master.fmmu(0, 2, 0x5000, 1, 0x080D, 1, bits=(5, 5, 3))
    assert master.one("LRD", 0x5000, 0, b"\xff") == (b"\xdf", 1)
    assert master.post(0, struct.pack("<HBHB4x", 2 << 12, 0x40, 0x1000, 0)) == 1
    assert master.one("LRD", 0x5000, 0, b"\x00") == (b"\x20", 1)


def test_bits_span_bytes():
    bus = Bus([terminal(12, 0)])
    master = Master(bus)
    master.request(0, 0x02)
    master.write(0, 0x0800, struct.pack("<HHBBBB", 0x1000, 2, 0x20, 0, 1, 0))
    master.fmmu(0, 0, 0, 2, 0x1000, 1, bits=(3, 6, 0))  # 12 bits, 3 bits further
    master.request(0, 0x04)
    for channel in (1, 6, 12):
        bus.slaves[0].dictionary.values[0x6000 << 8 | channel] = 1
    master.wait(MS)
    data, wkc = master.one("LRD", 0, 0, b"\xff\xff")
    assert (int.from_bytes(data, "little"), wkc) == (
        0b1000_0000_0000_0111 | 0b1000_0010_0001 << 3,
        1,
    )


def test_process_data_are_closed_before_safeop():
    master = Master(drives(1))
    master.preop()
    master.process_data(0)
    assert master.one("LWR", 0, 0, bytes(16))[1] == 0
    assert master.one("LRD", 0x1000, 0, bytes(20))[1] == 0
    assert master.one("APRD", 0, 0x2000, bytes(20))[1] == 0
    master.request(0, 0x04)
    assert master.one("LWR", 0, 0, bytes(16))[1] == 1
    assert master.one("LRD", 0x1000, 0, bytes(20))[1] == 1
    master.request(0, 0x02)
    assert master.one("LRD", 0x1000, 0, bytes(20))[1] == 0


def test_process_data_can_be_read_and_written_physically():
    master = Master(drives(1))
    master.to_op()
    assert master.write(0, 0x1800, struct.pack("<HbxiihH", 0, 8, 77, 0, 0, 0)) == 1
    assert master.bus.slaves[0].dictionary.number(0x607A) == 77
    assert master.one("APRD", 0, 0x2000, bytes(20))[1] == 1
    assert master.one("APRD", 0, 0x1800, bytes(16))[1] == 0  # outputs can't be read
    assert master.write(0, 0x2000, bytes(20)) == 0  # nor inputs be written


# --- registers ---


def test_identity_of_the_controller(master):
    description = master.read(0, 0x0000, 10)
    assert description[4:6] == bytes((8, 8))  # FMMUs, sync managers
    assert struct.unpack_from("<H", description, 8)[0] & 0x0004  # distributed clocks


def test_registers_after_power_up(master):
    assert master.word(0, 0x0400) == 0x09C2
    assert master.word(0, 0x0410) == 1000
    assert master.word(0, 0x0420) == 1000
    assert master.state(0) == (0x01, 0)
    assert master.word(0, 0x0010) == 0
    assert master.read(0, 0x0140, 1) == b"\x05"
    assert not any(master.read(0, 0x0600, 128))
    managers = master.read(0, 0x0800, 64)
    assert not any(managers[at] for at in range(64) if at % 8 != 7)
    # the device has locked its process data
    assert managers[7::8] == bytes((0, 0, 1, 1, 0, 0, 0, 0))


def test_dl_status_tells_where_the_chain_ends(master):
    def ports(slave):
        status = master.word(slave, 0x0110)
        return [(status >> 8 + 2 * n) & 3 for n in range(4)]  # 2: communication, 1: closed

    assert [ports(n) for n in range(3)] == [[2, 2, 1, 1], [2, 2, 1, 1], [2, 1, 1, 1]]


@pytest.mark.parametrize(
    ("address", "length"),
    [(0x0000, 10), (0x0012, 2), (0x0110, 2), (0x0130, 2), (0x0134, 2), (0x0805, 1), (0x080F, 1)],
)
def test_read_only_registers(master, address, length):
    before = master.read(0, address, length)
    assert master.write(0, address, b"\xff" * length) == 0
    assert master.read(0, address, length) == before


def test_a_write_over_both_kinds_changes_what_it_may(master):
    assert master.write(0, 0x0804, b"\x26\xff\x01\xff") == 1
    assert master.read(0, 0x0804, 4) == b"\x26\x00\x01\x00"


@pytest.mark.parametrize(
    ("address", "length"), [(0x0020, 2), (0x0100, 4), (0x0200, 4), (0x0410, 2), (0x0420, 2)]
)
def test_plain_registers_keep_what_is_written(master, address, length):
    data = bytes(range(1, length + 1))
    assert master.write(0, address, data) == 1
    assert master.read(0, address, length) == data


def test_error_counters_are_cleared_by_any_write(master):
    assert master.write(0, 0x0300, b"\xff" * 8) == 1
    assert master.read(0, 0x0300, 8) == bytes(8)


# --- EEPROM ---


def eeprom_command(master: Master, slave: int, command: int, address: int) -> int:
    return master.write(slave, 0x0502, struct.pack("<HI", command, address))


@pytest.mark.parametrize("eight", [False, True])
def test_reading_the_eeprom(eight):
    master = Master(
        drives(1, eeprom_8_bytes=eight, identity=Identity(0x11223344, 0x55667788, 9, 10))
    )
    assert bool(master.word(0, 0x0502) & 0x40) == eight
    assert eeprom_command(master, 0, 0x0100, 0x0008) == 1
    assert master.word(0, 0x0502) & 0x8000  # busy
    assert eeprom_command(master, 0, 0x0100, 0x000A) == 0  # and takes no other command
    master.wait(60 * US)
    assert master.word(0, 0x0502) & 0xFF00 == 0
    data = master.read(0, 0x0508, 8)
    assert data == struct.pack("<II", 0x11223344, 0x55667788 if eight else 0)


def test_writing_the_eeprom_needs_its_enable_bit():
    master = Master(drives(1))
    master.write(0, 0x0508, b"\x34\x12")
    eeprom_command(master, 0, 0x0200, 0x0004)
    assert master.word(0, 0x0502) & 0x4000
    eeprom_command(master, 0, 0x0000, 0)  # clears errors
    assert master.word(0, 0x0502) & 0x7800 == 0
    master.write(0, 0x0508, b"\x34\x12")
    eeprom_command(master, 0, 0x0201, 0x0004)
    master.wait(60 * US)
    assert master.word(0, 0x0502) & 0x7800 == 0
    eeprom_command(master, 0, 0x0100, 0x0004)
    master.wait(60 * US)
    assert master.word(0, 0x0508) == 0x1234


def test_the_eeprom_belongs_to_the_master_or_the_device():
    master = Master(drives(1))
    master.write(0, 0x0500, b"\x01")
    eeprom_command(master, 0, 0x0100, 0x0008)
    assert master.word(0, 0x0502) & 0x2000
    master.write(0, 0x0500, b"\x02")
    master.write(0, 0x0500, b"\x00")
    eeprom_command(master, 0, 0x0100, 0x0008)
    assert master.word(0, 0x0502) & 0xA000 == 0x8000


def test_reading_beyond_the_end_gives_ff():
    master = Master(drives(1))
    eeprom_command(master, 0, 0x0100, 0x4000)
    master.wait(60 * US)
    assert master.read(0, 0x0508, 8) == b"\xff" * 8


def test_a_wrong_checksum_shows_and_the_alias_is_not_taken():
    slave, _ = drive_slave(alias=77)
    slave.eeprom[14] ^= 1
    slave.power_up()
    master = Master(Bus([slave]))
    assert master.word(0, 0x0502) & 0x0800
    assert master.word(0, 0x0012) == 0


def crc8(data: bytes) -> int:
    """Bit by bit over the polynomial 0x107."""
    register = 0xFF
    for bit in (byte >> n & 1 for byte in data for n in range(7, -1, -1)):
        register = register << 1
        register = (register ^ 0x107 if (register >> 8) ^ bit else register) & 0xFF
    return register


def categories(content: bytes) -> dict[int, bytes]:
    found = {}
    at = 0x80
    while (kind := int.from_bytes(content[at : at + 2], "little")) != 0xFFFF:
        size = 2 * int.from_bytes(content[at + 2 : at + 4], "little")
        found[kind] = content[at + 4 : at + 4 + size]
        at += 4 + size
    return found


def test_content_of_the_eeprom():
    slave, _ = drive_slave(identity=Identity(1, 2, 3, 4), alias=0x1234, name="Servo")
    content = slave.eeprom
    words = struct.unpack_from("<64H", content)
    assert content[14] == crc8(content[:14])
    assert words[4] == 0x1234
    assert struct.unpack_from("<4I", content, 16) == (1, 2, 3, 4)
    assert words[0x14:0x18] == (0, 0, 0, 0)
    assert words[0x18:0x1D] == (0x1000, 128, 0x1400, 128, 0x04)
    assert words[0x3E:0x40] == (15, 1)
    found = categories(content)
    assert found[10] == b"\x01\x05Servo\x00"
    assert found[30][5] == 0x2F
    assert found[40] == b"\x01\x02\x03\x00"
    assert [struct.unpack_from("<HHBBBB", found[41], 8 * n) for n in range(4)] == [
        (0x1000, 128, 0x26, 0, 1, 1),
        (0x1400, 128, 0x22, 0, 1, 2),
        (0x1800, 16, 0x64, 0, 1, 3),
        (0x2000, 20, 0x20, 0, 1, 4),
    ]
    assert struct.unpack_from("<HBB", found[51]) == (0x1600, 7, 2)
    assert struct.unpack_from("<HBBBB", found[51], 8) == (0x6040, 0, 0, 0x06, 16)
    assert struct.unpack_from("<HBB", found[50]) == (0x1A00, 8, 3)
    assert sum(found[50][8 * n + 5] for n in range(1, 9)) == 8 * 20


def test_content_of_a_slave_without_mailbox():
    content = build(Sii(Identity(1, 2), "Coupler", ()))
    assert struct.unpack_from("<5H", content, 2 * 0x18) == (0,) * 5
    assert set(categories(content)) == {10, 30}


# --- mailbox windows ---


def test_mailboxes_are_full_or_empty(master):
    master.preop()
    request = struct.pack("<HBHB4x", 2 << 12, 0x40, 0x1000, 0)
    assert master.fetch(0) is None  # empty: not read
    master.bus.slaves[0].mailbox.mute = True
    mail = (struct.pack("<HHBB", len(request), 0, 0, 3) + request).ljust(128, b"\x00")
    assert master.write(0, 0x1000, mail[:64]) == 1  # in pieces: not complete yet
    assert master.read(0, 0x0805, 1)[0] & 0x08 == 0
    assert master.write(0, 0x1040, mail[64:]) == 1
    assert master.write(0, 0x1040, mail[64:]) == 0  # not from the middle
    # not read: it is the master's to write
    assert master.one("APRD", 0, 0x1000, bytes(128))[1] == 0
    assert master.write(0, 0x1400, bytes(128)) == 0


def test_a_full_mailbox_takes_no_second_message(master):
    master.preop()
    request = struct.pack("<HBHB4x", 2 << 12, 0x40, 0x1000, 0)
    mail = (struct.pack("<HHBB", len(request), 0, 0, 3) + request).ljust(128, b"\x00")
    replies = master.send(
        ("APWR", 0, 0x1000, mail), ("APWR", 0, 0x1000, mail), ("APRD", 0, 0x0805, b"\x00")
    )
    assert [wkc for _, wkc in replies] == [1, 0, 1]  # the device gets to work only after the frame
    assert replies[2][0][0] & 0x08
    assert master.read(0, 0x0805, 1)[0] & 0x08 == 0


def test_a_lost_answer_is_repeated(master):
    master.preop()
    request = struct.pack("<HBHB4x", 2 << 12, 0x40, 0x1000, 0)
    master.post(0, request)
    first = master.fetch(0)
    assert master.fetch(0) is None
    for request_bit in (0x02, 0x00):
        status = master.read(0, 0x080D, 1)[0]
        assert master.write(0, 0x080D, bytes((status, 0x01 | request_bit))) == 1
        assert master.read(0, 0x080F, 1)[0] & 0x02 == request_bit
        assert master.read(0, 0x080D, 1)[0] & 0x08
        assert master.fetch(0) == first


def test_a_repeated_request_is_served_once(master):
    master.preop()
    request = struct.pack("<HBHB4x", 2 << 12, 0x40, 0x1000, 0)
    master.post(0, request, counter=5)
    assert master.fetch(0) is not None
    master.post(0, request, counter=5)
    assert master.fetch(0) is None
    master.post(0, request, counter=6)
    assert master.fetch(0) is not None


def test_unknown_mailbox_types_and_lengths_are_refused(master):
    master.preop()
    master.post(0, bytes(10), kind=4)  # FoE
    assert master.fetch(0) == (0, 1, struct.pack("<HH", 1, 2))
    mail = struct.pack("<HHBB", 500, 0, 0, 3 | 2 << 4).ljust(128, b"\x00")
    master.write(0, 0x1000, mail)
    assert master.fetch(0) == (0, 2, struct.pack("<HH", 1, 8))


# --- states ---


def test_the_way_up_and_down(master):
    master.to_op()
    for state in (0x04, 0x08, 0x04, 0x02, 0x04, 0x08, 0x02, 0x04, 0x08, 0x01):
        assert master.request(0, state) == (state, 0)
    assert master.request(0, 0x01) == (0x01, 0)


@pytest.mark.parametrize(
    ("before", "wanted", "code"),
    [
        (0x01, 0x04, 0x11),
        (0x01, 0x08, 0x11),
        (0x02, 0x08, 0x11),
        (0x01, 0x05, 0x12),
        (0x02, 0x0F, 0x12),
        (0x01, 3, 0x13),
    ],
)
def test_refused_requests(master, before, wanted, code):
    if before == 0x02:
        master.preop()
    assert master.request(0, wanted) == (before | 0x10, code)
    # upward nothing before the error is acknowledged
    assert master.request(0, 0x08) == (before | 0x10, code)
    assert master.request(0, 0x10 | before) == (before, 0)


def test_an_error_is_acknowledged_together_with_a_request(master):
    master.mailboxes(0)
    master.request(0, 0x08)
    assert master.request(0, 0x12) == (0x02, 0)


def test_preop_needs_the_mailboxes(master):
    assert master.request(0, 0x02) == (0x11, 0x16)
    master.mailboxes(0, length=64)
    assert master.request(0, 0x12) == (0x11, 0x16)
    master.mailboxes(0)
    assert master.request(0, 0x12) == (0x02, 0)


@pytest.mark.parametrize(
    ("outputs", "inputs", "code"), [(15, 20, 0x1D), (16, 21, 0x1E), (17, 19, 0x1D)]
)
def test_safeop_needs_process_data_of_the_right_length(master, outputs, inputs, code):
    master.preop()
    master.process_data(0, outputs, inputs)
    assert master.request(0, 0x04) == (0x12, code)
    master.process_data(0)
    assert master.request(0, 0x14) == (0x04, 0)


def test_safeop_needs_process_data_at_all(master):
    master.preop()
    assert master.request(0, 0x04) == (0x12, 0x1D)


def test_a_slave_without_mailbox_needs_none():
    master = Master(Bus([terminal(0, 0)]))
    for state in (0x02, 0x04, 0x08):
        assert master.request(0, state) == (state, 0)


# --- process data watchdog ---


@pytest.mark.parametrize(
    ("divider", "time", "limit"), [(2498, 1000, 100 * MS), (2498, 200, 20 * MS), (998, 100, 4 * MS)]
)
def test_the_watchdog_runs_out(divider, time, limit):
    master = Master(drives(2))
    master.one("BWR", 0, 0x0400, struct.pack("<H", divider))
    master.one("BWR", 0, 0x0420, struct.pack("<H", time))
    master.to_op(2)
    for _ in range(3):
        master.wait(limit)
        assert master.one("LWR", 0, 0, bytes(16))[1] == 1  # the first slave's only
        assert master.state(0) == (0x08, 0)
    assert master.state(1) == (0x14, 0x1B)
    assert master.read(1, 0x0440, 1) == b"\x00"
    assert master.read(1, 0x0442, 1) == b"\x01"
    master.wait(limit + 1)
    assert master.state(0) == (0x14, 0x1B)


def test_the_watchdog_can_be_switched_off():
    master = Master(drives(1))
    master.write(0, 0x0420, b"\x00\x00")
    master.to_op()
    master.wait(900 * MS)
    assert master.state(0) == (0x08, 0)


def test_after_the_watchdog_outputs_are_closed_until_the_master_acknowledges():
    master = Master(drives(1))
    master.to_op()
    master.wait(101 * MS)
    assert master.one("LWR", 0, 0, bytes(16))[1] == 0
    assert master.one("LRD", 0x1000, 0, bytes(20))[1] == 1
    assert master.request(0, 0x08) == (0x14, 0x1B)
    assert master.request(0, 0x14) == (0x04, 0)
    assert master.one("LWR", 0, 0, bytes(16))[1] == 1
    assert master.request(0, 0x08) == (0x08, 0)


# --- distributed clocks ---


def test_clocks_are_measured_shifted_and_disciplined():
    master = addressed(3)
    assert master.one("BWR", 0, 0x0900, bytes(4))[1] == 3
    ports = [struct.unpack("<II", master.read(n, 0x0900, 8)) for n in range(3)]
    round_trips = [back - there for there, back in ports[:2]]
    assert round_trips[0] - round_trips[1] == 1000  # two hops more
    assert ports[2][1] == 0  # nothing behind the last
    local = [struct.unpack("<Q", master.read(n, 0x0918, 8))[0] for n in range(3)]
    assert [t - local[0] for t in local] == [0, MS, 2 * MS]
    for n in range(3):
        master.write(n, 0x0920, struct.pack("<q", 10**12 - local[n]))
    times = [struct.unpack("<Q", master.read(n, 0x0910, 8))[0] for n in range(3)]
    assert times == [10**12] * 3
    master.wait(MS)
    assert struct.unpack("<Q", master.read(1, 0x0910, 8))[0] == 10**12 + MS


@pytest.mark.parametrize("length", [4, 8])
def test_the_reference_clock_leads(length):
    master = addressed(3)
    data, wkc = master.one("FRMW", 1001, 0x0910, bytes(length))
    assert wkc == 3
    assert data == master.read(0, 0x0910, length)
    differences = [struct.unpack("<I", master.read(n, 0x092C, 4))[0] for n in range(3)]
    assert differences == [0, MS, 2 * MS]
    low = [struct.unpack("<I", master.read(n, 0x0910, 4))[0] for n in range(3)]
    assert low[0] == low[1] == low[2]
    master.one("FRMW", 1001, 0x0910, bytes(length))
    assert struct.unpack("<I", master.read(2, 0x092C, 4))[0] == 0


def test_registers_of_sync_signals_are_kept(master):
    assert master.write(0, 0x0990, struct.pack("<Q", 123)) == 1
    assert master.write(0, 0x09A0, struct.pack("<I", MS)) == 1
    assert master.write(0, 0x0980, b"\x00\x03") == 1
    assert master.read(0, 0x0980, 2) == b"\x00\x03"


def test_a_slave_without_clock_does_not_answer():
    master = Master(Bus([drive_slave()[0], terminal(1, 0)]))
    assert master.one("BRD", 0, 0x0910, bytes(8))[1] == 1
    assert master.one("BWR", 0, 0x0910, bytes(8))[1] == 1
    assert master.word(1, 0x0008) & 0x04 == 0
