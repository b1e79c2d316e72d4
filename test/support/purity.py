"""Pure tests start no thread and no process, and speak no DDS: whoever does fails, and belongs to
test/system.

This is a plug-in of pytest. What a test only waits for, whatever time it takes, may have the mark
`starts`, with the reason: the compiler of a shell's completion, say. It must not depend on time.
"""

from __future__ import annotations

import importlib
import multiprocessing.process
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

_forbidden = False  # while a pure test runs


class NotPure(AssertionError):
    """A pure test did what only a test of the system may do."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "starts(reason): a pure test that waits for a process or thread, whatever time it takes",
    )
    with suppress(ImportError):
        importlib.import_module("mujoco")  # which asks the linker for libraries, in a process
    _guard(threading.Thread, "start", "starts a thread")
    _guard(subprocess.Popen, "__init__", "starts a process")
    _guard(multiprocessing.process.BaseProcess, "start", "starts a process")
    _guard(os, "fork", "starts a process")


@pytest.hookimpl(hookwrapper=True, trylast=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Forbid it while a pure test and its fixtures run."""
    global _forbidden
    # also the programs of its tests
    system = item.path.is_relative_to(item.config.rootpath / "test" / "system")
    _forbidden = not system and item.get_closest_marker("starts") is None
    _guard_dds()  # before the first test puts another node in its place
    yield
    _forbidden = False


def _guard(owner: Any, name: str, what: str) -> None:
    """Let a function fail where it is forbidden."""
    function: Callable[..., Any] = getattr(owner, name)

    def checked(*arguments: Any, **named: Any) -> Any:
        if _forbidden:
            raise NotPure(f"a test outside of test/system {what}")
        return function(*arguments, **named)

    setattr(owner, name, checked)


_guarded = False


def _guard_dds() -> None:
    """Guard the native node of rclpy, once somebody has imported that; :mod:`graph` puts
    another one in its place.
    """
    global _guarded
    native = sys.modules.get("rclpy.impl.implementation_singleton")
    if _guarded or native is None:
        return
    _guarded = True
    node = native.rclpy_implementation.Node

    def make(*arguments: Any) -> Any:
        if _forbidden:
            raise NotPure("a test outside of test/system speaks DDS")
        return node(*arguments)

    native.rclpy_implementation.Node = make
