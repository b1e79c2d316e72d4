"""Every fault that can be injected, as a master sees it on the wire."""

import struct

import pytest
from ethercat_emulator_support import MS, Master, frame

from ethercat_emulator.bus.chain import Bus
from ethercat_emulator.bus.devices import drive_slave, terminal
from ethercat_emulator.drive.drive import Machine
from ethercat_emulator.drive.mechanics import Load, Rotors
from ethercat_emulator.esc.sii import Identity
from ethercat_emulator.faults.injection import DriveFaults, Faults

AXES = 6


class Arm:
    """Six drives in OP, and a master's cycle."""

    def __init__(self) -> None:
        identities = [Identity(0xE5E, 0x402, serial=n) for n in range(AXES)]
        pairs = [drive_slave(identity=identity) for identity in identities]
        self.drives = [drive for _, drive in pairs]
        self.master = Master(
            Bus([slave for slave, _ in pairs], Machine(self.drives, Rotors([Load()] * AXES)))
        )
        self.faults, self.drive_faults = Faults(self.master.line), DriveFaults(self.master.bus)
        for slave in range(AXES):
            self.bring_up(slave)
        self.control = 0
        self.mode = 10
        self.torque = 0

    def bring_up(self, slave: int) -> None:
        self.master.preop(slave)
        self.master.process_data(slave, logical=(16 * slave, 96 + 20 * slave))
        for state in (0x04, 0x08):
            assert self.master.request(slave, state) == (state, 0)

    def cycle(self) -> int:
        """The working counter, -1 where the frame is lost."""
        outputs = struct.pack("<Hbxiihh", self.control, self.mode, 0, 0, 0, self.torque) * AXES
        reply = self.master.send(("LRW", 0, 0, outputs + bytes(20 * AXES)))
        self.master.wait(MS)
        if reply is None:
            return -1
        data, wkc = reply[0]
        self.inputs = [struct.unpack_from("<HbxiihHi", data, 96 + 20 * n) for n in range(AXES)]
        return wkc

    def enable(self) -> None:
        for self.control in (0x06, 0x07, 0x0F):
            self.cycle()
            assert self.cycle() == 18
        assert all(status & 0x6F == 0x27 for status, *_ in self.inputs)


@pytest.fixture
def arm() -> Arm:
    result = Arm()
    result.enable()
    return result


def test_lost_frames(arm):
    arm.faults.lose_frames(3)
    assert [arm.cycle() for _ in range(5)] == [-1, -1, -1, 18, 18]


def test_late_frames_come_one_cycle_behind(arm):
    arm.faults.late_frames(0.0015, count=2)
    came = []
    for n in range(4):
        replies = arm.master.line.exchange(frame(("NOP", 0, 0, bytes((n,)))), arm.master.now)
        came.append([reply[26] for reply in replies])
        arm.master.now += MS
    assert came == [[], [], [0], [1, 2, 3]]
    assert arm.master.line.exchange(None, arm.master.now) == []


def test_a_slave_missing_from_process_data(arm):
    arm.faults.ignore_process_data(2)
    assert arm.cycle() == 15
    assert arm.master.state(2) == (0x08, 0)
    assert arm.inputs[2] == (0,) * 7  # what the master had sent there
    arm.faults.ignore_process_data(2, ignore=False)
    assert arm.cycle() == 18
    arm.faults.ignore_process_data(2)
    for _ in range(101):
        arm.cycle()
    assert arm.master.state(2) == (0x14, 0x1B)


def test_an_al_error(arm):
    arm.faults.al_error(4, 0x14)
    assert arm.cycle() == 16
    assert arm.master.state(4) == (0x14, 0x14)
    assert arm.drives[4].braked
    assert arm.master.request(4, 0x14) == (0x04, 0)
    assert arm.master.request(4, 0x08) == (0x08, 0)
    assert arm.cycle() == 18
    assert arm.drives[4].braked  # not by itself
    assert not arm.drives[3].braked


def test_a_drive_fault(arm):
    arm.drive_faults.drive_fault(1, 0x7305)
    assert [arm.cycle() for _ in range(5)] == [18] * 5
    assert arm.inputs[1][0] & 0x4F == 0x08
    assert arm.inputs[1][5] == 0x7305
    assert arm.master.state(1) == (0x08, 0)
    mail = arm.master.fetch(1)[2]
    assert struct.unpack_from("<HHB", mail) == (1 << 12, 0x7305, 1)
    arm.control = 0x80
    arm.cycle()
    arm.cycle()
    assert arm.inputs[1][0] & 0x4F == 0x40


def test_a_lasting_drive_fault(arm):
    arm.drive_faults.drive_fault(1, 0x4310, lasting=True)
    for arm.control in (0x00, 0x80, 0x00, 0x80):
        arm.cycle()
        arm.cycle()
    assert arm.inputs[1][0] & 0x4F == 0x08
    arm.drive_faults.mend_drive(1)
    for arm.control in (0x00, 0x80):
        arm.cycle()
        arm.cycle()
    assert arm.inputs[1][0] & 0x4F == 0x40


def test_an_emergency(arm):
    arm.faults.emergency(5, 0x4210, 0x09, b"hot")
    assert arm.cycle() == 18
    assert arm.master.fetch(5)[2] == struct.pack("<HHB5s", 1 << 12, 0x4210, 0x09, b"hot")


