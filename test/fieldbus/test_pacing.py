"""When the cycles are: in step with another clock from any phase, and how that is told."""

import math
import os
import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_control_ros.fieldbus.process import realtime
from robot_control_ros.fieldbus.process.pacing import (
    COLUMNS,
    SIZE,
    TIMING_BYTES,
    ClockFollower,
    Timing,
)
from robot_control_ros.fieldbus.process.realtime import ANY, sleep_until

PERIOD = 0.001
LARGEST = 2e-5
US = 1e-6


class Clock:
    """A reference that runs at another rate than ours, read with jitter."""

    def __init__(self, rate=1.0, begin=0, jitter=0.0, seed=0):
        self._rate, self._begin, self._jitter, self._random = (
            rate,
            begin,
            jitter,
            random.Random(seed),
        )

    def read(self, now):
        return self._begin + round((now * self._rate + self._random.gauss(0.0, self._jitter)) * 1e9)

    def phase(self, now, period):
        """Where in the reference's cycle a time is [s], from -half to half around the
        middle of the cycle.
        """
        return (self._begin * 1e-9 + now * self._rate) % period - 0.5 * period


def followed(clock, cycles, period=PERIOD, follower=None):
    """Corrections, and the true phase at each cycle."""
    follower = ClockFollower(period) if follower is None else follower
    due, corrections, phases = 0.0, [], []
    for _ in range(cycles):
        due += period
        correction = follower.correction(clock.read(due))
        phases.append(clock.phase(due, period))
        corrections.append(correction)
        due += correction
    return corrections, phases


# --- following ---


@settings(deadline=None, max_examples=12)
@given(
    ppm=st.floats(-100, 100),
    begin=st.integers(0, 10**6),
    period=st.sampled_from([0.0005, 0.001, 0.002]),
    seed=st.integers(0, 99),
)
def test_a_drifting_jittering_clock_is_followed_from_any_phase(ppm, begin, period, seed):
    clock = Clock(1.0 + ppm * US, begin, 2.0 * US, seed)
    corrections, phases = followed(clock, 6000, period)
    assert max(map(abs, corrections)) <= LARGEST
    assert max(map(abs, phases[3000:])) < 3.0 * US
    assert abs(sum(corrections[3000:]) / 3000 + ppm * US * period) < 0.02 * US


def test_a_constant_rate_leaves_no_error():
    corrections, phases = followed(Clock(1.0001, begin=123_456), 8000)
    assert abs(phases[-1]) < 0.01 * US
    assert corrections[-1] == pytest.approx(-1e-4 * PERIOD, rel=0.02)


def test_the_way_from_half_a_cycle_away_goes_one_way_or_the_other():
    for begin in (999_990, 0, 10):
        _, phases = followed(Clock(begin=begin, jitter=1.0 * US, seed=4), 4000)
        assert max(map(abs, phases[2500:])) < 2.0 * US


def test_the_shift_is_where_frames_are_wanted():
    follower = ClockFollower(PERIOD, shift=0.0002)
    clock = Clock(begin=700_000)
    followed(clock, 3000, follower=follower)
    assert abs(follower.error) < 0.1 * US
    assert follower.correction(200_000) == pytest.approx(0.0, abs=0.01 * US)
    assert follower.correction(210_000) < 0.0 < follower.correction(190_000)


@settings(deadline=None, max_examples=30)
@given(
    period=st.sampled_from([0.0005, 0.001, 0.004, 0.01]),
    begin=st.integers(0, 10**7),
    jumps=st.lists(
        st.tuples(st.integers(1, 300), st.integers(-(10**7), 10**7)), min_size=1, max_size=8
    ),
)
def test_no_cycle_is_shifted_by_more_than_is_allowed_whatever_the_clock_does(period, begin, jumps):
    follower, now, clock = ClockFollower(period), 0.0, begin
    for cycles, jump in jumps:
        clock += jump
        for _ in range(cycles):
            correction = follower.correction(clock)
            assert abs(correction) <= LARGEST * (1 + 1e-9)
            now += period + correction
            clock += round((period + correction) * 1e9)


