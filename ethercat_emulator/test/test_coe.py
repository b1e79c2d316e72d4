"""The emulated drive's objects over the mailbox: every form of SDO, mapping,
information, emergencies.
"""

import struct

import pytest
from ethercat_emulator_support import MS, Master

from ethercat_emulator.bus.chain import Bus
from ethercat_emulator.bus.devices import RX, TX, drive_slave, terminal
from ethercat_emulator.coe.pdo import Mapped, Pdo, gap
from ethercat_emulator.esc.sii import Identity

UPLOAD = 0x40
UPLOAD_COMPLETE = 0x50
SEGMENT = 0x60
DOWNLOAD = 0x21
DOWNLOAD_COMPLETE = 0x31
NOTES = 0x2000  # 600 bytes


@pytest.fixture
def master() -> Master:
    slave, _ = drive_slave(identity=Identity(0x11, 0x22, 0x33, 0x44), name="Servo")
    result = Master(Bus([slave]))
    result.preop()
    return result


def expedited(command: int, data: bytes) -> int:
    return command | 0x02 | (4 - len(data)) << 2


def write(master: Master, index: int, subindex: int, data: bytes) -> bytes:
    return master.sdo(0, expedited(DOWNLOAD, data), index, subindex, data.ljust(4, b"\x00"))


def abort_code(answer: bytes) -> int:
    assert answer[0] == 0x80
    return struct.unpack_from("<I", answer, 4)[0]


# --- uploads ---


@pytest.mark.parametrize(
    ("index", "subindex", "data"),
    [
        (0x6061, 0, b"\x00"),
        (0x6040, 0, b"\x00\x00"),
        (0x1018, 2, b"\x22\x00\x00\x00"),
        (0x1009, 0, b"1.0"),
    ],
)
def test_expedited_upload(master, index, subindex, data):
    answer = master.sdo(0, UPLOAD, index, subindex)
    assert answer == struct.pack("<BHB", 0x43 | (4 - len(data)) << 2, index, subindex) + data.ljust(
        4, b"\x00"
    )


def test_normal_upload(master):
    answer = master.sdo(0, UPLOAD, 0x1008, 0)
    assert answer == struct.pack("<BHBI", 0x41, 0x1008, 0, 5) + b"Servo"


def upload_segments(master: Master) -> tuple[list[bytes], bytes]:
    parts = []
    toggle = 0
    while True:
        answer = master.sdo(0, SEGMENT | toggle, 0, 0)
        assert answer[0] & 0xF0 == toggle
        data = answer[1:]
        if len(data) == 7:
            data = data[: 7 - (answer[0] >> 1 & 7)]
        parts.append(data)
        if answer[0] & 1:
            return parts, b"".join(parts)
        toggle ^= 0x10


@pytest.mark.parametrize("mailbox", [64, 128, 256])
def test_segmented_transfers(mailbox):
    slave, _ = drive_slave(mailbox=mailbox)
    master = Master(Bus([slave]))
    master.mailboxes(0, length=mailbox)
    master.request(0, 0x02)
    data = bytes(n * 7 & 0xFF for n in range(600))

    def sdo(command, body=bytes(4)):
        return master.sdo(0, command, NOTES, 0, body, length=mailbox)

    for first in (0, mailbox - 16):  # some masters begin with data in the first request, some don't
        assert sdo(DOWNLOAD, struct.pack("<I", 600) + data[:first])[0] == 0x60
        at = first
        toggle = 0
        while at < 600:
            part = data[at : at + mailbox - 9]
            at += len(part)
            head = toggle | (at == 600) | (max(0, 7 - len(part)) << 1)
            answer = master.coe(
                0, struct.pack("<HB", 2 << 12, head) + part.ljust(7, b"\x00"), length=mailbox
            )
            assert answer[2] == 0x20 | toggle
            toggle ^= 0x10
        assert slave.dictionary.values[NOTES << 8] == data

    first = sdo(UPLOAD)
    assert first == struct.pack("<BHBI", 0x41, NOTES, 0, 600)  # no data in the first answer
    received = b""
    toggle = 0
    while True:
        answer = sdo(SEGMENT | toggle)
        part = answer[1:]
        received += part[: 7 - (answer[0] >> 1 & 7)] if len(part) == 7 else part
        if answer[0] & 1:
            break
        assert len(part) == mailbox - 9
        toggle ^= 0x10
    assert received == data


