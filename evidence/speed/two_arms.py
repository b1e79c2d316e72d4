"""Two simulated UR5e, as two_arms.launch.py has them: how many commands come
later than a period.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import rclpy
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_control_ros.bringup import SETUPS
from robot_control_ros.bringup.processes import Processes
from robot_control_ros.core.errors import HardwareFault
from robot_control_ros.ros.process_environment import environment
from robot_control_ros.ros.topic_recorder import TopicRecorder
from robot_control_ros.ros.transport import leave_shared_memory

from ..row import Row, exit_status, required, text_table
from .process_figures import processor_time

ARMS = ("left", "right")
RATE = 500.0  # Hz
LATE = 1e-3  # of the commands: with more the exit status is 1
# s
START_LIMIT = 60.0
SETTLE = 3.0


def two_arms(seconds: float) -> int:
    """Measure and print; returns the exit status, 1 where too many commands are late.

    A command is late where none was sent within a period after a joint state.
    """
    os.environ.update(environment())
    specs = SETUPS["two_arms"].make(law="impedance", rate=f"{RATE:g}").nodes()
    leave_shared_memory()
    with rclpy.init(), Processes([]) as processes:
        node = Node("recorder")  # in no executor, which would be woken by each message
        recorder = TopicRecorder(node)
        states = {arm: _sending_times(recorder, JointState, f"/{arm}/joint_states") for arm in ARMS}
        commands = {
            arm: _sending_times(
                recorder, Float64MultiArray, f"/{arm}/forward_effort_controller/commands"
            )
            for arm in ARMS
        }
        running = {spec.full_name: processes.start(spec).pid for spec in specs}
        topics = [*states.values(), *commands.values()]
        _record(recorder, START_LIMIT, processes, lambda: all(topics))
        if not all(topics):
            raise HardwareFault(f"no commands for both arms within {START_LIMIT:g} s")
        _record(recorder, SETTLE, processes)
        for times in topics:
            times.clear()
        before = {name: processor_time(pid) for name, pid in running.items()}
        _record(recorder, seconds, processes)
        for name, pid in running.items():
            print(f"{name}: {(processor_time(pid) - before[name]) / seconds:.0%} of a core")
    late = {
        arm: _print_arm(arm, np.array(states[arm]), np.array(commands[arm]), 1.0 / RATE)
        for arm in ARMS
    }
    origin = required("docs/two_arms.md")
    rows = [
        Row.at_most(f"{arm}: late commands", 100.0 * share, 100.0 * LATE, "%", origin)
        for arm, share in late.items()
    ]
    print("\n".join(text_table(rows)))
    return exit_status(rows)


def _sending_times(recorder: TopicRecorder, kind: type, topic: str) -> list[float]:
    """Times at which the messages of a topic were sent [s]; the recorder adds to the list."""
    times: list[float] = []
    recorder.add(kind, topic, lambda recorded: times.append(recorded.sent_at))
    return times


def _record(
    recorder: TopicRecorder,
    seconds: float,
    processes: Processes,
    enough: Callable[[], bool] = lambda: False,
) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and not enough():
        time.sleep(0.5)
        processes.check()
        recorder.poll()


def _print_arm(
    arm: str, sent: np.ndarray[Any, Any], answered: np.ndarray[Any, Any], period: float
) -> float:
    """Returns the fraction of late commands."""
    # topics were cleared one after the other
    sent = sent[(sent > answered[0] + 0.1) & (sent < answered[-1])]
    delay = answered[np.searchsorted(answered, sent)] - sent
    gaps = np.diff(sent)
    late = float(np.mean(delay > period))
    states = f"{len(sent)} joint states at {1.0 / gaps.mean():.1f} Hz, {np.mean(gaps > 1.5 * period):.2%} of them late"
    times = f"{1e6 * np.median(delay):.0f} us, p99 {1e6 * np.percentile(delay, 99):.0f} us"
    print(f"{arm}: {states}; commands after {times}, {late:.3%} late")
    return late
