"""Many arms in several processes: the same as in one; the processes end with what they are
for, however that ends.
"""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from processes import alive, children

pytest.importorskip("mujoco", reason="the simulated arms need MuJoCo")

from robot_control_ros import ConfigError, Push, simulate_many
from robot_control_ros.simulation.worker_processes import THREADS, worker_processes

pytestmark = pytest.mark.sim

LONG = """
import sys
from robot_control_ros import simulate_many

if __name__ == "__main__":
    simulate_many([0, 1, 2], workers=2, duration=2e3, rate=500.0)
"""
STEPPED = """
import gymnasium
import robot_control_learning

if __name__ == "__main__":
    envs = gymnasium.make_vec("robot_control_ros/Reach-v0", 2, workers=2)
    envs.reset()
    while True:
        envs.step(envs.action_space.sample())
"""
UNGUARDED = """
from robot_control_ros import HardwareFault, simulate_many

try:
    simulate_many(2, workers=2, duration=0.01)
except HardwareFault as error:
    print("fault:", error)
"""


def pushed(number, random):
    return Push(force=10.0 * random.normal(size=3))


def variables():
    return {name: os.environ.get(name) for name in THREADS}


@pytest.fixture
def program(tmp_path):
    """Starts a script; what is left of it at the end is killed."""
    started = []

    def start(text):
        path = tmp_path / "script.py"
        path.write_text(text, encoding="utf-8")
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        started.append(
            subprocess.Popen([sys.executable, str(path)], start_new_session=True, **pipes)
        )
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def workers_of(process):
    """Those that simulate, once all three children are there: the third one cares for resources."""
    while len(found := children(process.pid)) < 3:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)  # between two looks
    return found


def wait_until_ended(numbers):
    """The runner ends a test that waits in vain."""
    while any(alive(number) for number in numbers):
        time.sleep(0.02)  # between two looks


def test_arms_are_the_same_in_two_processes_as_in_one():
    settings = {
        "push": pushed,
        "imperfections": "like_ur5e",
        "robot": "ur5e",
        "duration": 0.1,
        "rate": 500.0,
    }
    one = simulate_many(3, **settings)
    two = simulate_many(3, workers=2, **settings)
    for first, second in zip(one, two, strict=True):
        for name in ("t", "q", "v", "effort", "wrench", "command", "pose_error"):
            np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


def test_each_process_has_one_thread_and_this_one_keeps_its_settings():
    before = variables()
    with worker_processes(2) as (processes,):
        futures = [processes.submit(os.getenv, name) for _ in range(5) for name in THREADS]
        assert {future.result() for future in futures} == {"1"}
    assert variables() == before
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()


def test_an_error_of_an_arm_ends_all_processes():
    before = set(children(os.getpid()))
    with pytest.raises(ConfigError) as caught:
        simulate_many(2, workers=2, gains=[{"stiffness": -1.0}, None], duration=2e3)
    assert caught.value.name == "stiffness[0]"
    started = set(children(os.getpid())) - before
    # that cares for resources, until this process ends
    assert sum(alive(number) for number in started) <= 1


@pytest.mark.parametrize(
    ("text", "sent", "to_all"),
    [
        pytest.param(LONG, signal.SIGINT, True, id="Ctrl-C in its terminal"),
        # less than the one above
        pytest.param(LONG, signal.SIGINT, False, id="interrupted", marks=pytest.mark.long),
        pytest.param(LONG, signal.SIGKILL, False, id="killed"),
        pytest.param(STEPPED, signal.SIGINT, True, id="Ctrl-C while environments are stepped"),
    ],
)
def test_a_program_that_is_ended_leaves_no_process(program, text, sent, to_all):
    if text is STEPPED:
        pytest.importorskip("gymnasium")
    process = program(text)
    workers = workers_of(process)
    time.sleep(2.0)  # they may begin: it doesn't matter how far they are
    if to_all:
        os.killpg(process.pid, sent)
    else:
        process.send_signal(sent)
    status = process.wait()
    wait_until_ended(workers)
    assert status == -sent
    assert process.communicate()[1].count("Traceback") <= int(sent == signal.SIGINT)


def test_a_script_that_starts_itself_again_and_again_is_told_so(program):
    output, _ = program(UNGUARDED).communicate()
    assert "fault:" in output
