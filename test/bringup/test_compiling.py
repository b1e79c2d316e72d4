"""Help for a controller that compiles its laws: when it is started, what is printed, and its end."""

import subprocess
import sys

import pytest

from robot_control_ros.bringup import compiling
from robot_control_ros.bringup.compiling import MARK, PERIOD, Compiling


@pytest.fixture
def clock():
    """A clock that the test sets, in seconds."""

    class Clock:
        now = 100.0

        def __call__(self):
            return self.now

    return Clock()


@pytest.fixture
def started(monkeypatch):
    """Processes that were started, each of which would run for a minute."""
    made = []
    popen = subprocess.Popen

    def start(command, **options):
        made.append((command, popen([sys.executable, "-c", "import time; time.sleep(60.0)"])))
        return made[-1][1]

    monkeypatch.setattr(compiling.subprocess, "Popen", start)
    return made


@pytest.mark.starts("a process that would compile")
def test_at_the_first_start_a_process_helps_until_the_controller_is_there(tmp_path, started):
    with Compiling(tmp_path) as first:
        ((command, process),) = started
        assert command[-1] == compiling.__name__
        assert process.poll() is None
        first.end()
    assert process.poll() is not None
    with Compiling(tmp_path):
        assert len(started) == 1


@pytest.mark.starts("processes that would compile")
def test_a_start_that_fails_ends_the_process_and_the_next_one_is_helped_again(tmp_path, started):
    with pytest.raises(KeyboardInterrupt), Compiling(tmp_path):
        raise KeyboardInterrupt
    assert started[0][1].poll() is not None
    assert not (tmp_path / MARK).exists()
    with Compiling(tmp_path):
        assert len(started) == 2


def test_without_a_folder_nothing_is_started(started):
    with Compiling(None) as alone:
        alone.end()
    assert started == []


@pytest.mark.parametrize("compiled", [True, False])
def test_each_ten_seconds_have_a_line(tmp_path, started, clock, compiled):
    if compiled:
        (tmp_path / MARK).touch()
    lines = []
    helper = Compiling(tmp_path, lines.append, clock)
    for _ in range(350):
        helper.tell()
        clock.now += 0.1
    assert len(lines) == 3
    assert [f"{count * PERIOD:.0f} s" in line for count, line in enumerate(lines, 1)] == [True] * 3
    assert all("compiles" in line for line in lines) is not compiled
