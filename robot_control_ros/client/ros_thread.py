"""A node with a context and a thread of its own, beside a user's rclpy or in a notebook."""

from __future__ import annotations

import atexit
import itertools
import os
import threading
import time
from collections.abc import Callable
from typing import TypeVar

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from ..core.errors import HardwareFault
from ..ros.ending import DEAF, exits_within, leave
from ..ros.entities import Entities
from ..ros.hearing import ADVICE, PERIOD, Hearing
from ..ros.running import refusals_told
from ..ros.transport import leave_shared_memory

_T = TypeVar("_T")
DEAF_TEXT = (
    f"this program hears nothing of the robot, not even itself: {ADVICE}. Start the program again"
)
_numbers = itertools.count()
HEARD_WITHIN = 2.0 * PERIOD  # s
# s after which the process is ended: it would wait for ever, see hearing.py
DESTROYED_WITHIN = 10.0
_undestroyed: list[object] = []  # of threads that were deaf


class RosThread:
    """The node, and the thread that spins it.

    Args:
        domain: ROS domain; None takes ROS_DOMAIN_ID.
        namespace: Namespace of the node, so that relative names are in it.
        on_error: Function that is called where the thread can't go on.

    Attributes:
        node, entities: Node of the thread, and its entities; make entities before :meth:`start`.
        closed: True once :meth:`close` was called.
    """

    def __init__(
        self, domain: int | None, namespace: str, on_error: Callable[[Exception], None]
    ) -> None:
        leave_shared_memory()
        self._context = rclpy.Context()
        self._on_error = on_error
        rclpy.init(
            context=self._context, domain_id=domain, signal_handler_options=SignalHandlerOptions.NO
        )
        self.node = Node(
            f"robot_client_{os.getpid()}_{next(_numbers)}",
            namespace=namespace,
            context=self._context,
            use_global_arguments=False,
            start_parameter_services=False,
            enable_rosout=False,
        )
        self.entities = Entities(self.node)
        self.closed = False
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._spin, name="robot client", daemon=True)
        self._hearing = Hearing.of(self.node)

    def start(self) -> None:
        """Begin to spin."""
        self._thread.start()
        self._hearing.start(self._on_deaf)

    @property
    def runs(self) -> bool:
        """True where it spins and hears; a forked process has no thread of its parent's."""
        return self._thread.is_alive() and not self.closed and not self._hearing.deaf

    def hears(self) -> bool:
        """Say whether it has heard itself just now."""
        return self._hearing.proven(time.monotonic(), HEARD_WITHIN)

    def check(self) -> None:
        """Raise a HardwareFault where nothing comes in any more."""
        if self._hearing.deaf:
            raise HardwareFault(DEAF_TEXT)
        if not self.runs:
            raise HardwareFault(
                "the client's thread has ended: a forked process needs a Robot of its own"
            )

    def call(self, action: Callable[[], _T]) -> _T:
        """Do something in the thread, where entities may come and go while it spins.

        Raises:
            HardwareFault: the thread has ended, or hears nothing; else what the action raises.
        """
        done = threading.Event()
        results: list[_T] = []
        task = self._executor.create_task(lambda: results.append(action()))
        task.add_done_callback(lambda _: done.set())
        while not done.wait(0.1):
            if self._hearing.deaf:
                raise HardwareFault(DEAF_TEXT)
            if not self._thread.is_alive():
                raise HardwareFault("the client has ended")
        task.result()  # raises what the action raised
        return results[0]

    def close(self) -> None:
        """End the thread first, then what it uses."""
        if self.closed:
            return
        self.closed = True
        self._hearing.stop()
        if self._hearing.deaf:
            _undestroyed.append(self)
            return
        with exits_within(DESTROYED_WITHIN, DEAF):
            if self._thread.is_alive() and threading.current_thread() is not self._thread:
                self._thread.join()
            self._executor.shutdown()
            self.entities.close()
            self._hearing.close()
            self.node.destroy_node()
            self._context.try_shutdown()

    def _on_deaf(self) -> None:
        atexit.register(leave, DEAF)
        self._on_error(HardwareFault(DEAF_TEXT))

    def _spin(self) -> None:
        try:
            while not self.closed:
                with refusals_told(self.node):
                    self._executor.spin_once(timeout_sec=0.1)
        except Exception as error:
            self._on_error(error)
            raise
