"""All drives, cycle by cycle, against drives written independently: nothing reaches
them that shouldn't.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from played_drives import (
    DISABLED,
    ENABLED,
    EXPECTED,
    FAULT,
    JOINTS,
    MODES,
    OFFSETS,
    POSITION,
    TORQUE,
    Rig,
    effort,
    position,
    velocity,
)

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.fieldbus.command_checks import JUMP
from robot_control_ros.fieldbus.ethercat.drive_cycle import DriveCycle
from robot_control_ros.fieldbus.ethercat.topology import load_topology
from robot_control_ros.fieldbus.supervisor import Action, SupervisorLimits


@pytest.fixture
def rig(topology):
    return Rig(topology)


# --- order, signs, units ---


def test_joints_are_those_of_the_robot_whatever_the_order_on_the_bus(rig):
    assert rig.cycle.positions == (1, 2, 0)
    rig.drives[1].v, rig.drives[1].torque = 0.5, 2.0
    rig.run()
    state = rig.cycle.state(7.0)
    assert state.time == 7.0
    assert state.q == pytest.approx([0.3, -0.4, 1.1], abs=1e-5)
    assert state.v == pytest.approx([0.0, 0.5, 0.0], abs=1e-4)
    assert state.effort == pytest.approx([0.0, 2.0, 0.0], abs=0.02)


def test_a_state_stays_what_it_was(rig):
    rig.run()
    state = rig.cycle.state(0.0)
    rig.drives[0].q = 9.0
    rig.run()
    assert state.q[0] == pytest.approx(0.3, abs=1e-5)


def test_commands_reach_the_drives_in_their_units(rig):
    goal = rig.q + [0.01, -0.02, 0.03]
    rig.enabled()
    command = position(
        goal, velocity=np.array([0.1, -0.2, 0.3]), feedforward=np.array([5.0, -3.0, 0.1])
    )
    rig.run(3, command)
    assert rig.action is Action.RUN
    assert rig.targets == pytest.approx(goal, abs=1e-5)
    assert [d.offset_v for d in rig.drives] == pytest.approx([0.1, -0.2, 0.3], abs=1e-4)
    assert [d.offset_torque for d in rig.drives] == pytest.approx([5.0, -3.0, 0.1], abs=0.04)


# --- enabling ---


@pytest.mark.parametrize("switching", [1, 3])
def test_enabling_before_any_command_holds_the_measured_position(topology, switching):
    rig = Rig(topology, switching)
    rig.run(30)
    where = rig.q
    rig.cycle.supervisor.request_enable()
    for _ in range(60):
        rig.run()
        assert rig.targets == pytest.approx(where, abs=1e-5)
        assert all(d.offset_torque == d.offset_v == d.target_torque == 0.0 for d in rig.drives)
    assert rig.action is Action.HOLD
    assert [d.state for d in rig.drives] == [ENABLED] * 3
    assert [d.mode for d in rig.drives] == [POSITION] * 3
    for drive in rig.drives:  # held where it was, not followed
        drive.q += 0.01
    rig.run(5)
    assert rig.targets == pytest.approx(where, abs=1e-5)


def test_torque_mode_isn_t_enabled_without_fresh_commands(rig):
    rig.run(30, effort([1, 2, 3]))
    rig.run(30)
    assert any("no fresh command" in words for words in rig.cycle.supervisor.request_enable())
    rig.run(50)
    assert all(word == 0 for word in rig.words)


def test_torque_is_there_with_the_enabling_of_each_axis_and_never_zero_after(rig):
    holding = [20.0, -5.0, 0.2]
    rig.drives[0].switching = 6  # it is the last one
    rig.run(30, effort(holding))
    assert rig.cycle.supervisor.request_enable() == []
    seen = [0, 0, 0]
    for _ in range(40):
        told = [drive.state == ENABLED for drive in rig.drives]
        rig.run(1, effort(holding))
        for i, drive in enumerate(rig.drives):
            if told[i]:
                seen[i] += 1
                assert drive.target_torque == pytest.approx(holding[i], rel=0.02)
    assert rig.action is Action.RUN
    assert min(seen) > 20


def test_commands_that_end_while_torque_mode_is_enabled_stop_all(rig):
    rig.drives[0].switching = 10**6
    rig.run(30, effort([1, 1, 1]))
    rig.cycle.supervisor.request_enable()
    rig.run(15, effort([1, 1, 1]))
    rig.run(25)
    assert "the last command is" in rig.cycle.supervisor.causes[0]
    assert all(drive.state != ENABLED for drive in rig.drives)


# --- jumps ---


def test_a_first_command_too_far_stops_all_and_nothing_of_it_is_sent(rig):
    rig.enabled()
    where = rig.targets
    goal = rig.q + [0.0, JUMP * 1.2, 0.0]
    for _ in range(20):
        rig.run(1, position(goal))
        assert np.abs(rig.targets - where).max() < 1e-5
    assert "elbow: the command jumps" in rig.cycle.supervisor.causes[0]
    assert [d.state for d in rig.drives] == [DISABLED] * 3


def test_a_later_jump_stops_all_in_the_same_cycle_and_nothing_of_it_is_sent(rig):
    rig.enabled()
    goal = rig.q
    for _ in range(100):
        goal = goal + 0.9 * JUMP * np.array([1, -1, 0.5])
        for drive, q in zip(rig.drives, goal, strict=True):
            drive.q = q
        rig.run(1, position(goal))
    assert rig.action is Action.RUN
    assert rig.targets == pytest.approx(goal, abs=1e-5)
    rig.run(1, position(goal + [0.0, 0.0, -1.1 * JUMP]))
    assert rig.words == [0x02] * 3
    assert rig.targets == pytest.approx(goal, abs=1e-5)
    for _ in range(200):
        rig.run(1, position(goal + [0.0, 0.0, -1.1 * JUMP]))
        assert np.abs(rig.targets - goal).max() < 1e-5
    assert rig.action is Action.DISABLE


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_isn_t_a_number_is_refused_and_the_last_command_stays(rig, bad):
    rig.enabled()
    rig.run(3, position(rig.q))
    for command in (
        position([bad, 0, 0]),
        position(rig.q, velocity=np.array([0, bad, 0])),
        position(rig.q, feedforward=np.array([0, 0, bad])),
        position([0.0, 0.0]),
    ):
        with pytest.raises(ConfigError) as caught:
            rig.cycle.command(command, rig.time)
        assert caught.value.name == "command"
    rig.run(3)
    assert rig.action is Action.RUN
    assert rig.targets == pytest.approx(rig.q, abs=1e-5)


# --- age ---


@pytest.mark.parametrize("old", [0.03, 60.0])
def test_a_command_older_than_the_last_one_is_never_sent(rig, old):
    """What lies in the shared memory since the last time that topics commanded."""
    rig.enabled(effort([1, 1, 1]))
    for _ in range(30):
        rig.run(1, effort([1, 1, 1]))
    for _ in range(100):
        rig.run(1, effort([60, 10, 0.3]), age=old)
        assert np.abs(rig.torques).max() < 1.1
    assert rig.action is Action.DISABLE


def test_silence_stops_all(rig):
    rig.enabled()
    rig.run(10, position(rig.q))
    rig.run(19)
    assert rig.action is Action.RUN
    rig.run(3)
    assert rig.words == [0x02] * 3
    assert "the last command is" in rig.cycle.supervisor.causes[0]


# --- bad cycles ---


@pytest.mark.parametrize("bad", [{"counter": -1}, {"counter": 6}, {"late": True}, {"counter": 12}])
def test_bad_cycles_hold_and_their_inputs_are_never_used(rig, bad):
    rig.enabled()
    goal = rig.q
    rig.run(3, position(goal))
    before = rig.cycle.state(0.0)
    for _ in range(10):
        rig.run(2, position(goal + 0.001), **bad)
        assert not rig.fresh
        assert rig.action is Action.HOLD
        assert rig.targets == pytest.approx(goal, abs=1e-5)
        assert rig.words == [0x0F] * 3
        now = rig.cycle.state(0.0)
        assert (now.q == before.q).all()
        assert (now.v == before.v).all()
        assert (now.effort == before.effort).all()
        rig.run(1, position(goal))
        assert rig.action is Action.RUN


@pytest.mark.parametrize("bad", [{"counter": -1}, {"counter": 6}, {"late": True}])
@pytest.mark.parametrize("k", [1, 3, 5])
def test_k_bad_cycles_say_quick_stop_to_all_at_once(topology, bad, k):
    rig = Rig(topology, limits=SupervisorLimits(bad_cycles=k)).enabled()
    rig.run(3, position(rig.q))
    rig.run(k - 1, position(rig.q), **bad)
    assert rig.words == [0x0F] * 3
    rig.run(1, position(rig.q), **bad)
    assert rig.words == [0x02] * 3


def test_torque_is_kept_over_a_bad_cycle(rig):
    rig.enabled(effort([20, -5, 0.2]))
    rig.run(2, effort([0, 0, 0]), counter=-1)
    assert rig.torques == pytest.approx([20, -5, 0.2], rel=0.02)


def test_targets_follow_nothing_from_a_bad_cycle_while_disabled(rig):
    rig.run(5)
    rig.run(5, counter=-1)
    assert rig.targets == pytest.approx(rig.q, abs=1e-5)
    assert rig.words == [0] * 3


# --- stops ---


@pytest.mark.parametrize("command", [position, effort, velocity])
def test_a_drive_s_fault_stops_all_in_the_same_cycle_and_only_a_request_enables_again(rig, command):
    given_ = command([0.3, -0.4, 1.1] if command is position else [0.1, 0.1, 0.1])
    rig.enabled(given_)
    rig.run(3, given_)
    rig.drives[1].state, rig.drives[1].error = FAULT, 0x8611
    rig.run(1, given_)
    assert rig.words[0] == rig.words[2] == 0x02
    assert rig.words[1] & 0x0F == 0
    assert "elbow: fault 0x8611 following error" in rig.cycle.supervisor.causes[0]
    rig.run(300, given_)
    assert [d.state for d in rig.drives] == [DISABLED, FAULT, DISABLED]
    assert any("reset it first" in words for words in rig.cycle.supervisor.request_enable())
    rig.cycle.reset_faults()
    rig.run(300, given_)
    assert [d.state for d in rig.drives] == [DISABLED] * 3
    assert rig.action is Action.DISABLE
    assert rig.cycle.supervisor.request_enable() == []
    rig.run(20, given_)
    assert rig.action is Action.RUN


@pytest.mark.parametrize("switching", [1, 5])
def test_after_every_stop_the_next_enabling_begins_where_the_robot_is(topology, switching):
    rig = Rig(topology, switching).enabled()
    rig.run(5, position(rig.q))
    rig.cycle.supervisor.request_disable()
    rig.run(50)
    for drive in rig.drives:
        drive.q += 0.8
    rig.run(30)
    rig.cycle.supervisor.request_enable()
    for _ in range(60):
        rig.run()
        assert rig.targets == pytest.approx(rig.q, abs=1e-5)
    rig.run(1, position(rig.q - 0.8))
    rig.run(1, position(rig.q - 0.8))
    assert "jumps" in rig.cycle.supervisor.causes[0]


def test_disabling_and_enabling_between_two_cycles_goes_on_without_a_jump(rig):
    rig.enabled()
    rig.run(5, position(rig.q))
    rig.cycle.supervisor.request_disable()
    rig.cycle.supervisor.request_enable()
    for _ in range(30):
        rig.run(1, position(rig.q))
        assert rig.targets == pytest.approx(rig.q, abs=1e-5)
    assert rig.action is Action.RUN


def test_a_frozen_position_stops_all(rig):
    rig.enabled()
    rig.run(3, position(rig.q))
    drive, goal = rig.drives[2], rig.q
    drive.frozen = round((drive.q - OFFSETS["wrist"]) * drive.per_rad)
    for _ in range(200):
        goal = goal + [0.0, 0.0, 0.001]
        rig.run(1, position(goal))
        if rig.action is not Action.RUN:
            break
    rig.run(1, position(goal))
    assert "wrist: its measured position is frozen" in rig.cycle.supervisor.causes[0]
    assert rig.words == [0x02] * 3
    assert goal[2] - drive.q < 0.06


def test_a_position_frozen_under_torque_is_found_by_the_velocity(rig):
    rig.enabled(effort([1, 1, 1]))
    rig.drives[0].frozen, rig.drives[0].v = 12345, 2.0
    rig.run(60, effort([1, 1, 1]))
    assert "base: its measured position is frozen" in rig.cycle.supervisor.causes[0]


# --- modes while running ---


@pytest.mark.parametrize("switching", [1, 2, 4])
def test_targets_never_take_a_value_of_another_mode(topology, switching):
    """Efforts of 20 N·m are no angles of 20 rad, and angles no velocities."""
    rig = Rig(topology, switching)
    torque, speed = np.array([20.0, -5.0, 0.2]), np.array([0.11, -0.12, 0.13])
    for drive, measured in zip(rig.drives, torque, strict=True):
        drive.torque = measured
    rig.enabled(effort(torque))
    for command in (
        *(effort(torque), position(rig.q), velocity(speed), effort(torque), velocity(speed)),
        *(position(rig.q), effort(torque)),
    ):
        for _ in range(15):
            rig.run(1, command)
            assert rig.action is Action.RUN
            assert rig.targets == pytest.approx(rig.q, abs=1e-4)
            assert rig.torques == pytest.approx(torque, rel=0.03)
            for drive, v in zip(rig.drives, speed, strict=True):
                assert min(abs(drive.target_v), abs(drive.target_v - v)) < 1e-4
        assert {MODES[drive.mode] for drive in rig.drives} == {command.mode}


@pytest.mark.parametrize("switching", [2, 10, 100])
def test_targets_don_t_jump_where_the_drives_take_their_time_to_change_the_mode(
    topology, switching
):
    """Position commands run on meanwhile; the drive finds the first one, and then mustn't
    get one far from it.
    """
    rig = Rig(topology, switching).enabled(effort([0, 0, 0]))
    goal, last = rig.q, rig.q
    for _ in range(switching + 20):
        goal = goal + 0.004
        rig.run(1, position(goal))
        assert np.abs(rig.targets - last).max() <= JUMP + 1e-4
        last = rig.targets


def test_a_drive_that_stays_in_torque_mode_isn_t_left_to_a_constant_torque(rig):
    rig.enabled(effort([1, 1, 1]))
    for drive in rig.drives:
        drive.switching = 10**6
    rig.run(100, position(rig.q))
    assert rig.action is not Action.RUN


def test_a_mode_that_a_drive_doesn_t_have_is_refused(tmp_path, topology):
    text = topology.path.read_text(encoding="utf-8").replace(
        "drive: cia402", "drive: torque_only.yaml"
    )
    cia402 = load_topology("ur5").slaves[0].drive
    assert cia402 is not None
    (tmp_path / "torque_only.yaml").write_text(
        "description: torque only\nwritable_mapping: true\nvelocity_unit: counts/s\nrated_torque_unit: mN·m\n"
        "rx: { 0x1600: [ { index: 0x6040, type: u16 }, { index: 0x6060, type: i8 }, { index: 0x6071, type: i16 } ] }\n"
        "tx: { 0x1A00: [ { index: 0x6041, type: u16 }, { index: 0x6061, type: i8 }, { index: 0x6064, type: i32 }, "
        "{ index: 0x606C, type: i32 } ] }\n",
        encoding="utf-8",
    )
    (tmp_path / "three.yaml").write_text(text, encoding="utf-8")
    cycle = DriveCycle(load_topology(str(tmp_path / "three.yaml")), JOINTS, EXPECTED)
    assert cycle.supervisor.waits_for_commands
    with pytest.raises(ConfigError) as caught:
        cycle.command(position([0, 0, 0]), 0.0)
    assert (caught.value.value, caught.value.bound) == ("position", ("effort",))


# --- whatever happens ---


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("run"), st.integers(1, 40)),
        st.tuples(st.just("position"), st.floats(-0.2, 0.2)),
        st.tuples(st.just("effort"), st.floats(-20, 20)),
        st.tuples(st.just("velocity"), st.floats(-1, 1)),
        st.tuples(st.just("old"), st.floats(-20, 20)),
        st.tuples(st.just("bad"), st.integers(1, 4)),
        st.tuples(st.just("lost"), st.integers(1, 4)),
        st.tuples(st.just("push"), st.floats(-0.04, 0.04)),
        st.tuples(st.just("fault"), st.integers(0, 2)),
        st.sampled_from(
            [(name, 0) for name in ("enable", "disable", "stop", "reset", "silence", "link")]
        ),
    ),
    max_size=40,
)


class Chaos:
    """Events one by one; after each cycle, what may be in the targets of drives
    that aren't running.
    """

    def __init__(self, topology, switching):
        self.rig, self.given = Rig(topology, switching), None
        self.rig.run(30)
        self.sent = [self.rig.targets, self.rig.torques]

    def do(self, event, value):
        rig, supervisor = self.rig, self.rig.cycle.supervisor
        if event == "run":
            self.cycles(value)
        elif event == "position":
            self.given = position(rig.q + value)
        elif event in ("effort", "old"):
            self.given = effort([value] * 3)
        elif event == "velocity":
            self.given = velocity([value] * 3)
        elif event in ("bad", "lost"):
            self.cycles(value, counter=-1, lost=event == "lost")
        elif event == "push":
            for drive in rig.drives:
                drive.q += value
        elif event == "fault":
            rig.drives[value].state, rig.drives[value].error = FAULT, 0x7300
        elif event == "enable":
            supervisor.request_enable()
        elif event == "disable":
            supervisor.request_disable()
        elif event == "stop":
            supervisor.request_quick_stop()
        elif event == "reset" and supervisor.idle:
            rig.cycle.reset_faults()
        elif event == "silence":
            self.given = None
        elif event == "link":
            supervisor.update_link(False)
            supervisor.update_link(True)
        self.cycles(2, age=5.0 if event == "old" else 0.0)

    def cycles(self, count, **how):
        for _ in range(count):
            rig = self.rig
            before_q, before_torque = rig.targets, rig.torques
            told = [drive.state for drive in rig.drives]
            was, commanded = rig.action, self.given
            rig.run(1, commanded, **how)
            if how.get("lost"):
                continue
            self.check(told, before_q, before_torque, was)

    def check(self, told, before_q, before_torque, was):
        rig, action = self.rig, self.rig.action
        assert np.isfinite(rig.targets).all()
        if action is Action.RUN:
            if rig.cycle.mode == POSITION:
                assert np.abs(rig.targets - before_q).max() <= JUMP + 0.041 or was is not Action.RUN
            return
        for i, drive in enumerate(rig.drives):
            near = abs(drive.target_q - drive.q) <= 0.2 or drive.target_q == before_q[i]
            assert near or told[i] != ENABLED
            torques = (0.0, before_torque[i])
            enabling = action is Action.ENABLE and rig.cycle.mode == TORQUE
            assert enabling or drive.target_torque in torques
            assert drive.offset_torque == 0.0 or action is Action.HOLD
            assert drive.word != 0x0F or action in (Action.ENABLE, Action.HOLD)


@settings(deadline=None, max_examples=150)
@given(EVENTS, st.sampled_from([1, 3]))
def test_while_the_drives_don_t_run_nothing_is_sent_that_could_move_them(
    topology, events, switching
):
    chaos = Chaos(topology, switching)
    for event, value in events:
        chaos.do(event, value)
