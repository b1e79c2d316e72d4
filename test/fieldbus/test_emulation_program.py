"""A topology's bus in process, the fault channel, and the program that hangs an arm on
a network interface.
"""

import functools
import os
import socket
import stat
import struct
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from ethercat_emulator_support import MS, Master
from hypothesis import given, settings
from hypothesis import strategies as st

from ethercat_emulator import FaultChannelError, NetworkError, server
from ethercat_emulator import program as standalone
from ethercat_emulator.bus.line import Line
from ethercat_emulator.faults.channel import FaultChannel, Methods, inject, methods_of
from ethercat_emulator.faults.injection import DriveFaults, Faults
from ethercat_emulator.network.veth import enter_namespace, make_pair, why_no_namespace
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.fieldbus.emulation import program
from robot_control_ros.fieldbus.emulation.arm import MujocoArm
from robot_control_ros.fieldbus.emulation.topology_bus import bus_of
from robot_control_ros.fieldbus.ethercat.cia402 import Mode, TargetSource
from robot_control_ros.fieldbus.ethercat.drives import SdoWrite
from robot_control_ros.fieldbus.ethercat.process_data import ProcessData
from robot_control_ros.fieldbus.ethercat.topology import FoundSlave, Topology, load_topology
from robot_control_ros.robot.configuration import load_robot

ENABLED, FAULT = 0x27, 0x08
OP = 0x08
INPUTS_AT = 0x1000  # logical address

# What the packaged ones don't have: a coupler, all three kinds of drives, encoders on joints, and
# the robot's joints in another order than the cable's.
MIXED = """
slaves:
  - { name: coupler, vendor: 0x2, product: 0x44C2C52, alias: 7 }
  - { joint: c, drive: synapticon_somanet, product: 0x301, revision: 0xA0001, gear_ratio: 80.5, rated_torque: 0.9,
      counts_per_revolution: 524288, encoder: joint, sign: -1, offset: 1.25 }
  - { joint: a, drive: maxon_epos4, product: 0x61500000, alias: 3, gear_ratio: 113, rated_torque: 0.457,
      counts_per_revolution: 4096, sign: -1, offset: -0.4 }
  - { joint: d, drive: cia402, vendor: 0xABC, product: 0x1, gear_ratio: 99.5, rated_torque: 2.0,
      counts_per_revolution: 131072, encoder: joint, sign: -1, offset: 3.0 }
  - { joint: b, drive: synapticon_somanet, product: 0x201, gear_ratio: 50, rated_torque: 0.3,
      counts_per_revolution: 65536 }
"""


class Still:
    """Mechanics that are where they are put, and note what acts on them."""

    def __init__(self, joints: int) -> None:
        self.position = [0.0] * joints
        self.velocity = [0.0] * joints
        self.inertia = [0.1 * (n + 1) for n in range(joints)]
        self.torque: list[float] = []

    def advance(self, torque, braked, dt) -> None:
        self.torque = list(torque)


@functools.cache
def topology(name: str) -> tuple[Topology, tuple[str, ...]]:
    """And the joints in the order of the mechanics."""
    if name != "mixed":
        return load_topology(name), load_robot(name).joints
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mixed.yaml"
        path.write_text(MIXED)
        return load_topology(str(path)), ("a", "b", "c", "d")


TOPOLOGIES = ("ur5", "planar_two_link", "mixed")


