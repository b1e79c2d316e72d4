"""CANopen over EtherCAT: what a device answers to SDO requests, and emergencies.

Source: ETG.1000.6, CoE.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from .dictionary import COMMAND, TOGGLE, TOO_LONG, TOO_SHORT, Dictionary, SdoAbort
from .information import Information
from .pdo import check_mapping_write, is_mapping

# services
EMERGENCY = 1
REQUEST = 2
RESPONSE = 3
INFORMATION = 8

_SERVICE = struct.Struct("<H")  # number, service << 12
_SDO = struct.Struct("<BHB")  # command, index, subindex
_SIZE = struct.Struct("<I")
_EMERGENCY = struct.Struct("<HHB5s")

# upper three bits of a request's command
_DOWNLOAD_SEGMENT, _DOWNLOAD, _UPLOAD, _UPLOAD_SEGMENT, _ABORT = range(5)
_COMPLETE = 0x10
_TOGGLE = 0x10
_EXPEDITED = 0x02
_SIZE_GIVEN = 0x01
_LAST = 0x01
_SHORTEST_SEGMENT = 7


def emergency(code: int, register: int, data: bytes) -> bytes:
    """An emergency message.

    Args:
        code: error code, 0 where the error is gone.
        register: error register (0x1001).
        data: of the manufacturer, up to 5 bytes.
    """
    return _EMERGENCY.pack(EMERGENCY << 12, code, register, data[:5])


class SdoServer:
    """Serves one device's dictionary; one transfer at a time, a new one ends the last.

    An upload that needs segments has no data in its first answer: ETG.1000.6 says so, and masters
    differ in whether they would look for some there. A download may have some in its first request,
    or none.

    Args:
        dictionary: of the device.
        length: bytes of the mailbox that the answers go through.
        preop: whether the slave is in PREOP: the mapping can be changed only there.
    """

    def __init__(self, dictionary: Dictionary, length: int, preop: Callable[[], bool]) -> None:
        self._dictionary = dictionary
        self._preop = preop
        self._information = Information(dictionary, length)
        self._room = length - 6 - _SERVICE.size
        self._upload = b""
        self._download: tuple[int, int, bool, int] | None = None  # index, subindex, complete, size
        self._received = b""
        self._toggle = 0

    def serve(self, request: bytes) -> list[bytes]:
        """From a CoE message of the master to the answers."""
        service = _SERVICE.unpack_from(request)[0] >> 12
        if service == INFORMATION:
            return self._information.serve(request)
        if service != REQUEST or len(request) < _SERVICE.size + 8:
            return []
        command, index, subindex = _SDO.unpack_from(request, _SERVICE.size)
        body = request[_SERVICE.size + _SDO.size :]
        try:
            specifier = command >> 5
            if specifier == _UPLOAD:
                return [self._start_upload(command, index, subindex)]
            if specifier == _UPLOAD_SEGMENT:
                return [self._next_upload(command)]
            if specifier == _DOWNLOAD:
                return [self._start_download(command, index, subindex, body)]
            if specifier == _DOWNLOAD_SEGMENT:
                return [self._next_download(command, request[_SERVICE.size + 1 :])]
            if specifier == _ABORT:
                self._end()
                return []
            raise SdoAbort(COMMAND)
        except SdoAbort as abort:
            self._end()
            answer = _SDO.pack(_ABORT << 5, index, subindex) + _SIZE.pack(abort.code)
            return [_SERVICE.pack(REQUEST << 12) + answer]

    def _end(self) -> None:
        self._upload = b""
        self._download = None
        self._received = b""

    def _start_upload(self, command: int, index: int, subindex: int) -> bytes:
        self._end()
        complete = command & _COMPLETE
        read = self._dictionary.read_complete if complete else self._dictionary.read
        data = read(index, subindex)
        head = _UPLOAD << 5 | complete | _SIZE_GIVEN
        if 0 < len(data) <= 4:
            head |= _EXPEDITED | (4 - len(data)) << 2
            return self._response(head, index, subindex, data.ljust(4, b"\x00"))
        if len(data) + _SDO.size + _SIZE.size > self._room:
            self._upload = data
            self._toggle = 0
            data, size = b"", len(data)
        else:
            size = len(data)
        return self._response(head, index, subindex, _SIZE.pack(size) + data)

    def _next_upload(self, command: int) -> bytes:
        if not self._upload:
            raise SdoAbort(COMMAND)
        self._check_toggle(command)
        data = self._upload[: self._room - 1]
        self._upload = self._upload[self._room - 1 :]
        head = (self._toggle ^ _TOGGLE) | (0 if self._upload else _LAST)
        if len(data) < _SHORTEST_SEGMENT:
            head |= (_SHORTEST_SEGMENT - len(data)) << 1
        return (
            _SERVICE.pack(RESPONSE << 12) + bytes((head,)) + data.ljust(_SHORTEST_SEGMENT, b"\x00")
        )

    def _start_download(self, command: int, index: int, subindex: int, body: bytes) -> bytes:
        self._end()
        complete = bool(command & _COMPLETE)
        if command & _EXPEDITED:
            if command & _SIZE_GIVEN:
                data = body[: 4 - (command >> 2 & 3)]
            else:
                data = body[: 4 if complete else self._entry_size(index, subindex)]
            self._write(index, subindex, complete, data)
        else:
            size = _SIZE.unpack_from(body)[0]
            data = body[_SIZE.size :]
            if len(data) >= size:
                self._write(index, subindex, complete, data[:size])
            else:
                most = self._dictionary.complete_size if complete else self._entry_size
                if size > most(index, subindex):
                    raise SdoAbort(TOO_LONG)
                self._download = (index, subindex, complete, size)
                self._received = data
                self._toggle = 0
        return self._response(
            (_UPLOAD_SEGMENT << 5) | (command & _COMPLETE), index, subindex, bytes(4)
        )

    def _next_download(self, command: int, data: bytes) -> bytes:
        if self._download is None:
            raise SdoAbort(COMMAND)
        index, subindex, complete, size = self._download
        self._check_toggle(command)
        if len(data) == _SHORTEST_SEGMENT:
            data = data[: _SHORTEST_SEGMENT - (command >> 1 & 7)]
        self._received += data
        if len(self._received) > size:
            raise SdoAbort(TOO_LONG)
        if command & _LAST:
            if len(self._received) < size:
                raise SdoAbort(TOO_SHORT)
            self._write(index, subindex, complete, self._received)
            self._end()
        head = 0x20 | (self._toggle ^ _TOGGLE)
        return _SERVICE.pack(RESPONSE << 12) + bytes((head,)) + bytes(_SHORTEST_SEGMENT)

    def _entry_size(self, index: int, subindex: int) -> int:
        return self._dictionary.entry(index, subindex).size

    def _check_toggle(self, command: int) -> None:
        if command & _TOGGLE != self._toggle:
            raise SdoAbort(TOGGLE)
        self._toggle ^= _TOGGLE

    def _write(self, index: int, subindex: int, complete: bool, data: bytes) -> None:
        if not complete:
            self._write_one(index, subindex, data)
            return
        count, *rest = self._dictionary.split_complete(index, subindex, data)
        if is_mapping(index):  # empty it, fill it, set its length
            self._write_one(index, 0, b"\x00")
            for part in rest:
                self._write_one(index, *part)
            self._write_one(index, *count)
        else:
            for part in rest:
                self._write_one(index, *part)

    def _write_one(self, index: int, subindex: int, data: bytes) -> None:
        if is_mapping(index):
            self._dictionary.entry(index, subindex)
            check_mapping_write(self._dictionary, index, subindex, data, preop=self._preop())
        self._dictionary.write(index, subindex, data)

    @staticmethod
    def _response(command: int, index: int, subindex: int, data: bytes) -> bytes:
        return _SERVICE.pack(RESPONSE << 12) + _SDO.pack(command, index, subindex) + data
