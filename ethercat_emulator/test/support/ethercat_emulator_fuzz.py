"""Frames that no sane master sends: real ones changed at random, and random accesses to
what has side effects.
"""

from __future__ import annotations

import gc
import random
import struct
import sys
from types import BuiltinFunctionType, FunctionType, ModuleType

from ethercat_emulator_support import COMMANDS, MS, Master, datagram, ethernet

from ethercat_emulator import Bus, Load, Machine, Rotors, drive_slave, terminal
from ethercat_emulator.bus.frame import walk
from ethercat_emulator.faults.witness import Witness

# bytes of the drive's process data
OUTPUTS = 16
INPUTS = 20
OP = 0x08

# Where accesses have side effects, with lengths that masters use there.
REGISTERS = [
    *(
        (0x0010, 2),
        (0x0100, 4),
        (0x0103, 1),
        (0x0120, 2),
        (0x0130, 6),
        (0x0200, 4),
        (0x0300, 8),
        (0x0400, 2),
    ),
    *(
        (0x0410, 2),
        (0x0420, 2),
        (0x0442, 2),
        (0x0500, 1),
        (0x0502, 2),
        (0x0502, 6),
        (0x0502, 14),
        (0x0508, 8),
    ),
    *((0x0600 + 16 * n, 16) for n in range(8)),
    *((0x0800 + 8 * n, 8) for n in range(8)),
    *(
        (0x0900, 4),
        (0x0910, 8),
        (0x0910, 4),
        (0x0920, 8),
        (0x0928, 4),
        (0x0980, 2),
        (0x0990, 8),
        (0x09A0, 8),
    ),
    *(
        (0x1000, 128),
        (0x107F, 1),
        (0x1400, 128),
        (0x147F, 1),
        (0x1800, OUTPUTS),
        (0x2000, INPUTS),
        (0x1100, 1),
    ),
    *((0x2FFF, 1), (0x2FFF, 2), (0x3000, 1), (0xFFFF, 1)),
]
_INDICES = (
    0x1000,
    0x1018,
    0x1600,
    0x1A00,
    0x1C00,
    0x1C12,
    0x1C13,
    0x2000,
    0x6007,
    0x6040,
    0x6060,
    0x6085,
    0x60C2,
)
_EDGES = (
    0,
    1,
    2,
    7,
    8,
    15,
    16,
    17,
    0x7F,
    0x80,
    0xFF,
    0x1000,
    0x1400,
    0x1800,
    0x2000,
    0x2FFF,
    0x3000,
    0x7FFF,
    0xFFFF,
)

# The mapping of `drive_slave` after power-up, as a master may write it.
RX = (0x60400010, 0x60600008, 0x00000008, 0x607A0020, 0x60B10020, 0x60B20010, 0x60710010)
TX = (
    0x60410010,
    0x60610008,
    0x00000008,
    0x60640020,
    0x606C0020,
    0x60770010,
    0x603F0010,
    0x60F40020,
)


def make_bus() -> Bus:
    """A drive, and a terminal whose process data are single bits."""
    slave, drive = drive_slave()
    bus = Bus([slave, terminal(4, 4)], Machine([drive], Rotors([Load()])))
    Witness(bus)  # as `serve` has one
    return bus