def test_a_wrong_toggle_bit_ends_the_transfer(master):
    master.sdo(0, UPLOAD, NOTES, 0)
    assert abort_code(master.sdo(0, SEGMENT | 0x10, NOTES, 0)) == 0x05030000
    assert abort_code(master.sdo(0, SEGMENT, NOTES, 0)) == 0x05040001  # there is none under way


def test_the_master_may_abort(master):
    master.sdo(0, UPLOAD, NOTES, 0)
    assert master.post(0, struct.pack("<HBHBI", 2 << 12, 0x80, NOTES, 0, 0x08000000)) == 1
    assert master.fetch(0) is None
    assert abort_code(master.sdo(0, SEGMENT, NOTES, 0)) == 0x05040001


def test_complete_upload(master):
    answer = master.sdo(0, UPLOAD_COMPLETE, 0x1018, 0)
    assert answer == struct.pack("<BHBI", 0x51, 0x1018, 0, 18) + struct.pack(
        "<BxIIII", 4, 0x11, 0x22, 0x33, 0x44
    )
    answer = master.sdo(0, UPLOAD_COMPLETE, 0x1018, 1)
    assert answer == struct.pack("<BHBI", 0x51, 0x1018, 1, 16) + struct.pack(
        "<IIII", 0x11, 0x22, 0x33, 0x44
    )
    answer = master.sdo(0, UPLOAD_COMPLETE, 0x1C12, 0)  # short enough for an expedited one
    assert answer == struct.pack("<BHB", 0x53, 0x1C12, 0) + b"\x01\x00\x00\x16"
    answer = master.sdo(0, UPLOAD_COMPLETE, 0x1C00, 0)
    assert answer[8:] == b"\x04\x00\x01\x02\x03\x04"


# --- downloads ---


def test_expedited_download(master):
    assert write(master, 0x6060, 0, b"\x0a") == struct.pack("<BHBI", 0x60, 0x6060, 0, 0)
    assert write(master, 0x605A, 0, b"\x06\x00")[0] == 0x60
    assert write(master, 0x607A, 0, struct.pack("<i", -5))[0] == 0x60
    values = master.bus.slaves[0].dictionary
    assert (values.number(0x6060), values.number(0x605A), values.number(0x607A)) == (10, 6, -5)


def test_expedited_download_without_its_size(master):
    assert master.sdo(0, 0x22, 0x605A, 0, b"\x06\x00\xff\xff")[0] == 0x60
    assert master.bus.slaves[0].dictionary.number(0x605A) == 6


def test_normal_download(master):
    assert master.sdo(0, DOWNLOAD, 0x607A, 0, struct.pack("<Ii", 4, 77))[0] == 0x60
    assert master.bus.slaves[0].dictionary.number(0x607A) == 77
    assert master.sdo(0, DOWNLOAD, NOTES, 0, struct.pack("<I", 6) + b"abcdef")[0] == 0x60
    assert master.bus.slaves[0].dictionary.values[NOTES << 8] == b"abcdef".ljust(600, b"\x00")


def test_complete_download(master):
    body = struct.pack("<BxBb", 2, 4, -3)
    assert master.sdo(0, DOWNLOAD_COMPLETE, 0x60C2, 0, struct.pack("<I", 4) + body)[0] == 0x70
    values = master.bus.slaves[0].dictionary
    assert (values.number(0x60C2, 1), values.number(0x60C2, 2)) == (4, -3)
    assert (
        master.sdo(0, expedited(DOWNLOAD_COMPLETE, b"\x02\xfc"), 0x60C2, 1, b"\x02\xfc\x00\x00")[0]
        == 0x70
    )
    assert (values.number(0x60C2, 1), values.number(0x60C2, 2)) == (2, -4)


# --- aborts ---


