"""What the bus's process and the nodes tell each other: the same comes out that went in."""

import math
import struct
from pickle import dumps, loads
from types import SimpleNamespace

import numpy as np
import pytest

from robot_control_ros.core.errors import ConfigError, HardwareFault, ModelError, StaleStateError
from robot_control_ros.core.types import Command, CommandMode
from robot_control_ros.ethercat.driver.drive_cycle import DriveCycle
from robot_control_ros.ethercat.driver.supervisor import Action
from robot_control_ros.ethercat.driver.topology import load_topology
from robot_control_ros.ethercat.process.protocol import (
    OWNER,
    REGIONS,
    BusStatus,
    memory_path,
    open_memory,
)
from robot_control_ros.ethercat.process.rpc import RpcClient, RpcServer
from robot_control_ros.ethercat.process.shared_memory import Latest
from robot_control_ros.robot.configuration import load_robot


@pytest.fixture
def cycle():
    return DriveCycle(load_topology("ur5"), load_robot("ur5").joints, 18)


def test_a_status_tells_the_cycle(cycle):
    supervisor, data = cycle.supervisor, cycle.data
    data.read([struct.pack("<HbxiihHi", 0xFF00 + i, i - 3, 0, 0, 0, 0x8000 + i, 100 * i) for i in range(6)])
    for i in range(6):
        data.q[i], data.v[i], data.effort[i] = 1.0 + i, 10.0 + i, 100.0 + i
    frames = supervisor.frames
    frames.cycles, frames.working_counter = 1 << 40, -1
    frames.lost_frames, frames.bad_counters, frames.late_frames = 7, 8, 9
    got = loads(dumps(BusStatus.of(cycle, 1.7e9 + 1e-6, True, False, 11)))
    assert got.state.time == 1.7e9 + 1e-6
    assert got.state.q.tolist() == [1, 2, 3, 4, 5, 6]
    assert got.state.v.tolist() == [10, 11, 12, 13, 14, 15]
    assert got.state.effort.tolist() == [100, 101, 102, 103, 104, 105]
    scales = np.array([axis.scale.position for axis in data.axes])
    assert got.following_error == pytest.approx(100 * np.arange(6) / scales)
    assert (got.cycle, got.fresh, got.in_process, got.action) == (1 << 40, True, False, Action.DISABLE)
    assert (got.working_counter, got.lost_frames, got.bad_counters, got.late_frames) == (-1, 7, 8, 9)
    assert got.overruns == 11
    assert got.status_words == list(range(0xFF00, 0xFF06))
    assert got.modes == [-3, -2, -1, 0, 1, 2]


@pytest.mark.parametrize("action", Action)
def test_every_action_comes_through(cycle, action, monkeypatch):
    monkeypatch.setattr(type(cycle.supervisor), "action", action)
    got = loads(dumps(BusStatus.of(cycle, 0.0, False, True, 0)))
    assert got.action is action
    assert (got.fresh, got.in_process) == (False, True)
    assert np.isnan(got.state.q).all()  # nothing was read yet


@pytest.mark.parametrize("n", [1, 6, 7, 14])
def test_records_of_any_arm_fit_into_their_regions(n):
    nothing = np.full(n, math.nan)
    command = dumps((Command(CommandMode.POSITION, nothing, nothing, nothing), 0.0))
    assert len(command) <= Latest(memoryview(bytearray(REGIONS["command"]))).capacity
    with pytest.raises(ConfigError):
        Latest(memoryview(bytearray(len(command)))).put(command)


@pytest.fixture
def served(tmp_path):
    """Calls what a test sets as `handle`, when the client waits."""
    memory, place = open_memory(tmp_path / "memory", create=True), SimpleNamespace(handle=None)
    server = RpcServer(memory, OWNER, lambda name, *arguments, **options: place.handle(name, *arguments, **options))
    place.client = RpcClient(memory, OWNER, 1.0, server.serve)
    return place


def test_a_call_brings_its_arguments_and_the_result_back(served):
    served.handle = lambda name, *arguments, **options: [name, arguments[0] + options["more"]]
    name, total = served.client.call("add", np.arange(3.0), more=1)
    assert (name, total.tolist()) == ("add", [1.0, 2.0, 3.0])


@pytest.mark.parametrize("kind", [ConfigError, HardwareFault, ModelError, StaleStateError])
def test_an_error_comes_back_with_its_type_and_fields(served, kind):
    def handle(name):
        raise kind("stiffness = 9: must be within [0, 5]", name="stiffness", value=9, bound=(0, 5))

    served.handle = handle
    with pytest.raises(kind) as caught:
        served.client.call("set")
    error = caught.value
    assert (type(error), error.name, error.value, error.bound) == (kind, "stiffness", 9, (0, 5))


def test_an_error_of_anybody_else_is_a_config_error_and_the_next_call_works(served):
    served.handle = lambda name: {}[name]
    with pytest.raises(ConfigError):
        served.client.call("missing")
    served.handle = lambda name: lambda: None
    with pytest.raises(ConfigError):
        served.client.call("not plain")
    served.handle = lambda name: name
    assert served.client.call("next") == "next"


def test_an_error_that_cannot_be_sent_is_one_that_names_the_call(served):
    def handle(name):
        raise HardwareFault("a value that can't be pickled", value=lambda: None)

    served.handle = handle
    with pytest.raises(ConfigError):
        served.client.call("set")


def test_an_answer_to_a_client_before_is_not_taken(served, tmp_path):
    served.handle = lambda name: name
    other = RpcClient(open_memory(tmp_path / "memory"), OWNER, 0.0, lambda: None)
    with pytest.raises(HardwareFault) as caught:
        other.call("of another")
    assert caught.value.bound == 0.0
    assert served.client.call("mine") == "mine"


def test_regions_begin_at_whole_words():
    assert all(size % 8 == 0 for size in REGIONS.values())


def test_each_bus_has_a_memory_of_its_own(tmp_path):
    assert memory_path("eth0") != memory_path("eth1")
    memory = open_memory(tmp_path / "memory", create=True)
    marks = {name: bytes([i + 1]) for i, name in enumerate(REGIONS)}
    for name, mark in marks.items():
        memory.region(name)[:] = mark * REGIONS[name]
    again = open_memory(tmp_path / "memory")
    assert all(bytes(again.region(name)) == mark * REGIONS[name] for name, mark in marks.items())