@pytest.mark.parametrize("stuck", [400_000, 600_000])
def test_a_clock_that_stands_still_doesn_t_change_the_cycle_by_more_than_is_allowed(stuck):
    follower = ClockFollower(PERIOD)
    assert max(abs(follower.correction(stuck)) for _ in range(60_000)) <= LARGEST * (1 + 1e-9)
    _, phases = followed(Clock(), 6000, follower=follower)  # and is followed again when it runs
    assert max(map(abs, phases[5000:])) < 1.0 * US


# --- timing ---


def percentile(values, share):
    """Linear between the closest ranks, written out."""
    values = sorted(values)
    at = share / 100.0 * (len(values) - 1)
    low = math.floor(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


@pytest.mark.parametrize("cycles", [1, 2, 100, SIZE, SIZE + 1000])
def test_percentiles_and_shares_are_those_of_the_last_cycles(cycles):
    random_ = random.Random(cycles)
    timing, rows, on_time = Timing(), [], 0
    for i in range(cycles):
        due = 100.0 + i * PERIOD
        sent = due + random_.random() * 1e-4
        received = sent + random_.random() * 3e-4
        ready = received + random_.random() * 1e-3
        timing.add_cycle(due, sent, received, ready, PERIOD)
        rows.append((sent - due, received - sent, ready - received, ready - due))
        on_time += ready < due + PERIOD
    assert timing.count == cycles
    assert timing.on_time == pytest.approx(on_time / cycles, abs=1e-12)
    told = timing.by_column((0.0, 50.0, 99.0, 100.0))
    for name, column in zip(COLUMNS, zip(*rows[-SIZE:], strict=True), strict=True):
        expected = [percentile(column, share) for share in (0.0, 50.0, 99.0, 100.0)]
        assert told[name] == pytest.approx(expected, rel=1e-12)
    assert timing.samples().shape == (len(COLUMNS), min(cycles, SIZE))


def test_without_a_cycle_there_is_nothing_to_tell():
    timing = Timing()
    assert math.isnan(timing.on_time)
    assert all(math.isnan(value) for values in timing.by_column().values() for value in values)
    assert timing.samples().shape == (len(COLUMNS), 0)


def test_whoever_has_the_memory_reads_the_same():
    memory = memoryview(bytearray(TIMING_BYTES))
    here, there = Timing(memory), Timing(memory)
    for i in range(50):
        here.add_cycle(1.0, 1.0 + i * US, 1.0002, 1.0003 + 0.001 * (i % 5 == 0), PERIOD)
    assert there.count == 50
    assert there.on_time == 0.8
    assert there.by_column() == here.by_column()


# --- the process ---


class SteppedTime:
    """A clock whose sleeps end early, as a signal's handler or a coarse timer ends them."""

    def __init__(self, now, share):
        self.now, self.share, self.sleeps = now, share, 0

    def monotonic(self):
        return self.now

    def sleep(self, duration):
        assert duration > 0.0
        self.sleeps += 1
        self.now += max(self.share * duration, 1e-9)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.999, 1.0, 1.5])
def test_sleep_until_never_wakes_early_whatever_ends_its_sleeps(monkeypatch, share):
    clock = SteppedTime(5.0, share)
    monkeypatch.setattr(realtime, "time", clock)
    sleep_until(5.01)
    assert clock.now >= 5.01
    assert clock.sleeps == 1 or share < 1.0


@pytest.mark.parametrize("deadline", [0.0, 1.0, 5.0])
def test_a_time_that_has_passed_isn_t_waited_for(monkeypatch, deadline):
    clock = SteppedTime(5.0, 1.0)
    monkeypatch.setattr(realtime, "time", clock)
    sleep_until(deadline)
    assert clock.sleeps == 0


scheduled = pytest.mark.starts("a process that has its scheduling for itself, and ends at once")


