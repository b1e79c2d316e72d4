"""Single slaves, beside the cycle: their AL states, mailboxes and objects."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ...core.errors import ConfigError, HardwareFault
from .al_status import AL_ERROR, PREOP, AlStatus
from .drives import SdoWrite

MAX_ATTEMPTS = 3  # of a transfer

Emergency = Callable[[int, int, int], None]  # slave's position, error code, error register


class SlaveAccess:
    """Talks to single slaves from one thread, while another one exchanges process data, by the module pysoem.

    Attributes:
        slaves: pysoem's, in the order of the bus; empty before they are found.
        names: of the slaves, as far as they are known.
        wire: held from a frame's sending to its receiving: another reader might take it.
    """

    def __init__(self, soem: Any, master: Any) -> None:
        self._soem, self._master = soem, master
        self.slaves: list[Any] = []
        self.names: Sequence[str] = ()
        self.wire = threading.Lock()
        self._depth = 0

    @property
    def busy(self) -> bool:
        """Whether a slave is being talked to; to be read with :attr:`wire` held."""
        return self._depth > 0

    @contextmanager
    def beside(self) -> Iterator[None]:
        """While this lasts, the cycle waits for its frames without the interpreter's lock."""
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
            return [AlStatus(slave.state, slave.al_status if slave.state else 0) for slave in self.slaves]

    def listen(self, emergency: Emergency) -> None:
        """Have a function called with emergencies, by :meth:`collect` and SDO transfers."""
        for position, slave in enumerate(self.slaves):
            slave.add_emergency_callback(
                lambda message, at=position: emergency(at, message.error_code, message.error_reg)
            )

    def collect(self, position: int) -> None:
        """Fetch what is in a slave's mailbox: emergencies. One that didn't answer last has none."""
        slave, soem = self.slaves[position], self._soem
        if slave.state & ~AL_ERROR < PREOP:
            return
        # An error there belongs to a transfer that has been given up.
        with self.beside(), suppress(soem.SdoError, soem.MailboxError, soem.PacketError):
            slave.mbx_receive()

    def read_sdo(self, position: int, index: int, sub_index: int = 0, size: int = 1024) -> bytes:
        """An object of a slave.

        Raises:
            ConfigError: it refuses.
            HardwareFault: it doesn't answer.
        """
        slave, subject = self.slaves[position], f"{self.name(position)}: object 0x{index:04X}:{sub_index} can't be read"
        return bytes(self.transfer(subject, lambda: slave.sdo_read(index, sub_index, size, release_gil=True)))

    def write_sdo(self, position: int, write: SdoWrite) -> None:
        """Write an object; raises as :meth:`read_sdo`."""
        slave, data = self.slaves[position], write.data()
        subject = f"{self.name(position)}: {write} can't be written"
        self.transfer(subject, lambda: slave.sdo_write(write.index, write.sub_index, data, release_gil=True))

    def transfer(self, subject: str, action: Callable[[], Any]) -> Any:
        """Something that a slave must answer, tried again where a frame may be lost; raises as :meth:`read_sdo`."""
        soem, problem = self._soem, ""
        for _ in range(MAX_ATTEMPTS):
            try:
                with self.beside():
                    return action()
            except soem.SdoError as error:
                raise ConfigError(f"{subject}: abort 0x{error.abort_code:08X} {error.desc}") from error
            except (soem.MailboxError, soem.PacketError) as error:
                problem = f"error 0x{error.error_code:04X} {error.desc}"
            except soem.WkcError:
                problem = "no answer"
        raise HardwareFault(f"{subject}: {problem}, {MAX_ATTEMPTS} times")

    def name(self, position: int) -> str:
        """Name of a slave, for people."""
        return self.names[position] if position < len(self.names) else f"slave {position}"
