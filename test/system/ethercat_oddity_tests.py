"""Slaves that do what foreign ones did; `python ethercat_oddity_tests.py` runs the tests in
a network namespace.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

if __name__ == "__main__":
    from ethercat_emulator.network.veth import enter_namespace, make_pair

    enter_namespace()
    make_pair()
    without = [
        word for plugin in ("cacheprovider", "xdist", "randomly") for word in ("-p", f"no:{plugin}")
    ]
    sys.exit(pytest.main(["-q", *without, *sys.argv[1:], __file__]))

from ethercat_emulator import (
    Bus,
    Identity,
    Line,
    Load,
    Machine,
    Rotors,
    Slave,
    drive_slave,
    terminal,
)
from ethercat_emulator.coe.dictionary import Dictionary
from ethercat_emulator.esc.sii import OUTPUTS, PdoEntry
from ethercat_emulator.esc.watchdog import Watchdog
from ethercat_emulator.network.packet_socket import run
from ethercat_emulator.network.veth import MASTER, SLAVES
from robot_control_ros.cli.main import main
from robot_control_ros.core.errors import ConfigError, HardwareFault
from robot_control_ros.fieldbus.ethercat.bus import Master
from robot_control_ros.fieldbus.ethercat.drives import SdoWrite
from robot_control_ros.fieldbus.ethercat.ethercat_driver import ethercat_settings
from robot_control_ros.fieldbus.ethercat.ethercat_plant import EthercatPlant
from robot_control_ros.fieldbus.ethercat.network import check_free
from robot_control_ros.fieldbus.ethercat.topology import load_topology
from robot_control_ros.fieldbus.process.client import BusClient
from robot_control_ros.fieldbus.process.pacing import EMULATED_BUS_TIMEOUTS
from robot_control_ros.fieldbus.process.protocol import memory_path

JOINTS = ("joint_1", "joint_2")
VENDOR, PRODUCT = 0xABC, 0x402
VOLTAGE, EXPECTED_COUNTER = 0x3220, 6
TOPOLOGY = """
cycle: 0.002
watchdog: {watchdog}
slaves:
  - &joint
    joint: joint_1
    drive: {drive}
    vendor: 0xABC
    product: 0x402
    gear_ratio: 100
    counts_per_revolution: 4096
    rated_torque: 1.0
  - {{ <<: *joint, joint: joint_2 }}
