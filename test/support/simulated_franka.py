"""The simulated Franka robot of test/franka, as a test starts and disturbs it."""

import os
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "test/franka/simulated_robot.py"
PYTHON = Path(os.environ.get("FRANKA_SIM_PYTHON", ROOT / ".venv-franka-sim/bin/python"))
ADDRESS = "127.0.0.1"
STARTS_WITHIN = 60.0  # s
ANSWERS_WITHIN = 5.0  # s


def skip_without_it():
    """Skip a test where the simulated robot, or the maker's library, isn't installed."""
    pytest.importorskip("pylibfranka", reason="no pylibfranka: make test-franka")
    if not PYTHON.exists():
        pytest.skip(f"no simulated Franka robot at {PYTHON}: make test-franka")


class SimulatedFranka:
    """A process with a simulated robot.

    Args:
        options: Options of its command line.
    """

    def __init__(self, *options):
        self._lines = Queue()
        self._process = subprocess.Popen(
            [str(PYTHON), str(PROGRAM), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        )
        threading.Thread(target=self._read, daemon=True).start()
        self._expect("ready", STARTS_WITHIN)

    def _read(self):
        for line in self._process.stdout:
            self._lines.put(line)

    def _expect(self, name, timeout):
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            try:
                first, *values = self._lines.get(timeout=0.1).split()
            except Empty:
                if self._process.poll() is not None:
                    raise RuntimeError("the simulated robot has ended") from None
                continue
            if first == name:
                return [float(value) for value in values]
        raise TimeoutError(f"no {name} within {timeout:g} s")

    def ask(self, *words):
        """Send a request that is not answered."""
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()

    def lose(self, share, seconds):
        self.ask("lose", share, seconds)

    def fall_silent(self, seconds):
        self.ask("silent", seconds)

    def push(self, x, y, z, seconds):
        self.ask("push", x, y, z, seconds)

    @property
    def declared(self):
        """Payload that the client has declared [kg]."""
        self.ask("payload")
        return self._expect("payload", ANSWERS_WITHIN)[0]

    @property
    def flange(self):
        """Where the flange is [m]."""
        self.ask("pose")
        return self._expect("pose", ANSWERS_WITHIN)

    def close(self):
        self._process.kill()
        self._process.wait()


@contextmanager
def simulated_franka(*options):
    """A simulated robot for as long as the block takes."""
    skip_without_it()
    robot = SimulatedFranka(*options)
    try:
        yield robot
    finally:
        robot.close()


def bus_processes():
    """Process ids of the bus processes that this one has started."""
    own = str(os.getpid())
    found = []
    for folder in Path("/proc").iterdir():
        try:
            command = (folder / "cmdline").read_bytes().split(b"\0")
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
        except (OSError, ValueError):
            continue
        if parent == own and b"robot_control_ros.fieldbus.process.bus_process" in command:
            found.append(int(folder.name))
    return found