@pytest.mark.parametrize(
    ("command", "index", "subindex", "body", "code"),
    [
        (UPLOAD, 0x5555, 0, bytes(4), 0x06020000),
        (UPLOAD, 0x1018, 9, bytes(4), 0x06090011),
        (UPLOAD, 0x6040, 1, bytes(4), 0x06090011),
        (UPLOAD_COMPLETE, 0x5555, 0, bytes(4), 0x06020000),
        (UPLOAD_COMPLETE, 0x6040, 0, bytes(4), 0x06010004),
        (UPLOAD_COMPLETE, 0x1018, 2, bytes(4), 0x06010000),
        (0x23, 0x6041, 0, bytes(4), 0x06010002),
        (0x23, 0x5555, 0, bytes(4), 0x06020000),
        (0x2B, 0x6060, 0, bytes(4), 0x06070012),
        (0x2F, 0x6040, 0, bytes(4), 0x06070013),
        (0x2B, 0x605A, 0, b"\x04\x00\x00\x00", 0x06090030),
        (DOWNLOAD, NOTES, 0, struct.pack("<I", 601) + bytes(60), 0x06070012),
        (DOWNLOAD_COMPLETE, 0x60C2, 0, struct.pack("<IBxBb", 4, 9, 1, -3), 0x06070012),
        (DOWNLOAD_COMPLETE, 0x60C2, 0, struct.pack("<IBxB", 3, 2, 1), 0x06070013),
        (0xA0, 0x6040, 0, bytes(4), 0x05040001),
        (0x00, 0x6040, 0, bytes(4), 0x05040001),
    ],
)
def test_aborts(master, command, index, subindex, body, code):
    answer = master.sdo(0, command, index, subindex, body)
    assert answer[1:4] == struct.pack("<HB", index, subindex)
    assert abort_code(answer) == code
    assert master.sdo(0, UPLOAD, 0x1000, 0)[4:] == struct.pack("<I", 0x00020192)  # and it goes on


def test_a_slave_without_complete_access():
    slave, _ = drive_slave(complete_access=False)
    master = Master(Bus([slave]))
    master.preop()
    assert abort_code(master.sdo(0, UPLOAD_COMPLETE, 0x1018, 0)) == 0x06010004
    assert slave.eeprom[slave.eeprom.index(b"\x1e\x00\x10\x00") + 4 + 5] & 0x20 == 0


def test_the_download_is_too_long_or_too_short_in_segments(master):
    for parts, code in (([bytes(100)] * 7, 0x06070012), ([bytes(100)] * 3, 0x06070013)):
        assert master.sdo(0, DOWNLOAD, NOTES, 0, struct.pack("<I", 600))[0] == 0x60
        toggle = 0
        for n, part in enumerate(parts):
            head = toggle | (n == len(parts) - 1)
            answer = master.coe(0, struct.pack("<HB", 2 << 12, head) + part)[2:]
            toggle ^= 0x10
        assert abort_code(answer) == code


# --- mapping ---


def remap(master: Master, pdo: int, assignment: int, words: list[int]) -> list[int]:
    """Empty, fill and count the PDO, its assignment around it; the first bytes of the answers."""
    steps = [(assignment, 0, b"\x00"), (pdo, 0, b"\x00")]
    steps += [(pdo, n + 1, struct.pack("<I", word)) for n, word in enumerate(words)]
    steps += [
        (pdo, 0, bytes((len(words),))),
        (assignment, 1, struct.pack("<H", pdo)),
        (assignment, 0, b"\x01"),
    ]
    return [write(master, *step)[0] for step in steps]


def test_a_master_maps_what_it_wants(master):
    assert set(remap(master, 0x1600, 0x1C12, [0x60400010, 0x60600008, 0x00000008, 0x60710010])) == {
        0x60
    }
    assert set(remap(master, 0x1A00, 0x1C13, [0x60410010, 0x60640020])) == {0x60}
    master.process_data(0, 6, 6)
    assert master.request(0, 0x04) == (0x04, 0)
    assert master.request(0, 0x08) == (0x08, 0)
    assert master.one("LWR", 0, 0, struct.pack("<Hbxh", 0x80, 10, -33))[1] == 1
    values = master.bus.slaves[0].dictionary
    assert (values.number(0x6040), values.number(0x6060), values.number(0x6071)) == (0x80, 10, -33)
    values.values[0x6064 << 8] = -123456
    master.bus.slaves[0].refresh_inputs()
    assert struct.unpack_from("<i", master.one("LRD", 0x1000, 0, bytes(6))[0], 2)[0] == -123456


