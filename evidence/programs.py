"""Nodes as processes in a ROS domain of their own, with a node of this process beside them."""

from __future__ import annotations

import fcntl
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import rclpy
from rclpy.signals import SignalHandlerOptions

from robot_control_ros.bringup import NodeSpec
from robot_control_ros.bringup.program_session import die_with_parent
from robot_control_ros.core.errors import HardwareFault
from robot_control_ros.ros.process_environment import environment
from robot_control_ros.ros.running import make_executor
from robot_control_ros.ros.transport import leave_shared_memory

AGAIN = " again"  # behind the name of a program for each start after the first
ENDED_WITHIN = 10.0  # s, of a process that was told to end; each has 2 s of its own
# of DDS: of domain 0, and of each one
PORTS = 7400
PORTS_OF_A_DOMAIN = 250
_domains = itertools.cycle(range(1, 101))


class Domain:
    """A ROS domain that nobody else here has, until it is released: a killed node is seen in
    its domain for 20 s.
    """

    def __init__(self) -> None:
        for _ in range(100):
            self.number = next(_domains)
            path = (
                Path(tempfile.gettempdir())
                / f"robot_control_ros_{os.getuid()}_domain_{self.number}"
            )
            self._lock = path.open("w")
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                self._lock.close()
        raise HardwareFault("none of 100 ROS domains is free", name="domain", bound=100)

    def release(self) -> None:
        """Let others have the domain."""
        self._lock.close()


class Program:
    """A process whose output is kept.

    Attributes:
        name: Name of the program; that of its node, where it is a node.
        process: Process that runs it.
    """

    def __init__(
        self,
        name: str,
        command: list[str],
        folder: Path,
        variables: Mapping[str, str],
        **options: Any,
    ) -> None:
        self.name = name
        self._path = folder / f"{name}_{time.monotonic_ns()}".replace(" ", "_")
        self._path.mkdir()
        with (self._path / "out").open("wb") as out, (self._path / "err").open("wb") as err:
            self.process = subprocess.Popen(
                command,
                stdout=out,
                stderr=err,
                env=dict(variables),
                start_new_session=True,
                **options,
            )

    @property
    def err(self) -> str:
        """Text that the process has written to stderr."""
        return (self._path / "err").read_text(errors="replace")

    @property
    def out(self) -> str:
        """Text that the process has written to stdout."""
        return (self._path / "out").read_text(errors="replace")

    def end(self, *signals: int) -> int:
        """Send signals, one right after the other; returns the exit status, -9 where
        it had to be killed.
        """
        for number in signals:
            if self.process.poll() is None:
                self.process.send_signal(number)
        try:
            return self.process.wait(ENDED_WITHIN)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Programs:
    """A domain on this machine alone, a node in it, and the processes that are started there.

    Attributes:
        node: Node of this process in the domain.
        programs: All programs that were started, in the order of their start.
        files: Folder in which the programs run, and have their temporary files.
    """

    def __init__(self) -> None:
        os.environ.update(environment())
        leave_shared_memory()
        self._domain = Domain()
        self._shared_before = self._shared_memory()  # of those who had the domain before
        self._folder = tempfile.TemporaryDirectory(prefix="robot_control_ros.evidence.")
        folder = Path(self._folder.name)
        self._logs = folder / "logs"
        self.files = folder / "files"
        for path in (self._logs, self.files):
            path.mkdir()
        root = Path(__file__).resolve().parents[1]
        paths = [str(root), *filter(None, [os.environ.get("PYTHONPATH", "")])]
        self.environment = {
            **os.environ,
            "ROS_DOMAIN_ID": str(self._domain.number),
            "ROS_LOG_DIR": str(self._logs),
            "TMPDIR": str(self.files),
            "XDG_STATE_HOME": str(self._logs),
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.programs: list[Program] = []
        self._context = rclpy.Context()
        rclpy.init(
            context=self._context,
            domain_id=self._domain.number,
            signal_handler_options=SignalHandlerOptions.NO,
        )
        self._executor = make_executor(self._context)
        self._nodes: list[Any] = []
        self.node: Any = self.create_node("evidence")

    def __enter__(self) -> Programs:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        for program in self.programs:
            if program.process.poll() is None:
                program.process.kill()
                program.process.wait()
        self._executor.shutdown()
        for node in self._nodes:
            node.destroy_node()
        self._context.try_shutdown()
        self._domain.release()
        self._folder.cleanup()

    def create_node(self, name: str) -> Any:
        """A node of this process in the domain."""
        node = rclpy.create_node(name, context=self._context, enable_rosout=False)
        self._executor.add_node(node)
        self._nodes.append(node)
        return node

    def start(
        self, executable: str, parameters: Mapping[str, Any] | None = None, **spec: Any
    ) -> Program:
        """Start a node of the package; its name is that of the executable, where
        `name` isn't given.
        """
        name = spec.pop("name", executable)
        arguments = NodeSpec(executable, name, parameters or {}, **spec).ros_arguments()
        return self.run(
            name, [sys.executable, "-m", "robot_control_ros.nodes", executable, *arguments]
        )

    def run(self, name: str, command: list[str], **options: Any) -> Program:
        """Start a program in the domain, which ends with us; the options are those of
        ``subprocess.Popen``.
        """
        options.setdefault("preexec_fn", die_with_parent)
        program = Program(name, command, self._logs, self.environment, cwd=self.files, **options)
        self.programs.append(program)
        return program

    def spin(self, seconds: float) -> None:
        """Let one thing happen, or the time pass."""
        self._executor.spin_once(timeout_sec=seconds)

    def end(self) -> dict[str, int]:
        """Tell all programs to end, as Ctrl-C does; returns their exit statuses by name.

        A program that was started again has a name for each start; see AGAIN.
        """
        for program in reversed(self.programs):
            if program.process.poll() is None:
                program.process.send_signal(signal.SIGINT)
        statuses: dict[str, int] = {}
        for program in self.programs:
            before = sum(name.partition(AGAIN)[0] == program.name for name in statuses)
            statuses[program.name + AGAIN * before] = program.end()
        return statuses

    def left_behind(self) -> list[str]:
        """Processes, files and shared memory that programs which have ended have left."""
        sessions = {program.process.pid for program in self.programs}
        found = [f"process {number}" for number in _processes_of(sessions)]
        found += [f"file {path.relative_to(self.files)}" for path in sorted(self.files.rglob("*"))]
        found += [
            f"shared memory {name}" for name in sorted(self._shared_memory() - self._shared_before)
        ]
        return found

    def _shared_memory(self) -> set[str]:
        """The names of the domain's shared memory."""
        first = PORTS + PORTS_OF_A_DOMAIN * self._domain.number
        ports = {str(port) for port in range(first, first + PORTS_OF_A_DOMAIN)}
        names = {path.name for path in Path("/dev/shm").glob("*")}
        return {name for name in names if ports.intersection(name.replace("port", "_").split("_"))}


def _processes_of(sessions: set[int]) -> list[int]:
    """The processes of sessions that haven't ended (Linux)."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        if int(fields[3]) in sessions and fields[0] != "Z":
            found.append(int(file.parent.name))
    return sorted(found)
