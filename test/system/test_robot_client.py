"""Robot on a controller and a simulator in processes of their own: a real script, shell,
signal, fork and record.
"""

import math
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from processes import memory, threads
from robot_trials import page_script, start_controller

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco")

from geometry_msgs.msg import WrenchStamped
from ros_support import Ros

from robot_control_ros import HardwareFault, Push, Robot
from robot_control_ros.client import ros_backend
from robot_control_ros.ros.messages import fill_vector

pytestmark = [pytest.mark.ros, pytest.mark.sim]
SLOW = 60.0  # s, for a machine under load
RATE = 125.0  # Hz: a client depends on none, and each cycle takes the time of a round over DDS
GROWTH = 2.0  # MB of memory in a soak


@pytest.fixture(scope="module")
def ros(tmp_path_factory):
    """In lockstep: a slow machine has slow robots, and no backlog of joint states
    before each request.
    """
    with Ros(tmp_path_factory.mktemp("robot")) as ros:
        ros.start("simulator", {"robot": "ur5", "rate": RATE, "pacing": "lockstep"})
        start_controller(ros, rate=RATE)
        yield ros


@pytest.fixture(scope="module")
def shared(ros):
    with Robot("ur5", timeout=SLOW, lost_after=SLOW) as robot:
        yield robot


@pytest.fixture
def robot(shared):
    shared.set_law("impedance")
    shared.set_gains(stiffness=[1000.0] * 3 + [100.0] * 3, damping_ratio=1.0)
    shared.go_home(timeout=SLOW)
    return shared


@pytest.fixture
def pusher(ros, robot):
    """Pushes the tip with 20 N for a second as soon as the stiffness has become 300 N/m."""
    publisher, ended = ros.publisher(WrenchStamped, "/simulator/push"), threading.Event()
    message = WrenchStamped()
    message.header.frame_id = robot.config.tip

    def push():
        since = math.inf
        while not ended.wait(0.02):
            if since == math.inf and robot.gains["stiffness"][0] == 300.0:
                since = robot.time + 0.5
            if since <= robot.time:
                pushing = robot.time < since + 1.0
                fill_vector(message.wrench.force, robot.pose[:3, :3].T @ [20.0 * pushing, 0.0, 0.0])
                publisher.publish(message)

    thread = threading.Thread(target=push)
    thread.start()
    yield
    ended.set()
    thread.join()


