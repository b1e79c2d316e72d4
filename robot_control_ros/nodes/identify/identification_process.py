"""`robot_control identify` as a process of its own: its steps, its question, its end."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ...core.errors import HardwareFault
from ...ros.process_environment import environment

NICENESS = 5  # control comes first
# exit statuses
SUCCESS = 0
INTERRUPTED = 130


class IdentificationProcess:
    """Runs beside the control loop, so that neither start nor estimate costs it a cycle.

    Args:
        arguments: of the command.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        self._command = [sys.executable, "-m", "robot_control_ros.cli", "identify", "--json", *arguments]
        self._steps: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._process: subprocess.Popen[str] | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="identification", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def steps(self) -> list[dict[str, Any]]:
        """What has come since the last call: each with a `state` and a `text`; the last one says how it ended."""
        return [self._steps.get() for _ in range(self._steps.qsize())]

    def agree(self) -> None:
        """Let the arm move.

        Raises:
            HardwareFault: the process has ended.
        """
        try:
            assert self._process is not None
            assert self._process.stdin is not None
            self._process.stdin.write("y\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise HardwareFault("the identification has ended; plan it again") from error

    def stop(self) -> None:
        """End it, once: a second signal would disturb the end, which leaves the arm holding."""
        if not self._stopped.is_set():
            self._stopped.set()
            if self._process is not None:
                self._process.send_signal(signal.SIGINT)

    def _run(self) -> None:
        with suppress(OSError):  # children have the priority of the thread that starts them
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
        pipe = subprocess.PIPE
        process = self._process = subprocess.Popen(
            self._command,
            env=environment(),
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # a terminal's Ctrl-C ends the node, and the node ends this
        )
        if self._stopped.is_set():
            process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        problem = ""
        for line in process.stdout:
            try:
                self._steps.put(json.loads(line))
            except ValueError:
                problem = line.strip() or problem
        status = process.wait()
        if status != SUCCESS and self._stopped.is_set():
            self._steps.put({"state": "stopped", "text": "stopped" if status == INTERRUPTED else problem})
        elif status != SUCCESS:
            self._steps.put({"state": "failed", "text": problem})