def test_complete_download_of_a_mapping(master):
    body = struct.pack("<BxII", 2, 0x60400010, 0x60710010)
    assert (
        master.sdo(0, DOWNLOAD_COMPLETE, 0x1600, 0, struct.pack("<I", len(body)) + body)[0] == 0x70
    )
    assert master.sdo(0, UPLOAD_COMPLETE, 0x1600, 0)[8:] == body
    master.process_data(0, 4, 20)
    assert master.request(0, 0x04) == (0x04, 0)


@pytest.mark.parametrize(
    ("word", "code"),
    [
        (0x60410010, 0x06040041),  # goes the other way
        (0x60400008, 0x06040041),  # has 16 bits
        (0x10180120, 0x06040041),
        (0x55550010, 0x06020000),
        (0x60400110, 0x06090011),
    ],
)
def test_what_cannot_be_mapped(master, word, code):
    write(master, 0x1600, 0, b"\x00")
    write(master, 0x1600, 1, struct.pack("<I", word))
    assert abort_code(write(master, 0x1600, 0, b"\x01")) == code


def test_a_mapping_is_changed_empty_and_in_preop_only(master):
    assert abort_code(write(master, 0x1600, 1, struct.pack("<I", 0x60400010))) == 0x06010003
    assert abort_code(write(master, 0x1C12, 0, b"\x11")) == 0x06090030
    write(master, 0x1C12, 0, b"\x00")
    write(master, 0x1C12, 1, struct.pack("<H", 0x1A00))
    assert abort_code(write(master, 0x1C12, 0, b"\x01")) == 0x06090030
    write(master, 0x1C12, 1, struct.pack("<H", 0x1600))
    assert write(master, 0x1C12, 0, b"\x01")[0] == 0x60
    master.process_data(0)
    master.request(0, 0x04)
    assert abort_code(write(master, 0x1C12, 0, b"\x00")) == 0x08000022


def test_a_pdo_too_long(master):
    write(master, 0x1600, 0, b"\x00")
    for n in range(16):
        write(master, 0x1600, n + 1, struct.pack("<I", 0x000000FF))
    write(master, 0x1600, 0, b"\x10")
    write(master, 0x1C12, 0, b"\x00")
    for n in range(9):
        write(master, 0x1C12, n + 1, struct.pack("<H", 0x1600))
    assert abort_code(write(master, 0x1C12, 0, b"\x09")) == 0x06040042


def test_a_fixed_pdo():
    slave, _ = drive_slave(pdos=(Pdo(0x1601, RX.mapped, fixed=True), TX), assigned=(0x1601, 0x1A00))
    master = Master(Bus([slave]))
    master.preop()
    assert abort_code(write(master, 0x1601, 0, b"\x00")) == 0x06010002
    master.process_data(0)
    assert master.request(0, 0x04) == (0x04, 0)


def test_a_drive_with_fixed_pdos_and_objects_of_its_own():
    """As several vendors' drives have them: more than one PDO each way, with numbers
    that mean nothing here.
    """
    pdos = (
        Pdo(
            0x1600,
            (Mapped(0x6040, 0, 16), Mapped(0x6071, 0, 16), Mapped(0x2701, 0, 32)),
            fixed=True,
        ),
        Pdo(0x1601, (Mapped(0x60FE, 1, 32), Mapped(0x60FE, 2, 32)), fixed=True),
        Pdo(0x1A00, (Mapped(0x6041, 0, 16), Mapped(0x6064, 0, 32)), fixed=True),
        Pdo(0x1A01, (Mapped(0x2401, 0, 16),), fixed=True),
    )
    slave, _ = drive_slave(pdos=pdos, assigned=(0x1600, 0x1601, 0x1A00, 0x1A01))
    master = Master(Bus([slave]))
    master.preop()
    assert master.sdo(0, UPLOAD_COMPLETE, 0x1C12, 0)[8:] == struct.pack("<BxHH", 2, 0x1600, 0x1601)
    assert struct.unpack("<I", master.sdo(0, UPLOAD, 0x1601, 2)[4:]) == (0x60FE0220,)
    master.process_data(0, 16, 8)
    assert master.request(0, 0x04) == (0x04, 0)
    assert master.request(0, 0x08) == (0x08, 0)
    assert master.one("LWR", 0, 0, struct.pack("<HhIII", 0, -7, 99, 3, 4))[1] == 1
    values = [
        slave.dictionary.number(*entry)
        for entry in ((0x6071, 0), (0x2701, 0), (0x60FE, 1), (0x60FE, 2))
    ]
    assert values == [-7, 99, 3, 4]
    assert master.one("LRD", 0x1000, 0, bytes(8))[1] == 1


