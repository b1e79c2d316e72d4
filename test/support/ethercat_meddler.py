"""The driver behind a cable that meddles: a bus process with a law, and an emulator whose replies
are changed.

`python ethercat_meddler.py SECONDS SEED`, in a network namespace of its own, prints what it saw as
JSON.
`… emulate SEED` is the emulator: lines on its standard input switch the meddling on and off, and
ask for a report.
"""

from __future__ import annotations

import contextlib
import heapq
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing

import processes

from ethercat_emulator import Bus, Line
from ethercat_emulator.bus.frame import walk
from ethercat_emulator.drive.power_states import Power
from ethercat_emulator.network.packet_socket import run
from ethercat_emulator.network.veth import MASTER, SLAVES, make_pair
from robot_control_ros.core.errors import RobotControlError, StaleStateError
from robot_control_ros.fieldbus.emulation.arm import MujocoArm
from robot_control_ros.fieldbus.emulation.topology_bus import bus_of
from robot_control_ros.fieldbus.ethercat.ethercat_driver import ethercat_settings
from robot_control_ros.fieldbus.ethercat.topology import load_topology
from robot_control_ros.fieldbus.process.client import BusClient
from robot_control_ros.fieldbus.process.pacing import EMULATED_BUS_TIMEOUTS
from robot_control_ros.fieldbus.process.remote_loop import RemoteLoop
from robot_control_ros.fieldbus.supervisor import Action
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import load_robot

ROBOT, LAW = "ur5", "impedance"
CALM, MEDDLED = (0.2, 0.6), (0.2, 1.0)  # s, in turns
SHARE = 0.05  # of the replies that are changed meanwhile


class Meddler:
    """A line that loses, doubles, delays, exchanges, cuts and changes the replies of the one behind
    it.

    Attributes:
        on: whether it does.
        counts: how often it did what.
    """

    def __init__(self, line: Line, seed: int) -> None:
        self.bus, self.up, self.on = line.bus, True, False
        self.counts: Counter[str] = Counter()
        self._line, self._random = line, random.Random(seed)
        self._waiting: list[tuple[int, int, bytes]] = []
        self._number = self._turn_at = 0
        self._meddles = False

    def exchange(self, frame: bytes | None, now: int) -> list[bytes]:
        for reply in self._line.exchange(frame, now):
            self._take(reply, now)
        replies = []
        while self._waiting and self._waiting[0][0] <= now:
            replies.append(heapq.heappop(self._waiting)[2])
        return replies

    def due(self, now: int) -> int | None:
        return max(self._waiting[0][0] - now, 0) if self._waiting else None

    def _take(self, reply: bytes, now: int) -> None:
        draw = self._random
        if now > self._turn_at:
            self._meddles = self.on and not self._meddles
            self._turn_at = now + round(1e9 * draw.uniform(*(MEDDLED if self._meddles else CALM)))
        if not self._meddles or draw.random() > SHARE:
            return self._put(reply, now)
        how = draw.choice(
            ("lost", "double", "late", "exchanged", "cut", "changed", "changed", "changed")
        )
        self.counts[how] += 1
        if how == "double":
            self._put(reply, now)
            self._put(reply, now + draw.choice((0, 300_000)))
        elif how == "late":
            self._put(reply, now + draw.randrange(20_000_000))
        elif how == "exchanged":  # with the one after it
            self._put(reply, now + 1_200_000)
        elif how == "cut":
            self._put(reply[: draw.randrange(15, len(reply))], now)
        elif how == "changed":
            self._put(self._changed(reply), now)
        return None

    def _changed(self, reply: bytes) -> bytes:
        """Other bits in the data of its datagrams; working counters stay."""
        draw, frame = self._random, bytearray(reply)
        data = [at for item in walk(frame) for at in range(item.start, item.end)]
        for _ in range(draw.choice((1, 1, 2, 8))):
            frame[draw.choice(data)] ^= 1 << draw.randrange(8)
        return bytes(frame)

    def _put(self, reply: bytes, at: int) -> None:
        self._number += 1
        heapq.heappush(self._waiting, (at, self._number, reply))


