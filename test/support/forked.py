"""Nodes forked from a process that has imported what isn't ROS, and has loaded what is compiled:
most of the time that a node takes to start is that.

The process is this module as a program. ROS isn't imported before the fork, for its libraries start
threads
(LTTng's), which a forked process doesn't have, and which are looked for when it ends. It isn't
multiprocessing's forkserver because that ends its children with ``os._exit``: how a node's process
ends is among what is tested.
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

from processes import kill_tagged

BEFORE = (
    "robot_control_ros.control.loop",
    "robot_control_ros.laws",
    "robot_control_ros.simulation.mujoco_plant",
)
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

    def __init__(
        self, module: str, *arguments: str, out: str, err: str, variables: Mapping[str, str]
    ) -> None:
        self.args: list[str] = [sys.executable, "-m", module, *arguments]
        self.returncode: int | None = None
        request = {
            "module": module,
            "arguments": arguments,
            "out": out,
            "err": err,
            "variables": dict(variables),
        }
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


# its process, the socket by which it gets links, and this process's own link to it
_server: list[Any] = []


class Link:
    """A connection to the process that forks nodes: these end with the last process that has it."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def take(self) -> None:
        """Fork over this link from now on: for the child of a process that has made it."""
        _server[1].close()
        _server[2].close()
        self._end.settimeout(MAX_ANSWER)
        _server[1:] = [self._end, self._end]

    def __enter__(self) -> Link:
        return self

    def __exit__(self, *error: object) -> None:
        self._end.close()


def link(variable: str) -> Link:
    """Make a further link, for a process that is forked from this one.

    Args:
        variable: `NAME=value`, which is in the environment of all that it starts: these end with
            the link, too.
    """
    if not _server:
        _start()
    return Link(_linked(_server[1], variable))


def server() -> int | None:
    """The number of the process that forks nodes, if there is one; all nodes are its children."""
    return _server[0].pid if _server else None


def _linked(control: socket.socket, variable: str = " ") -> socket.socket:
    ours, its = _pair()
    with its:
        socket.send_fds(control, [variable.encode()], [its.fileno()])
    ours.settimeout(MAX_ANSWER)
    return ours


def _pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def _start() -> None:
    ours, its = _pair()
    with its:
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__)), str(its.fileno())],
            pass_fds=[its.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
    _server.extend((process, ours, _linked(ours)))
    atexit.register(_close)


def _ask(request: dict[str, Any]) -> Any:
    if not _server:
        _start()
    _server[2].send(json.dumps(request).encode())
    return json.loads(_server[2].recv(MAX_MESSAGE))


def _close() -> None:
    process, *sockets = _server
    for each in sockets:
        each.close()
    try:
        process.wait(MAX_END)
    except subprocess.TimeoutExpired:  # whatever its libraries wait for: the tests are over
        process.kill()
        process.wait()


# --- the program ---


def serve(control: socket.socket) -> dict[str, Any] | None:
    """Answer until the tests' process is gone, which gives None; in a forked child the request
    comes back.

    Args:
        control: brings links, each for one process of tests.
    """
    links: dict[socket.socket, set[int]] = {}  # with the children that haven't been waited for,
    variables: dict[socket.socket, str] = {}  # and with what tells others that end with the link
    while True:
        for end in select.select([control, *links], [], [])[0]:
            if end is control:
                try:
                    message, descriptors, *_ = socket.recv_fds(control, MAX_MESSAGE, 1)
                except OSError:
                    message, descriptors = b"", []
                for descriptor in descriptors:
                    new = socket.socket(fileno=descriptor)
                    links[new], variables[new] = set(), message.decode().strip()
                if not message:
                    for end, nodes in links.items():
                        kill(nodes, variables[end])
                    return None
                continue
            try:
                message = end.recv(MAX_MESSAGE)
            except OSError:  # who asked was killed meanwhile
                message = b""
            if not message:
                kill(links.pop(end), variables.pop(end))
                end.close()
                continue
            request = json.loads(message)
            if "pid" not in request and (answer := os.fork()) == 0:
                for each in (control, *links):
                    each.close()
                return request
            if "pid" in request:
                answer = status_of(request["pid"], links[end])
            else:
                links[end].add(answer)
            with contextlib.suppress(OSError):
                end.send(json.dumps(answer).encode())


def status_of(node: int, nodes: set[int]) -> int | None:
    """The exit status of a node, once it has ended; then it is no longer among the nodes."""
    pid, status = os.waitpid(node, os.WNOHANG)
    if pid == 0:
        return None
    nodes.discard(pid)
    return os.waitstatus_to_exitcode(status)


def kill(nodes: set[int], variable: str) -> None:
    """End those that no test is left to end: nodes, and processes that have the variable
    in their environment.
    """
    for pid in nodes:
        os.kill(pid, signal.SIGKILL)
    for pid in nodes:
        os.waitpid(pid, 0)
    if variable:
        kill_tagged(variable)


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


def prepare() -> None:
    """Import and load what most nodes need. What is missing here a node says itself."""
    for module in BEFORE:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    with contextlib.suppress(ImportError):
        control = importlib.import_module("robot_control_ros.control.warm_up")
        robot = importlib.import_module("robot_control_ros.robot.configuration").load_robot("ur5")
        control.warm_up(robot, ["impedance"], announce=lambda text: None)
    gc.freeze()


def main() -> None:
    sys.path[0] = os.getcwd()
    prepare()
    with socket.socket(fileno=int(sys.argv[1])) as control:
        request = serve(control)
    if request is not None:
        become(request)


if __name__ == "__main__":
    main()
