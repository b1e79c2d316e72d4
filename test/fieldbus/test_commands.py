"""`robot_control ethercat`: what it asks of a bus, prints, and refuses."""

import functools
import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import yaml

import robot_control_ros
from robot_control_ros.cli.main import main
from robot_control_ros.core.errors import ConfigError, HardwareFault
from robot_control_ros.fieldbus.ethercat import bus
from robot_control_ros.fieldbus.ethercat.al_status import PREOP, AlStatus
from robot_control_ros.fieldbus.ethercat.topology import FoundSlave, load_topology
from robot_control_ros.fieldbus.process.pacing import COLUMNS, SIZE, Timing
from robot_control_ros.fieldbus.tools.inspection import describe_unit
from robot_control_ros.fieldbus.tools.jitter import Jitter, TimingRecorder

INTERFACE = "fake0"
NO_OBJECT, READ_ONLY = 0x06020000, 0x06010002
DRIVE = FoundSlave(0xABC, 0x402, alias=3, name="Servo")
COUPLER = FoundSlave(0x2, 0x44C2C52, 0x110000, name="EK1100")
OBJECTS = {
    (0x1000, 0): struct.pack("<I", 0x00020192),
    (0x1008, 0): b"Servo 7\0\0",
    (0x1018, 1): struct.pack("<I", 0xABC),
    (0x1018, 2): struct.pack("<I", 0x402),
    (0x1C12, 0): b"\1",
    (0x1C12, 1): struct.pack("<H", 0x1600),
    (0x1600, 0): b"\2",
    (0x1600, 1): struct.pack("<I", 0x60400010),
    (0x1600, 2): struct.pack("<I", 0x00000008),
    (0x603F, 0): struct.pack("<H", 0x8611),
    (0x6041, 0): struct.pack("<H", 0x0218),
    (0x6064, 0): struct.pack("<i", -1000),
    (0x6076, 0): struct.pack("<I", 750),
    (0x608F, 1): struct.pack("<I", 4096),
    (0x608F, 2): struct.pack("<I", 1),
    (0x60A9, 0): struct.pack("<I", 0xFDB44700),
    (0x6502, 0): struct.pack("<I", 1 << 5 | 1 << 6 | 1 << 7 | 1 << 9 | 1 << 16),
}


