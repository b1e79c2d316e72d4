"""Whether a process hears: what came back of its own messages, and when."""

import threading
import time

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from robot_control_ros.ros.hearing import LIMIT, PERIOD, Hearing
from robot_control_ros.ros.periodic import Periodic, complaints


class Echo:
    """Plays the middleware: gives back what was sent, while it works."""

    def __init__(self):
        self.works, self.waiting = True, []

    def send(self):
        if self.works:
            self.waiting.append("own")

    def receive(self):
        came, self.waiting = self.waiting, []
        return came


@pytest.fixture
def echo():
    return Echo()


@pytest.fixture
def hearing(echo):
    return Hearing(echo.send, echo.receive)


def look_until(hearing, end, begin=0.0, period=PERIOD):
    """Look from `begin` on; returns the times at which it was deaf."""
    times = [begin + period * number for number in range(round((end - begin) / period) + 1)]
    return [time for time in times if hearing.look(time)]


def test_a_process_that_hears_its_own_messages_is_not_deaf(hearing):
    assert look_until(hearing, 100.0) == []


def test_a_process_that_hears_none_for_the_limit_is_deaf_for_ever(hearing, echo):
    look_until(hearing, 1.0)
    echo.works = False
    deaf = look_until(hearing, 3.0, 1.1)
    assert 1.0 + LIMIT < deaf[0] < 1.1 + LIMIT + 2.0 * PERIOD
    echo.works = True
    assert hearing.look(3.1)
    assert hearing.look(3.2)


def test_a_process_that_never_heard_one_is_deaf_after_the_limit(hearing, echo):
    echo.works = False
    assert LIMIT < look_until(hearing, 2.0)[0] < LIMIT + 2.0 * PERIOD


def test_a_process_is_deaf_whose_exchange_the_middleware_holds_up(hearing):
    look_until(hearing, 1.0)
    times = [1.0 + PERIOD * number for number in range(1, 20)]
    deaf = [time for time in times if hearing.judge(time)]
    assert 1.0 + LIMIT < deaf[0] < 1.0 + LIMIT + 2.0 * PERIOD
    assert not hearing.proven(times[-1], within=100.0)


@pytest.mark.starts("threads that the test waits for")
def test_a_middleware_that_never_returns_holds_up_nobody_who_judges():
    told, ended = threading.Event(), threading.Event()
    hearing = Hearing(lambda: None, lambda: ended.wait(60.0) and [])
    hearing.start(told.set)
    assert told.wait(60.0)
    assert hearing.deaf
    ended.set()
    hearing.stop()


@pytest.mark.parametrize("came_meanwhile", [True, False])
def test_a_process_that_stood_still_is_not_deaf(hearing, echo, came_meanwhile):
    look_until(hearing, 1.0)
    if not came_meanwhile:
        echo.waiting.clear()
    assert not hearing.look(100.0)
    assert look_until(hearing, 110.0, 100.1) == []


def test_one_look_that_comes_late_is_not_enough_to_be_deaf(hearing, echo):
    look_until(hearing, 1.0)
    echo.works = False
    looks = [hearing.look(time) for time in (10.0, 20.0, 30.0, 40.0)]
    assert looks[0] is False  # what was sent before has come back
    assert looks[1:].index(True) == 2


def test_hearing_is_proven_for_a_while_by_what_came_back(hearing, echo):
    assert not hearing.proven(0.0, within=0.1)
    look_until(hearing, 1.0)
    assert hearing.proven(1.05, within=0.1)
    assert not hearing.proven(1.15, within=0.1)
    echo.works = False
    look_until(hearing, 3.0, 1.1)
    assert not hearing.proven(3.0, within=100.0)


@pytest.mark.starts("a thread that the test waits for")
def test_a_periodic_function_is_called_until_it_is_stopped():
    calls = []
    periodic = Periodic(lambda: calls.append(1) or 0.0, "counting")
    periodic.start()
    while len(calls) < 10:
        pass
    periodic.stop()
    count = len(calls)
    assert len(calls) == count


@pytest.mark.starts("a thread that the test waits for")
def test_a_function_that_hangs_is_complained_of_and_holds_up_no_end():
    going_on = threading.Event()
    periodic = Periodic(lambda: float(not going_on.wait(60.0)), "watching", limit=1.0)
    periodic.start()
    now = time.monotonic()
    looks = [complaints(now + 0.4 * k) for k in range(1, 6)]
    assert [len(each) for each in looks] == [0, 0, 1, 1, 1]
    assert "watching" in looks[-1][0]
    periodic.stop()
    assert complaints(now + 10.0) == []
    going_on.set()


@pytest.mark.starts("a thread that the test waits for")
def test_a_function_whose_calls_end_is_not_complained_of():
    calls = []
    periodic = Periodic(lambda: calls.append(1) or 0.0, "watching", limit=1.0)
    periodic.start()
    now = time.monotonic()
    for k in range(1, 20):
        count = len(calls)
        while len(calls) < count + 2:
            pass
        assert complaints(now + 0.4 * k) == []
    periodic.stop()
