"""A bus at a CAN interface of Linux, as vcan0: where the kernel has CAN."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable

from .errors import NetworkError
from .frame import Frame

_FRAME = struct.Struct("=IB3x8s")  # struct can_frame of linux/can.h
_EXTENDED = 0x80000000
_ERROR = 0x20000000
_MASK = 0x1FFFFFFF


class InterfaceServer:
    """The motors' end of a CAN interface; :meth:`poll` does what has to be done.

    Args:
        interface: name of the interface; it must be up.
        process: takes a frame from the interface; returns the answers.

    Raises:
        NetworkError: the kernel has no CAN, or there is no such interface; names the commands.
    """

    def __init__(self, interface: str, process: Callable[[Frame], list[Frame]]) -> None:
        self._process = process
        try:
            self._socket = socket.socket(socket.AF_CAN, socket.SOCK_RAW, socket.CAN_RAW)
        except OSError as error:
            raise NetworkError(
                f"the kernel has no CAN ({error}): leave out --vcan, and the bus is served over TCP"
            ) from error
        try:
            self._socket.bind((interface,))
        except OSError as error:
            self._socket.close()
            raise NetworkError(
                f"interface {interface}: {error}; make it: sudo modprobe vcan && sudo ip link add "
                f"{interface} type vcan && sudo ip link set {interface} up"
            ) from error

    def poll(self, timeout: float = 0.0) -> None:
        """Wait for a frame so long [s], and take all that have come."""
        self._socket.settimeout(timeout)
        try:
            while True:
                self.publish(self._process(unpacked(self._socket.recv(_FRAME.size))))
                self._socket.settimeout(0.0)
        except (TimeoutError, BlockingIOError):
            return

    def publish(self, frames: list[Frame], sender: object = None) -> None:
        """Send frames to the interface."""
        for frame in frames:
            self._socket.send(packed(frame))

    def close(self) -> None:
        """Let the interface go."""
        self._socket.close()


def packed(frame: Frame) -> bytes:
    """A frame as the kernel has it."""
    flags = (_EXTENDED if frame.extended else 0) | (_ERROR if frame.error else 0)
    return _FRAME.pack(frame.identifier | flags, len(frame.data), frame.data.ljust(8, b"\0"))


def unpacked(data: bytes) -> Frame:
    """The frame that the kernel's bytes hold."""
    identifier, length, content = _FRAME.unpack(data)
    extended = bool(identifier & _EXTENDED)
    return Frame(identifier & _MASK, content[:length], extended, bool(identifier & _ERROR))
