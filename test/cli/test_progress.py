"""Progress: a bar on a terminal, else lines that come seldom and say how long it will take."""

import io
import re
import sys
import time

import pytest

from robot_control_ros.cli.main import main
from robot_control_ros.cli.progress import LINE_EVERY, Progress


class Clock:
    """A clock that a test moves."""

    def __init__(self):
        self.time = 100.0

    def __call__(self):
        return self.time


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def clock():
    return Clock()


def test_lines_come_seldom_and_say_what_is_left(clock):
    stream = io.StringIO()
    with Progress("work", 100.0, "cells", stream=stream, clock=clock) as shown:
        for done in range(101):
            shown.show(done)
            clock.time += 0.5
    lines = stream.getvalue().splitlines()
    assert len(lines) == pytest.approx(50.0 / LINE_EVERY, abs=1)
    for line in lines:
        done, left = re.fullmatch(r"work: (\d+) of 100 cells, (\d+) s left", line).groups()
        assert int(left) == pytest.approx((100 - int(done)) * 0.5, abs=1)
    assert lines[-1].startswith("work: 100 of 100 cells")


def test_short_work_prints_nothing(clock):
    stream = io.StringIO()
    with Progress("work", 1.0, stream=stream, clock=clock) as shown:
        shown.show(0.0)
        clock.time += LINE_EVERY / 2.0
        shown.show(1.0)
    assert stream.getvalue() == ""


def test_what_was_done_before_takes_no_part_in_the_estimate(clock):
    stream = io.StringIO()
    with Progress("work", 100.0, stream=stream, clock=clock) as shown:
        shown.show(90.0)
        clock.time += 10.0
        shown.show(95.0)
    assert stream.getvalue() == "work: 95 of 100, 10 s left\n"


def test_before_the_first_part_ends_the_time_so_far_is_told(clock):
    stream = io.StringIO()
    with Progress("work", 3.0, stream=stream, clock=clock) as shown:
        clock.time += 10.0
        shown.show(0.0, "first part")
    assert stream.getvalue() == "work: 0 of 3, 10 s so far; first part\n"


def test_a_terminal_gets_a_bar_that_vanishes(clock, capsys):
    pytest.importorskip("tqdm")
    stream = Terminal()
    with Progress("work", 4.0, "parts", stream=stream, clock=clock) as shown:
        shown.show(0.0)
        time.sleep(0.15)
        shown.show(2.0, "third part")
        shown.print("a row", "another row")
    drawn = stream.getvalue()
    assert re.search(r"work:  50 % \|.*\| 2 of 4 parts", drawn)
    assert "\n" not in drawn  # one line, drawn again and again
    assert drawn.rsplit("\r", 2)[-2].strip() == ""
    assert capsys.readouterr().out == "a row\nanother row\n"


def test_a_terminal_without_tqdm_gets_lines(clock, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    stream = Terminal()
    with Progress("work", 4.0, stream=stream, clock=clock) as shown:
        clock.time += LINE_EVERY
        shown.show(2.0)
    assert stream.getvalue().startswith("work: 2 of 4")


@pytest.mark.starts("a thread draws while a step is silent")
def test_a_silent_step_is_told_meanwhile(clock):
    stream = io.StringIO()
    with Progress("work", 4.0, stream=stream, clock=clock, beats=True):
        clock.time += LINE_EVERY
        end = time.monotonic() + 60.0
        while not stream.getvalue() and time.monotonic() < end:
            time.sleep(0.05)
    assert stream.getvalue().startswith(f"work: 0 of 4, {LINE_EVERY:.0f} s so far")


@pytest.mark.sim
def test_a_simulation_in_a_pipe_prints_its_result_alone(capsys):
    pytest.importorskip("mujoco")
    assert main(["simulate", "--seconds", "0.2"]) == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 2
    assert "simulate: " not in said.err


@pytest.mark.sim
def test_a_simulation_on_a_terminal_shows_how_far_it_is(monkeypatch, capsys):
    pytest.importorskip("mujoco")
    pytest.importorskip("tqdm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main(["simulate", "--seconds", "0.5"]) == 0
    assert "simulate: " in terminal.getvalue()
    assert "of 0.5 s" in terminal.getvalue()
    assert "simulate: " not in capsys.readouterr().out
