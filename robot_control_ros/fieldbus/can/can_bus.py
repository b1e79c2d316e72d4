"""A CAN bus through python-can: opened with its checks, frames out and in."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ...core.errors import ConfigError, HardwareFault, missing_extra, refused
from .frames import CanFrame

SERVER = "socketcand://"  # what the address of a server begins with
_CAN_HARDWARE = 280  # ARPHRD_CAN of linux/if_arp.h
_IP_TIMEOUT = 2.0  # s for the command ip
# classes of error frames, of linux/can/error.h
_BUS_OFF = 0x40
_NO_ACKNOWLEDGE = 0x20
_CONTROLLER = 0x04
_RESTARTED = 0x100
_PASSIVE = 0x30  # of the second byte of a controller's problem


class Channel(NamedTuple):
    """Place of a bus: an interface of this machine, or one that a server offers.

    Attributes:
        name: Name of the interface.
        host, port: Address of the server; empty and 0 for this machine.
    """

    name: str
    host: str = ""
    port: int = 0


def read_address(address: str) -> Channel:
    """The channel of an address: ``can0``, or ``socketcand://HOST:PORT/can0``.

    A ConfigError refuses any other text.
    """
    if not address.startswith(SERVER):
        if not address or "/" in address or len(address) > 15:
            rule = "must be a CAN interface as can0, or socketcand://HOST:PORT/can0"
            raise refused("channel", address, rule)
        return Channel(address)
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
        port = parts.port or 0
    except ValueError as error:
        raise ConfigError(f"channel {address!r}: {error}", name="channel", value=address) from error
    name = parts.path.strip("/")
    if not (host and port and name):
        rule = "must be socketcand://HOST:PORT/INTERFACE, as socketcand://127.0.0.1:29536/can0"
        raise refused("channel", address, rule)
    return Channel(name, host, port)


class CanBus:
    """Frames to and from a bus.

    Attributes:
        trouble: What the controller says is wrong with the bus; empty where nothing is.
        warnings: What couldn't be checked.
    """

    def __init__(self) -> None:
        self.trouble = ""
        self.warnings: list[str] = []
        self._channel = Channel("")
        self._bit_rate = 0.0
        self._can: Any = None
        self._bus: Any = None

    def open(self, address: str, bit_rate: float) -> None:
        """Connect to a bus.

        Args:
            address: Address, see :func:`read_address`.
            bit_rate: Bit rate of the motors [bit/s].

        Raises:
            ConfigError: python-can isn't installed; no such interface, it is down, or has another
                bit rate; names the command that mends it.
            HardwareFault: the interface or the server doesn't let us in.
        """
        self._can = _import_can()
        self._channel = read_address(address)
        self._bit_rate = bit_rate
        if self._channel.host:
            self._open_server()
        else:
            self.warnings += check_interface(self._channel.name, bit_rate)
            self._open_interface()

    def _open_interface(self) -> None:
        name = self._channel.name
        try:
            self._bus = self._can.Bus(interface="socketcan", channel=name)
        except PermissionError as error:
            raise HardwareFault(
                f"no permission to use {name}: {error}; run as a user who may (sudo), or give the "
                "right CAP_NET_RAW: sudo setcap cap_net_raw+ep PYTHON",
                name="channel",
                value=name,
            ) from error
        except (OSError, self._can.CanError) as error:
            raise HardwareFault(f"{name}: {error}", name="channel", value=name) from error

    def _open_server(self) -> None:
        name, host, port = self._channel
        try:  # the library tries for ten seconds where nobody listens
            _probe(host, port)
            self._bus = self._can.Bus(
                interface="socketcand", channel=name, host=host, port=port, tcp_tune=True
            )
        except (OSError, self._can.CanError) as error:
            raise HardwareFault(
                f"no socketcand server lets us in at {host}:{port} with {name}: {error}; start one: "
                f"robot_control can emulate --port {port}, or socketcand -p {port} -i {name}",
                name="channel",
                value=f"{host}:{port}",
            ) from error

    def send(self, frames: list[CanFrame]) -> None:
        """Send frames; what goes wrong becomes `trouble`."""
        message = self._can.Message
        try:
            for frame in frames:
                self._bus.send(
                    message(
                        arbitration_id=frame.identifier,
                        data=frame.data,
                        is_extended_id=frame.extended,
                    )
                )
        except (OSError, self._can.CanError) as error:
            self.trouble = self._send_trouble(error)

    def _send_trouble(self, error: Exception) -> str:
        name = self._channel.name
        code = getattr(error, "error_code", None) or getattr(error, "errno", None)
        if code == 105:  # ENOBUFS: nobody acknowledges, so frames pile up
            return (
                f"{name}: frames don't leave (no buffer space): no motor acknowledges them; power, "
                "cable, 120 Ω at both ends, or another bit rate"
            )
        return f"{name}: can't send: {error}"

    def receive(self) -> list[CanFrame]:
        """Frames that have come since the last call; error frames become `trouble`."""
        self.trouble = ""
        frames: list[CanFrame] = []
        try:
            while (message := self._bus.recv(0.0)) is not None:
                if message.is_error_frame:
                    self.trouble = describe_error(
                        self._channel.name, message.arbitration_id, bytes(message.data)
                    )
                else:
                    frames.append(
                        CanFrame(
                            message.arbitration_id, bytes(message.data), message.is_extended_id
                        )
                    )
        except (OSError, self._can.CanError) as error:
            self.trouble = f"{self._channel.name}: {error}"
        return frames

    def wait(self, timeout: float) -> CanFrame | None:
        """The next frame; None where none comes in time [s]. Errors become `trouble`."""
        until = time.monotonic() + timeout
        while (left := until - time.monotonic()) > 0.0:
            try:
                message = self._bus.recv(left)
            except (OSError, self._can.CanError) as error:
                self.trouble = f"{self._channel.name}: {error}"
                return None
            if message is not None and message.is_error_frame:
                self.trouble = describe_error(
                    self._channel.name, message.arbitration_id, bytes(message.data)
                )
            elif message is not None:
                data = bytes(message.data)
                return CanFrame(message.arbitration_id, data, message.is_extended_id)
        return None

    def close(self) -> None:
        """Let the bus go."""
        if self._bus is not None:
            self._bus.shutdown()
            self._bus = None


def check_interface(name: str, bit_rate: float, root: Path = Path("/sys/class/net")) -> list[str]:
    """Refuse an interface that isn't fit; returns what couldn't be checked.

    Args:
        name: Name of the interface.
        bit_rate: Bit rate that it must have [bit/s].
        root: Folder of the interfaces.

    Raises:
        ConfigError: it isn't there, is no CAN interface, is down, or has another bit rate; names
            the command that mends it.
    """
    folder = root / name
    up = f"sudo ip link set {name} up type can bitrate {bit_rate:.0f}"
    if not folder.exists():
        known = [path.name for path in root.glob("*") if _hardware(path) == _CAN_HARDWARE]
        there = f"; CAN interfaces: {', '.join(sorted(known)) or 'none'}"
        raise refused(
            "channel",
            name,
            f"no such interface{there}. Plug the adapter in, and type: {up}; without one: "
            "robot_control can emulate, and the channel that it prints",
            tuple(sorted(known)),
        )
    if _hardware(folder) != _CAN_HARDWARE:
        raise refused("channel", name, "is no CAN interface; `ip link` lists them")
    if not int((folder / "flags").read_text(), 16) & 1:
        raise refused("channel", name, f"is down; type: {up}")
    program = shutil.which("ip")
    if program is None:
        return [f"{name}: its bit rate isn't checked, because the command ip is missing (iproute2)"]
    answer = subprocess.run(
        [program, "-details", "-json", "link", "show", name],
        capture_output=True,
        text=True,
        timeout=_IP_TIMEOUT,
        check=False,
    )
    return check_bit_rate(name, bit_rate, answer.stdout)


def check_bit_rate(name: str, bit_rate: float, description: str) -> list[str]:
    """Refuse another bit rate than the motors' in what ``ip -details -json link`` says; returns
    what couldn't be checked.
    """
    try:
        info = json.loads(description)[0].get("linkinfo", {})
        if info.get("info_kind") == "vcan":
            return []
        rate = info["info_data"]["bittiming"]["bitrate"]
    except (ValueError, LookupError, TypeError, AttributeError):
        return [f"{name}: its bit rate isn't checked, because the command ip doesn't tell it"]
    if rate != round(bit_rate):
        raise refused(
            "bit_rate",
            rate,
            f"the motors' is {bit_rate:.0f}; type: sudo ip link set {name} down && "
            f"sudo ip link set {name} up type can bitrate {bit_rate:.0f}",
            round(bit_rate),
            where=f"{name}: ",
            unit="bit/s",
        )
    return []


def describe_error(name: str, kind: int, data: bytes) -> str:
    """Text about an error frame, for people; empty where it says that all is well again."""
    if kind & _BUS_OFF:
        return (
            f"{name}: bus-off: the adapter has left the bus after too many errors; check cable and "
            f"bit rate, then type: sudo ip link set {name} down && sudo ip link set {name} up "
            "(or once: sudo ip link set "
            f"{name} type can restart-ms 100)"
        )
    if kind & _NO_ACKNOWLEDGE:
        return f"{name}: nobody acknowledges frames: power, cable, 120 Ω at both ends, or bit rate"
    if kind & _CONTROLLER and len(data) > 1 and data[1] & _PASSIVE:
        return f"{name}: error passive: many frames are wrong; cable, 120 Ω at both ends, bit rate"
    if kind & _RESTARTED:
        return ""
    return f"{name}: error frame {kind:#x} {data.hex()}"


def _hardware(folder: Path) -> int:
    try:
        return int((folder / "type").read_text())
    except (OSError, ValueError):
        return 0


def _probe(host: str, port: int) -> None:
    import socket

    socket.create_connection((host, port), timeout=1.0).close()


def _import_can() -> Any:
    os.environ.setdefault("CAN_LOG_LEVEL", "ERROR")
    try:
        import can
    except ImportError as error:
        raise missing_extra("a CAN bus", "python-can", "can") from error
    return can