def test_the_script_of_the_page_ends_where_it_ends_in_the_simulation(
    robot, pusher, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    demonstrate = page_script()
    over_ros = demonstrate(robot)
    with Robot.simulated("ur5", push=Push((20.0, 0.0, 0.0), start=4.0, duration=1.0)) as simulated:
        in_process = demonstrate(simulated)
    assert np.linalg.norm(over_ros.pose[:3, 3] - in_process.pose[:3, 3]) < 1e-3
    assert np.abs(over_ros.pose[:3, :3] - in_process.pose[:3, :3]).max() < 1e-3
    assert np.linalg.norm(over_ros.pose[:3, 3] - over_ros.reference_pose[:3, 3]) < 1e-3


def test_ctrl_c_ends_a_waiting_call_at_once_and_holds(robot):
    begun = []
    far = np.array(robot.config.home)
    far[0] += 2.0

    def interrupt():
        while not robot.state.moving:
            time.sleep(0.001)
        begun.append(time.monotonic())
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        robot.move_to(q=far, timeout=SLOW)
    assert time.monotonic() - begun[0] < 1.0
    thread.join()
    state = robot.wait_until(lambda state: not state.moving, timeout=SLOW)
    assert np.abs(state.blocks["reference_position"] - far).max() > 0.01


def test_an_interrupt_before_it_searches_leaves_nothing_behind(robot, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(ros_backend, "ControllerWatch", interrupt)
    counts = []
    for _ in range(2):  # the C library keeps a thread for its timers from the first end on
        with pytest.raises(KeyboardInterrupt) as kept:  # a notebook keeps its last error, too
            Robot("ur5")
        counts.append(len(threads(os.getpid())))
    assert counts[0] == counts[1], kept


@pytest.mark.long
def test_the_commands_of_the_shell_lead_it(robot, ros, tmp_path):
    def run(*arguments, status=0):
        command = [sys.executable, "-m", "robot_control_ros.cli", *arguments]
        command += ["--within", str(SLOW), "--lost-after", str(SLOW)]
        done = subprocess.run(
            command, cwd=tmp_path, env=ros.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == status, done.stderr
        return done.stdout + done.stderr

    assert "ur5, profile sim, law impedance" in run("status")
    assert "stiffness[0] = -1" in run("set", "stiffness=-1", status=2)
    height = robot.pose[2, 3]
    assert "error 0." in run("move", "--by", "0", "0", "0.02")
    assert robot.state.reference_pose[2, 3] == pytest.approx(height + 0.02, abs=2e-3)
    assert " states, 0 dropped: record.csv" in run("record", "--seconds", "0.3")
    assert "is there" in run("record", "--seconds", "0.3", status=2)
    assert (tmp_path / "record.csv").read_text().startswith("t,q.shoulder_pan_joint")
    assert ", 0 dropped: run.mcap" in run("record", "run.mcap", "--seconds", "0.3")
    assert (tmp_path / "run.mcap").read_bytes().startswith(b"\x89MCAP")


def test_a_record_has_the_controllers_topics_as_they_came(robot, tmp_path):
    reader = pytest.importorskip("mcap.reader")
    with robot.record(tmp_path / "run.mcap") as recording:
        robot.jog([0.0, 0.0, 0.02, 0.0, 0.0, 0.0], 0.2)
        robot.wait_until(lambda state: not state.moving and recording.messages > 100, timeout=SLOW)
    robot.wait(0.1)
    with (tmp_path / "run.mcap").open("rb") as file:
        records = reader.make_reader(file)
        summary = records.get_summary()
        *_, metadata = records.iter_metadata()
    assert summary.statistics.message_count == recording.messages
    counts = {
        summary.channels[key].topic: n
        for key, n in summary.statistics.channel_message_counts.items()
    }
    assert counts.keys() >= {
        "/state",
        "/joint_states",
        "/controller/state",
        "/controller/target_twist",
    }
    assert metadata.metadata.items() >= {"robot": "ur5", "dropped": "0"}.items()
    assert not {"/clock", "/rosout", "/parameter_events"} & {
        each.topic for each in summary.channels.values()
    }
    decoder = pytest.importorskip("mcap_ros2.reader")
    joints, twists = (
        [
            each.ros_msg
            for each in decoder.read_ros2_messages(str(tmp_path / "run.mcap"), topics=[topic])
        ]
        for topic in ("/joint_states", "/controller/target_twist")
    )
    assert set(joints[0].name) == set(robot.config.joints)
    assert twists[0].twist.linear.z == 0.02
    everything = [
        (each.channel.topic, each.ros_msg)
        for each in decoder.read_ros2_messages(str(tmp_path / "run.mcap"))
    ]
    state = next(message for topic, message in everything if topic == "/state")
    assert len(state.position) == robot.config.n
    # a second record in the same client, whose subscriptions are new
    with robot.record(tmp_path / "second.mcap") as recording:
        robot.wait_until(lambda state: recording.messages > 10, timeout=SLOW)


@pytest.mark.long
@pytest.mark.limit(1200)
def test_a_soak_of_gains_and_moves_leaves_nothing_behind(robot, ros):
    soak(robot, ros, changes=10_000, moves=1_000)


@pytest.mark.long
def test_a_short_soak_of_gains_and_moves_leaves_nothing_behind(robot, ros):
    soak(robot, ros, changes=60, moves=4)


def soak(robot, ros, changes, moves):
    """Threads, files and memory of no process grow after a first tenth; every change arrives."""
    robot.wait(2.0)  # a controller makes its last thread with the second diagnosis
    home, kept, began = robot.state.reference_pose, [], time.monotonic()
    processes = {
        "client": os.getpid(),
        **{each.process.args[2]: each.process.pid for each in ros.children},
    }
    for k in range(changes):
        robot.set_gains(stiffness=500.0 + k % 7)
        assert robot.gains["stiffness"][0] == 500.0 + k % 7
        if k % (changes // moves) == 0:
            target = home.copy()
            target[2, 3] += 0.005 * (k // (changes // moves) % 2)
            robot.move_to(target, timeout=SLOW)
        if (k + 1) % (changes // 10) == 0:
            kept.append([footprint(number) for number in processes.values()])
            print(
                f"{time.monotonic() - began:.0f} s, {robot.time:.0f} s of the robot, {k + 1} changes"
            )
    for name, figures in zip(processes, np.swapaxes(kept, 0, 1), strict=True):
        held, running, files = figures.T
        print(f"{name}: memory {held.round(1)} MB, threads {running}, files {files}")
        assert (running[1:] == running[1]).all()
        assert (files[1:] == files[1]).all()
        assert held[-1] - held[1] < GROWTH


def footprint(number):
    """Resident memory [MB], threads and open files of a process."""
    return memory(number) / 2**20, len(threads(number)), len(os.listdir(f"/proc/{number}/fd"))


def test_in_a_forked_process_it_says_that_it_is_not_its_own(robot):
    child = os.fork()
    if child == 0:
        try:
            robot.hold()
        except HardwareFault:
            os._exit(7)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    robot.hold()  # of the parent it is still
