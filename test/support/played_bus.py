"""A bus's process with a loop in it, played here: it serves calls, and runs cycles
when the test says so.
"""

import time
from types import SimpleNamespace

import numpy as np

from robot_control_ros.core.types import RobotState
from robot_control_ros.fieldbus.process import remote_loop, rpc
from robot_control_ros.fieldbus.process.in_process_loop import InProcessLoop
from robot_control_ros.fieldbus.process.protocol import open_memory
from robot_control_ros.fieldbus.process.remote_loop import RemoteLoop
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import load_robot

PERIOD = 0.001
TIME_CONSTANT = 0.2


class SameThread:
    """In the place of BetweenCycles, where cycles and calls are in one thread."""

    def call(self, action):
        return action()


class Bus:
    """Plays the bus's process: serves calls whenever the controller waits, and runs cycles
    when the test says so.
    """

    def __init__(self, path, monkeypatch, law="impedance", measures_wrench=False):
        self.path, self.robot, self.time = path, load_robot("ur5", "ethercat"), 100.0
        self.memory = open_memory(path, create=True)
        self.in_process = InProcessLoop(
            self.memory, PERIOD, SameThread(), self.robot, measures_wrench
        )
        self.q = np.array(self.robot.home)
        self.now = time.monotonic()
        clock = SimpleNamespace(
            monotonic=lambda: self.now, monotonic_ns=time.monotonic_ns, sleep=self.serve
        )
        for module in (remote_loop, rpc):
            monkeypatch.setattr(module, "time", clock)
        self.remote = self.controller(law)

    def controller(self, law):
        running = RunningLaw(self.robot, law, time_constant=TIME_CONSTANT)
        return RemoteLoop(self.robot, running, None, TIME_CONSTANT, name="ur5", path=self.path)

    def serve(self, seconds=0.0):
        self.now += seconds
        self.in_process.server.serve()
        # the first cycle: a controller waits for it
        if self.in_process.active and self.in_process.loop.state is None:
            self.first = self.state()
            self.cycles(1, running=False)

    def state(self, wobble=0.002):
        phase = 30.0 * self.time + np.arange(6)
        return RobotState(
            self.time, self.q + wobble * np.sin(phase), wobble * 30.0 * np.cos(phase), np.zeros(6)
        )

    def cycles(self, count=1, running=True):
        commands = []
        for _ in range(count):
            commands.append(self.in_process.tick(self.state(), running))
            self.in_process.send_telemetry()
            self.time += PERIOD
            self.now += PERIOD
        return commands

    def report(self):
        return self.remote.tick(self.state())