class Driven:
    """A topology's bus with a master that reads and writes by the topology's
    scales; all slaves in OP.
    """

    def __init__(self, plan: Topology, joints: tuple[str, ...], mechanics) -> None:
        self.plan, self.mechanics = plan, mechanics
        self.bus = bus_of(plan, joints, mechanics)
        self.master = Master(self.bus)
        self.slaves = plan.in_order_of(joints)
        self.data = ProcessData([slave.axis for slave in self.slaves])
        self.scales = [axis.scale for axis in self.data.axes]
        self._places, out_at, in_at = [], 0, INPUTS_AT
        for slave, axis in zip(self.slaves, self.data.axes, strict=True):
            self.master.preop(slave.position)
            self.master.process_data(
                slave.position, axis.rx.size, axis.tx.size, logical=(out_at, in_at)
            )
            self._places.append(slice(in_at - INPUTS_AT, in_at - INPUTS_AT + axis.tx.size))
            out_at, in_at = out_at + axis.rx.size, in_at + axis.tx.size
            for state in (0x04, 0x08):
                assert self.master.request(slave.position, state) == (state, 0)
        self._size = in_at - INPUTS_AT
        self.read()

    def read(self) -> None:
        data, wkc = self.master.one("LRD", INPUTS_AT, 0, bytes(self._size))
        assert wkc == len(self.scales)
        self.data.read([data[place] for place in self._places])

    def cycle(
        self,
        control: int,
        mode: Mode,
        values,
        targets: TargetSource = TargetSource.COMMAND,
        count: int = 1,
    ) -> None:
        for _ in range(count):
            n = len(self.scales)
            self.data.write([control] * n, mode, [targets] * n, np.array(values))
            _, wkc = self.master.one("LWR", 0, 0, b"".join(self.data.outputs))
            assert wkc == n
            self.master.wait(MS)
            self.read()

    def enable(self, mode: Mode) -> None:
        for control in (0x06, 0x07, 0x0F):
            self.cycle(control, mode, [0.0] * len(self.scales), TargetSource.FOLLOW)
        assert [word & 0x6F for word in self.data.status_words] == [ENABLED] * len(self.scales)


@functools.cache
def still(name: str) -> Driven:
    plan, joints = topology(name)
    driven = Driven(plan, joints, Still(len(joints)))
    driven.enable(Mode.TORQUE)
    return driven


# --- the bus of a topology ---


@pytest.mark.parametrize("name", TOPOLOGIES)
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_the_topologys_scale_reads_the_joints_back(name, data):
    driven = still(name)
    numbers = st.lists(
        st.floats(-6.0, 6.0), min_size=len(driven.scales), max_size=len(driven.scales)
    )
    q, v = data.draw(numbers), data.draw(numbers)
    driven.mechanics.position, driven.mechanics.velocity = q, v
    driven.cycle(0x0F, Mode.TORQUE, [0.0] * len(q))
    for i, scale in enumerate(driven.scales):
        # of offset and position
        assert driven.data.q[i] == pytest.approx(q[i], abs=1.01 / abs(scale.position))
        assert driven.data.v[i] == pytest.approx(v[i], abs=0.51 / abs(scale.velocity))


@pytest.mark.parametrize("name", TOPOLOGIES)
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_the_topologys_scale_makes_the_torque_at_the_joints(name, data):
    driven = still(name)
    shares = data.draw(
        st.lists(st.floats(-2.9, 2.9), min_size=len(driven.scales), max_size=len(driven.scales))
    )
    rated = [1000.0 / abs(scale.torque) for scale in driven.scales]
    torque = [share * each for share, each in zip(shares, rated, strict=True)]
    driven.cycle(0x0F, Mode.TORQUE, torque, count=15)  # of current loops with 0.5 ms
    for i, (scale, wanted) in enumerate(zip(driven.scales, torque, strict=True)):
        assert driven.mechanics.torque[i] == pytest.approx(wanted, abs=0.51 / abs(scale.torque))
        assert driven.data.effort[i] == pytest.approx(wanted, abs=1.01 / abs(scale.torque))


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_motors_have_three_times_their_rated_torque_for_a_while(name):
    driven = still(name)
    most = [3.0 * 1000.0 / abs(scale.torque) for scale in driven.scales]
    driven.cycle(0x0F, Mode.TORQUE, [2.0 * each for each in most], count=15)
    assert driven.mechanics.torque == pytest.approx(most)


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_each_slave_says_who_it_is(name):
    plan, joints = topology(name)
    slaves = bus_of(plan, joints, Still(len(joints))).slaves
    found = []
    for slave in slaves:
        vendor, product, revision = struct.unpack_from("<3I", slave.eeprom, 16)
        found.append(
            FoundSlave(vendor, product, revision, struct.unpack_from("<H", slave.eeprom, 8)[0])
        )
    plan.check_bus(found)
    with pytest.raises(ConfigError):
        plan.check_bus(found[:-1])


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_a_drive_takes_the_writes_of_its_file_and_tells_its_rated_torque(name):
    plan, joints = topology(name)
    master = Master(bus_of(plan, joints, Still(len(joints))))
    for slave in plan.drives:
        master.preop(slave.position)
        rated = master.sdo(slave.position, 0x40, 0x6076, 0)
        slave.check_rated_torque(struct.unpack_from("<I", rated, 4)[0])
        for write in (*slave.drive.mapping_writes(), *slave.drive.sdo):
            assert download(master, slave.position, write) == 0x60, write


