"""What the bus's process and the nodes tell each other: the same comes out that went in."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_control_ros.core.errors import ConfigError, HardwareFault, ModelError, StaleStateError
from robot_control_ros.core.types import Command, CommandMode, RobotState, Wrench
from robot_control_ros.fieldbus.process.protocol import (
    OWNER,
    REGIONS,
    BusStatus,
    decode_command,
    encode_command,
    memory_path,
    open_memory,
    read_state,
)
from robot_control_ros.fieldbus.process.rpc import RpcClient, RpcServer, decode, encode
from robot_control_ros.fieldbus.process.shared_memory import Latest
from robot_control_ros.fieldbus.supervisor import Action

numbers = st.floats(allow_nan=True, allow_infinity=True)


def vectors(n):
    return st.lists(numbers, min_size=n, max_size=n).map(np.array)


def same(a, b):
    return (a is None and b is None) or (
        a is not None and b is not None and a.tobytes() == b.tobytes()
    )


@st.composite
def commands(draw):
    n = draw(st.integers(1, 8))
    parts = [draw(st.one_of(st.none(), vectors(n))) for _ in range(2)]
    return Command(draw(st.sampled_from(CommandMode)), draw(vectors(n)), *parts)


@settings(deadline=None)
@given(commands(), st.floats(0, 1e9))
def test_a_command_comes_as_it_was_given(command, time):
    got, at = decode_command(encode_command(command, time))
    assert at == time
    assert got.mode is command.mode
    assert same(got.values, command.values)
    assert same(got.velocity, command.velocity)
    assert same(got.feedforward, command.feedforward)


def test_velocity_and_torque_aren_t_taken_for_each_other():
    given_ = Command(
        CommandMode.POSITION, np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([5.0, 6.0])
    )
    got, _ = decode_command(encode_command(given_, 0.0))
    assert got.feedforward.tolist() == [3.0, 4.0]
    assert got.velocity.tolist() == [5.0, 6.0]


def status(**given):
    parts = {
        "state": RobotState(1.7e9 + 1e-6, np.arange(6.0), np.arange(6.0, 12.0), np.full(6, 0.5)),
        "cycle": 1 << 40,
        "fresh": True,
        "action": Action.DISABLE,
        "in_process": False,
        "overruns": 11,
        "counters": {"working counter": -1, "lost frames": 7, "temperature": 31.5},
    }
    return BusStatus(**{**parts, **given})


def test_a_status_tells_the_cycle():
    got = BusStatus.decode(encode(status()))
    assert got.state.time == 1.7e9 + 1e-6
    assert got.state.q.tolist() == [0, 1, 2, 3, 4, 5]
    assert got.state.v.tolist() == [6, 7, 8, 9, 10, 11]
    assert got.state.effort.tolist() == [0.5] * 6
    assert got.state.wrench is None
    assert (got.cycle, got.fresh, got.in_process, got.overruns) == (1 << 40, True, False, 11)
    assert got.counters == {"working counter": -1, "lost frames": 7, "temperature": 31.5}


def test_a_status_has_the_wrench_that_the_bus_measures():
    wrench = Wrench(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]), "tool0")
    state = RobotState(1.0, np.zeros(6), np.zeros(6), np.zeros(6), wrench)
    got = BusStatus.decode(encode(status(state=state))).state.wrench
    assert (got.force.tolist(), got.torque.tolist()) == ([1, 2, 3], [4, 5, 6])
    assert (got.frame, got.time) == ("tool0", None)


@pytest.mark.parametrize("action", Action)
def test_every_action_comes_through(action):
    got = BusStatus.decode(encode(status(action=action, fresh=False, in_process=True)))
    assert got.action is action
    assert (got.fresh, got.in_process) == (False, True)


@pytest.mark.parametrize("n", [1, 6, 7, 14])
def test_records_of_any_arm_fit_into_their_regions(n):
    nothing = np.full(n, math.nan)
    command = encode_command(Command(CommandMode.POSITION, nothing, nothing, nothing), 0.0)
    assert len(command) <= Latest(memoryview(bytearray(REGIONS["command"]))).capacity
    with pytest.raises(ConfigError):
        Latest(memoryview(bytearray(len(command)))).put(command)


arrays = st.builds(
    lambda kind, shape: np.random.default_rng(shape[0]).uniform(-9, 9, shape).astype(kind),
    st.sampled_from(["<f8", "<f4", "<i4", "?"]),
    st.tuples(st.integers(0, 4), st.integers(1, 3)),
)
plain = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False),
        st.text(max_size=5),
        arrays,
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


def equal(a, b):
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, list):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    return type(a) is type(b) and a == b


@settings(deadline=None)
@given(plain)
def test_any_plain_message_comes_as_it_was_sent(message):
    assert equal(message, decode(encode(message)))


def test_what_is_not_plain_is_not_sent():
    with pytest.raises(TypeError):
        encode({"law": object()})


def test_a_state_with_its_wrench_comes_as_it_was_sent():
    wrench = Wrench(np.array([1.0, 2.0, 3.0]), np.zeros(3), "tool0", None)
    state = RobotState(1.5, np.arange(2.0), np.zeros(2), np.full(2, math.nan), wrench)
    got = read_state(decode(encode(state)))
    assert (got.time, got.wrench.frame, got.wrench.time) == (1.5, "tool0", None)
    assert same(got.wrench.force, wrench.force)
    assert all(
        same(getattr(got, name), getattr(state, name))
        for name in ("q", "v", "effort", "wrench_on_tip")
    )


@pytest.fixture
def served(tmp_path):
    """Calls what a test sets as `handle`, when the client waits."""
    memory, place = open_memory(tmp_path / "memory", create=True), SimpleNamespace(handle=None)
    server = RpcServer(
        memory, OWNER, lambda name, *arguments, **options: place.handle(name, *arguments, **options)
    )
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
    served.handle = lambda name: object()
    with pytest.raises(ConfigError):
        served.client.call("not plain")
    served.handle = lambda name: name
    assert served.client.call("next") == "next"


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
