"""What a hostile browser costs the controller: its response with and without messages."""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import c_long
from typing import Any

import msgspec
import numpy as np

from robot_control_ros.bringup import SETUPS
from robot_control_ros.bringup.processes import Processes
from robot_control_ros.client.robot import Robot
from robot_control_ros.ros.process_environment import environment

from .circling import LOOP, circling
from .page_load import REPORTED, ROBOT, connected, open_page

TURNS = 4  # of each kind
# s after a change that don't count: the controller's times are those of its last 2000 cycles
SETTLE = 5.0
NICENESS = 19  # of the hostile browser, which would be on another machine
ROTATION = (1.0, 0.0, 0.0, 0.0)
POSITION = (0.5, 0.1, 0.4)
P50 = "response p50 [us]"
P99 = "response p99 [us]"
ODD: tuple[Any, ...] = (
    None,
    True,
    float("nan"),
    1e308,
    -1,
    2**63,
    "",
    "x" * 5000,
    b"",
    [],
    [1, 2],
    {},
    {"value": []},
    [[[[]]]],
)
KINDS: tuple[dict[str, Any], ...] = (
    {
        "type": "ViewerCameraMessage",
        "wxyz": ROTATION,
        "position": POSITION,
        "fov": 0.8,
        "near": 0.01,
        "far": 1000.0,
    },
    {"type": "GuiUpdateMessage", "uuid": "", "updates": {"value": 1}},
    {"type": "TransformControlsDragStartMessage", "name": "/target"},
    {
        "type": "TransformControlsUpdateMessage",
        "name": "/target",
        "wxyz": ROTATION,
        "position": POSITION,
    },
    {"type": "TransformControlsDragEndMessage", "name": "/target"},
    {
        "type": "FileTransferPart",
        "source_component_uuid": "a",
        "transfer_uuid": "b",
        "part": 0,
        "content": b"abc",
    },
)


def mutated_load(seconds: float) -> int:
    """Measure and print; returns the exit status.

    A UR5 in the simulator follows a circle under impedance, and a client takes what the page sends.
    In every other turn one more client sends mutated messages, as fast as the page reads them.

    Args:
        seconds: Length of each turn; four without and four with messages take turns.
    """
    os.environ.update(environment())
    taken: dict[str, list[tuple[float, float]]] = {"without": [], "with": []}
    sent = multiprocessing.Value("l", 0, lock=False)
    specs = SETUPS["sim"].make(robot=ROBOT).nodes()
    with (
        Processes(specs) as processes,
        circling(processes) as robot,
        open_page() as port,
        connected(_read_all, port),
    ):
        for turn in range(2 * TURNS):
            name = ("without", "with")[turn % 2]
            with connected(_send, port, sent, turn) if name == "with" else _no_client():
                time.sleep(SETTLE)
                for _ in range(max(1, round(seconds / REPORTED))):
                    time.sleep(REPORTED)
                    taken[name].append(_response(robot))
            processes.check()
            print(
                f"{name}: p99 {taken[name][-1][1]:.0f} us, {sent.value} messages so far", flush=True
            )
    _print(taken, sent.value)
    return 0


def mutated(fields: dict[str, Any], chance: random.Random) -> bytes:
    """A message of viser's client with something changed."""
    kind = chance.randrange(6)
    name = chance.choice(list(fields))
    if kind == 0:
        fields = fields | {name: chance.choice(ODD)}
    elif kind == 1:
        fields = {each: value for each, value in fields.items() if each != name}
    elif kind == 2:
        fields = fields | {"removed": chance.choice(ODD)}
    raw = msgspec.msgpack.encode(fields)
    at = chance.randrange(len(raw))
    if kind == 3:
        return raw[:at]
    if kind == 4:
        return raw[:at] + bytes([chance.randrange(256)]) + raw[at + 1 :]
    return b"\x91" * 3000 if kind == 5 else raw


def _response(robot: Robot) -> tuple[float, float]:
    """Median and 99 % of the controller's response [us], as it reported them last."""
    values = robot.diagnostics[LOOP].values
    return float(values[P50]), float(values[P99])


@contextmanager
def _no_client() -> Iterator[None]:
    yield


def _read_all(connection: Any) -> None:
    for _ in connection:
        pass


def _send(connection: Any, sent: c_long, seed: int) -> None:
    os.nice(NICENESS)
    chance = random.Random(seed)
    while True:
        connection.send(mutated(chance.choice(KINDS), chance))
        sent.value += 1


def _print(taken: dict[str, list[tuple[float, float]]], sent: int) -> None:
    print(
        f"\n{'messages':<10}{'response p50 us':>17}{'p99 us':>9}   median of the reports; {sent} messages in all"
    )
    medians = {name: np.median(values, axis=0) for name, values in taken.items()}
    for name, (p50, p99) in medians.items():
        print(f"{name:<10}{p50:>17.0f}{p99:>9.0f}")
    ratios = medians["with"] / medians["without"]
    print(f"with / without: p50 {ratios[0]:.2f}, p99 {ratios[1]:.2f}")