class GoodMaster(Master):
    """Begins anew whatever was before, as SOEM does, and brings both slaves to OP; keeps
    the frames it sends.
    """

    def __init__(self, bus: Bus) -> None:
        super().__init__(bus)
        self.sent: list[bytes] = []

    def send(self, *datagrams: tuple):
        parts = [
            datagram(*item, index=n, more=n < len(datagrams) - 1)
            for n, item in enumerate(datagrams)
        ]
        self.sent.append(ethernet(b"".join(parts)))
        return super().send(*datagrams)

    def bring_to_op(self) -> None:
        self.wait(MS)
        for address, data in (
            (0x0600, bytes(128)),
            (0x0800, bytes(64)),
            (0x0103, b"\x00"),
            (0x0400, struct.pack("<H", 0x09C2)),
            (0x0420, struct.pack("<H", 1000)),
        ):
            assert self.one("BWR", 0, address, data)[1] == 2
        assert self.one("BWR", 0, 0x0120, b"\x11\x00")[1] == 2
        assert [self.state(n) for n in range(2)] == [(0x01, 0)] * 2
        self.preop(0)
        self._map()
        self.process_data(0, OUTPUTS, INPUTS)
        self.write(1, 0x0800, struct.pack("<HHBBBB", 0x1000, 1, 0x64, 0, 1, 0))
        self.write(1, 0x0808, struct.pack("<HHBBBB", 0x1100, 1, 0x20, 0, 1, 0))
        self.fmmu(1, 0, OUTPUTS, 1, 0x1000, 2, bits=(0, 3, 0))
        self.fmmu(1, 1, 0x1000 + INPUTS, 1, 0x1100, 1, bits=(0, 3, 0))
        assert self.request(1, 0x02) == (0x02, 0)
        for n in range(2):
            assert self.request(n, 0x04) == (0x04, 0)
            assert self.request(n, OP) == (OP, 0)

    def exchange(self, control: int) -> int:
        """A cycle, 2 ms long; returns the drive's status word."""
        self.wait(2 * MS)
        outputs = struct.pack("<Hb13x", control, 10) + b"\x0f"
        assert self.one("LWR", 0, 0, outputs)[1] == 2
        inputs, done = self.one("LRD", 0x1000, 0, bytes(INPUTS + 1))
        assert done == 2
        return struct.unpack_from("<H", inputs)[0]

    def enable(self) -> int:
        """The drive, out of any fault; the status word at last."""
        words = [
            self.exchange(control)
            for control in (0x00, 0x80, 0x00, *[0x06] * 3, *[0x07] * 3, *[0x0F] * 3)
        ]
        return words[-1] & 0x6F

    def talk(self) -> None:
        """What else masters do: EEPROM, clocks, SDO of all kinds, lists of objects."""
        self.write(0, 0x0502, struct.pack("<HI", 0x0100, 8))
        self.wait(MS)
        self.read(0, 0x0502, 14)
        self.one("BWR", 0, 0x0900, bytes(4))
        self.one("FRMW", 0, 0x0910, bytes(8))
        self.one("ARMW", 0, 0x0910, bytes(8))
        self.sdo(0, 0x40, 0x1018, 4)
        self.sdo(0, 0x50, 0x1018, 0)
        self.sdo(0, 0x40, 0x2000, 0)
        self.sdo(0, 0x21, 0x2000, 0, struct.pack("<I", 600) + bytes(100))
        self.coe(0, struct.pack("<HBBHH", 8 << 12, 1, 0, 0, 1))
        self.send(
            ("BRD", 0, 0x0130, bytes(2)), ("LRW", 0, 0, bytes(32)), ("FPRD", 1, 0x0130, bytes(6))
        )

    def _map(self) -> None:
        for assignment in (0x1C12, 0x1C13):
            self._put(assignment, 0, b"\x00")
        for index, words in ((0x1600, RX), (0x1A00, TX)):
            self._put(index, 0, b"\x00")
            for n, word in enumerate(words):
                self._put(index, n + 1, struct.pack("<I", word))
            self._put(index, 0, bytes((len(words),)))
        for assignment, index in ((0x1C12, 0x1600), (0x1C13, 0x1A00)):
            self._put(assignment, 1, struct.pack("<H", index))
            self._put(assignment, 0, b"\x01")

    def _put(self, index: int, subindex: int, data: bytes) -> None:
        answer = self.sdo(0, 0x23 | (4 - len(data)) << 2, index, subindex, data.ljust(4, b"\x00"))
        assert answer[0] == 0x60, answer.hex()


def real_frames() -> list[bytes]:
    """What a good master sends on the way to OP, and in it."""
    master = GoodMaster(make_bus())
    master.bring_to_op()
    master.talk()
    master.enable()
    return sorted(set(master.sent))


def size_of(root: object) -> int:
    """Bytes of an object and of all that it refers to, without code."""
    seen: set[int] = set()
    found = [root]
    size = 0
    while found:
        item = found.pop()
        if id(item) in seen or isinstance(
            item, (type, ModuleType, FunctionType, BuiltinFunctionType)
        ):
            continue
        seen.add(id(item))
        size += sys.getsizeof(item)
        found += gc.get_referents(item)
    return size