def said(program: str) -> list[str]:
    """Lines that a program prints in a process of its own, whose scheduling nobody else has."""
    imports = (
        "import gc, os, resource, sys\nfrom robot_control_ros.fieldbus.process import realtime\n"
    )
    child = [sys.executable, "-c", imports + program]
    return subprocess.run(child, capture_output=True, text=True, check=True).stdout.splitlines()


@scheduled
def test_what_isn_t_permitted_is_told_in_words():
    """In a process of its own, with the permissions taken away."""
    memory, priority, *sleep, state = said(
        "for limit in (resource.RLIMIT_MEMLOCK, resource.RLIMIT_RTPRIO):\n"
        "    resource.setrlimit(limit, (0, 0))\n"
        "if os.geteuid() == 0: os.setresuid(65534, 65534, 65534)\n"
        "print(*realtime.prepare(40), sep='\\n'); print(gc.isenabled(), round(sys.getswitchinterval(), 9))\n"
    )
    assert memory.startswith("memory isn't locked (")
    assert "memlock" in memory
    assert "no real-time priority 40" in priority
    assert "rtprio" in priority
    assert all("/dev/cpu_dma_latency" in line for line in sleep)
    assert state == "False 0.0001"


@scheduled
def test_processors_are_kept_awake_until_the_process_ends(tmp_path):
    """The device takes the longest latency as four bytes, and forgets it when whoever
    wrote it closes it.
    """
    device = tmp_path / "latency"
    device.write_bytes(b"")
    for priority, held in ((0, False), (40, True)):
        told = said(
            f"realtime.LATENCY = {str(device)!r}; realtime.prepare({priority})\n"
            "print(*[os.readlink(each) for each in os.scandir('/proc/self/fd') if os.path.exists(each)], sep='\\n')\n"
        )
        assert (str(device) in told) is held
    assert device.read_bytes() == b"\0\0\0\0"


@scheduled
def test_a_process_stays_on_the_processor_it_is_given():
    last = max(os.sched_getaffinity(0))
    assert said(f"realtime.prepare(0, {last}); print(*os.sched_getaffinity(0))") == [str(last)]
    untouched = said(
        "before = os.sched_getaffinity(0); realtime.prepare(0); print(before == os.sched_getaffinity(0))"
    )
    assert untouched == ["True"]


@pytest.mark.parametrize("processor", [1000, 2**40, -5])
@scheduled
def test_a_processor_that_there_is_not_is_told_in_words_with_those_there_are(processor):
    valid = ", ".join(map(str, sorted(os.sched_getaffinity(0))))
    told = said(
        f"print(*realtime.prepare(0, {processor}), sep='\\n'); print(sorted(os.sched_getaffinity(0)))"
    )
    assert any(
        f"not kept on processor {processor} (" in line and f"processors: {valid}" in line
        for line in told
    )
    assert told[-1] == str(sorted(os.sched_getaffinity(0)))


@scheduled
def test_one_processor_of_several_is_spared():
    *others, last = sorted(os.sched_getaffinity(0))
    spared, kept = said("print(realtime.spare_processor()); print(sorted(os.sched_getaffinity(0)))")
    assert (int(spared), kept) == ((last, str(others)) if others else (ANY, str([last])))
    alone = said(
        f"os.sched_setaffinity(0, [{last}]); print(realtime.spare_processor()); print(*os.sched_getaffinity(0))"
    )
    assert alone == [str(ANY), str(last)]


@scheduled
def test_processors_that_may_sleep_are_told_in_words(tmp_path):
    missing = tmp_path / "nothing here"
    told = said(f"realtime.LATENCY = {str(missing)!r}; print(*realtime.prepare(40), sep='\\n')")
    words = (
        f"processors may sleep between cycles ([Errno 2] No such file or directory: '{missing}')"
    )
    assert any(words in line for line in told)


@scheduled
def test_a_priority_that_there_is_not_is_told_in_words():
    assert any(
        "no real-time priority 1000" in line
        for line in said("print(*realtime.prepare(1000), sep='\\n')")
    )
