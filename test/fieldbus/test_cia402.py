"""The CiA 402 state machine: every status word, every way through, and nothing enabled
that nobody asked for.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.fieldbus.ethercat.cia402 import (
    ERROR_CODES,
    PATTERNS,
    DriveStateMachine,
    Mode,
    State,
    TargetSource,
    decode,
    describe_error,
    remarks,
)

CYCLE = 0.001

WORDS = {
    "not ready": 0x0000,
    "disabled": 0x0040,
    "ready": 0x0021,
    "on": 0x0023,
    "enabled": 0x0027,
    "quick stop": 0x0007,
    "reaction": 0x000F,
    "fault": 0x0008,
}


class Drive:
    """A drive as the standard draws it, written from its table of transitions and not from
    the code under test.
    """

    def __init__(self, state="disabled", mode_delay=3, ignores=(), stays_stopped=False):
        self.state, self.ignores, self.stays_stopped = state, ignores, stays_stopped
        self.mode_display, self.mode_delay, self.shown_in = 0, mode_delay, mode_delay
        self.error_code, self.fault_persists = 0, False
        self.last_word, self.history = 0, [state]

    @property
    def status_word(self):
        return 0x1250 & ~0x6F | WORDS[self.state]

    def fail(self, code):
        self.error_code = code
        self.go("reaction")

    def go(self, state):
        self.state = state
        self.history.append(state)

    def receive(self, word, mode):
        self.shown_in = self.shown_in - 1 if mode != self.mode_display else self.mode_delay
        if self.shown_in <= 0:
            self.mode_display, self.shown_in = mode, self.mode_delay
        rising, self.last_word = word & ~self.last_word & 0x80, word
        command = self.command(word)
        if self.state == "reaction":
            return self.go("fault")
        if self.state == "fault":
            if rising and not self.fault_persists:
                self.error_code = 0
                self.go("disabled")
            return None
        table = {
            ("disabled", "shutdown"): "ready",
            ("ready", "switch on"): "on",
            ("ready", "enable"): "on",
            ("on", "enable"): "enabled",
            ("on", "shutdown"): "ready",
            ("enabled", "switch on"): "on",
            ("enabled", "shutdown"): "ready",
            ("enabled", "quick stop"): "quick stop",
        }
        if command in ("disable voltage", "quick stop") and self.state in ("ready", "on"):
            return self.go("disabled")
        if command == "disable voltage" and self.state in ("enabled", "quick stop"):
            return self.go("disabled")
        if self.state == "quick stop" and not self.stays_stopped:
            return self.go("disabled")
        if (self.state, command) in table and command not in self.ignores:
            return self.go(table[self.state, command])
        return None

    @staticmethod
    def command(word):
        if not word & 0x02:
            return "disable voltage"
        if not word & 0x04:
            return "quick stop"
        if not word & 0x01:
            return "shutdown"
        return "enable" if word & 0x08 else "switch on"


class Bench:
    """A drive and its state machine, cycle by cycle."""

    def __init__(self, drive=None, **times):
        self.drive = Drive() if drive is None else drive
        self.machine = DriveStateMachine(**times)
        self.time, self.words = 0.0, []
        self.run(1)

    def run(self, cycles):
        for _ in range(cycles):
            drive, machine = self.drive, self.machine
            word = machine.step(self.time, drive.status_word, drive.mode_display, drive.error_code)
            drive.receive(word, machine.mode)
            self.words.append(word)
            self.time += CYCLE

    def enabled(self, mode=Mode.TORQUE):
        self.machine.enable(mode)
        self.run(20)
        assert self.machine.targets is TargetSource.COMMAND
        return self


# --- status words ---


def test_no_status_word_shows_two_states_and_decode_finds_the_one():
    for word in range(0x10000):
        shown = [state for mask, pattern, state in PATTERNS if word & mask == pattern]
        assert len(shown) <= 1
        assert decode(word) is (shown[0] if shown else State.UNDEFINED)


@pytest.mark.parametrize(
    ("word", "state"),
    [
        (0x0250, State.SWITCH_ON_DISABLED),
        (0x0231, State.READY_TO_SWITCH_ON),
        (0x0233, State.SWITCHED_ON),
        (0x1237, State.OPERATION_ENABLED),
        (0x0217, State.QUICK_STOP_ACTIVE),
        (0x021F, State.FAULT_REACTION_ACTIVE),
        (0x0218, State.FAULT),
        (0x0238, State.FAULT),  # bit 5 doesn't matter
        (0x0200, State.NOT_READY_TO_SWITCH_ON),
        (0x0202, State.UNDEFINED),
    ],
)
def test_status_words_of_real_drives(word, state):
    assert decode(word) is state


def test_remarks_of_a_status_word():
    assert remarks(0x1237) == ()
    assert remarks(0x0237 | 0x0880) == ("warning", "internal limit active")
    assert remarks(0x0040) == ("no voltage at the power stage",)


def test_error_codes_by_name_group_and_vendor():
    assert describe_error(0x8611) == "0x8611 following error"
    assert describe_error(0x2399) == "0x2399 current error, see the drive's manual"
    assert describe_error(0xFF12) == "0xFF12 manufacturer specific error, see the drive's manual"
    assert describe_error(0xFF12, {0xFF12: "hall sensor"}) == "0xFF12 hall sensor"
    assert {0x2310, 0x3210, 0x3220, 0x4210, 0x7305, 0x8611} <= set(ERROR_CODES)


# --- ways through ---


def test_enabling_goes_through_every_state_in_order():
    bench = Bench(Drive("not ready"))
    bench.drive.state = "disabled"
    bench.machine.enable(Mode.POSITION)
    bench.run(20)
    assert bench.drive.history == ["not ready", "ready", "on", "enabled"]
    order = [word for i, word in enumerate(bench.words) if i == 0 or word != bench.words[i - 1]]
    assert order == [0x00, 0x06, 0x07, 0x0F]
    assert bench.machine.waits_for == ""


def test_0x0f_is_sent_only_after_the_mode_is_shown_and_with_targets_that_follow():
    bench = Bench(Drive(mode_delay=30))
    bench.machine.enable(Mode.TORQUE)
    while 0x0F not in bench.words:
        assert bench.machine.targets is TargetSource.FOLLOW
        if bench.machine.state is State.SWITCHED_ON:
            assert "cyclic synchronous torque (10)" in bench.machine.waits_for
            assert "shows none (0)" in bench.machine.waits_for
        bench.run(1)
    assert bench.drive.mode_display == Mode.TORQUE
    assert bench.machine.targets is TargetSource.FOLLOW


def test_a_refused_mode_is_named_and_ends_the_wish():
    bench = Bench(Drive(mode_delay=10**9), transition_time=0.05)
    bench.machine.enable(Mode.VELOCITY)
    bench.run(200)
    assert bench.machine.failure.startswith(
        "refuses mode of operation cyclic synchronous velocity (9)"
    )
    assert 0x0F not in bench.words
    assert bench.drive.state == "disabled"


def test_another_mode_while_enabled_keeps_the_targets_until_the_drive_shows_it():
    bench = Bench(Drive(mode_delay=5)).enabled(Mode.POSITION)
    bench.machine.change_mode(Mode.TORQUE)
    seen = []
    for _ in range(10):
        bench.run(1)
        seen.append(bench.machine.targets)
    assert seen == [TargetSource.KEEP] * 5 + [TargetSource.COMMAND] * 5
    assert set(bench.words[-10:]) == {0x0F}


def test_a_mode_refused_while_enabled_ends_in_a_quick_stop():
    bench = Bench(transition_time=0.05).enabled(Mode.POSITION)
    bench.drive.mode_delay = bench.drive.shown_in = 10**9
    bench.machine.change_mode(Mode.TORQUE)
    bench.run(100)
    assert "refuses mode" in bench.machine.failure
    assert "quick stop" in bench.drive.history
    assert bench.drive.state == "disabled"


@pytest.mark.parametrize("call", ["enable", "change_mode"])
def test_no_mode_is_refused(call):
    with pytest.raises(ConfigError) as caught:
        getattr(DriveStateMachine(), call)(Mode.NONE)
    assert (caught.value.value, caught.value.bound) == (
        Mode.NONE,
        (Mode.POSITION, Mode.VELOCITY, Mode.TORQUE),
    )


def test_disabling_goes_back_step_by_step():
    bench = Bench().enabled()
    bench.drive.history.clear()
    bench.machine.disable()
    bench.run(10)
    assert bench.drive.history == ["on", "ready", "disabled"]
    assert not bench.machine.enabled


def test_a_drive_that_ignores_disable_operation_loses_its_voltage():
    bench = Bench(Drive(ignores=("switch on",)), transition_time=0.05)
    bench.drive.state = "enabled"
    bench.machine.disable()
    bench.run(40)
    assert bench.drive.state == "enabled"
    bench.run(30)
    assert bench.drive.state == "disabled"


@pytest.mark.parametrize("stays", [False, True])
def test_quick_stop_and_nothing_after_it(stays):
    bench = Bench(Drive(stays_stopped=stays)).enabled()
    bench.drive.history.clear()
    bench.machine.quick_stop()
    bench.run(3000)
    assert bench.drive.history == (["quick stop"] if stays else ["quick stop", "disabled"])
    assert set(bench.words[-3000:]) == {0x02}


def test_a_drive_that_ignores_the_quick_stop_loses_its_voltage():
    bench = Bench(Drive(ignores=("quick stop",)), transition_time=0.05).enabled()
    bench.machine.quick_stop()
    bench.run(100)
    assert bench.drive.state == "disabled"


def test_enabling_out_of_a_lasting_quick_stop_goes_the_long_way():
    bench = Bench(Drive(stays_stopped=True)).enabled()
    bench.machine.quick_stop()
    bench.run(5)
    bench.drive.history.clear()
    bench.enabled()
    assert bench.drive.history == ["disabled", "ready", "on", "enabled"]


def test_while_the_drive_is_still_enabled_a_stop_holds_the_last_position():
    bench = Bench().enabled(Mode.POSITION)
    bench.machine.quick_stop()
    bench.run(1)
    assert bench.machine.targets is TargetSource.HALT
    bench.run(5)
    assert bench.machine.targets is TargetSource.FOLLOW


def test_a_transition_that_never_comes_is_named():
    bench = Bench(Drive(ignores=("switch on", "enable")), transition_time=0.05)
    bench.machine.enable(Mode.TORQUE)
    bench.run(100)
    assert bench.machine.failure == (
        "no switched on within 0.05 s of control word 0x07: the drive is still ready to switch on"
    )
    bench.words.clear()
    bench.run(100)
    assert set(bench.words) == {0x02}


# --- faults ---


def test_a_fault_is_named_and_the_drive_stays_off_after_its_reset():
    bench = Bench().enabled()
    bench.drive.fail(0x8611)
    bench.run(5)
    assert bench.machine.failure == "fault 0x8611 following error"
    assert set(bench.words[-4:]) == {0x00}
    bench.machine.reset_fault()
    bench.run(100)
    assert bench.drive.state == "disabled"
    assert bench.machine.failure == ""
    assert set(bench.words[-50:]) == {0x00}
    bench.enabled()


def test_the_reset_is_a_rising_edge_after_a_low_time_that_outlasts_lost_frames():
    bench = Bench().enabled()
    bench.drive.fail(0x3210)
    bench.drive.fault_persists = True
    bench.run(5)
    bench.words.clear()
    bench.machine.reset_fault()
    bench.run(20)
    assert bench.words[:10] == [0x00] * 10
    assert bench.words[11:] == [0x80] * 9


def test_a_fault_that_stays_says_so_and_bit_7_goes_back():
    bench = Bench().enabled()
    bench.drive.fail(0x3210)
    bench.drive.fault_persists = True
    bench.run(5)
    bench.machine.reset_fault()
    bench.run(1100)
    assert bench.machine.failure == "fault 0x3210 DC link over-voltage, which stays after a reset"
    assert bench.words[-1] == 0x00
    bench.drive.fault_persists = False
    bench.machine.reset_fault()
    bench.run(200)
    assert bench.drive.state == "disabled"


def test_enabling_in_a_fault_does_nothing():
    bench = Bench().enabled()
    bench.drive.fail(0x8611)
    bench.run(5)
    bench.machine.enable(Mode.TORQUE)
    assert bench.machine.failure == "fault: reset it first"
    bench.run(50)
    bench.machine.reset_fault()
    bench.run(200)
    assert bench.drive.state == "disabled"


def test_a_reset_without_a_fault_leaves_the_drive_alone():
    bench = Bench().enabled()
    bench.machine.reset_fault()
    bench.run(100)
    assert bench.machine.enabled
    assert set(bench.words[-100:]) == {0x0F}


def test_a_drive_that_drops_out_by_itself_is_not_enabled_again():
    bench = Bench().enabled()
    bench.drive.go("disabled")  # safe torque off
    bench.run(1000)
    assert bench.machine.failure == "left operation enabled by itself: switch on disabled"
    assert bench.drive.state == "disabled"


# --- whatever happens ---

REQUESTS = st.sampled_from(["quick_stop", "disable", "reset_fault", "nothing"])


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 0xFFFF), st.integers(-128, 127), REQUESTS), max_size=60))
def test_without_a_request_no_word_ever_switches_on_or_enables(cycles):
    machine = DriveStateMachine(transition_time=0.01)
    for i, (status, mode, request) in enumerate(cycles):
        if request != "nothing":
            getattr(machine, request)()
        word = machine.step(i * CYCLE, status, mode)
        assert not word & 0x08
        assert not (decode(status) is State.SWITCH_ON_DISABLED and word == 0x06)
        assert not (decode(status) is State.READY_TO_SWITCH_ON and word & 0x07 == 0x07)
        assert machine.targets is not TargetSource.COMMAND


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 0xFFFF), st.sampled_from([0, 8, 10])), max_size=60))
def test_one_request_enables_once_and_only_from_switched_on_in_the_right_mode(cycles):
    machine = DriveStateMachine()
    machine.enable(Mode.POSITION)
    enabled = ended = False
    for i, (status, mode) in enumerate(cycles):
        state, word = decode(status), machine.step(i * CYCLE, status, mode)
        ended = ended or state in (State.FAULT, State.FAULT_REACTION_ACTIVE)
        ended = ended or (enabled and state is not State.OPERATION_ENABLED)
        enabled = enabled or state is State.OPERATION_ENABLED
        if word & 0x08:
            assert not ended
            assert state is State.OPERATION_ENABLED or (state is State.SWITCHED_ON and mode == 8)
        if machine.targets is TargetSource.COMMAND:
            assert not ended
            assert (state, mode) == (State.OPERATION_ENABLED, 8)
