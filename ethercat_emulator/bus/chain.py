"""The chain of slaves: a frame runs through all of them and comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..drive.drive import Machine
from ..esc.registers import DL_STATUS
from .frame import (
    LOCALLY_ADMINISTERED,
    Command,
    Datagram,
    add_working_counter,
    is_ethercat,
    set_address,
    walk,
)
from .slave import Slave

STEP = 1_000_000  # ns, of the drives' control loops
MAX_GAP = 1_000_000_000  # ns: of a longer silence the rest is skipped

_READS = {Command.APRD, Command.APRW, Command.FPRD, Command.FPRW, Command.BRD, Command.BRW}
_WRITES = {Command.APWR, Command.APRW, Command.FPWR, Command.FPRW, Command.BWR, Command.BRW}

# DL status: the device is there and runs; then per port link, and closed loop or communication.
_RUNNING = 0x0001
_LINKED = (0x0010 | 0x0200, 0x0020 | 0x0800)
_CLOSED = (0x0100, 0x0400, 0x1000, 0x4000)


class Bus:
    """Slaves in a row, and what their drives turn.

    Args:
        slaves: the first is next to the master.
        machine: advanced with time; None where no slave moves anything.
        step: of the drives' control loops [ns]; a span of time is cut into a whole number of about
            this size.

    Attributes:
        slaves: change the list, a slave's power or `cut` only with a call of :meth:`rewire` after
            it.
        cut: the chain ends before this position; None where it is whole.
    """

    def __init__(
        self, slaves: Sequence[Slave], machine: Machine | None = None, *, step: int = STEP
    ) -> None:
        self.slaves = list(slaves)
        self._step = step
        self.machine = machine
        self.cut: int | None = None
        self._time: int | None = None
        self._reachable: list[Slave] = []
        self._actions: dict[int, Callable[[bytearray, Datagram, int], None]] = {
            **dict.fromkeys((Command.APRD, Command.APWR, Command.APRW), self._by_position),
            **dict.fromkeys((Command.FPRD, Command.FPWR, Command.FPRW), self._by_address),
            **dict.fromkeys((Command.BRD, Command.BWR, Command.BRW), self._broadcast),
            **dict.fromkeys((Command.LRD, Command.LWR, Command.LRW), self._logical),
            **dict.fromkeys((Command.ARMW, Command.FRMW), self._read_one_write_others),
        }
        self.rewire()

    def rewire(self) -> None:
        """Find out which slaves a frame reaches, and let them know who is behind them."""
        end = len(self.slaves) if self.cut is None else self.cut
        self._reachable = []
        for slave in self.slaves[:end]:
            if not slave.powered:
                break
            self._reachable.append(slave)
        last = len(self._reachable) - 1
        for position, slave in enumerate(self._reachable):
            slave.esc.behind = last - position
            status = _RUNNING | _LINKED[0] | _CLOSED[2] | _CLOSED[3]
            status |= _LINKED[1] if position < last else _CLOSED[1]
            slave.esc.memory[DL_STATUS : DL_STATUS + 2] = status.to_bytes(2, "little")

    def advance(self, now: int) -> None:
        """Let time pass in drives, watchdogs and mechanics, reachable or not."""
        if self._time is None or now - self._time > MAX_GAP:
            self._time = now if self._time is None else now - MAX_GAP
        steps = round((now - self._time) / self._step)
        for left in range(steps, 0, -1):
            until = self._time + (now - self._time) // left
            self._tick(until)
            if self.machine is not None:
                self.machine.advance((until - self._time) * 1e-9)
            self._time = until
        if steps:
            for slave in self.slaves:
                if slave.powered:
                    slave.refresh_inputs()
        self._tick(now)
        for slave in self.slaves:
            if slave.device.emergencies:
                slave.send_emergencies()

    def _tick(self, now: int) -> None:
        for slave in self.slaves:
            if slave.powered:
                slave.tick(now)

    def process(self, frame: bytes, now: int) -> bytes | None:
        """What comes back of a frame [ns]; None where it isn't EtherCAT, is malformed,
        or no slave is there.
        """
        self.advance(now)
        if not self._reachable or not is_ethercat(frame):
            return None
        reply = bytearray(frame)
        try:
            datagrams = list(walk(reply))
        except ValueError:
            return None
        for datagram in datagrams:
            action = self._actions.get(datagram.command)
            if action is not None:
                action(reply, datagram, now)
        reply[6] |= LOCALLY_ADMINISTERED
        for slave in self._reachable:
            if slave.attention:
                slave.after_frame()
        return bytes(reply)

    def _access(self, slave: Slave, frame: bytearray, datagram: Datagram, now: int) -> int:
        """Read, write or both at one slave; returns the increment of the working counter."""
        command = datagram.command
        offset = datagram.offset
        start = datagram.start
        end = datagram.end
        arrived = bytes(frame[start:end])
        done = 0
        if command in _READS:
            data = slave.esc.read(offset, end - start, now)
            if data is not None:
                done = 1
                if command in (Command.BRD, Command.BRW):
                    data = bytes(a | b for a, b in zip(arrived, data, strict=True))
                frame[start:end] = data
        if command in _WRITES and slave.esc.write(offset, arrived, now):
            done += 2 if command in _READS else 1
        return done

    def _by_position(self, frame: bytearray, datagram: Datagram, now: int) -> None:
        position = -datagram.address & 0xFFFF
        if position < len(self._reachable):
            add_working_counter(
                frame, datagram, self._access(self._reachable[position], frame, datagram, now)
            )
        set_address(frame, datagram, datagram.address + len(self._reachable))

    def _by_address(self, frame: bytearray, datagram: Datagram, now: int) -> None:
        for slave in self._reachable:
            if slave.esc.answers_to(datagram.address):
                add_working_counter(frame, datagram, self._access(slave, frame, datagram, now))

    def _broadcast(self, frame: bytearray, datagram: Datagram, now: int) -> None:
        done = sum(self._access(slave, frame, datagram, now) for slave in self._reachable)
        add_working_counter(frame, datagram, done)
        set_address(frame, datagram, datagram.address + len(self._reachable))

    def _logical(self, frame: bytearray, datagram: Datagram, now: int) -> None:
        address = datagram.offset << 16 | datagram.address
        read = datagram.command != Command.LWR
        write = datagram.command != Command.LRD
        weights = (0, 1, 2, 3) if datagram.command == Command.LRW else (0, 1, 1, 0)
        done = 0
        with memoryview(frame)[datagram.start : datagram.end] as data:
            for slave in self._reachable:
                if not slave.deaf:
                    done += weights[
                        slave.esc.logical(address, data, read=read, write=write, now=now)
                    ]
        add_working_counter(frame, datagram, done)

    def _read_one_write_others(self, frame: bytearray, datagram: Datagram, now: int) -> None:
        by_position = datagram.command == Command.ARMW
        chosen = -datagram.address & 0xFFFF
        start = datagram.start
        end = datagram.end
        done = 0
        for position, slave in enumerate(self._reachable):
            if position == chosen if by_position else slave.esc.answers_to(datagram.address):
                data = slave.esc.read(datagram.offset, end - start, now)
                if data is not None:
                    frame[start:end] = data
                    done += 1
            else:
                done += slave.esc.write(datagram.offset, bytes(frame[start:end]), now)
        add_working_counter(frame, datagram, done)
        if by_position:
            set_address(frame, datagram, datagram.address + len(self._reachable))