"""


def drives():
    """Two drives as the topology has them, each as (slave, drive)."""
    return [
        drive_slave(identity=Identity(VENDOR, PRODUCT, serial=n + 1), name=f"Drive {n}")
        for n in range(2)
    ]


def remade(pair, *, dictionary=None, **sii):
    """A slave with another EEPROM or dictionary before the same drive."""
    slave, drive = pair
    return Slave(
        replace(slave.sii, **sii), dictionary or slave.dictionary, drive, clock_start=0
    ), drive


@contextlib.contextmanager
def served(pairs, *others, priority=0, late=0, delay=0):
    """The bus in another process, at the far end of the pair. `late` frames come
    back after `delay` ns.
    """
    slaves = [slave for slave, _ in pairs]
    bus = Bus(
        [*slaves, *others],
        Machine([drive for _, drive in pairs], Rotors([Load(inertia=0.1)] * len(pairs))),
    )
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(PermissionError):
            os.nice(-15)
            if priority:  # it would be taken away where a master asks without a pause
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        first = iter([b"."])
        line = Line(bus)
        line.late, line.delay = late, delay
        run(line, SLAVES, threading.Event(), lambda: [os.write(told, each) for each in first])
        os._exit(1)
    os.read(ready, 1)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(ready)
        os.close(told)


@pytest.fixture
def topology(tmp_path):
    def made(drive="cia402", watchdog="0.2", more=""):
        path = tmp_path / "bus.yaml"
        path.write_text(more + TOPOLOGY.format(drive=drive, watchdog=watchdog))
        return load_topology(str(path))

    return made


@contextlib.contextmanager
def opened(*slaves):
    """A master that has scanned the bus; yields it and what it found."""
    master = Master(MASTER)
    master.open()
    try:
        yield master, master.scan()
    finally:
        master.close()


@contextlib.contextmanager
def prepared(topology):
    """A master that has configured the bus."""
    master = Master(MASTER)
    master.open()
    try:
        master.configure(topology)
        yield master
    finally:
        master.close()


def said(capsys, *command):
    """Exit status, output and errors of a command."""
    status = main(["ethercat", command[0], "--interface", MASTER, *command[1:]])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


# --- emergencies ---


@pytest.fixture
def emergency():
    pairs = drives()
    for number, (slave, _) in enumerate(pairs):
        slave.at_preop = [(VOLTAGE + number, 0x04), (0x7305, 0x20)]
    with served(pairs):
        yield


@pytest.mark.parametrize(
    "command",
    [
        ("scan",),
        ("scan", "--template"),
        ("info",),
        ("read", "--position", "1", "0x6041"),
        ("write", "--position", "1", "0x6065", "--type", "u32", "7"),
    ],
)
def test_an_emergency_in_preop_is_an_event_of_its_drive_and_ends_no_command(
    emergency, capsys, command
):
    status, out, err = said(capsys, *command)
    assert status == 0
    assert out
    assert "slave 1: emergency 0x3221" in err
    assert "Traceback" not in err


def test_an_emergency_in_preop_ends_no_configuration(emergency, topology):
    events = []
    with prepared(topology()) as master:
        master.access.listen(
            lambda event: events.append((event.position, event.code, event.register))
        )
        assert master.expected_working_counter == EXPECTED_COUNTER
    assert {
        (0, VOLTAGE, 0x04),
        (1, VOLTAGE + 1, 0x04),
        (0, 0x7305, 0x20),
        (1, 0x7305, 0x20),
    } <= set(events)


def test_the_bus_process_starts_with_an_emergency_and_reports_it(emergency, topology, tmp_path):
    with running(topology(), tmp_path) as client:
        until(
            lambda: any(
                "slave 1 (joint_2): emergency 0x3221" in text
                for _, text in client.report().get("events", ())
            )
        )


# --- answers that come late ---


def test_slaves_whose_first_answers_are_late_are_found():
    """SOEM asks for an address three times, 2 ms each, and would then read the EEPROM of
    no slave for minutes.
    """
    with served(drives(), late=40, delay=15_000_000), opened() as (_, found):
        assert [(each.vendor, each.product) for each in found] == [(VENDOR, PRODUCT)] * 2


# --- mailboxes ---


def test_a_mailbox_error_is_its_slave_s_alone():
    pairs = drives()
    pairs[0][0].mailbox.error = 0x0004
    with served(pairs), opened() as (master, _):
        for _ in range(3):
            with pytest.raises(HardwareFault, match="mailbox error 0x0004"):
                master.access.read_sdo(0, 0x6041)
            assert len(master.access.read_sdo(1, 0x6041)) == 2
            master.access.write_sdo(1, SdoWrite(0x6065, "u32", 5))


@pytest.mark.parametrize(
    "command",
    [
        ("scan",),
        *(
            pytest.param(each, marks=pytest.mark.long)
            for each in (("scan", "--template"), ("info",))
        ),
    ],
)
def test_a_mailbox_error_ends_no_command(capsys, command):
    pairs = drives()
    pairs[0][0].mailbox.error = 0x0006
    with served(pairs):
        status, out, err = said(capsys, *command)
    assert status == 0
    assert "0x00000402" in out
    assert "Traceback" not in err


def test_errors_of_one_slave_never_fall_to_another(emergency):
    with opened() as (master, _):
        for _ in range(3):
            with pytest.raises(ConfigError, match="abort 0x06020000"):
                master.access.read_sdo(0, 0x5FFF)
            assert len(master.access.read_sdo(1, 0x6041)) == 2


# --- EEPROM ---


def test_an_eeprom_that_answers_late_is_read():
    pairs = drives()
    pairs[0][0].esc.eeprom.busy_time = 40_000_000
    with served(pairs), opened() as (_, found):
        assert [(slave.vendor, slave.product) for slave in found] == [(VENDOR, PRODUCT)] * 2


@pytest.mark.parametrize(
    "name", ["Regler f\xfcr Br\xfccke".encode("latin-1"), b"\xff\xfe\x80\x81", b"\x1b[2J\x07 drive"]
)
def test_a_name_that_is_not_utf_8_is_shown(capsys, name):
    pairs = drives()
    eeprom = pairs[0][0].eeprom
    old = pairs[0][0].sii.name.encode()
    at = eeprom.index(bytes([len(old)]) + old)
    eeprom[at + 1 : at + 1 + len(old)] = name[: len(old)].ljust(len(old), b".")
    with served(pairs):
        status, out, err = said(capsys, "scan")
    assert (status, err.count("Traceback")) == (0, 0)
    (shown,) = [line for line in out.splitlines() if line.startswith("0")]
    assert shown.isprintable()
    assert name[:1].decode("latin-1") in shown or "?" in shown


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 6))]
)
def test_a_damaged_eeprom_ends_in_words(capsys, seed, topology):
    import random

    numbers, pairs = random.Random(seed), drives()
    # SOEM takes the second one's for the same, where it is the same device
    eeprom = pairs[0][0].eeprom
    for _ in range(60):
        eeprom[numbers.randrange(16, len(eeprom))] = numbers.randrange(256)
    with served(pairs):
        for command in (("scan",), ("info",)):
            status, _, err = said(capsys, *command)
            assert status in (0, 1)
            assert "Traceback" not in err
        with contextlib.suppress(ConfigError, HardwareFault), prepared(topology()):
            pass


# --- complete access ---


class Stubborn(Dictionary):
    """Refuses complete access, or answers it without the byte that fills up subindex 0."""

    def __init__(self, other, how):
        self.__dict__.update(vars(other))
        self.how = how

    def read_complete(self, index, first):
        data = super().read_complete(index, first)
        if self.how == "refuses":
            return super().read(index, 0x77)
        return data[:1] + data[2:]


@pytest.fixture
def stubborn(request):
    pairs = drives()
    how = getattr(request, "param", "refuses")
    pairs[1] = remade(pairs[1], dictionary=Stubborn(pairs[1][0].dictionary, how))
    with served(pairs):
        yield


@pytest.mark.parametrize("stubborn", ["refuses", "is short"], indirect=True)
def test_complete_access_that_isn_t_the_standard_s_is_left_alone(stubborn, topology):
    with prepared(topology()) as master:
        assert master.expected_working_counter == EXPECTED_COUNTER
        (warning,) = master.warnings
        assert "slave 1 (joint_2)" in warning or "joint_2" in warning
        assert "Error(" not in warning


@pytest.mark.parametrize("stubborn", ["refuses", "is short"], indirect=True)
def test_a_drive_file_says_that_complete_access_is_not_used(stubborn, topology, tmp_path):
    ours = Path(load_topology("ur5").path).parent / "drives/cia402.yaml"
    (tmp_path / "odd.yaml").write_text(ours.read_text() + "\ncomplete_access: false\n")
    with prepared(topology(drive="odd.yaml")) as master:
        assert master.warnings == []


# --- the watchdog ---


@pytest.mark.parametrize(
    ("seconds", "right"), [("0.00005", False), ("0.0001", True), ("6.5535", True), ("6.6", False)]
)
def test_a_watchdog_that_a_slave_can_not_count_is_refused(topology, seconds, right):
    with served(drives()):
        if right:
            with prepared(topology(watchdog=seconds)) as master:
                for slave in master.access.slaves:
                    assert slave.get_watchdog("processdata") == pytest.approx(1e3 * float(seconds))
            return
        with pytest.raises(ConfigError) as caught, prepared(topology(watchdog=seconds)):
            pass
    assert (caught.value.name, caught.value.value) == ("watchdog", float(seconds))
    assert caught.value.bound == pytest.approx((1e-4, 6.5535))
    assert "slave 0 (joint_1)" in str(caught.value)


def test_a_watchdog_is_counted_in_the_slave_s_own_unit(topology):
    pairs = drives()
    esc = pairs[1][0].esc
    esc.memory[0x0400:0x0402] = (23).to_bytes(2, "little")  # 1 us
    with served(pairs), prepared(topology(watchdog="0.0333")) as master:
        first, second = (slave.get_watchdog("processdata") for slave in master.access.slaves)
    assert (first, second) == (pytest.approx(33.3), pytest.approx(33.3))


class Coarse(Watchdog):
    """Knows 100 ms only."""

    def configure(self):
        self._memory[0x0420:0x0422] = (1000).to_bytes(2, "little")
        super().configure()


def test_a_slave_that_keeps_another_watchdog_is_refused(topology):
    pairs = drives()
    pairs[1][0].esc.watchdog = Coarse(pairs[1][0].esc.memory)
    with served(pairs), pytest.raises(ConfigError) as caught, prepared(topology()):
        pass
    assert (caught.value.name, caught.value.value, caught.value.bound) == (
        "watchdog",
        0.2,
        pytest.approx(0.1),
    )
    assert "slave 1 (joint_2)" in str(caught.value)


def test_a_slave_whose_outputs_trigger_no_watchdog_is_refused(topology):
    pairs = drives()
    windows = [
        replace(each, control=0x24) if each.type == OUTPUTS else each
        for each in pairs[0][0].sii.windows
    ]
    pairs[0] = remade(pairs[0], windows=windows)
    with served(pairs), pytest.raises(ConfigError) as caught, prepared(topology()):
        pass
    assert caught.value.name == "watchdog"
    assert "slave 0 (joint_1)" in str(caught.value)


def test_without_a_watchdog_only_where_the_topology_says_so_and_with_a_warning(topology):
    with served(drives()), prepared(topology(more="without_watchdog: true")) as master:
        assert [slave.get_watchdog("processdata") for slave in master.access.slaves] == [0.0, 0.0]
        (warning,) = master.warnings
    assert warning.startswith("without_watchdog")


def test_drives_stop_where_the_bus_process_is_killed(topology, tmp_path):
    with served(drives(), priority=60), running(topology(watchdog="0.05"), tmp_path) as client:
        until(lambda: enabled(client))
        os.kill(client.process_number, signal.SIGKILL)
        with pytest.raises(HardwareFault):
            until(client.check)
        master = Master(MASTER)
        until(lambda: opens(master))
        states = until(lambda: stopped(master))
        master.close()
    assert states == [0x14, 0x14]  # SAFE-OP, with the error: sync manager watchdog


def opens(master):
    with contextlib.suppress(ConfigError):  # the killed one is still going
        master.open()
        return True
    return False


def stopped(master):
    """AL states of both slaves, by their places, without taking them out of these;
    empty where one goes on.
    """
    import socket
    import struct

    states = []
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88A4)) as wire:
        wire.bind((MASTER, 0x88A4))
        wire.settimeout(1.0)
        for position in range(2):
            datagram = struct.pack("<BBHHHH", 1, 0x77, -position & 0xFFFF, 0x0130, 2, 0) + bytes(4)
            head = (
                b"\xff" * 6 + b"\x02" * 6 + b"\x88\xa4" + struct.pack("<H", len(datagram) | 1 << 12)
            )
            wire.send((head + datagram).ljust(60, b"\0"))
            while True:
                reply = wire.recv(1514)
                if reply[17] == 0x77 and struct.unpack_from("<H", reply, 28)[0]:
                    states.append(struct.unpack_from("<H", reply, 26)[0])
                    break
    return states if all(state & 0x0F == 4 for state in states) else []


# --- the bus process ---


class PlanarBus:
    """Nothing but a name for the robot of these drives."""

    robot, profile = "planar_two_link", "sim"


@contextlib.contextmanager
def running(topology, folder):
    settings = ethercat_settings(
        interface=MASTER,
        topology=str(topology.path),
        robot=PlanarBus.robot,
        profile=PlanarBus.profile,
        memory=str(folder / "memory"),
        **{**EMULATED_BUS_TIMEOUTS, "watchdog": 0.0},
    )
    client = BusClient(settings)
    try:
        client.wait_until_ready()
        yield client
    finally:
        client.close()


def enabled(client):
    """Whether the drives are; else it asks for that, and resets the fault of watchdogs
    that a stall let end.
    """
    if client.status().action.value in ("hold", "run"):
        return True
    for request in ("reset_fault", "enable"):
        with contextlib.suppress(ConfigError, HardwareFault):
            client.request(request)
    return False


def until(condition, limit=60.0):
    """What a condition gives, as soon as that is true."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.01)
    raise AssertionError("it never came")


