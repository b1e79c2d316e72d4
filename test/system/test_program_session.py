"""Processes that others start: a program and all that it starts end together, and so do
the nodes of a system.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from processes import alive

from robot_control_ros.bringup import NodeSpec, program_session
from robot_control_ros.bringup.processes import Processes
from robot_control_ros.core.errors import HardwareFault

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sessions are looked up in /proc")

# Two processes more, one of them in a process group of its own; their numbers in a file. Then what
# the test says.
# The second child writes down that it got the signal, or ignores it.
PROGRAM = """
import os, signal, subprocess, sys, time
told = "signal.signal(signal.SIGINT, lambda *_: (open(sys.argv[1], 'w').close(), sys.exit()))"
stubborn = "signal.signal(signal.SIGINT, signal.SIG_IGN)"
reply = stubborn if sys.argv[2] == 'stubborn' else told
code = f"import signal, sys, time; {reply}; print(flush=True); time.sleep(600)"
children = [
    subprocess.Popen(["sleep", "600"], preexec_fn=os.setpgrp),
    subprocess.Popen([sys.executable, "-c", code, sys.argv[1] + ".told"], stdout=subprocess.PIPE),
]
children[1].stdout.readline()
with open(sys.argv[1] + ".part", "w") as file:
    file.write(" ".join(str(number) for number in [os.getpid(), *(child.pid for child in children)]))
os.rename(sys.argv[1] + ".part", sys.argv[1])
"""


def wait(condition):
    """Until something holds; the runner ends a test that waits in vain."""
    while not condition():
        time.sleep(0.02)  # between two looks


@pytest.fixture
def start(tmp_path):
    """Starts a program in a session: the process that leads it, the numbers of all, and what
    one of them writes.
    """
    started = []

    def run(then, kind="", leader=()):
        folder = tmp_path / str(len(started))
        folder.mkdir()
        script, numbers = folder / "program.py", folder / "numbers"
        script.write_text(PROGRAM + then)
        command = [sys.executable, program_session.__file__, sys.executable, str(script)]
        variables = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        started.append(subprocess.Popen([*leader, *command, str(numbers), kind], env=variables))
        wait(numbers.exists)
        return (
            started[-1],
            [int(number) for number in numbers.read_text().split()],
            folder / "numbers.told",
        )

    yield run
    for process in started:
        process.kill()
        process.wait()


def test_a_signal_reaches_all_of_them(start):
    for number in (signal.SIGINT, signal.SIGTERM):
        process, numbers, told = start("signal.pause()")
        process.send_signal(number)
        process.wait()
        assert not any(map(alive, numbers))
        assert told.exists()  # it was asked to end, not killed


def test_one_that_ignores_the_signal_is_killed(start):
    process, numbers, _ = start("signal.pause()", "stubborn")
    process.send_signal(signal.SIGINT)
    process.wait()
    assert not any(map(alive, numbers))


def test_the_end_of_the_program_is_that_of_the_others_and_its_status_is_handed_on(start):
    for then, status in (
        ("", 0),
        ("sys.exit(3)", 3),
        ("os.kill(os.getpid(), signal.SIGKILL)", 128 + 9),
    ):
        process, numbers, _ = start(then)
        assert process.wait() == status
        assert not any(map(alive, numbers))


def test_all_end_where_the_one_that_started_them_is_killed(start):
    """As launch leaves its processes behind on SIGTERM and SIGKILL."""
    parent = "import subprocess, sys; subprocess.run(sys.argv[1:])"
    process, numbers, _ = start("signal.pause()", leader=(sys.executable, "-c", parent))
    process.kill()
    wait(lambda: not any(map(alive, numbers)))


# --- nodes ---


def test_a_node_that_ends_is_named_with_its_exit_status():
    with Processes([NodeSpec("no_such_node", "ghost")]) as nodes:
        nodes.start(NodeSpec("no_such_node", "second")).wait()
        with pytest.raises(
            HardwareFault,
            match=r"the (ghost|second) ended with exit status 1; see its messages above",
        ):
            nodes.check()


def test_a_node_that_may_be_started_again_is_and_is_ended_with_the_others(
    tmp_path, monkeypatch, capsys
):
    script, began = tmp_path / "page", tmp_path / "began"
    script.write_text(
        f"#!{sys.executable}\nimport signal\nopen({str(began)!r}, 'a').write('x')\nsignal.pause()\n"
    )
    script.chmod(0o755)
    monkeypatch.setattr("robot_control_ros.bringup.processes.sys.executable", str(script))
    monkeypatch.setattr("robot_control_ros.bringup.system.LONG_ENOUGH", 0.0)
    with Processes([]) as nodes:
        first = nodes.start(NodeSpec("dashboard", "page", respawn=True))
        wait(lambda: began.exists() and began.read_text() == "x")
        first.kill()
        wait(lambda: nodes.check() or began.read_text() == "xx")
    assert "started again" in capsys.readouterr().err
    assert not any(str(script) in command for command in commands())


def test_a_node_that_may_be_missing_and_fails_at_once_is_told_and_not_started_again(capsys):
    with Processes([]) as nodes:
        nodes.start(NodeSpec("no_such_node", "page", respawn=True)).wait()
        for _ in range(3):
            nodes.check()
    assert capsys.readouterr().err.count("the others go on") == 1


def commands():
    """The command lines of all processes."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(path.read_text(errors="replace"))
    return found


def test_nodes_end_with_their_block_even_where_they_ignore_the_signal(monkeypatch, tmp_path):
    script, ready = tmp_path / "stubborn", tmp_path / "ready"
    ignore = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    script.write_text(
        f"#!{sys.executable}\nimport signal\n{ignore}\nopen({str(ready)!r}, 'w')\nsignal.pause()\n"
    )
    script.chmod(0o755)
    monkeypatch.setattr("robot_control_ros.bringup.processes.sys.executable", str(script))
    monkeypatch.setattr("robot_control_ros.bringup.processes.GRACE", 0.2)
    with Processes([]) as nodes:
        process = nodes.start(NodeSpec("any", "stubborn"))
        wait(lambda: nodes.check() or ready.exists())
    assert process.returncode == -signal.SIGKILL
