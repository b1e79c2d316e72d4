"""What the page costs the controller: missed deadlines with it open and closed, in turns."""

from __future__ import annotations

import multiprocessing
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from multiprocessing.sharedctypes import Synchronized
from typing import Any
from urllib.request import urlopen

from robot_control_ros.bringup import SETUPS, page
from robot_control_ros.bringup.processes import Processes
from robot_control_ros.client.robot import Robot
from robot_control_ros.dashboard.access import Access
from robot_control_ros.ros.process_environment import environment

from .circling import LOOP, circling, wait_until

ROBOT = "ur5"
TURNS = 3  # of each kind
SETTLE = 3.0  # s after a change that don't count
REPORTED = 1.5  # s after which the controller's diagnostics hold what has happened
BROWSER = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",
    "--no-first-run",
    "--disable-background-networking",
    "--window-size=1280,720",
)


@dataclass
class Count:
    """Figures of some turns: length, joint states late or lost, and messages of the page."""

    seconds: float = 0.0
    missed: int = 0
    messages: int = 0


def page_load(seconds: float, browser: str = "", browsers: int = 1) -> int:
    """Measure and print; returns the exit status.

    A UR5 in the simulator follows a circle under impedance, so that everything on the page moves.
    Open means that the page's node runs and a client takes and counts what it sends, without
    drawing it, as if the browser were on another machine; and, if wanted, browsers look at it here.

    Args:
        seconds: Length of each turn; three with the page closed and three with it open take turns.
        browser: Command of a Chromium; empty for none.
        browsers: Number of browsers.
    """
    os.environ.update(environment())
    counts = {"closed": Count(), "open": Count()}
    specs = SETUPS["sim"].make(robot=ROBOT).nodes()
    with Processes(specs) as processes, circling(processes) as robot:
        for _ in range(TURNS):
            for name, count in counts.items():
                with (
                    _page([browser] * browsers if browser else [])
                    if name == "open"
                    else _no_page() as messages
                ):
                    time.sleep(SETTLE)
                    began = robot.time
                    missed = _missed(robot)
                    sent = messages.value
                    time.sleep(seconds)
                    count.messages += messages.value - sent
                    time.sleep(REPORTED)
                    count.seconds += robot.time - began
                    count.missed += _missed(robot) - missed
                processes.check()
                print(
                    f"{name}: {count.missed} late or lost in {count.seconds:.0f} s so far",
                    flush=True,
                )
    _print(counts, seconds)
    return 0


def _missed(robot: Robot) -> int:
    """Joint states that were late or lost so far, as the controller reports them."""
    return int(robot.diagnostics[LOOP].values["missed deadlines"])


def _print(counts: dict[str, Count], seconds: float) -> None:
    print(
        f"\n{'page':<8}{'late or lost joint states a minute':>36}{'messages of the page a second':>32}"
    )
    for name, count in counts.items():
        a_minute = 60.0 * count.missed / count.seconds
        a_second = count.messages / (TURNS * seconds)
        print(f"{name:<8}{a_minute:>36.1f}{a_second:>32.1f}")
    closed, opened = (counts[name].missed / counts[name].seconds for name in ("closed", "open"))
    if closed:
        print(f"open / closed: {opened / closed:.2f}")


@contextmanager
def _no_page() -> Iterator[Any]:
    """Yield the number of messages of a page that is closed."""
    yield multiprocessing.Value("l", 0)


@contextmanager
def _page(browsers: list[str]) -> Iterator[Any]:
    """Run the page's node and its browsers; yields the number of messages that came to one."""
    messages: Synchronized[int] = multiprocessing.Value("l", 0)
    with open_page() as port, connected(_count, port, messages), ExitStack() as stack:
        for browser in browsers:
            stack.enter_context(_browser(browser, port))
        yield messages


@contextmanager
def open_page() -> Iterator[int]:
    """Run the page's node; yields its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    spec = page(ROBOT, "sim")
    with Processes([replace(spec, parameters={**spec.parameters, "port": port})]):
        wait_until(lambda: _listens(port), "the page")
        yield port


@contextmanager
def connected(act: Callable[..., None], port: int, *arguments: Any) -> Iterator[None]:
    """A process that calls `act` with a websocket to the page, and the arguments."""
    process = multiprocessing.get_context("fork").Process(
        target=_connect, args=(act, port, arguments), daemon=True
    )
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()


def _connect(act: Callable[..., None], port: int, arguments: tuple[Any, ...]) -> None:
    from websockets.sync.client import connect

    protocol: Any = f"viser-v{version('viser')}"
    with connect(
        _address(port).replace("http", "ws"), subprotocols=[protocol], max_size=None
    ) as connection:
        act(connection, *arguments)


def _count(connection: Any, messages: Synchronized[int]) -> None:
    for _ in connection:
        messages.value += 1


@contextmanager
def _browser(command: str, port: int) -> Iterator[None]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        arguments = [command, *BROWSER, f"--user-data-dir={folder}", "--remote-debugging-port=0"]
        arguments.append(_address(port))
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(arguments, start_new_session=True, stdout=quiet, stderr=quiet)
        try:
            yield
        finally:
            os.killpg(process.pid, 9)
            process.wait()


def _address(port: int) -> str:
    return Access.of_user().address("127.0.0.1", port)


def _listens(port: int) -> bool:
    try:
        urlopen(_address(port)).close()
    except OSError:
        return False
    return True