def test_a_fixed_mapping_can_not_be_written():
    plan, joints = topology("mixed")
    master = Master(bus_of(plan, joints, Still(len(joints))))
    master.preop(1)
    assert download(master, 1, SdoWrite(0x1600, "u8", 0)) == 0x80
    master.preop(2)
    assert download(master, 2, SdoWrite(0x1600, "u8", 0)) == 0x60


def download(master: Master, slave: int, write: SdoWrite) -> int:
    """The answer's command: 0x60 done, 0x80 abort."""
    data = write.data()
    command = 0x23 | (4 - len(data)) << 2
    return master.sdo(slave, command, write.index, write.sub_index, data.ljust(4, b"\x00"))[0]


def test_a_slave_that_moves_no_joint_is_a_coupler():
    driven = still("mixed")
    for state in (0x02, 0x04, 0x08):
        assert driven.master.request(0, state) == (state, 0)
    assert driven.master.word(0, 0x0012) == 7


def test_joints_that_are_not_the_topologys_are_refused():
    with pytest.raises(ConfigError, match=r"no slave moves shoulder, elbow; the robot.s joints"):
        bus_of(topology("planar_two_link")[0], ("shoulder", "elbow"), Still(2))


# --- a whole arm on it ---


@pytest.fixture
def arm(ur5) -> Driven:
    driven = Driven(*topology("ur5"), MujocoArm(ur5))
    driven.enable(Mode.POSITION)
    return driven


def test_the_arm_holds_where_it_is_enabled(arm, ur5, ur5_model):
    arm.cycle(0x0F, Mode.POSITION, ur5.home, count=500)
    np.testing.assert_allclose(arm.data.q, ur5.home, rtol=0, atol=1e-5)
    gravity = ur5_model.at(np.array(ur5.home)).gravity
    resolution = [1.0 / abs(scale.torque) for scale in arm.scales]
    assert np.all(np.abs(arm.data.effort - gravity) < resolution)
    assert np.abs(gravity).max() > 10.0


def test_the_arm_follows(arm, ur5, rng):
    """Wherever it is sent, no drive rattles: their loops are tuned for one pose."""
    start = np.array(ur5.home)
    for _ in range(3):
        goal = np.array(ur5.home) + rng.uniform(-1.2, 1.2, 6)
        for share in np.linspace(0.0, 1.0, 1000):
            arm.cycle(0x0F, Mode.POSITION, start + share**2 * (3.0 - 2.0 * share) * (goal - start))
        arm.cycle(0x0F, Mode.POSITION, goal, count=300)
        np.testing.assert_allclose(arm.data.q, goal, rtol=0, atol=1e-4)
        np.testing.assert_allclose(arm.data.v, 0.0, rtol=0, atol=1e-3)
        start = goal


def test_a_master_that_falls_silent_leaves_the_arm_to_its_brakes(arm, ur5):
    for _ in range(1000):
        arm.master.wait(MS)
    assert all(drive.braked for drive in arm.bus.machine.drives)
    np.testing.assert_allclose(arm.mechanics.position, ur5.home, rtol=0, atol=0.005)
    assert np.abs(arm.mechanics.velocity).max() < 1e-3


# --- the fault channel: lines ---