def test_the_bus_process_gives_its_own_error(topology, tmp_path):
    with (
        served(drives()),
        pytest.raises(ConfigError) as caught,
        running(topology(watchdog="0.00005"), tmp_path),
    ):
        pass
    assert (caught.value.name, caught.value.value) == ("watchdog", 5e-5)
    assert "exit status" not in str(caught.value)
    assert list(tmp_path.glob("memory*")) == []


def test_a_bus_of_too_many_bytes_is_refused(topology):
    small = terminal(8, 0)
    entries = tuple(PdoEntry(0x6000, n + 1, 1, 255) for n in range(200))
    large = Slave(
        replace(small.sii, tx=[replace(small.sii.tx[0], entries=entries)]),
        small.dictionary,
        small.device,
        clock_start=0,
    )
    made = topology()
    path = made.path
    path.write_text(path.read_text() + "  - { name: inputs, vendor: 0x0E5E, product: 0x402 }\n")
    with (
        served(drives(), large),
        pytest.raises(ConfigError) as caught,
        prepared(load_topology(str(path))),
    ):
        pass
    assert (caught.value.name, caught.value.bound) == ("process data", 4096)


def test_a_second_bus_process_is_told_who_has_the_bus(topology, tmp_path):
    with served(drives()), running(topology(), tmp_path) as client:
        with pytest.raises(ConfigError) as caught, running(topology(), tmp_path / "other"):
            pass
        assert f"process {client.process_number} (" in str(caught.value)
        for refused in (lambda: opened().__enter__(), lambda: plant(topology()).open()):
            with pytest.raises(ConfigError) as caught:
                refused()
            assert caught.value.name == "interface"
        assert client.status().fresh or client.wait(1.0)


