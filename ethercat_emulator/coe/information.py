"""CoE's information service: which objects a device has, and what they are.

Source: ETG.1000.6, SDO information.
"""

from __future__ import annotations

import struct

from .dictionary import (
    COMMAND,
    NO_OBJECT,
    NO_SUBINDEX,
    OUT_OF_RANGE,
    Dictionary,
    Entry,
    Object,
    SdoAbort,
    key,
)

_SERVICE = 8 << 12
_HEADER = struct.Struct("<HBBH")  # service, operation, reserved, fragments left
# requests; answers are one more
_LIST = 1
_OBJECT = 3
_ENTRY = 5
_ERROR = 7
_INCOMPLETE = 0x80
_NUMBERS, _ALL, _RX, _TX = range(4)  # lists; those of backups and settings are empty
_LISTS = 6

# in PREOP, SAFEOP and OP
_READABLE = 0x0007
_WRITABLE = 0x0038
_RX_MAPPABLE = 0x0040
_TX_MAPPABLE = 0x0080


class Information:
    """Answers questions about a dictionary.

    Args:
        dictionary: of the device.
        length: bytes of the mailbox that the answers go through.
    """

    def __init__(self, dictionary: Dictionary, length: int) -> None:
        self._dictionary = dictionary
        self._room = length - 6 - _HEADER.size

    def serve(self, request: bytes) -> list[bytes]:
        """From a CoE message of the master to the answers, in as many fragments as they need."""
        operation = request[2] & 0x7F if len(request) > 2 else 0
        try:
            data = self._answer(operation, request[_HEADER.size :])
        except SdoAbort as abort:
            return [_HEADER.pack(_SERVICE, _ERROR, 0, 0) + struct.pack("<I", abort.code)]
        parts = [data[at : at + self._room] for at in range(0, len(data), self._room)]
        answers = []
        for number, part in enumerate(parts):
            left = len(parts) - 1 - number
            answers.append(
                _HEADER.pack(_SERVICE, operation + 1 | (_INCOMPLETE if left else 0), 0, left) + part
            )
        return answers

    def _answer(self, operation: int, data: bytes) -> bytes:
        if operation == _LIST and len(data) >= 2:
            return self._list(struct.unpack_from("<H", data)[0])
        if operation == _OBJECT and len(data) >= 2:
            return self._describe(self._object(struct.unpack_from("<H", data)[0]))
        if operation == _ENTRY and len(data) >= 3:
            index, subindex = struct.unpack_from("<HB", data)
            return self._describe_entry(index, subindex)
        raise SdoAbort(COMMAND)

    def _list(self, kind: int) -> bytes:
        if kind >= _LISTS:
            raise SdoAbort(OUT_OF_RANGE)
        lists: list[list[int]] = [[] for _ in range(_LISTS)]
        for index, item in self._dictionary.objects.items():
            lists[_ALL].append(index)
            mapped = {entry.mapped for entry in item.entries}
            if "rx" in mapped:
                lists[_RX].append(index)
            if "tx" in mapped:
                lists[_TX].append(index)
        chosen = [len(found) for found in lists[1:]] if kind == _NUMBERS else lists[kind]
        return struct.pack(f"<{len(chosen) + 1}H", kind, *chosen)

    def _object(self, index: int) -> Object:
        if index not in self._dictionary.objects:
            raise SdoAbort(NO_OBJECT)
        return self._dictionary.objects[index]

    def _describe(self, item: Object) -> bytes:
        last = item.entries[-1]
        return (
            struct.pack("<HHBB", item.index, last.type.number, last.subindex, item.code)
            + item.name.encode()
        )

    def _describe_entry(self, index: int, subindex: int) -> bytes:
        self._object(index)
        entry = self._dictionary.entries.get(key(index, subindex))
        if entry is None:
            raise SdoAbort(NO_SUBINDEX)
        head = struct.pack(
            "<HBBHHH", index, subindex, 0, entry.type.number, entry.bits, _access(entry)
        )
        return head + entry.name.encode()


def _access(entry: Entry) -> int:
    mapped = {"rx": _RX_MAPPABLE, "tx": _TX_MAPPABLE}.get(entry.mapped, 0)
    return (_READABLE if entry.readable else 0) | (_WRITABLE if entry.writable else 0) | mapped