class Recorder:
    """Methods with all kinds of arguments."""

    def __init__(self) -> None:
        self.seen: list = []

    def lose(self, count: int) -> None:
        """Frames get lost.

        More of it.
        """
        self.seen.append(("lose", count))

    def late(self, delay: float, count: int = 1) -> None:
        """Frames are late."""
        self.seen.append(("late", delay, count))

    def link(self, *, up: bool) -> None:
        """The cable."""
        self.seen.append(("link", up))

    def emergency(self, slave: int, data: bytes = b"\x01") -> None:
        """An emergency."""
        self.seen.append(("emergency", slave, data))

    def refuse(self, name: str) -> None:
        """Nothing works."""
        raise ValueError(f"no {name}")

    def insert(self, thing: Line) -> None:
        """Of a type that nobody can write on a line."""


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("lose 3", ("lose", 3)),
        ("lose 0x14", ("lose", 20)),
        ("lose count=3", ("lose", 3)),
        ("late 0.05", ("late", 0.05, 1)),
        ("  late   5e-3  2", ("late", 0.005, 2)),
        ("late count=2 delay=1", ("late", 1.0, 2)),
        ("link up=false", ("link", False)),
        ("link up=ON", ("link", True)),
        ("link off", ("link", False)),
        ("emergency 2 0a0b", ("emergency", 2, b"\x0a\x0b")),
    ],
)
def test_a_line_calls_a_method(line, call):
    recorder = Recorder()
    assert Methods(methods_of(recorder)).answer(line) == "ok"
    assert recorder.seen == [call]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("break", "unknown method 'break'; methods: help, emergency, late, link, lose, refuse"),
        ("insert 1", "unknown method 'insert'"),
        ("lose", "missing a required argument: 'count'; usage: lose count:int - Frames get lost."),
        ("lose many", "count = 'many': invalid literal"),
        ("lose 1 2", "2 arguments are too many"),
        ("lose 1 count=2", "multiple values"),
        ("lose number=1", "unknown argument 'number'; usage: lose count:int"),
        ("link up=maybe", "up = 'maybe': must be one of true, on, false, off; usage: link up:bool"),
        ("emergency 1 xyz", "data = 'xyz'"),
        ("refuse all", "no all"),
    ],
)
def test_a_line_that_can_not_be_obeyed_is_answered_by_what_can(line, words):
    recorder = Recorder()
    answer = Methods(methods_of(recorder)).answer(line)
    assert answer.startswith("error: ")
    assert words in answer
    assert "\n" not in answer
    assert recorder.seen == []


def test_help_lists_what_can_be_called():
    assert Methods(methods_of(Recorder())).answer("help").split("\n") == [
        "emergency slave:int data:bytes=01 - An emergency.",
        "late delay:float count:int=1 - Frames are late.",
        "link up:bool - The cable.",
        "lose count:int - Frames get lost.",
        "refuse name:str - Nothing works.",
        "ok",
    ]


def test_faults_can_all_be_written_but_for_one():
    line = Line(bus_of(*topology("ur5"), Still(6)))
    called: dict = {}
    for faults in (Faults(line), DriveFaults(line.bus)):
        public = {name for name in dir(faults) if not name.startswith("_")}
        assert set(methods_of(faults)) == public - {"insert"}
        called |= methods_of(faults)
    methods = Methods(called)
    for line in (
        "drive_fault 1 0x7305",
        "identity 2 0xABC:0x1:2:3",
        "power 5 on=false",
        "al_error 4 0x14",
        "remove 3",
    ):
        assert methods.answer(line) == "ok", line
    assert methods.answer("power 9 on=true") == "error: slave 9: there are 5, from 0"


# --- the fault channel: its socket ---


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def channel(tmp_path, recorder) -> Iterator[FaultChannel]:
    channel = FaultChannel(str(tmp_path / "faults"), methods_of(recorder))
    yield channel
    channel.close()


def connect(channel: FaultChannel) -> socket.socket:
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(5.0)
    client.connect(channel.path)
    channel.poll()
    return client


def test_faults_go_over_a_socket(channel, recorder):
    with connect(channel) as client:
        client.sendall(b"lose 1\nlink up=off\nlo")
        channel.poll()
        assert client.recv(100) == b"ok\nok\n"
        client.sendall(b"se 2\n\n")
        channel.poll()
        assert client.recv(100) == b"ok\n"
    assert recorder.seen == [("lose", 1), ("link", False), ("lose", 2)]


def test_two_clients_at_once_and_one_that_hangs_up(channel, recorder):
    with connect(channel) as first, connect(channel) as second:
        first.sendall(b"lose 1\nlose")
        first.close()
        channel.poll()
        channel.poll()
        second.sendall(b"lose 2\n")
        channel.poll()
        assert second.recv(100) == b"ok\n"
    assert recorder.seen[-1] == ("lose", 2)