class Powers:
    """Counts how often each drive of a bus was enabled."""

    def __init__(self, bus: Bus) -> None:
        self._machine = bus.machine
        self.enabled = [0] * len(self._machine.drives)
        self._last = [drive.power for drive in self._machine.drives]
        self._machine.watchers.append(self._watch)

    def _watch(self) -> None:
        for i, drive in enumerate(self._machine.drives):
            self.enabled[i] += self._last[i] is not drive.power is Power.OPERATION_ENABLED
            self._last[i] = drive.power


def emulate(seed: int) -> None:
    robot = load_robot(ROBOT, "ethercat")
    bus = bus_of(load_topology(ROBOT), robot.joints, MujocoArm(robot))
    meddler, powers = Meddler(Line(bus), seed), Powers(bus)
    stop, commands = threading.Event(), iter(sys.stdin.readline, "")
    pending = ["off"]

    def listen() -> None:
        for command in commands:
            pending.append(command.strip())
        stop.set()

    def between() -> None:
        while pending:
            meddler.on = pending.pop(0) == "on"
            print(json.dumps({"enabled": powers.enabled, "counts": meddler.counts}), flush=True)

    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(60))
    threading.Thread(target=listen, daemon=True).start()
    run(meddler, SLAVES, stop, between)


class Emulator:
    """The process at the other end, which ends with this one."""

    def __init__(self, seed: int) -> None:
        command = [sys.executable, __file__, "emulate", str(seed)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._answer()

    def tell(self, command: str) -> dict:
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict:
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(60)


class Operator:
    """Enables the drives whenever they are stopped, and lets the law hold the arm meanwhile."""

    def __init__(self, client: BusClient, loop: RemoteLoop) -> None:
        self._client, self._loop = client, loop
        self.enabled = self.stops = 0
        self.by_itself = 0
        self._asked = False
        self._action = Action.DISABLE

    def tick(self) -> None:
        status = self._client.wait(1.0)
        if status is None:
            self._client.check()
            return
        with contextlib.suppress(StaleStateError):
            self._loop.tick(status.state)
        before, self._action = self._action, status.action
        at_work = (Action.ENABLE, Action.RUN, Action.HOLD)
        if status.action in at_work:
            self.by_itself += before not in at_work and not self._asked
            self._asked = False
        elif before in at_work:
            self.stops += 1
        elif status.action is Action.DISABLE:
            self._enable()

    def _enable(self) -> None:
        with contextlib.suppress(RobotControlError):  # what stands against it may go by
            self._client.request("reset_fault")
            self._loop.reset()
            self._asked = True
            self._client.request("enable")
            self.enabled += 1


def meddle(seconds: float, seed: int) -> dict:
    make_pair()
    emulator = Emulator(seed)
    robot = load_robot(ROBOT, "ethercat")
    topology = load_topology(ROBOT)
    robot = robot.at_rate(1.0 / topology.cycle)
    settings = ethercat_settings(
        MASTER, ROBOT, priority=40, in_process=True, **EMULATED_BUS_TIMEOUTS
    )
    client = BusClient(settings)
    with closing(client):
        client.wait_until_ready()
        loop = RemoteLoop(robot, RunningLaw(robot, LAW), None, 0.2, name=ROBOT, path=client.path)
        operator = Operator(client, loop)
        until = time.monotonic() + 60.0
        while operator.enabled == 0 and time.monotonic() < until:
            operator.tick()
        emulator.tell("on")
        memory, sampled = [], time.monotonic()
        end = sampled + seconds
        while time.monotonic() < end:
            operator.tick()
            if time.monotonic() > sampled + 0.1 * seconds:
                sampled = time.monotonic()
                memory.append(processes.memory(client.process_number) / 1.024e6)  # MB of 1000 kB
        emulator.tell("off")
        calm = time.monotonic() + 60.0
        recovered = False
        while not recovered and time.monotonic() < calm:
            operator.tick()
            status = client.status()
            recovered = status is not None and status.action is Action.RUN
        seen = {
            **emulator.tell("off"),
            "recovered": recovered,
            "memory": memory,
            "cycles": client.timing.count,
        }
        seen |= {
            "requests": operator.enabled,
            "stops": operator.stops,
            "by_itself": operator.by_itself,
        }
        loop.close()
    emulator.close()
    return seen


def main(arguments: list[str]) -> None:
    if arguments[0] == "emulate":
        emulate(int(arguments[1]))
    else:
        print("\n" + json.dumps(meddle(float(arguments[0]), int(arguments[1]))))


if __name__ == "__main__":
    main(sys.argv[1:])
