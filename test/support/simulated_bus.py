"""The bus's process of the simulated driver of the examples, in this one: cycles come when the test
says so, and whenever somebody waits.
"""

import socket
from pathlib import Path

from robot_control_ros.fieldbus.process import bus_process
from robot_control_ros.fieldbus.process.bus_process import BusProcess
from robot_control_ros.fieldbus.process.client import BusSettings
from robot_control_ros.fieldbus.process.protocol import open_memory
from robot_control_ros.fieldbus.process.rpc import BetweenCycles

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DRIVER = "simulated_driver:SimulatedDriver"


def settings(folder, **given):
    """Settings of the simulated bus, whose cycles take no time."""
    usual = {
        "bus": DRIVER,
        "address": "simulated",
        "robot": "ur5",
        "profile": "sim",
        "options": {"real_time": False},
        "memory": str(folder / "memory"),
        "command_timeout": 600.0,
    }
    return BusSettings(**{**usual, **given})


class AtOnce(BetweenCycles):
    """In the place of BetweenCycles, where cycles and calls are in one thread."""

    def call(self, action):
        return action()


class PlayedProcess:
    """The process, and its end of the wake socket.

    Attributes:
        process: The BusProcess.
        wake: The socket that gets a byte per cycle.
        memory: Memory that is shared with it.
    """

    def __init__(self, chosen, monkeypatch):
        monkeypatch.syspath_prepend(EXAMPLES)
        monkeypatch.setattr(bus_process, "BetweenCycles", AtOnce)
        # what makes a process a real-time one isn't for the process of the tests
        monkeypatch.setattr(
            bus_process, "prepare", lambda priority, processor: ["not in real time"]
        )
        self.memory = open_memory(Path(chosen.memory), create=True)
        self.wake, theirs = socket.socketpair()
        self.wake.setblocking(False)
        self.process = BusProcess(chosen, self.memory, theirs.detach())
        self.now = 0.0

    def start(self):
        self.process.start()

    def run(self, cycles=1):
        """Run cycles, and look beside them after each."""
        for _ in range(cycles):
            self.process.cycle()
            self.now += 0.05
            self.process.monitor.turn(self.now)
