"""Single slaves, beside the cycle: their AL states, mailboxes and objects."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ...core.errors import ConfigError, HardwareFault
from .al_status import AL_ERROR, PREOP, AlStatus
from .cia402 import describe_error
from .drives import SdoWrite

MAX_ATTEMPTS = 3  # of a transfer
_MAX_MESSAGES = 64  # that SOEM keeps


@dataclass(frozen=True)
class SlaveEvent:
    """Something that came from a slave, at this position on the bus, and that nobody had asked for.

    Attributes:
        problem: Message of the slave's mailbox; empty for an emergency.
        code, register: Error code and error register of an emergency.
    """

    position: int
    problem: str = ""
    code: int = 0
    register: int = 0

    def describe(self, vendor_codes: Mapping[int, str] | None = None) -> str:
        """Text about the event, for people."""
        emergency = f"emergency {describe_error(self.code, vendor_codes)} (error register 0x{self.register:02X})"
        return self.problem or emergency


class SlaveAccess:
    """Talks to single slaves from one thread, while another one exchanges process data, by the
    module pysoem.

    pysoem keeps what any slave sends in one queue, and would raise it in the next transfer of
    another slave. So a queue is emptied where it was filled, and what nobody had asked for goes to
    :meth:`listen`.

    Attributes:
        slaves: Slaves of pysoem, in the order of the bus; empty before they are found.
        names: Names of the slaves, as far as they are known.
        wire: Lock that is held from a frame's sending to its receiving: another reader might take
            it.
    """

    def __init__(self, soem: Any, master: Any) -> None:
        self._soem = soem
        self._master = master
        self.slaves: list[Any] = []
        self.names: Sequence[str] = ()
        self.wire = threading.Lock()
        self._depth = 0
        self._heard = 0
        self._last: SlaveEvent | None = None
        self._kept: deque[SlaveEvent] = deque(maxlen=_MAX_MESSAGES)
        self._listener: Callable[[SlaveEvent], object] = self._kept.append

    def find(self, slaves: Sequence[Any]) -> None:
        """Take the slaves that were found."""
        self.slaves = list(slaves)
        for slave in slaves:
            slave.add_emergency_callback(self._on_emergency)

    def listen(self, listener: Callable[[SlaveEvent], object]) -> None:
        """Have a function called with the events so far, and with each later one."""
        self._listener = listener
        while self._kept:
            listener(self._kept.popleft())

    def _on_emergency(self, message: Any) -> None:
        self._tell(
            SlaveEvent(message.slave_pos - 1, code=message.error_code, register=message.error_reg)
        )

    def _tell(self, event: SlaveEvent) -> None:
        """Pass an event on; SOEM has a message many times where it asked for it again and again."""
        self._heard += 1
        if event != self._last or not event.problem:
            self._listener(event)
        self._last = event

    @property
    def busy(self) -> bool:
        """True while a slave is being talked to; to be read with :attr:`wire` held."""
        return self._depth > 0

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Let the cycle wait for its frames without the interpreter's lock, while this lasts."""
        with self.wire:
            self._depth += 1
        try:
            yield
        finally:
            with self.wire:
                self._depth -= 1

    def al_statuses(self) -> list[AlStatus]:
        """State of each slave's communication, in the order of the bus."""
        with self.beside():
            self._master.read_state()
            return [
                AlStatus(slave.state, slave.al_status if slave.state else 0)
                for slave in self.slaves
            ]

    def collect(self, position: int) -> None:
        """Fetch what is in a slave's mailbox.

        A slave that didn't answer last has nothing.
        """
        if self.slaves[position].state & ~AL_ERROR >= PREOP:
            self._receive(position)

    def _receive(self, position: int) -> bool:
        """Take a message or an error from a slave's mailbox or SOEM's queue.

        Returns True where there was one.
        """
        heard = self._heard
        try:
            with self.beside():
                self.slaves[position].mbx_receive()
        except Exception as error:  # of a transfer that has been given up
            self._tell(SlaveEvent(position, self.problem(error)))
        return self._heard != heard

    def read_sdo(self, position: int, index: int, sub_index: int = 0, size: int = 1024) -> bytes:
        """An object of a slave.

        Raises:
            ConfigError: it refuses.
            HardwareFault: it doesn't answer.
        """
        slave = self.slaves[position]
        what = f"object 0x{index:04X}:{sub_index} can't be read"
        return bytes(
            self.transfer(
                position, what, lambda: slave.sdo_read(index, sub_index, size, release_gil=True)
            )
        )

    def write_sdo(self, position: int, write: SdoWrite) -> None:
        """Write an object; raises as :meth:`read_sdo`."""
        slave = self.slaves[position]
        data = write.data()
        what = f"{write} can't be written"
        self.transfer(
            position,
            what,
            lambda: slave.sdo_write(write.index, write.sub_index, data, release_gil=True),
        )

    def transfer(self, position: int, what: str, action: Callable[[], Any]) -> Any:
        """Do what a slave must answer, again where a frame may be lost.

        Raises as :meth:`read_sdo`.
        """
        subject = f"{self.name(position)}: {what}"
        problem = ""
        for _ in range(MAX_ATTEMPTS):
            try:
                with self.beside():
                    return action()
            except self._soem.WkcError as error:  # pysoem has emptied the queue
                problem = problem or self.problem(error)
            except Exception as error:
                problem = self.problem(error)
                for _ in range(_MAX_MESSAGES):
                    if not self._receive(position):
                        break
                if isinstance(error, self._soem.SdoError) and error.slave_pos == position + 1:
                    raise ConfigError(f"{subject}: {problem}") from error
        raise HardwareFault(f"{subject}: {problem}, {MAX_ATTEMPTS} times")

    def problem(self, error: Exception) -> str:
        """Text of an error of pysoem; any other error is raised."""
        soem = self._soem
        if isinstance(error, soem.SdoError):
            return f"abort 0x{error.abort_code:08X} {error.desc}"
        if isinstance(error, soem.MailboxError):
            return f"mailbox error 0x{error.error_code:04X} {error.desc}"
        # its description fails for codes that it doesn't know
        if isinstance(error, soem.PacketError):
            return f"answer of another kind or size (packet error {error.error_code})"
        if isinstance(error, soem.WkcError):
            return "no answer"
        # of another slave; of a kind that pysoem doesn't know
        if type(error) in (AssertionError, Exception):
            return "something else came instead of the answer"
        raise error

    def name(self, position: int) -> str:
        """Name of a slave, for people."""
        return self.names[position] if position < len(self.names) else f"slave {position}"
