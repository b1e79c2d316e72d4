"""The emulated arm (:mod:`.program`) as a process of another one's."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

from ...core.errors import HardwareFault

GRACE = 5.0  # s for it to end


@contextlib.contextmanager
def emulated_bus(robot: str, topology: str, interface: str, faults: str = "") -> Iterator[None]:
    """The emulated arm at an interface, as another process.

    Args:
        robot, topology, faults: see :func:`.program.emulate`.
        interface: where it listens.

    Raises:
        HardwareFault: it doesn't start; the message has its exit status.
    """
    command = [sys.executable, "-m", "robot_control_ros.ethercat.emulation.program"]
    command += ["--robot", robot, "--interface", interface, "--topology", topology, "--faults", faults]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert child.stdout is not None
    try:
        if not child.stdout.readline():
            raise HardwareFault(f"the emulator ended with exit status {child.wait()}; see its message above")
        yield
    finally:
        child.terminate()
        try:
            child.wait(GRACE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        child.stdout.close()
