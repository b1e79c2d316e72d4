"""The demonstration on EtherCAT: what is waited for, refused, marked, and told where a
machine is too slow.
"""

import csv
import io
import time
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from evidence.contour import contour_session
from evidence.contour.contour_figures import contour_table
from evidence.contour.contour_session import BUS, LOOP, ContourSession
from evidence.contour.contour_steps import ContourSteps
from evidence.contour.contour_trial import Comparison, ContourTrial, Setting, Track, write_figures
from robot_control_ros import ConfigError, HardwareFault
from robot_control_ros.cli.progress import Progress
from robot_control_ros.client.backend import Diagnosis
from robot_control_ros.core.errors import NotReached
from robot_control_ros.fieldbus.ethercat.topology import load_topology
from robot_control_ros.fieldbus.process.pacing import SIZE, Timing
from robot_control_ros.fieldbus.tools.jitter import TimingRecorder
from robot_control_ros.robot.configuration import load_robot

CYCLE = 0.001
SETTING = Setting("time", 0.0)
COUNTS = dict.fromkeys(
    ("cycles left out", "lost frames", "wrong working counters", "late frames"), "0"
)


class Arm:
    """A robot on a bus that diagnoses itself whenever it is looked at."""

    def __init__(self, *levels):
        self._levels = [*levels, 0]
        self.requests = []

    @property
    def diagnostics(self):
        level = self._levels.pop(0) if len(self._levels) > 1 else self._levels[0]
        return {BUS: Diagnosis(level, "slave 3 is in SAFE-OP" if level else "running", COUNTS)}

    def request(self, service):
        self.requests.append(service)


@pytest.fixture
def timing():
    return Timing()


@pytest.fixture
def session_of(timing):
    return lambda arm: ContourSession(arm, load_topology("ur5"), TimingRecorder(timing))


def test_drives_that_need_a_while_are_waited_for(session_of):
    arm = Arm(1, 1, 1, 1)
    session_of(arm).enable()
    assert arm.requests == ["ethercat/enable"]
    assert arm.diagnostics[BUS].level == 0


def test_drives_that_are_never_enabled_are_told_with_their_words(session_of, monkeypatch):
    monkeypatch.setattr(contour_session, "ENABLE_LIMIT", 0.0)
    with pytest.raises(HardwareFault, match="slave 3 is in SAFE-OP") as caught:
        session_of(Arm(*[1] * 100)).enable()
    assert caught.value.bound == 0.0


def test_a_bus_that_says_nothing_is_told(session_of, monkeypatch):
    class Silent(Arm):
        @property
        def diagnostics(self):
            return {}

    monkeypatch.setattr(contour_session, "DIAGNOSED", 0.0)
    with pytest.raises(HardwareFault, match="no diagnosis") as caught:
        session_of(Silent()).jitter()
    assert caught.value.name == BUS


@pytest.mark.parametrize(("periods", "refused"), [(3.0, True), (0.5, False)])
def test_a_machine_that_is_too_slow_is_told_so(session_of, timing, monkeypatch, periods, refused):
    monkeypatch.setattr(contour_session, "TRIAL", 0.0)
    session = session_of(Arm())
    for _ in range(100):
        timing.add_cycle(0.0, 0.0, 0.0, periods * CYCLE, CYCLE)
    if not refused:
        session.check_speed()
        assert session.jitter().on_time == 1.0
        return
    with pytest.raises(HardwareFault, match="too slow for 1000 Hz") as caught:
        session.check_speed()
    assert (caught.value.name, caught.value.value) == ("rate", 0.0)


class Answering(Arm):
    """An arm whose controller answers 10 joint states between two diagnoses, and misses some."""

    def __init__(self, missed):
        super().__init__()
        self._missed = missed
        self._looks = 0

    @property
    def diagnostics(self):
        self._looks += 1
        counts = {"cycles": 10 * self._looks, "missed deadlines": self._missed * self._looks}
        return super().diagnostics | {LOOP: Diagnosis(0, "running", counts)}


@pytest.mark.parametrize(("missed", "refused"), [(40, True), (5, False)])
def test_a_controller_that_hears_too_few_joint_states_in_time_is_told(
    timing, monkeypatch, missed, refused
):
    monkeypatch.setattr(contour_session, "TRIAL", 0.0)
    recorder = TimingRecorder(timing)
    for _ in range(100):
        timing.add_cycle(0.0, 0.0, 0.0, 0.5 * CYCLE, CYCLE)
    topology = load_topology("ur5")
    session = ContourSession(Answering(missed), topology, recorder, over_topics=True)
    if not refused:
        session.check_speed()
        return
    with pytest.raises(HardwareFault, match="reach the controller") as caught:
        session.check_speed()
    assert (caught.value.name, caught.value.value) == ("rate", pytest.approx(0.2))


class Trial:
    times, positions, velocities, duration = np.zeros(1), np.zeros((1, 6)), np.zeros((1, 6)), 30.0

    def track(self, times, angles):
        return times


