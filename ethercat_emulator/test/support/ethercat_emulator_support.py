"""A master of a few lines, for the tests: it knows the protocol by its own tables,
not by the emulator's.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import ethercat_emulator
from ethercat_emulator.bus.chain import Bus
from ethercat_emulator.bus.line import Line

MS = 1_000_000  # ns

_NAMES = [
    *("NOP", "APRD", "APWR", "APRW", "FPRD", "FPWR", "FPRW"),
    *("BRD", "BWR", "BRW"),
    *("LRD", "LWR", "LRW"),
]
COMMANDS = {name: number for number, name in enumerate([*_NAMES, "ARMW", "FRMW"])}


def result_of(command: Sequence[str], timeout: float = 240.0) -> dict:
    """What a program prints in its last line, as JSON; it imports these copies of the packages."""
    packages = str(Path(ethercat_emulator.__file__).resolve().parents[1])
    here = str(Path(__file__).parent)
    path = os.pathsep.join([packages, here, *filter(None, [os.environ.get("PYTHONPATH")])])
    result = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])


def datagram(
    command: str,
    low: int,
    high: int,
    data: bytes,
    *,
    index: int = 0,
    wkc: int = 0,
    more: bool = False,
):
    length = len(data) | (0x8000 if more else 0)
    return (
        struct.pack("<BBHHHH", COMMANDS[command], index, low, high, length, 0)
        + data
        + struct.pack("<H", wkc)
    )


def ethernet(payload: bytes, *, kind: int = 1, ethertype: int = 0x88A4) -> bytes:
    head = b"\xff" * 6 + b"\x01\x01\x01\x01\x01\x01" + struct.pack(">H", ethertype)
    return (head + struct.pack("<H", len(payload) | kind << 12) + payload).ljust(60, b"\x00")


def frame(*datagrams: tuple) -> bytes:
    """Of (command, low address, high address, data) each, indexed from 0."""
    parts = [
        datagram(*item, index=n, more=n < len(datagrams) - 1)  # keep the order
        for n, item in enumerate(datagrams)
    ]
    return ethernet(b"".join(parts))


def answers(reply: bytes) -> list[tuple[int, int, int, bytes, int]]:
    """(command, index, address low, data, working counter) of each datagram."""
    found = []
    at = 16
    more = True
    while more:
        command, index, low, _, length, _ = struct.unpack_from("<BBHHHH", reply, at)
        size = length & 0x7FF
        data = reply[at + 10 : at + 10 + size]
        found.append(
            (
                command,
                index,
                low,
                data,
                int.from_bytes(reply[at + 10 + size : at + 12 + size], "little"),
            )
        )
        at += 12 + size
        more = bool(length & 0x8000)
    return found


class Master:
    """Talks to a bus in process; time stands still but for `wait`."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus
        self.line = Line(bus)
        self.now = 1_000 * MS
        self._counter = 0

    def wait(self, ns: int) -> None:
        self.now += ns
        self.line.exchange(None, self.now)

    def send(self, *datagrams: tuple):
        """The datagrams' (data, working counter); None where the frame is lost."""
        replies = self.line.exchange(frame(*datagrams), self.now)
        if not replies:
            return None
        return [(data, wkc) for _, _, _, data, wkc in answers(replies[0])]

    def one(self, command: str, low: int, high: int, data: bytes) -> tuple[bytes, int]:
        return self.send((command, low, high, data))[0]

    def read(self, slave: int, address: int, length: int) -> bytes:
        data, wkc = self.one("APRD", -slave & 0xFFFF, address, bytes(length))
        assert wkc == 1, f"slave {slave} does not let {address:#06x} be read"
        return data

    def word(self, slave: int, address: int) -> int:
        return int.from_bytes(self.read(slave, address, 2), "little")

    def write(self, slave: int, address: int, data: bytes) -> int:
        return self.one("APWR", -slave & 0xFFFF, address, data)[1]

    # States.

    def state(self, slave: int) -> tuple[int, int]:
        """AL status and its code."""
        status = self.read(slave, 0x0130, 6)
        return int.from_bytes(status[0:2], "little"), int.from_bytes(status[4:6], "little")

    def request(self, slave: int, state: int) -> tuple[int, int]:
        assert self.write(slave, 0x0120, struct.pack("<H", state)) == 1
        return self.state(slave)

    def preop(self, slave: int = 0) -> None:
        self.mailboxes(slave)
        assert self.request(slave, 0x02) == (0x02, 0)

    def mailboxes(self, slave: int, *, length: int = 128) -> None:
        out = struct.pack("<HHBBBB", 0x1000, length, 0x26, 0, 1, 0)
        into = struct.pack("<HHBBBB", 0x1400, length, 0x22, 0, 1, 0)
        assert self.write(slave, 0x0800, out + into) == 1

    def process_data(
        self, slave: int, outputs: int = 16, inputs: int = 20, *, logical=(0, 0x1000)
    ) -> None:
        """Sync managers 2 and 3, FMMUs 0 and 1, at two logical addresses."""
        managers = struct.pack("<HHBBBB", 0x1800, outputs, 0x64, 0, 1, 0)
        managers += struct.pack("<HHBBBB", 0x2000, inputs, 0x20, 0, 1, 0)
        assert self.write(slave, 0x0810, managers) == 1
        self.fmmu(slave, 0, logical[0], outputs, 0x1800, 2)
        self.fmmu(slave, 1, logical[1], inputs, 0x2000, 1)

    def fmmu(
        self,
        slave: int,
        number: int,
        logical: int,
        length: int,
        physical: int,
        kind: int,
        bits=(0, 7, 0),
    ) -> None:
        first, last, bit = bits
        registers = struct.pack("<IHBBHBBB3x", logical, length, first, last, physical, bit, kind, 1)
        assert self.write(slave, 0x0600 + 16 * number, registers) == 1

    def to_op(self, slaves: int = 1, outputs: int = 16, inputs: int = 20) -> None:
        """Outputs side by side from logical address 0, inputs from 0x1000."""
        for slave in range(slaves):
            self.preop(slave)
            self.process_data(
                slave, outputs, inputs, logical=(outputs * slave, 0x1000 + inputs * slave)
            )
            assert self.request(slave, 0x04) == (0x04, 0)
            assert self.request(slave, 0x08) == (0x08, 0)

    # Mailbox and CoE.

    def post(
        self,
        slave: int,
        message: bytes,
        *,
        kind: int = 3,
        counter: int | None = None,
        length: int = 128,
    ) -> int:
        """Write a mailbox; returns the working counter."""
        if counter is None:
            self._counter = counter = self._counter % 7 + 1
        mail = struct.pack("<HHBB", len(message), 0, 0, kind | counter << 4) + message
        return self.write(slave, 0x1000, mail.ljust(length, b"\x00"))

    def fetch(self, slave: int, *, length: int = 128) -> tuple[int, int, bytes] | None:
        """Read a mailbox: (type, counter, message); None where it is empty."""
        data, wkc = self.one("APRD", -slave & 0xFFFF, 0x1400, bytes(length))
        if not wkc:
            return None
        size, _, _, kind = struct.unpack_from("<HHBB", data)
        return kind & 0x0F, kind >> 4, data[6 : 6 + size]

    def coe(self, slave: int, message: bytes, **kwargs) -> bytes:
        assert self.post(slave, message, **kwargs) == 1
        answer = self.fetch(slave, length=kwargs.get("length", 128))
        assert answer is not None, "no answer"
        assert answer[:2] == (3, self._counter)
        return answer[2]

    def sdo(
        self, slave: int, command: int, index: int, subindex: int, data: bytes = bytes(4), **kwargs
    ) -> bytes:
        """One SDO request; the answer without the CoE header."""
        answer = self.coe(
            slave, struct.pack("<HBHB", 2 << 12, command, index, subindex) + data, **kwargs
        )
        assert answer[:2] == struct.pack("<H", (2 if answer[2] == 0x80 else 3) << 12)
        return answer[2:]
