"""The mailbox: messages between a master and a device, one at a time in each direction.

Source: ETG.1000.4, mailbox, and its error codes.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable

from ..esc.sync_manager import SyncManager

HEADER = struct.Struct("<HHBB")  # length, address, channel and priority, type and counter
ERROR = 0  # types
COE = 3  # types

UNSUPPORTED_PROTOCOL = 0x0002
INVALID_SIZE = 0x0008

_LONGEST_QUEUE = 16  # messages; a request waits in its mailbox until all before it are under way
_ERROR_REPLY = struct.Struct("<HH")


class Mailbox:
    """A device's two mailboxes; answers carry the counter of their request.

    A request with the counter of the one before is the same once more (its acknowledgement was
    lost), and isn't served again; counter 0 isn't compared.

    Args:
        receive, send: the sync managers, named as the device sees them.
        serve: CoE: from a request to its answers.

    Attributes:
        mute: requests are taken and never answered.
        error: every request is answered by this mailbox error; 0 for none.
    """

    def __init__(
        self, receive: SyncManager, send: SyncManager, serve: Callable[[bytes], list[bytes]]
    ) -> None:
        self.mute = False
        self.error = 0
        self._receive = receive
        self._send = send
        self._serve = serve
        self._queue: deque[bytes] = deque()
        self._last = b""
        self._counter = 0

    def reset(self) -> None:
        """Forget everything, as in state INIT."""
        self._queue.clear()
        self._last = b""
        self._counter = 0
        self._receive.set_full(False)
        self._send.set_full(False)

    def post(self, coe: bytes) -> None:
        """Send a CoE message that nobody asked for; it is lost where too many wait to be read."""
        if len(self._queue) >= _LONGEST_QUEUE:
            return
        self._queue.append(HEADER.pack(len(coe), 0, 0, COE) + coe)
        self.service()

    def service(self) -> None:
        """Take a request, put the next message where the master reads it,
        repeat one that was lost.
        """
        if self._send.repeat_requested() and self._last and not self._send.full:
            self._load(self._last)
        if self._receive.full and not self._queue:
            request = self._receive.content()
            self._receive.set_full(False)
            if not self.mute:
                self._queue.extend(self._answers(request))
        if self._queue and self._send.enabled and not self._send.full:
            self._load(self._queue.popleft())

    def _load(self, message: bytes) -> None:
        self._send.store(message)
        self._send.set_full(True)
        self._last = message

    def _answers(self, request: bytes) -> list[bytes]:
        length, address, _, kind = HEADER.unpack_from(request)
        counter = kind >> 4 & 0x07
        if counter and counter == self._counter:
            return []
        self._counter = counter

        def answer(type_: int, data: bytes) -> bytes:
            return HEADER.pack(len(data), address, 0, type_ | counter << 4) + data

        if self.error:
            return [answer(ERROR, _ERROR_REPLY.pack(1, self.error))]
        if length < 2 or HEADER.size + length > len(request):
            return [answer(ERROR, _ERROR_REPLY.pack(1, INVALID_SIZE))]
        if kind & 0x0F != COE:
            return [answer(ERROR, _ERROR_REPLY.pack(1, UNSUPPORTED_PROTOCOL))]
        return [
            answer(COE, data) for data in self._serve(request[HEADER.size : HEADER.size + length])
        ]
