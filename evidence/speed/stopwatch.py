"""Measures the time from a joint state's publication to its command's arrival, over DDS."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_control_ros.core.errors import HardwareFault
from robot_control_ros.robot.configuration import RobotConfig
from robot_control_ros.ros.entities import Entities
from robot_control_ros.ros.messages import to_stamp
from robot_control_ros.ros.qos import COMMAND_QOS

BLOCK = 2.5  # s: the two nodes take turns, so that what disturbs the machine disturbs both
WARM_UP = 0.5  # s at the start of a block that don't count
FIRST_ANSWER = 20.0  # s
LOST_AFTER = 0.05  # s without an answer
ANSWERS_QOS = QoSProfile(depth=100)


def stopwatch_node() -> Node:
    """The node to measure with."""
    return Node("stopwatch")


class Stopwatch:
    """Plays the robot for one node at a time; the others idle meanwhile.

    Args:
        robot: Robot whose joint states are sent, at home.
        node: Node that sends and listens.
        spin: Function that spins the node for some seconds.
    """

    def __init__(self, robot: RobotConfig, node: Node, spin: Callable[[float], None]) -> None:
        self._node = node
        self._spin = spin
        self._message = JointState(name=list(robot.joints))
        self._message.position = array("d", robot.home)
        self._message.velocity = array("d", [0.0] * robot.n)

    def compare(self, nodes: dict[str, str], rate: float, seconds: float) -> dict[str, Any]:
        """Measure each node, named with its topics' namespace, for `seconds` in all, in turns."""
        taken: dict[str, list[float]] = {name: [] for name in nodes}
        counts = {name: [0, 0] for name in nodes}
        for _ in range(max(1, round(seconds / BLOCK))):
            for name, namespace in nodes.items():
                latencies, sent, lost = self._block(namespace, rate, min(BLOCK, seconds))
                taken[name] += latencies
                counts[name][0] += sent
                counts[name][1] += lost
        return {name: _row(np.array(taken[name]), *counts[name]) for name in nodes}

    def wait_for_answer(self, namespace: str) -> None:
        """Until a node that was just started answers."""
        entities = Entities(self._node)
        turn = _Turn(entities, namespace, self._message)
        self._spin_until(
            lambda: turn.ready(), FIRST_ANSWER, f"no answer on {namespace}/commands", 0.01
        )
        entities.close()

    def wait_for_joint_state(self) -> None:
        """Until a simulator runs."""
        arrived: list[JointState] = []
        entities = Entities(self._node)
        entities.subscription(JointState, "joint_states", arrived.append)
        self._spin_until(lambda: bool(arrived), FIRST_ANSWER, "no joint state from the simulator")
        entities.close()

    def _block(self, namespace: str, rate: float, seconds: float) -> tuple[list[float], int, int]:
        entities = Entities(self._node)
        turn = _Turn(entities, namespace, self._message)
        self._spin_until(lambda: turn.ready(), FIRST_ANSWER, f"no answer on {namespace}/commands")
        entities.timer(1.0 / rate, turn.send)
        self._spin_until(lambda: turn.age() > WARM_UP, 2.0 * WARM_UP + 5.0, "the timer doesn't run")
        turn.count()
        self._spin_until(
            lambda: turn.age() > WARM_UP + seconds, 2.0 * seconds + 5.0, "the timer doesn't run"
        )
        turn.stop()
        self._spin(0.2)
        entities.close()
        return turn.latencies, turn.sent, turn.sent - len(turn.latencies)

    def _spin_until(self, condition: Any, limit: float, otherwise: str, step: float = 0.1) -> None:
        deadline = time.monotonic() + limit
        while not condition():
            if time.monotonic() > deadline:
                raise HardwareFault(f"speed: {otherwise} within {limit:g} s")
            self._spin(step)


class _Turn:
    """One node's turn: a joint state each period, but none while the last one is unanswered; so
    answers are certain.
    """

    def __init__(self, entities: Entities, namespace: str, message: JointState) -> None:
        self._publisher = entities.publisher(JointState, f"{namespace}/joint_states", COMMAND_QOS)
        entities.subscription(
            Float64MultiArray, f"{namespace}/commands", self._on_answer, ANSWERS_QOS
        )
        self._message = message
        self._began = time.monotonic()
        self._sent_at: float | None = None
        self._answered = False
        self._counting = False
        self._stopped = False
        self.sent = 0
        self.latencies: list[float] = []

    def ready(self) -> bool:
        """Try once more until the first answer comes."""
        if not self._answered:
            self._publish()
            self._began = time.monotonic()
        return self._answered

    def age(self) -> float:
        """Time since the first answer [s]."""
        return time.monotonic() - self._began

    def count(self) -> None:
        """From now on it counts."""
        self._sent_at = None
        self._counting = True

    def stop(self) -> None:
        """Send no more."""
        self._stopped = True

    def send(self) -> None:
        """Each period."""
        waiting = self._sent_at is not None and time.perf_counter() - self._sent_at < LOST_AFTER
        if self._stopped or waiting:
            return
        self.sent += self._counting
        self._sent_at = time.perf_counter()
        self._publish()

    def _publish(self) -> None:
        self._message.header.stamp = to_stamp(time.time())
        self._publisher.publish(self._message)

    def _on_answer(self, message: Float64MultiArray) -> None:
        now = time.perf_counter()
        self._answered = True
        if self._sent_at is not None:
            if self._counting:
                self.latencies.append(now - self._sent_at)
            self._sent_at = None


def _row(latencies: Any, sent: int, lost: int) -> dict[str, float]:
    p50, p99, p999 = np.percentile(latencies * 1e6, (50.0, 99.0, 99.9))
    return {
        "p50_us": float(p50),
        "p99_us": float(p99),
        "p999_us": float(p999),
        "sent": sent,
        "lost": lost,
    }
