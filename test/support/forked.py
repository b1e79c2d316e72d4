"""Nodes forked from a process that has imported what isn't ROS: most of the time that a node takes to start is that.

The process is this module as a program. ROS isn't imported before the fork, for its libraries start threads
(LTTng's), which a forked process doesn't have, and which are looked for when it ends. It isn't multiprocessing's
forkserver because that ends its children with ``os._exit``: how a node's process ends is among what is tested.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

BEFORE = ("robot_control_ros.control.loop", "robot_control_ros.laws", "robot_control_ros.simulation.mujoco_plant")
MAX_MESSAGE = 1 << 17
MAX_END = 10.0  # s that the process may take to end
MAX_ANSWER = 60.0  # s


class Forked:
    """A node's process, as :class:`subprocess.Popen` has it.

    Args:
        module: of the node.
        arguments: on its command line.
        out, err: files for what it prints.
        variables: its environment.
    """

    def __init__(self, module: str, *arguments: str, out: str, err: str, variables: Mapping[str, str]) -> None:
        self.args: list[str] = [sys.executable, "-m", module, *arguments]
        self.returncode: int | None = None
        request = {"module": module, "arguments": arguments, "out": out, "err": err, "variables": dict(variables)}
        self.pid: int = _ask(request)
        self._end = os.pidfd_open(self.pid)

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = _ask({"pid": self.pid})
            if self.returncode is not None:
                os.close(self._end)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            waiting = select.poll()
            waiting.register(self._end, select.POLLIN)
            if not waiting.poll(None if timeout is None else timeout * 1e3):
                raise subprocess.TimeoutExpired(self.args, timeout)
        status = self.poll()
        assert status is not None
        return status

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


_server: list[Any] = []  # its process and the socket to it, once there is one


def _ask(request: dict[str, Any]) -> Any:
    if not _server:
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, str(Path(__file__)), str(its.fileno())]
        with its:
            process = subprocess.Popen(
                command,
                pass_fds=[its.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        ours.settimeout(MAX_ANSWER)
        _server.extend((process, ours))
        atexit.register(_close)
    _server[1].send(json.dumps(request).encode())
    return json.loads(_server[1].recv(MAX_MESSAGE))


def _close() -> None:
    process, ours = _server
    ours.close()
    try:
        process.wait(MAX_END)
    except subprocess.TimeoutExpired:  # whatever its libraries wait for: the tests are over
        process.kill()
        process.wait()


# --- the program ---


def serve(link: socket.socket, children: set[int]) -> dict[str, Any] | None:
    """Answer until the other end is closed, which gives None; in a forked child the request comes back.

    Args:
        link: to the tests' process.
        children: gets those that haven't been waited for.
    """
    while message := link.recv(MAX_MESSAGE):
        request = json.loads(message)
        if "pid" in request:
            pid, status = os.waitpid(request["pid"], os.WNOHANG)
            answer = None if pid == 0 else os.waitstatus_to_exitcode(status)
            children.discard(pid)
        else:
            answer = os.fork()
            if answer == 0:
                return request
            children.add(answer)
        link.send(json.dumps(answer).encode())
    return None


def become(request: dict[str, Any]) -> None:
    """Make this child what was asked for, and run it."""
    os.setsid()
    for name, descriptor in (("out", 1), ("err", 2)):
        file = os.open(request[name], os.O_WRONLY)
        os.dup2(file, descriptor)
        os.close(file)
    os.environ.clear()
    os.environ.update(request["variables"])
    sys.path[0:1] = [os.getcwd(), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv = [request["module"], *request["arguments"]]
    importlib.import_module(f"{request['module']}.node").main()


def main() -> None:
    sys.path[0] = os.getcwd()
    for module in BEFORE:
        with contextlib.suppress(ImportError):  # the node says what is missing
            importlib.import_module(module)
    gc.freeze()
    children: set[int] = set()
    with socket.socket(fileno=int(sys.argv[1])) as link:
        try:
            request = serve(link, children)
        except OSError:  # who asked was killed meanwhile
            request = None
    if request is not None:
        become(request)
        return
    for pid in children:  # no test is left to end them
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