def test_process_data_of_odd_bits():
    mapped = (Mapped(0x6040, 0, 16), gap(3), Mapped(0x6071, 0, 16), gap(5))
    slave, _ = drive_slave(pdos=(Pdo(0x1600, mapped), TX))
    master = Master(Bus([slave]))
    master.preop()
    master.process_data(0, 5, 20)
    master.request(0, 0x04)
    master.request(0, 0x08)
    image = 0x0006 | 0x1234 << 19
    assert master.one("LWR", 0, 0, image.to_bytes(5, "little"))[1] == 1
    assert (slave.dictionary.number(0x6040), slave.dictionary.number(0x6071)) == (0x0006, 0x1234)


def test_negative_values_of_odd_bits():
    mapped = (gap(4), Mapped(0x6071, 0, 16), gap(4))
    slave, _ = drive_slave(pdos=(Pdo(0x1600, mapped), TX))
    master = Master(Bus([slave]))
    master.to_op(1, 3, 20)
    master.one("LWR", 0, 0, ((-2 & 0xFFFF) << 4).to_bytes(3, "little"))
    assert slave.dictionary.number(0x6071) == -2


# --- information ---


def information(master: Master, operation: int, body: bytes) -> list[bytes]:
    message = struct.pack("<HBBH", 8 << 12, operation, 0, 0) + body
    assert master.post(0, message) == 1
    parts = []
    while True:
        kind, _, answer = master.fetch(0)
        assert kind == 3
        parts.append(answer)
        if not struct.unpack_from("<H", answer, 4)[0]:
            return parts


def test_the_list_of_objects_comes_in_fragments(master):
    parts = information(master, 1, struct.pack("<H", 1))
    assert len(parts) == 1 + (2 + 2 * len(master.bus.slaves[0].dictionary.objects)) // 117
    assert [part[2] for part in parts] == [0x82] * (len(parts) - 1) + [0x02]
    body = b"".join(part[6:] for part in parts)
    kind, *indices = struct.unpack(f"<{len(body) // 2}H", body)
    assert kind == 1
    assert indices == sorted(master.bus.slaves[0].dictionary.objects)
    counts = struct.unpack_from("<6H", information(master, 1, bytes(2))[0], 6)
    assert counts[:2] == (0, len(indices))
    rx = information(master, 1, struct.pack("<H", 2))[0][6:]
    assert 0x6040 in struct.unpack(f"<{len(rx) // 2}H", rx)


def test_descriptions(master):
    answer = information(master, 3, struct.pack("<H", 0x6041))[0]
    assert answer[6:] == struct.pack("<HHBB", 0x6041, 0x0006, 0, 7) + b"Statusword"
    answer = information(master, 3, struct.pack("<H", 0x1018))[0]
    assert answer[6:] == struct.pack("<HHBB", 0x1018, 0x0007, 4, 9) + b"Identity"
    answer = information(master, 5, struct.pack("<HBB", 0x6040, 0, 0))[0]
    assert answer[6:] == struct.pack("<HBBHHH", 0x6040, 0, 0, 0x0006, 16, 0x007F) + b"Controlword"
    answer = information(master, 3, struct.pack("<H", 0x5555))[0]
    assert (answer[2], answer[6:]) == (7, struct.pack("<I", 0x06020000))
    answer = information(master, 5, struct.pack("<HBB", 0x6040, 1, 0))[0]
    assert answer[6:] == struct.pack("<I", 0x06090011)
    answer = information(master, 9, bytes(4))[0]
    assert answer[6:] == struct.pack("<I", 0x05040001)