def test_a_client_that_never_ends_its_line_is_hung_up_on(channel):
    with connect(channel) as client:
        client.sendall(b"x" * 5000)
        channel.poll()
        channel.poll()
        assert client.recv(100) == b""


def test_a_client_that_does_not_read_its_answers_is_hung_up_on(channel):
    """And nobody waits for it."""
    with connect(channel) as client:
        client.setblocking(False)
        hung_up = False
        while not hung_up:
            try:
                client.sendall(b"help\n" * 100)
            except ConnectionError:
                hung_up = True
            channel.poll()


@pytest.mark.starts("a thread that answers, for which inject waits")
def test_inject_tells_what_was_answered(channel):
    done = threading.Event()

    def serve() -> None:
        while not done.is_set():
            channel.poll()
            done.wait(0.001)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        assert inject(channel.path, "lose 1") == ""
        assert "lose count:int" in inject(channel.path, "help")
        with pytest.raises(FaultChannelError, match="unknown method 'nonsense'"):
            inject(channel.path, "nonsense")
    finally:
        done.set()
        thread.join()


def test_the_socket_is_this_users_only_and_goes_with_the_channel(tmp_path):
    channel = FaultChannel(str(tmp_path / "faults"), {})
    assert stat.S_IMODE(os.stat(channel.path).st_mode) == 0o600
    channel.close()
    assert not os.path.exists(channel.path)
    with pytest.raises(FaultChannelError, match="no emulator answers"):
        inject(channel.path, "help")


def test_a_socket_that_was_left_over_is_replaced_but_nothing_else(tmp_path):
    path = tmp_path / "faults"
    with socket.socket(socket.AF_UNIX) as left_over:
        left_over.bind(str(path))
    channel = FaultChannel(str(path), {})
    with pytest.raises(FaultChannelError, match="another emulator listens there"):
        FaultChannel(str(path), {})
    assert path.is_socket()
    channel.close()
    path.write_text("precious")
    with pytest.raises(FaultChannelError, match="there is something else"):
        FaultChannel(str(path), {})
    assert path.read_text() == "precious"
    with pytest.raises(FaultChannelError, match="can't make a socket"):
        FaultChannel(str(tmp_path / "nowhere" / "faults"), {})


# --- the program ---


def test_an_unknown_interface_is_said_in_one_line(capsys):
    assert program.main(["--robot", "planar_two_link", "--interface", "nowhere0"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("emulator: no network interface 'nowhere0'; interfaces: ")
    assert "ip link add ecm type veth peer name nowhere0" in said
    assert said.count("\n") == 1


def test_a_robot_without_a_topology_is_said_in_one_line(capsys):
    assert program.main(["--robot", "gen3", "--interface", "lo"]) == 1
    assert "unknown topology 'gen3'; topologies: planar_two_link, ur5" in capsys.readouterr().err


def test_without_the_right_to_raw_frames_it_says_how_to_get_it(capsys, monkeypatch):
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(server, "run", refuse)
    assert standalone.main(["--interface", "lo", "--priority", "0"]) == 1
    said = capsys.readouterr().err
    assert all(
        words in said
        for words in ("CAP_NET_RAW", "ambient capabilities", "sudo", "unshare --map-root-user")
    )


# --- the cable without hardware ---


def test_without_its_tools_a_pair_or_namespace_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NetworkError, match="no command 'ip': apt-get install iproute2"):
        make_pair()
    with pytest.raises(NetworkError, match="no command 'unshare': apt-get install util-linux"):
        enter_namespace()
    assert "unshare" in why_no_namespace()


@pytest.mark.starts("a tool that refuses, and ends")
def test_what_the_kernel_forbids_is_told_with_the_way_out(tmp_path, monkeypatch):
    for tool in ("ip", "unshare"):
        (tmp_path / tool).write_text("#!/bin/sh\necho Operation not permitted >&2\nexit 1\n")
        (tmp_path / tool).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        NetworkError, match="ip link add ecm type veth peer name ecs: Operation not permitted"
    ):
        make_pair()
    with pytest.raises(
        NetworkError,
        match=r"unshare --map-root-user --net: Operation not permitted.*unprivileged_userns",
    ):
        enter_namespace()
