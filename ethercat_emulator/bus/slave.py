"""A slave: a controller, the state of its application, its mailbox, and a device behind them."""

from __future__ import annotations

from collections import deque
from typing import Protocol

from ..coe.dictionary import Dictionary
from ..coe.mailbox import Mailbox
from ..coe.pdo import RX_ASSIGNMENT, TX_ASSIGNMENT, ProcessData
from ..coe.sdo import SdoServer, emergency
from ..esc import al_state
from ..esc.al_state import AlState, State
from ..esc.controller import Esc
from ..esc.sii import INPUTS, MAILBOX_IN, MAILBOX_OUT, OUTPUTS, Sii, Window, build
from ..esc.sync_manager import SyncManager


class Device(Protocol):
    """What a slave makes accessible.

    Attributes:
        emergencies: (error code, error register) not yet sent.
    """

    emergencies: deque[tuple[int, int]]

    def reset(self) -> None:
        """As after power-up."""

    def disconnect(self) -> None:
        """The slave has left OP: outputs are no longer valid."""


class Slave:
    """One participant of the bus.

    Args:
        sii: the content of its EEPROM at first.
        dictionary: its objects; process data are made of them also where it has no mailbox.
        device: computes with the dictionary's values.
        clock_start: what its distributed clock shows at time 0 [ns]; None for a slave without one.
        eeprom_8_bytes: the EEPROM interface gives 8 bytes at a time, else 4.

    Attributes:
        eeprom: content, as it may have been changed.
        powered: whether it is on.
        deaf: whether it ignores logical datagrams.
        at_preop: emergencies (error code, error register) that it sends whenever it gets from INIT
            to PRE-OP.
        attention: whether it has something to do after a frame.
    """

    def __init__(
        self,
        sii: Sii,
        dictionary: Dictionary,
        device: Device,
        *,
        clock_start: int | None = None,
        eeprom_8_bytes: bool = True,
    ) -> None:
        self.sii = sii
        self.dictionary = dictionary
        self.device = device
        self.eeprom = build(sii)
        self.powered = True
        self.deaf = False
        self.at_preop: list[tuple[int, int]] = []
        self._clock_start = clock_start
        self._eeprom_8_bytes = eeprom_8_bytes
        kinds = [window.type for window in sii.windows]
        self._windows = {kind: (number, sii.windows[number]) for number, kind in enumerate(kinds)}
        self.power_up()

    def power_up(self) -> None:
        """Begin anew, as after a power cycle; the EEPROM stays."""
        self._now = 0
        self.attention = False
        self._fresh_outputs = self._reconfigured = False
        self.dictionary.reset()
        self.device.reset()
        self.esc = Esc(
            self.eeprom,
            clock_start=self._clock_start,
            eeprom_8_bytes=self._eeprom_8_bytes,
            owner=self,
        )
        self.al = AlState(self.esc.memory, self._refusal, self._changed)
        self._rx: ProcessData | None = None
        self._tx: ProcessData | None = None
        self._outputs, self._inputs = self._manager(OUTPUTS), self._manager(INPUTS)
        self.mailbox = self._make_mailbox()
        self._open_windows()

    @property
    def state(self) -> State:
        """Of the application layer."""
        return self.al.state

    def al_error(self, code: int) -> None:
        """Fall from OP to SAFEOP, or stay below it, with an AL status code."""
        self.al.fall(min(self.al.state, State.SAFEOP), code)
        self._open_windows()

    def tick(self, now: int) -> None:
        """Notice that time has passed."""
        self._now = now
        if self.esc.watchdog.expired(now):
            self.al_error(al_state.WATCHDOG)

    def refresh_inputs(self) -> None:
        """Put the device's values where the master reads them."""
        if self._tx is not None and self._inputs is not None:
            self._inputs.store(self._tx.pack())

    def after_frame(self) -> None:
        """Check a new configuration, take outputs over, serve the mailbox."""
        self.attention = False
        if self._reconfigured:
            self._reconfigured = False
            self._check_configuration()
        if self._fresh_outputs:
            self._fresh_outputs = False
            if self.al.state is State.OP and self._rx is not None and self._outputs is not None:
                self._rx.unpack(self._outputs.content())
        if self.mailbox is not None and self.al.state is not State.INIT:
            self.mailbox.service()

    def send_emergencies(self) -> None:
        """Post the device's emergencies. They are lost where the mailbox is closed."""
        while self.device.emergencies:
            code, register = self.device.emergencies.popleft()
            self.emergency(code, register)

    def emergency(self, code: int, register: int, data: bytes = b"") -> None:
        """Send an emergency message, where the mailbox is open."""
        if self.mailbox is not None and self.al.state is not State.INIT:
            self.mailbox.post(emergency(code, register, data))

    # Called by the controller.

    def al_control(self, control: int) -> None:
        self.al.request(control)
        self._open_windows()

    def accessed(self, manager: SyncManager) -> None:
        self.attention = True
        if manager is self._outputs:
            self._fresh_outputs = True

    def configured(self) -> None:
        self.attention = self._reconfigured = True

    def _manager(self, kind: int) -> SyncManager | None:
        return self.esc.managers[self._windows[kind][0]] if kind in self._windows else None

    def _make_mailbox(self) -> Mailbox | None:
        receive = self._manager(MAILBOX_OUT)
        send = self._manager(MAILBOX_IN)
        if receive is None or send is None:
            return None
        length = self._windows[MAILBOX_IN][1].length
        server = SdoServer(self.dictionary, length, lambda: self.al.state is State.PREOP)
        return Mailbox(receive, send, server.serve)

    def _refusal(self, wanted: State) -> int:
        if wanted is State.PREOP:
            return self._check_mailbox()
        if wanted is State.SAFEOP:
            return self._check_process_data()
        return al_state.NO_ERROR

    def _check_configuration(self) -> None:
        """Leave a state whose sync managers a master has changed, as one does that
        starts after another.
        """
        if self.al.state >= State.PREOP and (code := self._check_mailbox()):
            self.al.fall(State.INIT, code)
        elif self.al.state >= State.SAFEOP and (code := self._check_process_data()):
            self.al.fall(State.PREOP, code)
        else:
            return
        self._open_windows()

    def _check_mailbox(self) -> int:
        for kind in (MAILBOX_OUT, MAILBOX_IN):
            manager = self._manager(kind)
            if manager is None:
                continue
            window: Window = self._windows[kind][1]
            right = (
                manager.active
                and manager.is_mailbox
                and manager.written_by_master == (kind == MAILBOX_OUT)
            )
            if not right or (manager.start, manager.length) != (window.start, window.length):
                return al_state.MAILBOX_CONFIGURATION
        return al_state.NO_ERROR

    def _check_process_data(self) -> int:
        rx = ProcessData(self.dictionary, RX_ASSIGNMENT)
        tx = ProcessData(self.dictionary, TX_ASSIGNMENT)
        if not _fits(self._outputs, rx.size, written=True):
            return al_state.OUTPUT_CONFIGURATION
        if not _fits(self._inputs, tx.size, written=False):
            return al_state.INPUT_CONFIGURATION
        self._rx = rx if rx.size else None
        self._tx = tx if tx.size else None
        return al_state.NO_ERROR

    def _changed(self, before: State, after: State) -> None:
        watched = (
            self._rx is not None and self._outputs is not None and self._outputs.triggers_watchdog
        )
        self.esc.watchdog.arm(after is State.OP and watched, self._now)
        if before is State.OP:
            self.device.disconnect()
        if before is State.INIT and after is State.PREOP and self.mailbox is not None:
            for code, register in self.at_preop:
                self.mailbox.post(emergency(code, register, b""))
        if after < State.SAFEOP:
            self._rx = self._tx = None
        if after is State.INIT and self.mailbox is not None:
            self.mailbox.reset()

    def _open_windows(self) -> None:
        """Process data are open from SAFEOP on; after an error there, outputs are not, until
        it is acknowledged.
        """
        running = self.al.state >= State.SAFEOP
        for kind, closed in ((OUTPUTS, not running or self.al.error), (INPUTS, not running)):
            if kind in self._windows:
                self.esc.lock(self._windows[kind][0], closed)
        self.refresh_inputs()


def _fits(manager: SyncManager | None, size: int, *, written: bool) -> bool:
    """Whether process data of so many bytes go through a sync manager; none need none."""
    if manager is None or not manager.active:
        return size == 0
    return (
        manager.length == size and not manager.is_mailbox and manager.written_by_master == written
    )