class Follower(Arm):
    """An arm that follows in no time; cycles pass in the ring that it is given, until a
    fault where it has one.
    """

    config = None

    def __init__(self, timing, fault="", ages=(0.0,), said=""):
        super().__init__()
        self._timing = timing
        self._fault = fault
        self._ages = list(ages)  # of states until one is fresh
        self._said = said
        self.time = 0.0
        self.told_at = None  # age of the newest state when the path was told [s]

    @property
    def diagnostics(self):
        loop = Diagnosis(int(bool(self._said)), self._said or "running", {})
        return super().diagnostics | {LOOP: loop}

    def set_gains(self, gains):
        pass

    def wait(self, seconds):
        self.time += seconds

    def record(self, path):
        return nullcontext()

    def follow_joints(self, *path, wait):
        self.told_at = self._age

    def wait_until(self, condition, timeout=np.inf):
        if timeout < np.inf:
            for age in self._ages:
                self._age = age
                if condition(SimpleNamespace(time=time.time() - age)):
                    return
            raise NotReached("the condition was not reached", name="the condition", bound=timeout)
        while not condition(self):
            self.time += 1.0
            for _ in range(round(1.0 / CYCLE)):
                self._timing.add_cycle(0.0, 0.0, 0.0, 0.5 * CYCLE, CYCLE)
            if self._fault and self.time > 10.0:
                raise HardwareFault(self._fault)


@pytest.fixture
def follow(session_of, timing, monkeypatch, tmp_path):
    """Follows a contour, and returns the session; it reads no record."""
    monkeypatch.setattr(contour_session, "COLLECT", -1.0)
    monkeypatch.setattr(contour_session, "joint_angles", lambda path, robot: ("track", path.name))

    def run(trial, fault="", shown=None, **changes):
        shown = shown or Progress("contour", trial.duration, stream=io.StringIO())
        arm = Follower(timing, fault, **changes)
        session = session_of(arm)
        steps = ContourSteps(shown, trial.duration)
        path = tmp_path / "contour.mcap"
        assert session.follow(trial, SETTING, path, steps) == ("track", 0)
        session.told_at = arm.told_at
        return session

    return run


def test_no_cycle_is_lost_though_the_ring_holds_fewer_than_a_contour_has(follow):
    jitter = follow(Trial()).jitter()
    assert jitter.cycles > 3 * SIZE
    assert jitter.unrecorded == 0


def test_the_way_along_the_contour_is_shown(follow, monkeypatch):
    class Shown:
        def show(self, done, note):
            told.append((done, note))

    told = []
    monkeypatch.setattr(contour_session, "SHOWN", -1.0)  # each time
    follow(Trial(), shown=Shown())
    parts, notes = zip(*told, strict=True)
    assert len(set(parts)) > 10
    assert list(parts) == sorted(parts)
    assert (parts[0], parts[-1]) == (0.0, Trial.duration)
    assert set(notes) == {f"{SETTING}: on the bus"}


def test_a_fault_on_the_way_ends_the_contour_and_names_the_setting(follow):
    with pytest.raises(HardwareFault, match=r"^time, feed-forward 0 %: no joint state for 0\.12 s"):
        follow(Trial(), "no joint state for 0.12 s")


def test_a_contour_that_isn_t_followed_is_told_as_a_fault(follow):
    class Halfway(Trial):
        def track(self, times, angles):
            raise ConfigError("the tip stops")

    with pytest.raises(HardwareFault, match=r"^time, feed-forward 0 %: the tip stops"):
        follow(Halfway())


def test_a_path_is_told_once_states_are_fresh(follow):
    assert follow(Trial(), ages=(1.1, 0.7, 0.05)).told_at == 0.05


def test_states_that_stay_old_are_told_as_a_machine_that_is_too_slow(follow):
    with pytest.raises(HardwareFault, match="too slow for 1000 Hz") as caught:
        follow(Trial(), ages=(1.1, 0.7))
    assert caught.value.name == "rate"


def test_what_the_controller_says_on_the_way_is_told_once_with_the_setting(follow):
    assert follow(Trial()).warnings == []
    softened = "its stiffness is reduced to 40%"
    assert follow(Trial(), said=softened).warnings == [f"{SETTING}: {softened}"]


# --- missing samples ---


def track(t) -> Track:
    t = np.asarray(t)
    tip = np.column_stack((np.zeros(len(t)), np.zeros(len(t)), 1e-3 * np.sin(t)))
    return Track(t, np.zeros((len(t), 6)), tip, np.zeros_like(tip), 5.5 * CYCLE)


WHOLE = track(np.arange(3000) * CYCLE)
# 0.39 s about the peak
GAP = track(np.concatenate((np.arange(1400) * CYCLE, np.arange(1790, 3000) * CYCLE)))


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
        gaps = [
            float(row["longest_gap_s"])
            for row in csv.DictReader(file)
            if row["where"] == "on the bus"
        ]
    assert gaps == pytest.approx([0.001, 0.391])


def test_a_contour_that_ends_halfway_is_no_measurement():
    """A loop that rests after a stall, and forgets its trajectory, leaves the tip on the
    contour, without an error.
    """
    trial = ContourTrial(load_robot("ur5", "ethercat"))
    t = np.arange(0.0, trial.duration + 0.5, 0.005)
    q = np.column_stack([np.interp(t, trial.times, column) for column in trial.positions.T])
    assert trial.track(t, q).max < 0.1
    halfway = np.searchsorted(t, trial.lead + 0.6 * (trial.times[-1] - trial.lead))
    q[halfway:] = q[halfway]
    with pytest.raises(ConfigError):
        trial.track(t, q)