def plant(topology):
    return EthercatPlant(JOINTS, topology, MASTER)


def is_master_open():
    """Whether some process has the bus."""
    with contextlib.suppress(ConfigError):
        check_free(MASTER)
        return False
    return True


def killed_owner(topology, *, when):
    """A child starts a bus process and is killed: where its bus is in OP, or already where
    it asks its slaves.
    """
    child = os.fork()
    if child == 0:
        settings = ethercat_settings(
            interface=MASTER,
            topology=str(topology.path),
            robot=PlanarBus.robot,
            profile=PlanarBus.profile,
        )
        client = BusClient(settings)
        if when == "in OP":
            client.wait_until_ready()
        else:
            until(is_master_open)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)


def shared_memory():
    """The files of buses in this network namespace; other tests, beside this one, have theirs."""
    path = memory_path("")
    return set(path.parent.glob(f"{path.name}*"))


@pytest.mark.parametrize("when", ["in OP", "at the start"])
def test_nothing_is_left_behind_where_the_owner_is_killed(topology, when):
    before = shared_memory()
    pairs = drives()
    for slave, _ in pairs:
        slave.mailbox.mute = when == "at the start"  # an answer that doesn't come is waited for
    with served(pairs):
        killed_owner(topology(), when=when)
        until(lambda: not is_master_open(), limit=4.0)  # s; those slaves would take 6
        until(lambda: shared_memory() <= before)
        assert not memory_path(MASTER).exists()
