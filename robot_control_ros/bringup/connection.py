"""Lead a system that this process has started."""

from __future__ import annotations

from ..client.robot import Robot
from .processes import Processes

START_LIMIT = 150.0  # s to find the controller: the control laws are compiled the first time
LOST_AFTER = 5.0  # s of silence; the processes themselves are looked at, and share this machine


def connect(processes: Processes, namespace: str = "", timeout: float = START_LIMIT) -> Robot:
    """Connect to the controller among processes, once it is active.

    Args:
        processes: Processes of the system; one that ends meanwhile ends the search.
        namespace: Namespace of the controller.
        timeout: Time to find the controller [s].

    Raises:
        HardwareFault: A process has ended.
        ConfigError, StaleStateError: See :class:`~..client.robot.Robot`.
    """
    from ..client.ros_backend import RosBackend

    backend = RosBackend("", namespace, "controller", None, timeout, LOST_AFTER, processes.check)
    return Robot(backend=backend)