# --- emergencies ---


def test_an_emergency_goes_between_the_answers(master):
    slave = master.bus.slaves[0]
    slave.emergency(0x8611, 0x21, b"\x01\x02\x03\x04\x05")
    slave.emergency(0x0000, 0x00)
    assert master.fetch(0) == (
        3,
        0,
        struct.pack("<HHB5s", 1 << 12, 0x8611, 0x21, b"\x01\x02\x03\x04\x05"),
    )
    assert master.fetch(0) == (3, 0, struct.pack("<HHB5x", 1 << 12, 0, 0))
    assert master.fetch(0) is None


def test_emergencies_are_lost_in_init():
    slave, _ = drive_slave()
    master = Master(Bus([slave]))
    slave.emergency(0x8611, 0x21)
    master.preop()
    assert master.fetch(0) is None
    master.bus.slaves[0].emergency(0x8611, 0x21)
    master.request(0, 0x01)
    master.preop()
    assert master.fetch(0) is None  # nor does one survive it


# --- different slaves on one bus ---


def test_a_heterogeneous_bus():
    """A coupler, two kinds of drives, and terminals with outputs, with inputs, with both."""
    other = Pdo(0x1601, (Mapped(0x6040, 0, 16), Mapped(0x60FF, 0, 32), Mapped(0x6071, 0, 16)))
    back = Pdo(0x1A01, (Mapped(0x6041, 0, 16), Mapped(0x6064, 0, 32)))
    first, _ = drive_slave()
    second, _ = drive_slave(
        pdos=(RX, TX, other, back),
        assigned=(0x1601, 0x1A01),
        mailbox=256,
        clock_start=None,
        eeprom_8_bytes=False,
    )
    slaves = [terminal(0, 0), first, terminal(0, 4), second, terminal(8, 0), terminal(4, 12)]
    master = Master(Bus(slaves))
    assert master.one("BRD", 0, 0x0000, b"\x00")[1] == 6

    layouts = {1: (16, 20), 2: (1, 0), 3: (8, 6), 4: (0, 1), 5: (2, 1)}
    at_out = 0
    at_in = 0x1000
    for n in range(6):
        mailbox = {1: 128, 3: 256}.get(n, 0)
        if mailbox:
            master.mailboxes(n, length=mailbox)
        assert master.request(n, 0x02) == (0x02, 0)
        outputs, inputs = layouts.get(n, (0, 0))
        number = 0
        for size, kind, at in ((outputs, 2, at_out), (inputs, 1, at_in)):
            if not size:
                continue
            manager = (3 if kind == 1 else 2) if mailbox else number
            start = (0x2000 if kind == 1 else 0x1800) if mailbox else 0x1000 + 0x100 * number
            registers = struct.pack("<HHBBBB", start, size, 0x20 if kind == 1 else 0x64, 0, 1, 0)
            assert master.write(n, 0x0800 + 8 * manager, registers) == 1
            master.fmmu(n, number, at, size, start, kind)
            number += 1
        at_out = at_out + outputs
        at_in = at_in + inputs
        assert master.request(n, 0x04) == (0x04, 0)
        assert master.request(n, 0x08) == (0x08, 0)

    outputs = bytearray(27)
    outputs[16] = 0b0101
    struct.pack_into("<HiH", outputs, 17, 0x06, -99, 5)
    outputs[25:27] = b"\xff\x0f"
    assert master.one("LWR", 0, 0, bytes(outputs))[1] == 4
    assert [slaves[2].dictionary.number(0x7000, n + 1) for n in range(4)] == [1, 0, 1, 0]
    assert slaves[3].dictionary.number(0x60FF) == -99
    assert [slaves[5].dictionary.number(0x7000, n + 1) for n in range(12)] == [1] * 12
    slaves[4].dictionary.values[0x6000 << 8 | 8] = 1
    slaves[5].dictionary.values[0x6000 << 8 | 1] = 1
    master.wait(MS)
    data, wkc = master.one("LRD", 0x1000, 0, bytes(28))
    assert (data[26:28], wkc) == (b"\x80\x01", 4)
    assert master.post(2, bytes(10)) == 0  # no mailbox there
