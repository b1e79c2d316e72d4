"""Lead a system that this process has started."""

from __future__ import annotations

from ..client.robot import Robot
from .compiling import Compiling, laws_folder
from .processes import Processes

# s to find the controller: a slow machine compiles the control laws for minutes the first time
START_LIMIT = 600.0
LOST_AFTER = 5.0  # s of silence; the processes themselves are looked at, and share this machine


def connect(processes: Processes, namespace: str = "", timeout: float = START_LIMIT) -> Robot:
    """Connect to the controller among processes, once it is active.

    Where the control laws have to be compiled first, a process beside the controller helps. A line
    each 10 s says that it goes on.

    Args:
        processes: Processes of the system; one that ends meanwhile ends the search.
        namespace: Namespace of the controller.
        timeout: Time to find the controller [s].

    Raises:
        HardwareFault: A process has ended.
        ConfigError, StaleStateError: See :class:`~..client.robot.Robot`.
    """
    from ..client.ros_backend import RosBackend

    with Compiling(laws_folder()) as compiling:

        def look() -> None:
            processes.check()
            compiling.tell()

        backend = RosBackend("", namespace, "controller", None, timeout, LOST_AFTER, look)
        compiling.end()
    return Robot(backend=backend)
