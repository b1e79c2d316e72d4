"""A CAN bus: its address, and an interface that isn't fit, told with the command that mends it."""

import json
import socket

import pytest

from robot_control_ros.core.errors import ConfigError, HardwareFault
from robot_control_ros.fieldbus.can.can_bus import (
    CanBus,
    Channel,
    check_bit_rate,
    check_interface,
    describe_error,
    read_address,
)

RATE = 1e6


def link(rate=1000000, kind="can"):
    """What `ip -details -json link show` says of an interface."""
    info = {"info_kind": kind}
    if rate is not None:
        info["info_data"] = {"state": "ERROR-ACTIVE", "bittiming": {"bitrate": rate}}
    return json.dumps([{"ifname": "can0", "linkinfo": info}])


def interfaces(folder, kind=280, flags="0x1043"):
    (folder / "can0").mkdir()
    (folder / "can0" / "type").write_text(f"{kind}\n")
    (folder / "can0" / "flags").write_text(f"{flags}\n")
    return folder


@pytest.mark.parametrize(
    ("address", "channel"),
    [
        ("can0", Channel("can0")),
        ("socketcand://127.0.0.1:29536/can0", Channel("can0", "127.0.0.1", 29536)),
        ("socketcand://arm.local:1/vcan1", Channel("vcan1", "arm.local", 1)),
    ],
)
def test_an_address_is_an_interface_or_a_server_s(address, channel):
    assert read_address(address) == channel


@pytest.mark.parametrize(
    "address",
    [
        "",
        "a/b",
        "an_interface_with_a_long_name",
        "socketcand://127.0.0.1/can0",
        "socketcand://:1/can0",
        "socketcand://127.0.0.1:1",
        "socketcand://127.0.0.1:99999/can0",
    ],
)
def test_another_address_is_refused(address):
    with pytest.raises(ConfigError) as refusal:
        read_address(address)
    assert refusal.value.name == "channel"
    assert refusal.value.value == address


def test_an_interface_that_isn_t_there_is_told_with_those_that_are(tmp_path):
    with pytest.raises(ConfigError) as refusal:
        check_interface("can7", RATE, interfaces(tmp_path))
    assert refusal.value.bound == ("can0",)
    assert "sudo ip link set can7 up type can bitrate 1000000" in str(refusal.value)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ({"kind": 1}, "is no CAN interface"),
        ({"flags": "0x1002"}, "sudo ip link set can0 up type can bitrate 1000000"),
    ],
)
def test_an_interface_that_can_t_be_used_is_refused_with_the_way_out(tmp_path, made, words):
    with pytest.raises(ConfigError) as refusal:
        check_interface("can0", RATE, interfaces(tmp_path, **made))
    assert (refusal.value.name, refusal.value.value) == ("channel", "can0")
    assert words in str(refusal.value)


def test_a_foreign_bit_rate_is_refused_with_the_command():
    with pytest.raises(ConfigError) as refusal:
        check_bit_rate("can0", RATE, link(500000))
    error = refusal.value
    assert (error.name, error.value, error.bound) == ("bit_rate", 500000, 1000000)
    assert "sudo ip link set can0 up type can bitrate 1000000" in str(error)


@pytest.mark.parametrize(
    ("description", "warnings"),
    [(link(), 0), (link(None, "vcan"), 0), ("", 1), ("[]", 1), (link(None), 1)],
)
def test_what_can_t_be_checked_is_a_warning(description, warnings):
    assert len(check_bit_rate("can0", RATE, description)) == warnings


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        (0x40, b"", "sudo ip link set can0 down"),
        (0x20, b"", "nobody acknowledges"),
        (0x04, bytes([0, 0x20]), "error passive"),
        (0x04, bytes([0, 0x04]), "error frame 0x4"),
    ],
)
def test_an_error_frame_is_told(kind, data, words):
    assert words in describe_error("can0", kind, data)


def test_a_controller_that_is_back_is_no_trouble():
    assert describe_error("can0", 0x100, b"") == ""


def test_a_server_that_isn_t_there_is_told_at_once_with_the_command():
    pytest.importorskip("can", reason="pip install '.[can]'")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # it doesn't listen
        port = taken.getsockname()[1]
        with pytest.raises(HardwareFault) as fault:
            CanBus().open(f"socketcand://127.0.0.1:{port}/can0", RATE)
    assert fault.value.value == f"127.0.0.1:{port}"
    assert "robot_control can emulate" in str(fault.value)