class Abort(Exception):
    """As pysoem's SdoError."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.abort_code = code


class FakeMaster:
    """A bus of a drive and a coupler without a mailbox.

    Attributes:
        log: what was asked of it.
    """

    log: ClassVar[list] = []
    found: ClassVar[list[FoundSlave]] = [DRIVE, COUPLER]

    def __init__(self, interface: str) -> None:
        self.interface, self.access = interface, self

    def open(self) -> None:
        self.log.append("open")

    def close(self) -> None:
        self.log.append("close")

    def scan(self) -> list[FoundSlave]:
        self.log.append("scan")
        return self.found

    def listen(self, listener) -> None:
        """Nothing comes."""

    def al_statuses(self) -> list[AlStatus]:
        return [AlStatus(PREOP), AlStatus(PREOP | 0x10, 0x16)][: len(self.found)]

    def read_sdo(self, position: int, index: int, sub_index: int = 0) -> bytes:
        if position == 1:
            self.log.append("no answer")
            raise HardwareFault("slave 1: no answer, 3 times")
        if (index, sub_index) not in OBJECTS:
            self._refuse(NO_OBJECT, "The object does not exist in the object directory")
        return OBJECTS[index, sub_index]

    def write_sdo(self, position: int, write) -> None:
        if write.index == 0x6041:
            self._refuse(READ_ONLY, "Attempt to write to a read only object")
        self.log.append((position, str(write), write.data()))

    def _refuse(self, code: int, words: str) -> None:
        try:
            raise Abort(code)
        except Abort as error:
            raise ConfigError(f"slave 0: abort 0x{code:08X} {words}") from error


@pytest.fixture(autouse=True)
def master(monkeypatch) -> type[FakeMaster]:
    monkeypatch.setattr(bus, "Master", FakeMaster)
    monkeypatch.setattr(FakeMaster, "log", [])
    return FakeMaster


@pytest.fixture
def run(capsys):
    """Run a command; returns exit status, output, and errors."""

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(["ethercat", *arguments])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def on_fake(command: str) -> tuple[str, str, str]:
    return command, "--interface", INTERFACE


# --- scan ---


def test_scan_prints_a_slave_a_line(run, master):
    status, out, _ = run(*on_fake("scan"))
    header, drive, coupler = (line.split() for line in out.splitlines())
    assert status == 0
    assert header[:2] == ["position", "vendor"]
    assert drive == [
        "0",
        "0x00000ABC",
        "0x00000402",
        "0x00000000",
        "3",
        "PRE-OP",
        "cia402",
        "Servo",
    ]
    assert coupler[:5] == ["1", "0x00000002", "0x044C2C52", "0x00110000", "0"]
    assert coupler[-2:] == ["-", "EK1100"]
    assert "PRE-OP with error 0x0016 invalid mailbox configuration (PRE-OP)" in out
    assert (master.log[:2], master.log[-1]) == (["open", "scan"], "close")


@pytest.mark.parametrize(
    ("found", "file"),
    [
        (FoundSlave(0xFB, 0x61500000), "maxon_epos4"),
        (FoundSlave(0x22D2, 0x301), "synapticon_somanet"),
        (FoundSlave(0x22D2, 0x999), "cia402"),
    ],
)
def test_scan_takes_the_vendors_drive_file_before_the_generic_one(
    run, master, monkeypatch, found, file
):
    monkeypatch.setattr(master, "found", [found])
    assert file in run(*on_fake("scan"))[1].splitlines()[1].split()


@pytest.mark.parametrize("options", [(), ("--template",)])
def test_scan_says_that_it_takes_the_bus_to_init(run, options):
    assert "Every slave goes to INIT" in run(*on_fake("scan"), *options)[2]


@pytest.mark.parametrize("command", ["scan", "info", "read", "write"])
def test_help_says_that_the_bus_goes_to_init(command, capsys):
    with pytest.raises(SystemExit):
        main(["ethercat", command, "--help"])
    assert "Every slave goes to INIT" in " ".join(capsys.readouterr().out.split())


def test_scan_tells_how_the_bus_differs_from_a_topology(run):
    status, out, err = run(*on_fake("scan"), "--topology", "planar_two_link")
    assert status == 2
    assert len(out.splitlines()) == 3
    assert "the bus isn't that of" in err
    assert "slave 1 (" in err
    assert "found vendor 0x00000002" in err


def test_the_template_is_a_topology_but_for_what_no_slave_tells(run, tmp_path):
    status, out, _ = run(*on_fake("scan"), "--template")
    drive, coupler = yaml.safe_load(out)["slaves"]
    assert status == 0
    assert drive == {
        **{"joint": "joint_0", "drive": "cia402", "vendor": 0xABC, "product": 0x402, "alias": 3},
        **{"gear_ratio": None, "counts_per_revolution": 4096, "rated_torque": 0.75},
    }
    assert coupler == {"name": "slave_1", "vendor": 0x2, "product": 0x44C2C52, "revision": 0x110000}
    path = tmp_path / "bus.yaml"
    path.write_text(out)
    with pytest.raises(ConfigError, match="gear_ratio = None"):
        load_topology(str(path))
    path.write_text(out.replace("gear_ratio: null", "gear_ratio: 101"))
    load_topology(str(path)).check_bus([DRIVE, COUPLER])


# --- info ---


def test_info_tells_in_words_what_a_drive_says(run):
    status, out, _ = run(*on_fake("info"), "--position", "0")
    assert status == 0
    assert out.splitlines() == [
        "slave 0: vendor 0x00000ABC, product 0x00000402, revision 0x00000000, alias 3 'Servo'",
        "  drive file: cia402 (CiA 402 servo drive)",
        "  device name (0x1008): Servo 7",
        "  identity (0x1018): vendor 0x00000ABC, product 0x00000402",
        "  profile (0x1000): CiA 402",
        "  modes (0x6502): homing (6), interpolated position (7), cyclic synchronous position (8), "
        "cyclic synchronous torque (10), bit 16",
        "  rated torque (0x6076): 750 x 0.001 N·m = 0.75 N·m",
        "  encoder (0x608F): 4096 counts per 1 revolutions of the motor",
        "  velocity unit (0x60A9): 0xFDB44700: 10^-3 revolutions per min",
        "  actual position (0x6064): -1000 counts",
        "  status word (0x6041): 0x0218 fault",
        "  error code (0x603F): 0x8611 following error",
        "  rx (master to slave): PDO 0x1600: 0x6040:0 control word (16 bits), gap (8 bits)",
    ]


def test_info_says_where_eeprom_and_objects_differ(run, master, monkeypatch):
    assert "differs" not in run(*on_fake("info"), "--position", "0")[1]
    monkeypatch.setattr(master, "found", [replace(DRIVE, product=0x403)])
    rows = [line for line in run(*on_fake("info"))[1].splitlines() if "differs" in line]
    assert rows == [
        "  product differs: 0x00000402 in 0x1018, 0x00000403 in the EEPROM, which a topology compares"
    ]


def test_info_of_all_asks_a_slave_without_a_mailbox_only_once(run, master):
    status, out, _ = run(*on_fake("info"))
    assert status == 0
    assert "slave 1: vendor 0x00000002" in out
    assert "no objects: it has no mailbox" in out
    assert master.log.count("no answer") == 1


@pytest.mark.parametrize("position", ["2", "-1"])
def test_a_position_that_is_not_there_is_refused(run, master, position):
    status, _, err = run(*on_fake("info"), "--position", position)
    assert (status, err) == (
        2,
        f"robot_control: position = {position}: must be from 0 to 1: there are 2 slaves\n",
    )
    assert master.log[-1] == "close"


def test_units_that_nobody_knows_are_numbers():
    assert describe_unit(0x00B50300) == "0x00B50300: increments per s"
    assert describe_unit(0x06FF0300) == "0x06FF0300: 10^6 unit 0xFF per s"


# --- read and write ---


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("0x6041",), "0x6041:0 = 536 (0x0218)"),
        (("6041:0",), "0x6041:0 = 536 (0x0218)"),
        (("0x6064:0",), "0x6064:0 = 4294966296 or -1000 (0xFFFFFC18)"),
        (("0x6064", "--type", "i32"), "0x6064:0 = -1000 (0xFFFFFC18)"),
        (("0x6064", "--type", "u32"), "0x6064:0 = 4294966296 (0xFFFFFC18)"),
        (("0x1008",), "0x1008:0 = 'Servo 7' (53 65 72 76 6f 20 37 00 00)"),
        (("0x1C12:1", "--type", "string"), "0x1C12:1 = '\\x00\\x16' (00 16)"),
    ],
)
def test_read_prints_decimal_and_hexadecimal(run, arguments, said):
    assert run(*on_fake("read"), "--position", "0", *arguments) == (0, said + "\n", "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("0x2000",), "abort 0x06020000 The object does not exist in the object directory"),
        (("0x6041", "--type", "i32"), "--type i32 has 4 bytes: the object has 2 (18 02)"),
        (
            ("0x6041", "--type", "f32"),
            "--type = 'f32': must be one of: i8, u8, i16, u16, i32, u32, string",
        ),
        (("status",), "object 'status': must be INDEX or INDEX:SUB, such as 0x6041:0"),
        (("0x6041:256",), "object '0x6041:256': must be from 0x0001:0 to 0xFFFF:255"),
        (("0x16041",), "object '0x16041': must be"),
    ],
)
def test_what_can_not_be_read_is_said_in_one_line(run, arguments, words):
    status, out, err = run(*on_fake("read"), "--position", "0", *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert words in err


@pytest.mark.parametrize(
    ("value", "kind", "data"),
    [("-2", "i16", b"\xfe\xff"), ("0x10", "u8", b"\x10"), ("70000", "u32", b"\x70\x11\1\0")],
)
def test_write_sends_a_value_of_its_type(run, master, value, kind, data):
    status, out, _ = run(*on_fake("write"), "--position", "0", "0x605A", "--type", kind, value)
    assert status == 0
    assert master.log[2:-1] == [(0, f"0x605A:0 = {int(value, 0)} ({kind})", data)]
    assert out.startswith(f"written: 0x605A:0 = {int(value, 0)} ({kind})")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("0x605A", "--type", "i8", "128"),
            "value of i8 = 128: must be a whole number from -128 to 127",
        ),
        (
            ("0x605A", "--type", "u8", "-1"),
            "value of u8 = -1: must be a whole number from 0 to 255",
        ),
        (("0x605A", "--type", "string", "1"), "must be one of: i8, u8, i16, u16, i32, u32"),
        (
            ("0x6041", "--type", "u16", "1"),
            "abort 0x06010002 Attempt to write to a read only object",
        ),
    ],
)
def test_what_can_not_be_written_is_said_in_one_line(run, master, arguments, words):
    status, out, err = run(*on_fake("write"), "--position", "0", *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert words in err
    assert not any(isinstance(entry, tuple) for entry in master.log)


# --- icube, emulate ---


def test_icube_writes_the_files_that_the_package_brings(run, tmp_path):
    status, out, _ = run("icube", "--robot", "ur5", "--output", str(tmp_path / "made"))
    assert status == 0
    assert sorted(out.splitlines()) == sorted(str(path) for path in (tmp_path / "made").iterdir())
    brought = Path(robot_control_ros.__file__).parents[1] / "config/ros2_control/ethercat/ur5"
    for path in (tmp_path / "made").iterdir():
        assert path.read_text() == (brought / path.name).read_text(), path.name


def test_emulate_takes_the_emulators_options(run, capsys):
    assert run("emulate", "--robot", "planar_two_link", "--interface", "nowhere0")[0] == 2
    with pytest.raises(SystemExit):
        main(["ethercat", "emulate", "--help"])
    assert "--faults SOCKET" in capsys.readouterr().out


# --- jitter ---


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "one of --interface INTERFACE and --emulate is needed"),
        (("--interface", "lo", "--emulate"), "and not both"),
        (
            ("--interface", "lo", "--law", "impedance"),
            "--law impedance enables the drives, and the arm may move",
        ),
        (("--interface", "lo", "--robot", "gen3"), "unknown profile 'ethercat'"),
    ],
)
def test_jitter_refuses_what_is_not_clear_or_moves_an_arm_unasked(run, arguments, words):
    status, _, err = run("jitter", *arguments)
    assert status == 2
    assert words in err


def test_samples_are_of_all_cycles_although_the_ring_is_short():
    timing = Timing()
    add = functools.partial(timing.add_cycle, 0.0)
    for _ in range(100):
        add(9.0, 9.0, 9.0, 1.0)
    samples = TimingRecorder(timing)
    for n in range(3 * SIZE):
        add(n * 1.0, n * 2.0, n * 3.0, 1.0)
        if n % 5000 == 4999:
            samples.collect()
    samples.collect()
    n = np.arange(3.0 * SIZE)
    np.testing.assert_array_equal(samples.all(), [n, n, n, 3 * n])


def test_cycles_that_nobody_looked_at_in_time_are_counted():
    timing = Timing()
    samples = TimingRecorder(timing)
    for n in range(SIZE + 3):
        timing.add_cycle(0.0, 0.0, 0.0, float(n), 1.0)
    samples.collect()
    assert samples.unrecorded == 3
    np.testing.assert_array_equal(samples.all()[-1], np.arange(3.0, SIZE + 3.0))


def made(**given) -> Jitter:
    """1000 cycles, of which the last took 2 ms; one was missed."""
    samples = np.tile(np.linspace(1e-4, 9e-4, 1000), (len(COLUMNS), 1))
    samples[-1, -1] = 2e-3
    return Jitter(
        0.001, samples, missed=1, lost_frames=2, bad_counters=3, late_frames=4, priority=0, **given
    )


def test_missed_cycles_are_not_on_time():
    assert made().on_time == 999 / 1001


def test_percentiles_are_those_of_the_samples():
    wake_up, whole = (made().percentiles()[name] for name in (COLUMNS[0], COLUMNS[-1]))
    np.testing.assert_allclose(
        wake_up, np.array([500.0, 820.0, 892.0, 899.2, 900.0]) * 1e-6, rtol=1e-5
    )
    assert whole[-1] == pytest.approx(2e-3)


def test_jitter_prints_and_writes_what_was_measured(run, monkeypatch, tmp_path):
    (tmp_path / "new").mkdir()
    monkeypatch.setattr(
        "robot_control_ros.fieldbus.tools.jitter.measure",
        lambda *_, **__: made(warnings=("memory isn't locked",)),
    )
    files = ("--plot", str(tmp_path / "new" / "a.png"), "--json", str(tmp_path / "a.json"))
    status, out, _ = run("jitter", "--interface", "lo", "--seconds", "1", *files)
    lines = out.splitlines()
    assert status == 0
    assert lines[0] == "ur5 on lo, 1000 Hz for 1 s; no law, drives disabled"
    assert lines[1:3] == ["  scheduling: ordinary", "  memory isn't locked"]
    assert lines[3].split() == ["[µs]", "p50", "p90", "p99", "p99.9", "max"]
    assert lines[4].split() == ["wake-up", "500", "820", "892", "899", "900"]
    assert "on time: 99.800 % of 1001 cycles; missed: 1" in lines
    assert "lost frames: 2; bad working counters: 3; late frames: 4" in lines
    assert (tmp_path / "new" / "a.png").read_bytes().startswith(b"\x89PNG")
    written = json.loads((tmp_path / "a.json").read_text())
    assert written["times"]["whole cycle"]["max"] == pytest.approx(2e-3)
    assert (written["missed"], written["seconds"], written["emulated"]) == (1, 1.0, False)


def test_drives_that_were_stopped_end_in_exit_status_1(run, monkeypatch):
    monkeypatch.setattr(
        "robot_control_ros.fieldbus.tools.jitter.measure",
        lambda *_, **__: made(trouble="stopped: link down"),
    )
    status, out, _ = run("jitter", "--interface", "lo")
    assert status == 1
    assert "trouble: stopped: link down" in out