def test_the_chain_is_cut_and_mended(arm):
    arm.faults.cut_chain(3)
    assert arm.cycle() == 9
    assert arm.master.one("BRD", 0, 0, b"\x00")[1] == 3
    assert arm.master.word(2, 0x0110) & 0x0C00 == 0x0400  # the cut shows at the last slave's port
    for _ in range(101):
        arm.cycle()
    assert all(drive.braked for drive in arm.drives[3:])  # their watchdogs ran out
    arm.faults.mend_chain()
    assert arm.cycle() == 9 + 3
    assert arm.master.state(5) == (0x14, 0x1B)
    arm.faults.cut_chain(0)
    assert arm.cycle() == -1


def test_a_slave_without_power(arm):
    arm.control = 0x0F
    arm.torque = 50
    for _ in range(50):
        arm.cycle()
    before = arm.inputs[2][2]
    arm.faults.power(2, on=False)
    assert arm.cycle() == 6
    assert arm.drives[2].braked
    arm.faults.power(2, on=True)
    assert arm.cycle() == 15
    assert arm.master.word(2, 0x0010) == 0
    assert arm.master.state(2) == (0x01, 0)
    arm.bring_up(2)
    assert arm.cycle() == 18
    assert arm.inputs[2][2] >= before  # an absolute encoder


def test_a_power_cycle_forgets_everything_but_the_eeprom(arm):
    arm.master.write(2, 0x0010, b"\x07\x00")
    arm.master.bus.slaves[2].dictionary.values[0x605A << 8] = 6
    arm.faults.power_cycle(2)
    assert arm.cycle() == 15
    assert arm.master.word(2, 0x0010) == 0
    assert arm.master.bus.slaves[2].dictionary.number(0x605A) == 2
    assert not any(arm.master.read(2, 0x0600, 16))


def test_the_link_is_down(arm):
    arm.faults.link(up=False)
    assert [arm.cycle() for _ in range(3)] == [-1] * 3
    arm.faults.link(up=True)
    assert arm.cycle() == 18


def test_a_frozen_position(arm):
    arm.torque = 50
    for _ in range(20):
        arm.cycle()
    arm.drive_faults.freeze_position(0)
    seen = set()
    for _ in range(20):
        arm.cycle()
        seen.add(arm.inputs[0][2])
    assert len(seen) == 1
    assert arm.inputs[0][3] != 0
    arm.drive_faults.freeze_position(0, frozen=False)
    arm.cycle()
    arm.cycle()
    assert arm.inputs[0][2] not in seen


def test_a_refused_mode(arm):
    arm.drive_faults.refuse_mode(3, 8)
    arm.mode = 8
    arm.cycle()
    arm.cycle()
    assert [mode for _, mode, *_ in arm.inputs] == [8, 8, 8, 10, 8, 8]
    arm.drive_faults.refuse_mode(3, 8, refuse=False)
    arm.cycle()
    arm.cycle()
    assert arm.inputs[3][1] == 8


def test_a_silent_mailbox(arm):
    request = struct.pack("<HBHB4x", 2 << 12, 0x40, 0x1000, 0)
    arm.faults.silence_mailbox(0)
    assert arm.master.post(0, request) == 1
    arm.master.wait(50 * MS)
    assert arm.master.fetch(0) is None
    assert arm.master.post(0, request) == 1
    arm.faults.silence_mailbox(0, silent=False)
    assert arm.master.post(0, request) == 1
    assert arm.master.fetch(0) is not None


def serial(master: Master, slave: int, word: int = 0x0E) -> int:
    master.write(slave, 0x0502, struct.pack("<HI", 0x0100, word))
    master.wait(MS)
    return int.from_bytes(master.read(slave, 0x0508, 4), "little")


def test_wrong_order_and_count(arm):
    arm.faults.swap(1, 4)
    assert [serial(arm.master, n) for n in range(6)] == [0, 4, 2, 3, 1, 5]
    removed = arm.faults.remove(2)
    assert [serial(arm.master, n) for n in range(5)] == [0, 4, 3, 1, 5]
    arm.faults.insert(0, terminal(0, 0))
    arm.faults.insert(6, removed)
    assert [serial(arm.master, n) for n in range(7)] == [0, 0, 4, 3, 1, 5, 2]


def test_a_wrong_identity(arm):
    arm.faults.identity(2, Identity(0xBAD, 0x403, serial=9))
    assert [serial(arm.master, 2, word) for word in (0x08, 0x0A, 0x0E)] == [0xBAD, 0x403, 9]


def test_a_corrupt_eeprom(arm):
    arm.faults.corrupt_sii(2)
    arm.faults.power_cycle(2)
    assert arm.master.word(2, 0x0502) & 0x0800
    # nobody, and no categories
    assert [serial(arm.master, 2, word) for word in (0x08, 0x0A, 0x40)] == [0, 0, 0]


def test_errors_name_the_slave(arm):
    with pytest.raises(ValueError, match=r"slave 6: there are 6, from 0"):
        arm.faults.al_error(6)
    arm.faults.insert(0, terminal(1, 1))
    with pytest.raises(ValueError, match=r"slave 0 is no drive"):
        arm.drive_faults.freeze_position(0)
    with pytest.raises(ValueError, match=r"slave 0 has no mailbox"):
        arm.faults.silence_mailbox(0)
