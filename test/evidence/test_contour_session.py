"""The demonstration on EtherCAT on a machine that stalls: what is waited for, tried again, refused, and marked."""

import csv
import itertools
import os
import signal
from types import SimpleNamespace

import numpy as np
import pytest

from evidence.contour import contour_session
from evidence.contour.contour_figures import contour_table
from evidence.contour.contour_session import ContourSession
from evidence.contour.contour_trial import Comparison, ContourTrial, Setting, Track, write_figures
from evidence.contour.ethercat_demo import start
from robot_control_ros.core.errors import ConfigError, HardwareFault
from robot_control_ros.fieldbus.ethercat.topology import load_topology
from robot_control_ros.fieldbus.process.pacing import SIZE, Timing
from robot_control_ros.fieldbus.tools.jitter import TimingRecorder
from robot_control_ros.robot.configuration import load_robot

CYCLE = 0.001
SETTING = Setting("time", 0.0)


class Clock:
    """Time that only spinning moves."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


class Reply:
    def __init__(self, refusal=""):
        self._refusal = refusal

    def done(self):
        return True

    def result(self):
        return SimpleNamespace(success=not self._refusal, message=self._refusal)


class Operator:
    """Drives that run, and a record that grows with time; faults happen at times."""

    def __init__(self, clock):
        self._clock = clock
        self.ready = self.running = True
        self.stopped, self.message, self.last_error = False, "running", ""
        self.last_warning, self.home_distance = "", 0.0
        self.sent, self.requests, self.errors = [], [], {}

    @property
    def bus(self):
        return dict.fromkeys(("cycles left out", "lost frames", "wrong working counters", "late frames"), "0")

    @property
    def diagnosed_at(self):
        return self._clock.now

    @property
    def recorded(self):
        return self._clock.now - self.sent[-1]

    def set_gains(self, law, gains):
        return Reply()

    def check_set(self, reply):
        pass

    def request(self, service):
        self.requests.append(service)
        return Reply()

    def send(self, times, positions, velocities):
        self.sent.append(self._clock.now)
        self.last_error = self.last_warning = self.errors.pop(len(self.sent), "")

    def samples(self):
        return ()


class Trial:
    times, positions, velocities, duration = np.zeros(1), np.zeros((1, 6)), np.zeros((1, 6)), 8.0

    def track(self):
        return "track"


class Processes:
    def check(self):
        pass


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(contour_session, "time", clock)
    return clock


@pytest.fixture
def operator(clock):
    return Operator(clock)


@pytest.fixture
def timing():
    return Timing()


@pytest.fixture
def session(clock, operator, timing):
    """Cycles pass as time does; each takes half its period."""

    def spin(seconds):
        clock.now += seconds
        for _ in range(round(seconds / CYCLE)):
            timing.add_cycle(0.0, 0.0, 0.0, 0.5 * CYCLE, CYCLE)

    session = ContourSession(operator, spin, Processes(), load_topology("ur5"))
    session.recorder = TimingRecorder(timing)
    return session


def test_a_setting_is_followed_again_where_the_law_was_stopped(session, operator):
    operator.errors = {1: "controller: no joint state for 1.2 s"}
    assert session.follow(Trial(), SETTING) == ("track", 0)
    assert len(operator.sent) == 2
    assert operator.requests == ["ethercat/reset_fault", "controller/go_home"]


def test_a_second_try_loses_no_cycles_though_the_ring_holds_fewer(session, operator):
    operator.errors = {1: "stopped", 2: "stopped"}
    session.follow(Trial(), SETTING)
    assert session.jitter().cycles > SIZE


def test_the_last_line_names_what_stopped_it(session, operator):
    operator.errors = dict.fromkeys(itertools.chain(range(1, 9)), "controller: no joint state for 1.2 s")
    with pytest.raises(HardwareFault) as caught:
        session.follow(Trial(), SETTING)
    assert "no joint state for 1.2 s" in str(caught.value)
    assert "--rate" in str(caught.value)


def test_a_start_that_is_tried_again_can_still_be_ended():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    failures = iter([HardwareFault("the bus isn't in OP")])

    def enter():
        if error := next(failures, None):
            for number in before:  # as a node that was spun leaves them
                signal.signal(number, signal.SIG_IGN)
            raise error
        os.kill(os.getpid(), signal.SIGTERM)

    try:
        with pytest.raises(KeyboardInterrupt):
            start(enter)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_machine_that_is_too_slow_is_not_tried_again():
    tries = []

    def enter():
        tries.append(1)
        raise HardwareFault("too slow", name="rate")

    with pytest.raises(HardwareFault):
        start(enter)
    assert len(tries) == 1


def test_slaves_that_fell_out_of_op_before_they_were_enabled_are_brought_back(session, operator):
    operator.running = False

    def request(service):
        refused = service == "ethercat/enable" and "ethercat/reset_fault" not in operator.requests
        operator.requests.append(service)
        operator.running = service == "ethercat/enable" and not refused
        return Reply("slave 0 is in SAFE-OP" if refused else "")

    operator.request = request
    session.start()
    assert operator.requests == ["ethercat/enable", "ethercat/reset_fault", "ethercat/enable"]


def test_an_arm_that_is_elsewhere_goes_home_before_the_contour(session, operator):
    operator.home_distance = 0.5
    home = Operator.request

    def request(service):
        operator.home_distance = 0.0
        return home(operator, service)

    operator.request = request
    session.follow(Trial(), SETTING)
    assert operator.requests[-1] == "controller/go_home"
    assert len(operator.sent) == 1


def test_a_contour_that_isn_t_followed_is_tried_again_and_the_cause_is_named(session, operator):
    class Halfway(Trial):
        def track(self):
            operator.last_warning = "controller: no joint state for 0.12 s; the arm holds where it is"
            raise ConfigError("the tip stops")

    with pytest.raises(HardwareFault, match="the tip stops; last message: controller: no joint state"):
        session.follow(Halfway(), SETTING)
    assert len(operator.sent) == contour_session.ATTEMPTS


def test_a_process_that_ends_is_named_with_the_last_error(session, operator):
    def check():
        raise HardwareFault("the ethercat ended with exit status 1")

    session = ContourSession(operator, lambda seconds: None, SimpleNamespace(check=check), load_topology("ur5"))
    operator.ready, operator.last_warning = False, "ethercat: not started"
    with pytest.raises(HardwareFault, match="exit status 1; last message: ethercat: not started"):
        session.start()


def test_what_came_while_the_program_was_held_up_counts(clock, operator):
    """The first spin takes longer than the limit; the messages are taken by the second."""
    spins = itertools.count()
    operator.ready = False

    def spin(seconds):
        clock.now += 1000.0
        operator.ready = next(spins) > 0

    ContourSession(operator, spin, Processes(), load_topology("ur5")).start()
    assert operator.ready


@pytest.mark.parametrize(("rate", "hint"), [(1000.0, "--rate 500"), (250.0, "end other programs")])
def test_a_machine_that_is_too_slow_is_refused_with_a_way_out(clock, operator, tmp_path, rate, hint):
    timing = Timing()

    def spin(seconds):
        clock.now += seconds
        timing.add_cycle(0.0, 0.0, 0.0, 3.0 / rate, 1.0 / rate)

    topology = load_topology("ur5")
    session = ContourSession(operator, spin, Processes(), SimpleNamespace(cycle=1.0 / rate))
    session.recorder = TimingRecorder(timing)
    assert topology.cycle == CYCLE
    with pytest.raises(HardwareFault) as caught:
        session.check_speed()
    assert (caught.value.name, caught.value.value) == ("rate", 0.0)
    assert hint in str(caught.value)


def test_a_machine_that_keeps_the_rate_is_let_through(session):
    session.check_speed()
    assert session.jitter().on_time == 1.0


# --- missing samples ---


def track(t) -> Track:
    t = np.asarray(t)
    tip = np.column_stack((np.zeros(len(t)), np.zeros(len(t)), 1e-3 * np.sin(t)))
    return Track(t, np.zeros((len(t), 6)), tip, np.zeros_like(tip), 5.5 * CYCLE)


WHOLE = track(np.arange(3000) * CYCLE)
GAP = track(np.concatenate((np.arange(1400) * CYCLE, np.arange(1790, 3000) * CYCLE)))  # 0.39 s about the peak


def test_a_track_knows_of_its_longest_gap():
    assert WHOLE.complete
    assert not GAP.complete
    assert GAP.longest_gap == pytest.approx(0.391)
    assert not track(np.arange(100, 3000) * CYCLE).complete  # nor where the beginning is missing


def test_a_line_is_broken_where_samples_are_missing():
    assert not np.isnan(WHOLE.broken(WHOLE.error)).any()
    assert np.flatnonzero(np.isnan(GAP.broken(GAP.error))).tolist() == [1400]
    assert np.isnan(GAP.broken(GAP.tip)).sum() == 3


def test_figures_with_missing_samples_are_marked(tmp_path):
    comparisons = [Comparison(SETTING, each, WHOLE, WHOLE, 0) for each in (WHOLE, GAP)]
    _, _, whole, gap, note = contour_table(comparisons)
    assert "*" not in whole
    assert gap.count("*") == 6  # both figures, and the ratios made of them
    assert note.startswith("*")
    assert "0.391 s" in note
    path = write_figures(comparisons, tmp_path / "figures.csv")
    with path.open(encoding="ascii") as file:
        gaps = [float(row["longest_gap_s"]) for row in csv.DictReader(file) if row["where"] == "on the bus"]
    assert gaps == pytest.approx([0.001, 0.391])


def test_a_contour_that_ends_halfway_is_no_measurement():
    """A loop that rests after a stall, and forgets its trajectory, leaves the tip on the contour, without an error."""
    trial = ContourTrial(load_robot("ur5", "ethercat"))
    t = np.arange(0.0, trial.duration + 0.5, 0.005)
    q = np.column_stack([np.interp(t, trial.times, column) for column in trial.positions.T])
    assert trial.track(t, q).max < 0.1
    halfway = np.searchsorted(t, trial.lead + 0.6 * (trial.times[-1] - trial.lead))
    q[halfway:] = q[halfway]
    with pytest.raises(ConfigError):
        trial.track(t, q)
