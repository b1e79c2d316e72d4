"""The supervisor: every row of the fault table that concerns the driver, and nothing
enabled again by itself.
"""

import math
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_control_ros.fieldbus.command_checks import describe_jump
from robot_control_ros.fieldbus.ethercat.al_status import OP, AlStatus, Recovery
from robot_control_ros.fieldbus.ethercat.cia402 import DriveStateMachine, Mode, State
from robot_control_ros.fieldbus.ethercat.drive_cycle import FrozenPosition
from robot_control_ros.fieldbus.ethercat.ethercat_supervisor import EthercatSupervisor
from robot_control_ros.fieldbus.ethercat.slave_access import SlaveEvent
from robot_control_ros.fieldbus.supervisor import Action, SupervisorLimits

CYCLE = 0.001
NAMES = ("pan", "lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
ALL = 18
OK = AlStatus(0x08)


@dataclass
class Bus:
    """Six drives that obey at once, and a supervisor over them."""

    supervisor: EthercatSupervisor = field(default_factory=lambda: EthercatSupervisor(NAMES, ALL))
    states: list = field(default_factory=lambda: [State.SWITCH_ON_DISABLED] * 6)
    failures: list = field(default_factory=lambda: [""] * 6)
    obey: bool = True
    time: float = 0.0

    def run(self, cycles=1, counter=ALL, age=0.0, late=False):
        for _ in range(cycles):
            action = self.supervisor.step(self.time, counter, self.states, self.failures, age, late)
            if self.obey and action is Action.ENABLE:
                self.states = [State.OPERATION_ENABLED] * 6
            elif self.obey and action in (Action.QUICK_STOP, Action.DISABLE):
                off = (State.FAULT, State.FAULT_REACTION_ACTIVE)
                self.states = [s if s in off else State.SWITCH_ON_DISABLED for s in self.states]
            self.time += CYCLE
        return self.supervisor.action

    def started(self):
        self.run(30)
        assert self.supervisor.request_enable() == []
        self.run(2)
        assert self.run() is Action.RUN
        return self


@pytest.fixture
def bus():
    return Bus().started()


def stopped_for_good(bus, cause):
    """Stopped with this as the first cause, for as long as nobody asks."""
    assert bus.run() in (Action.QUICK_STOP, Action.DISABLE)
    assert cause in bus.supervisor.causes[0]
    assert bus.supervisor.message.endswith("Enabled again only on request")
    for _ in range(100):
        assert bus.run(30) is Action.DISABLE
    return True


# --- the fault table, row by row ---


@pytest.mark.parametrize("lost", [1, 2])
def test_lost_frames_below_the_limit_are_held_over_and_counted(bus, lost):
    for _ in range(lost):
        assert bus.run(counter=-1) is Action.HOLD
        assert "no answer from the bus" in bus.supervisor.message
    assert bus.run() is Action.RUN
    assert bus.supervisor.frames.lost_frames == lost
    assert bus.supervisor.causes == []


def test_k_lost_frames_stop_all_drives(bus):
    bus.run(2, counter=-1)
    assert bus.run(counter=-1) is Action.QUICK_STOP
    assert stopped_for_good(bus, "3 cycles in a row: no answer from the bus (working counter -1)")


def test_one_bad_cycle_in_two_never_stops_but_is_counted(bus):
    for _ in range(50):
        assert bus.run(counter=-1) is Action.HOLD
        assert bus.run() is Action.RUN
    assert bus.supervisor.frames.lost_frames == 50


def test_a_slave_missing_from_the_frame_stops_all_drives(bus):
    bus.run(2, counter=15)
    assert bus.run(counter=15) is Action.QUICK_STOP
    assert stopped_for_good(bus, "working counter 15 of 18: 1 of the drives missing")
    assert bus.supervisor.frames.bad_counters >= 3


@pytest.mark.parametrize(
    "status", [AlStatus(0x14, 0x1B), AlStatus(0x14, 0x1A), AlStatus(0x12, 0x1E)]
)
def test_a_slave_that_leaves_op_stops_all_drives_and_needs_an_acknowledgement(bus, status):
    bus.run(1, counter=16)
    bus.supervisor.update_al([OK, OK, status, OK, OK, OK])
    assert stopped_for_good(bus, "slave 2 (elbow) is in")
    assert bus.supervisor.slaves.recovery() == [(2, Recovery.ACKNOWLEDGE)]
    assert any("slave 2 (elbow)" in obstacle for obstacle in bus.supervisor.request_enable())
    bus.supervisor.update_al([OK, OK, AlStatus(0x04), OK, OK, OK])
    assert bus.supervisor.slaves.recovery() == [(2, Recovery.REQUEST_OP)]
    bus.supervisor.update_al([OK] * 6)
    assert bus.supervisor.slaves.recovery() == []
    assert bus.run(50) is Action.DISABLE
    bus.started()


def test_al_words_name_state_and_code():
    assert str(AlStatus(0x14, 0x1B)) == "is in SAFE-OP with error 0x001B sync manager watchdog"
    assert str(AlStatus(0x04)) == "is in SAFE-OP"
    assert str(AlStatus(0x18, 0x8001)) == "is in OP with error 0x8001 of its vendor"


def test_two_missing_counts_mean_a_drive_that_takes_no_outputs(bus):
    bus.run(4, counter=16)
    assert "a drive doesn't take its outputs" in bus.supervisor.causes[0]


def test_a_drive_fault_stops_all_drives_and_is_named(bus):
    machine = DriveStateMachine()
    machine.step(0.0, 0x0008, 10, 0x8611)
    bus.states[2], bus.failures[2] = State.FAULT, machine.failure
    assert bus.run() is Action.QUICK_STOP
    assert bus.supervisor.causes == ["elbow: fault 0x8611 following error"]
    bus.run(10)
    assert bus.supervisor.request_enable() == ["elbow: fault; reset it first"]
    bus.states[2], bus.failures[2] = State.SWITCH_ON_DISABLED, ""
    assert stopped_for_good(bus, "elbow: fault 0x8611 following error")
    bus.started()


@pytest.mark.parametrize("state", [s for s in State if s is not State.OPERATION_ENABLED])
def test_a_drive_in_any_other_state_stops_all_drives(bus, state):
    bus.states[4] = state
    bus.run()
    assert bus.supervisor.action is not Action.RUN
    assert bus.supervisor.causes == [f"wrist_2: {state.value}"]


def test_the_turns_of_action_and_working_counter_are_kept(bus):
    begin = len(bus.supervisor.turns)
    bus.run(3, counter=-1)
    bus.run(3)
    turns = list(bus.supervisor.turns)[begin:]
    assert [turn[1:] for turn in turns] == [("hold", -1), ("quick stop", -1), ("disable", ALL)]
    assert [turn[0] - turns[0][0] for turn in turns] == pytest.approx([0.0, 2 * CYCLE, 3 * CYCLE])


def test_an_emergency_says_what_it_means():
    assert SlaveEvent(3, code=0x3210, register=0x04).describe() == (
        "emergency 0x3210 DC link over-voltage (error register 0x04)"
    )
    assert "brake" in SlaveEvent(3, code=0xFF01).describe({0xFF01: "brake"})
    assert SlaveEvent(3, "mailbox error").describe() == "mailbox error"


def test_what_goes_wrong_before_the_drives_are_enabled_is_an_event_once():
    supervisor = EthercatSupervisor(NAMES, ALL)
    lost = [AlStatus(OP)] * 5 + [AlStatus(0)]
    for _ in range(3):
        supervisor.update_link(False)
        supervisor.update_al(lost)
    messages = [message for _, message in supervisor.events]
    assert len(messages) == len(set(messages)) == 2
    assert (supervisor.causes, supervisor.stopped) == ([], False)
    supervisor.update_al([AlStatus(OP)] * 6)  # all is well, and goes wrong again
    supervisor.update_al(lost)
    assert [message for _, message in supervisor.events] == [*messages, messages[1]]


def test_an_sdo_timeout_is_kept_and_stops_nothing(bus):
    bus.supervisor.note("slave 1 (lift): no answer to reading 0x6076")
    assert bus.run() is Action.RUN
    assert bus.supervisor.events[-1][1].startswith("slave 1 (lift)")


def test_a_cut_chain_names_the_lost_slaves_and_the_place(bus):
    bus.run(3, counter=9)
    assert "working counter 9 of 18: 3 of the drives missing" in bus.supervisor.causes[0]
    bus.supervisor.update_al([OK, OK, OK, AlStatus(0), AlStatus(0), AlStatus(0)])
    assert bus.supervisor.causes[1] == (
        "lost: slave 3 (wrist_1), slave 4 (wrist_2), slave 5 (wrist_3): the cable between slave 2 (elbow) and "
        "slave 3 (wrist_1), or power"
    )
    assert [step for _, step in bus.supervisor.slaves.recovery()] == [Recovery.RECOVER] * 3


def test_a_lost_first_slave_points_to_the_master_and_one_in_the_middle_to_itself(bus):
    bus.supervisor.update_al([AlStatus(0)] * 6)
    assert "between the master and slave 0 (pan)" in bus.supervisor.causes[0]
    other = Bus().started()
    other.supervisor.update_al([OK, AlStatus(0), OK, OK, OK, OK])
    assert other.supervisor.causes[0] == "lost: slave 1 (lift)"


def test_a_power_cycled_slave_is_recovered_step_by_step_on_request(bus):
    bus.run(3, counter=15)
    bus.supervisor.update_al([OK, OK, OK, OK, AlStatus(0), OK])
    assert "lost: slave 4 (wrist_2)" in bus.supervisor.causes
    seen = []
    for state in (0x01, 0x02, 0x04, 0x08):
        seen += bus.supervisor.slaves.recovery()
        bus.supervisor.update_al([OK, OK, OK, OK, AlStatus(state), OK])
    steps = [Recovery.RECOVER, Recovery.RECONFIGURE, Recovery.RECONFIGURE, Recovery.REQUEST_OP]
    assert seen == [(4, step) for step in steps]
    assert bus.run(100) is Action.DISABLE
    bus.started()


def test_link_down_stops_at_once_and_link_up_starts_nothing(bus):
    bus.supervisor.update_link(False)
    assert bus.run(counter=-1) in (Action.QUICK_STOP, Action.DISABLE)
    assert bus.supervisor.causes[0].startswith("link down")
    bus.run(3000, counter=-1)
    assert "link down" in bus.supervisor.request_enable()
    bus.supervisor.update_link(True)
    assert stopped_for_good(bus, "link down")
    bus.started()


def test_late_frames_are_held_over_then_stop(bus):
    assert bus.run(late=True) is Action.HOLD
    assert "the answer came too late" in bus.supervisor.message
    bus.run(late=True)
    assert bus.run(late=True) is Action.QUICK_STOP
    assert bus.supervisor.frames.late_frames == 3


def test_a_refused_mode_ends_the_enabling_and_names_the_drive():
    bus = Bus(obey=False)
    bus.run(30)
    bus.supervisor.request_enable()
    bus.run(5)
    machine = DriveStateMachine(transition_time=0.0)
    machine.enable(Mode.TORQUE)
    for i in range(3):
        machine.step(i * CYCLE, 0x0233, 8)
    bus.failures[1] = machine.failure
    assert bus.run() is Action.DISABLE
    assert bus.supervisor.causes[0].startswith(
        "lift: refuses mode of operation cyclic synchronous torque (10)"
    )


# --- commands ---


def test_a_stale_command_is_a_controlled_stop(bus):
    assert bus.run(age=0.019) is Action.RUN
    assert bus.run(age=0.021) is Action.QUICK_STOP
    assert stopped_for_good(bus, "the last command is 0.021 s old (limit 0.02 s)")


def test_drives_that_hold_by_themselves_wait_for_the_first_command():
    bus = Bus()
    bus.run(30, age=math.inf)
    assert bus.supervisor.request_enable() == []
    bus.run(2, age=math.inf)
    assert bus.run(1000, age=math.inf) is Action.HOLD
    assert bus.supervisor.message == "holds: no command yet"
    assert bus.run(age=0.0) is Action.RUN
    assert bus.run(age=math.inf) is Action.QUICK_STOP


def test_drives_that_only_torque_holds_are_not_enabled_without_a_fresh_command():
    bus = Bus()
    bus.supervisor.waits_for_commands = True
    bus.run(30, age=1.0)
    assert "start the controller first" in bus.supervisor.request_enable()[0]
    assert bus.run(100, age=1.0) is Action.DISABLE
    bus.started()
    assert bus.run(age=1.0) is Action.QUICK_STOP


# --- requests ---


def test_nothing_is_enabled_at_the_beginning():
    bus = Bus()
    assert bus.run(1000) is Action.DISABLE
    assert bus.supervisor.message == "disabled; enabled on request"
    assert not bus.supervisor.stopped


def test_enabling_needs_good_cycles_in_a_row():
    bus = Bus()
    bus.run(30)
    bus.run(1, counter=-1)
    assert "no answer" in bus.supervisor.request_enable()[0]
    bus.run(5)
    assert bus.supervisor.request_enable() == ["only 5 good cycles since the last bad one"]
    bus.run(20)
    assert bus.supervisor.request_enable() == []


def test_enabling_that_takes_too_long_names_who_is_late():
    bus = Bus(EthercatSupervisor(NAMES, ALL, SupervisorLimits(enable_time=0.05)), obey=False)
    bus.run(30)
    bus.supervisor.request_enable()
    bus.states = [State.OPERATION_ENABLED] * 5 + [State.READY_TO_SWITCH_ON]
    assert bus.run(20) is Action.ENABLE
    assert bus.supervisor.message == "enabling: wrist_3 is ready to switch on"
    assert bus.run(50) is Action.QUICK_STOP
    assert bus.supervisor.causes == ["not enabled within 0.05 s: wrist_3 is ready to switch on"]


def test_quick_stop_on_request_lasts_until_all_are_at_rest_then_disables(bus):
    bus.obey = False
    bus.supervisor.request_quick_stop()
    bus.states = [State.QUICK_STOP_ACTIVE] * 6
    assert bus.run(500) is Action.QUICK_STOP
    assert bus.supervisor.request_enable() == ["the drives are still being stopped"]
    bus.states = [State.SWITCH_ON_DISABLED] * 6
    assert bus.run() is Action.DISABLE


def test_drives_that_never_come_to_rest_are_disabled(bus):
    bus.obey = False
    bus.supervisor.request_quick_stop()
    assert bus.run(1990) is Action.QUICK_STOP
    assert bus.run(20) is Action.DISABLE


def test_a_bus_that_does_not_answer_is_told_to_stop_for_the_whole_stop_time(bus):
    """What it said last, that the drives are off, is worth nothing then."""
    bus.states = [State.SWITCH_ON_DISABLED] * 6
    assert bus.run(1990, counter=-1) is Action.QUICK_STOP
    assert bus.run(20, counter=-1) is Action.DISABLE


def test_after_a_stop_commands_of_before_do_not_count(bus):
    bus.supervisor.request_quick_stop()
    bus.run(30, age=5.0)
    assert bus.supervisor.request_enable() == []
    bus.run(2, age=5.0)
    assert bus.run(100, age=5.0) is Action.HOLD


def test_disabling_on_request(bus):
    bus.supervisor.request_disable()
    assert bus.run() is Action.DISABLE
    assert "disabled on request" in bus.supervisor.message
    bus.started()


def test_further_causes_follow_the_first_one_once_each(bus):
    bus.run(3, counter=-1)
    for _ in range(5):
        bus.supervisor.update_link(False)
        bus.supervisor.update_al([OK] * 5 + [AlStatus(0x14, 0x1B)])
    assert len(bus.supervisor.causes) == 3
    assert bus.supervisor.causes[0].startswith("3 cycles in a row")


def test_slaves_that_move_no_joint_are_named_by_their_place_on_the_bus():
    supervisor = EthercatSupervisor(("j1",), 3, all_names=("coupler", "j1"))
    bus = Bus(supervisor, [State.SWITCH_ON_DISABLED], [""])
    for _ in range(30):
        supervisor.step(0.0, 3, bus.states)
    supervisor.request_enable()
    supervisor.update_al([OK, AlStatus(0x14, 0x1B)])
    assert supervisor.causes[0].startswith("slave 1 (j1)")


# --- whatever happens ---

EVENTS = st.one_of(
    st.sampled_from([-1, 0, 9, 15, 16, ALL]).map(lambda n: ("counter", n)),
    st.sampled_from(list(State)).map(lambda s: ("state", s)),
    st.sampled_from([AlStatus(0x14, 0x1B), AlStatus(0), OK, AlStatus(1)]).map(lambda a: ("al", a)),
    st.booleans().map(lambda up: ("link", up)),
    st.sampled_from([0.0, 0.01, 0.03, math.inf]).map(lambda age: ("age", age)),
    st.booleans().map(lambda late: ("late", late)),
)


@settings(deadline=None)
@given(st.lists(EVENTS, max_size=80), st.booleans())
def test_once_stopped_no_event_enables_again(events, started):
    bus = Bus()
    supervisor = bus.supervisor
    if started:
        bus.started()
    counter, age, late, stopped = ALL, 0.0, False, not started
    for kind, value in events:
        if kind == "counter":
            counter = value
        elif kind == "state":
            bus.states = [value, *bus.states[1:]]
        elif kind == "al":
            supervisor.update_al([value, *[OK] * 5])
        elif kind == "link":
            supervisor.update_link(value)
        elif kind == "age":
            age = value
        else:
            late = value
        action = bus.run(1, counter, age, late)
        assert action is not Action.ENABLE
        assert not (stopped and action in (Action.RUN, Action.HOLD))
        stopped = stopped or supervisor.stopped
        if action is Action.RUN:
            assert counter == ALL
            assert not late
            assert age <= 0.02
            assert all(state is State.OPERATION_ENABLED for state in bus.states)


# --- frozen positions, first commands ---


def test_a_frozen_position_is_found_by_the_velocity_or_the_target():
    check = FrozenPosition(("a", "b"))
    for _ in range(49):
        assert check.step(CYCLE, [5, 7], [0.0, 1.0]) == ""
    assert [check.step(CYCLE, [5, 7], [0.0, 1.0]) for _ in range(5)][-1].startswith(
        "b: its measured position is frozen at 7 counts"
    )
    check.reset()
    assert [check.step(CYCLE, [5, 7], [0.0, 0.0], [i * 0.01, 0.0]) for i in range(8)][
        -1
    ].startswith("a: ")


def test_moving_or_resting_positions_are_not_frozen():
    check = FrozenPosition(("a", "b"))
    for i in range(5000):
        noise = 0.3 if i % 2 else -0.3
        assert check.step(CYCLE, [i, 7], [50.0, noise], [0.05 * i, 1.0]) == ""


def test_a_command_that_jumps_is_named():
    assert describe_jump(("a", "b"), [0.0, 1.0], [0.04, 1.0]) == ""
    assert describe_jump(("a", "b"), [0.0, 1.0], [0.04, 1.2]) == (
        "b: the command jumps from 1 rad to 1.2 rad (limit 0.05 rad)"
    )
    assert "a: the command jumps from 0 rad to nan rad" in describe_jump(("a",), [0.0], [math.nan])