class Fuzz:
    """Frames without end, the same for the same seed.

    Args:
        seed: of all that is random.
        frames: real ones.
    """

    def __init__(self, seed: int, frames: list[bytes]) -> None:
        self._random = random.Random(seed)
        self._frames = frames

    def frame(self, *, calm: bool) -> bytes:
        """The next one; a calm one leaves states and sync managers as they are, so
        that slaves stay in OP.
        """
        while True:
            frame = self._frame()
            if not calm or not _reconfigures(frame):
                return frame

    def _frame(self) -> bytes:
        make = self._random.choice(
            (self._changed, self._changed, self._accesses, self._accesses, self._to_op)
        )
        frame = make()
        if self._random.random() < 0.1:
            frame = frame[: self._random.randrange(len(frame) + 1)]
        return frame

    def pause(self) -> int:
        """Until the next frame [ns]: short, and seldom long, though not as long as
        the watchdog's time.
        """
        return self._random.randrange(200_000) if self._random.random() < 0.999 else 60 * MS

    def _changed(self) -> bytes:
        """A real frame with other bits, bytes, words or an end that isn't its own."""
        draw = self._random
        frame = bytearray(draw.choice(self._frames))
        for _ in range(draw.choice((0, 1, 1, 2, 4))):
            at = draw.randrange(12, len(frame) - 1)
            how = draw.randrange(4)
            if how == 0:
                frame[at] ^= 1 << draw.randrange(8)
            elif how == 1:
                frame[at] = draw.randrange(256)
            elif how == 2:
                struct.pack_into("<H", frame, at, draw.choice(_EDGES))
            else:
                frame[16] = draw.randrange(16)  # another command
        return bytes(frame) + (draw.randbytes(draw.randrange(200)) if draw.random() < 0.05 else b"")

    def _accesses(self) -> bytes:
        """Datagrams to what has side effects, one in ten with a false flag
        `more`, length or header.
        """
        draw = self._random
        count = draw.choice((1, 1, 1, 2, 5))
        parts = [self._access(more=n < count - 1) for n in range(count)]
        if draw.random() < 0.1:
            lying = bytearray(parts[-1])
            struct.pack_into("<H", lying, 6, draw.randrange(0x10000))
            parts[-1] = bytes(lying)
        frame = bytearray(ethernet(b"".join(parts)))
        if draw.random() < 0.05:
            struct.pack_into("<H", frame, 14, draw.randrange(0x10000))
        return bytes(frame)

    def _access(self, *, more: bool) -> bytes:
        draw = self._random
        command = draw.choice(list(COMMANDS))
        if command.startswith("L"):
            logical = draw.choice(
                (0, 1, 15, 16, 0x1000, 0x1000 + INPUTS, 0xFFFF, draw.getrandbits(32))
            )
            data = draw.randbytes(draw.choice((1, 16, 17, 21, 100, draw.randrange(1400))))
            return datagram(command, logical & 0xFFFF, logical >> 16, data, more=more)
        address, length = draw.choice(REGISTERS)
        low = draw.choice((0, 0xFFFF, 1001, draw.randrange(0x10000)))
        if draw.random() < 0.1:
            address = draw.randrange(0x10000)
            length = draw.choice((0, 1, length, draw.randrange(1400)))
        return datagram(command, low, address, self._data(address, length), more=more)

    def _data(self, address: int, length: int) -> bytes:
        draw = self._random
        if 0x0600 <= address < 0x0680:
            data = struct.pack(
                "<IHBBHBBB3x",
                draw.choice((0, 1, 16, 0x1000, draw.getrandbits(32))),
                draw.choice((*_EDGES, draw.randrange(0x10000))),
                draw.randrange(10),
                draw.randrange(10),
                draw.choice((*_EDGES, draw.randrange(0x3100))),
                draw.randrange(10),
                draw.randrange(5),
                draw.randrange(2),
            )
        elif 0x0800 <= address < 0x0840:
            start = draw.choice(_EDGES)
            size = draw.choice(_EDGES)
            data = struct.pack(
                "<HHBBBB", start, size, draw.choice((0x26, 0x22, 0x64, 0x20, 0xFF)), 0, 1, 0
            )
        elif address == 0x0120:
            data = struct.pack(
                "<H",
                draw.choice((0x01, 0x11, 0x02, 0x12, 0x04, 0x14, 0x08, 0x18, draw.randrange(256))),
            )
        elif address == 0x0502:
            data = struct.pack(
                "<HI", draw.choice((0, 0x100, 0x201, 0x200, 0x400)), draw.choice(_EDGES)
            ).ljust(14, b"!")
        elif address == 0x1000:
            data = self._mail()
        else:
            data = draw.randbytes(length)
        return data[:length].ljust(length, b"\x00")

    def _mail(self) -> bytes:
        draw = self._random
        index = draw.choice((*_INDICES, draw.randrange(0x10000)))
        if draw.random() < 0.2:
            coe = struct.pack("<HBBHHB", 8 << 12, draw.randrange(8), 0, 0, index, draw.randrange(8))
        else:
            command = draw.choice(
                (
                    0x40,
                    0x50,
                    0x60,
                    0x70,
                    0x23,
                    0x2F,
                    0x21,
                    0x31,
                    0x00,
                    0x10,
                    0x80,
                    draw.randrange(256),
                )
            )
            size = struct.pack("<I", draw.choice((*_EDGES, 0xFFFFFFFF)))
            body = draw.choice((size, size + draw.randbytes(draw.randrange(110))))
            coe = struct.pack("<HBHB", 2 << 12, command, index, draw.randrange(18)) + body
        size = len(coe) if draw.random() < 0.9 else draw.choice(_EDGES)
        kind = 3 if draw.random() < 0.9 else draw.randrange(16)
        return struct.pack("<HHBB", size, 0, 0, kind | draw.randrange(8) << 4) + coe

    def _to_op(self) -> bytes:
        """A real frame as it is, so that slaves leave INIT now and then."""
        return self._random.choice(self._frames)


def _reconfigures(frame: bytes) -> bool:
    writes = (2, 3, 5, 6, 8, 9, 13, 14)
    try:
        return any(
            item.command in writes
            and item.offset < end
            and item.offset + item.end - item.start > first
            for item in walk(frame)
            for first, end in ((0x0120, 0x0122), (0x0420, 0x0422), (0x0800, 0x0840))
        )
    except (ValueError, struct.error):
        return False  # slaves pass it on as it is
