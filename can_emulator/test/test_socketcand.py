"""The server speaks socketcand's protocol, as its document says."""

import socket

import pytest

from can_emulator import DM4310, Bus, DamiaoMotor, Frame, Load, NetworkError, Rotors
from can_emulator.interface import packed, unpacked
from can_emulator.program import main, motor_of
from can_emulator.socketcand import SocketcandServer, frame_of, text_of

ENABLE = "< send 001 8 ff ff ff ff ff ff ff fc >"


class Session:
    """A client in the same thread: the server is polled between what it says and hears."""

    def __init__(self, server):
        self.server = server
        self.socket = socket.create_connection(("127.0.0.1", server.port))
        self.socket.settimeout(1.0)
        server.poll(0.1)

    def hear(self):
        return self.socket.recv(4096).decode("ascii")

    def say(self, text):
        self.socket.sendall(text.encode("ascii"))
        self.server.poll(0.1)
        return self


@pytest.fixture
def server():
    bus = Bus([DamiaoMotor(1, 0x11, DM4310)], Rotors([Load()]))
    server = SocketcandServer("can0", lambda frame: bus.process(frame, 0.0), port=0)
    yield server
    server.close()


@pytest.fixture
def raw(server):
    session = Session(server)
    assert session.hear() == "< hi >"
    assert session.say("< open can0 >").hear() == "< ok >"
    assert session.say("< rawmode >").hear() == "< ok >"
    return session


def test_a_frame_is_answered_by_the_motor(raw):
    answer = raw.say(ENABLE).hear()
    assert answer.startswith("< frame 011 ")
    assert answer.endswith(" >")
    assert answer.split()[4].startswith("11")  # enabled, motor 1


def test_echo_and_modes(raw):
    assert raw.say("< echo >").hear() == "< echo >"
    assert raw.say("< bcmmode >").hear() == "< ok >"
    raw.say("< subscribe 0 0 11 >")
    assert raw.say(ENABLE).hear().startswith("< frame 011 ")
    raw.say("< unsubscribe 11 >").say(ENABLE)
    assert raw.say("< echo >").hear() == "< echo >"


def test_commands_may_come_in_pieces_and_together(raw):
    raw.say("< send 001 8 ff ff ff ff").say(" ff ff ff fc >< echo >")
    heard = raw.hear()
    while "echo" not in heard:
        heard += raw.hear()
    assert heard.startswith("< frame 011 ")
    assert heard.endswith("< echo >")


def test_another_client_hears_frames_and_answers(raw, server):
    other = Session(server)
    other.hear()
    other.say("< open can0 >").hear()
    other.say("< rawmode >").hear()
    raw.say(ENABLE)
    heard = other.hear()
    assert heard.startswith("< frame 001 ")
    assert "< frame 011 " in heard


@pytest.mark.parametrize("command", ["< open can7 >", "< rawmode >"])
def test_another_bus_is_refused_and_the_connection_ended(server, command):
    session = Session(server)
    session.hear()
    assert session.say(command).hear().startswith("< error ")
    assert session.hear() == ""


@pytest.mark.parametrize(
    "command", ["< send 001 8 ff >", "< send 800 0 >", "< send x 0 >", "< send 001 9 >", "< send >"]
)
def test_a_frame_that_can_has_not_is_refused(raw, command):
    assert raw.say(command).hear() == "< error syntax error >"


def test_an_unknown_command_is_refused(raw):
    assert raw.say("< isotpmode >").hear() == "< error unknown command >"
    assert raw.say("< >").hear() == "< error unknown command >"


def test_a_client_that_sends_without_end_is_dropped(raw):
    raw.socket.sendall(b"<" * 9000)
    for _ in range(4):
        raw.server.poll(0.1)
    with pytest.raises(ConnectionResetError):  # with what it didn't read
        raw.hear()


@pytest.mark.parametrize(
    ("text", "frame"),
    [
        ("123 0", Frame(0x123, b"")),
        ("1AAAAAAA 2 1 f1", Frame(0x1AAAAAAA, b"\x01\xf1", True)),
        ("123 4 42 42 42 42", Frame(0x123, b"BBBB")),
    ],
)
def test_frames_are_written_as_the_document_says(text, frame):
    assert frame_of(text.split()) == frame
    assert unpacked(packed(frame)) == frame


def test_frames_are_sent_as_the_document_says():
    shown = text_of(Frame(0x123, bytes.fromhex("1a220344")), 23.424242)
    assert shown == "< frame 123 23.424242 1A220344 >"
    assert text_of(Frame(0x40, b"", error=True), 1.0) == "< error 040 1.000000 >"
    assert text_of(Frame(0x123, b"", extended=True), 1.0).startswith("< frame 00000123 ")


def test_a_port_that_is_taken_is_refused(server):
    with pytest.raises(NetworkError, match="--port"):
        SocketcandServer("can0", lambda frame: [], port=server.port)


# --- the command ---


def test_a_motor_is_written_as_model_and_identities():
    motor = motor_of("DM4310:0x05:0x15")
    assert (motor.motor, motor.reply, motor.model) == (5, 0x15, DM4310)


@pytest.mark.parametrize("text", ["DM1:1:2", "DM4310:1", "DM4310:a:b"])
def test_a_wrong_motor_is_refused_in_one_line(text, capsys):
    with pytest.raises(SystemExit):
        main(["--motor", text])
    assert "--motor" in capsys.readouterr().err


def test_help_names_every_option(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    for option in ("--motor", "--interface", "--port", "--vcan", "--faults", "--inject"):
        assert option in shown


def test_a_taken_port_ends_the_command_in_one_line(server, capsys):
    assert main(["--motor", "DM4310:1:0x11", "--port", str(server.port)]) == 1
    assert capsys.readouterr().err.startswith("can-emulator: port ")
