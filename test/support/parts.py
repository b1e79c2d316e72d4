"""The two parts of the tests, their order, their limits, and the lines that count them at the end.

This is a plug-in of pytest. Tests in test/system are the part `system`, all others are the part
`pure`.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import signal
import sys
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

PARTS = ("pure", "system")
SECOND_TRIES = 2  # so many tests may need a second try: more make the run red
# s that a pure test may take, on a machine that others keep busy
PURE_LIMIT, LONG_LIMIT = 300.0, 900.0
# s, at most, that the stacks of a test that hangs come later than after twice its limit
STACKS_LATE = 60.0
END_LIMIT = 60.0  # s that pytest may take to end
SUMMARY = "ROBOT_CONTROL_TEST_SUMMARY"  # an environment variable: the file that gets the counts
OUTCOMES = ("passed", "failed", "skipped", "xfailed")

# Whatever is begun last is waited for: so these files, which take longest, are begun first.
LONGEST = (
    "system/test_ethercat_node.py",
    "system/test_reliability.py",
    "system/test_vector_env_processes.py",
    "system/test_gripper_shell.py",
    "system/test_robot_client.py",
    "system/test_many_arms_processes.py",
    "system/test_deafness.py",
    "system/test_identify_running.py",
    "system/test_demo_processes.py",
    "system/test_launch_processes.py",
    "nodes/test_controller_node.py",
    "across/test_every_compiled_function.py",
    "evidence/test_trial.py",
    "identification/test_identify.py",
    "client/test_robot_ros.py",
    "core/test_compiled.py",
    "nodes/test_controller_laws.py",
    "nodes/test_who_leads.py",
    "nodes/test_watchdog_node.py",
    "repository/test_packaging.py",
    "across/test_law_switching.py",
    "across/test_every_law.py",
    "sensing/test_contact_detector.py",
    "laws/test_running_law.py",
    "laws/test_position_domain_pd.py",
    "laws/test_impedance.py",
    "client/test_robot.py",
    "nodes/test_dashboard_node.py",
    "control/test_soft_limits.py",
)


def is_system(path: Path, config: pytest.Config) -> bool:
    """Whether a file has tests of the system; a program of theirs beside them, which pytest
    runs as well, has not.
    """
    return path.is_relative_to(config.rootpath / "test" / "system") and path.name.startswith(
        "test_"
    )


def part_of(test: str) -> str:
    """Of a test's name: where it lies says it."""
    return "system" if test.startswith("test/system/test_") else "pure"


# --- which tests, in which order ---


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--part",
        choices=PARTS,
        help="only the tests of this part: those in test/system, or all others",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Spare the time to import what has no chosen test in it."""
    part = config.getoption("part")
    if collection_path.suffix != ".py":
        return None
    if part is not None and is_system(collection_path, config) != (part == "system"):
        return True
    chosen = config.getoption("markexpr").startswith("alone ")
    return (
        True if chosen and "mark.alone" not in collection_path.read_text(encoding="utf-8") else None
    )


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    mark_repetitions(items)
    part = config.getoption("part")
    others = [
        item
        for item in items
        if part is not None and is_system(item.path, config) != (part == "system")
    ]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in set(others)]
    items.sort(key=place)  # which leaves the random order of files that are equally long
    for item in items:
        if config.pluginmanager.hasplugin("timeout") and not is_system(item.path, config):
            item.add_marker(pytest.mark.timeout(limit(item)), append=True)


def mark_repetitions(items: list[pytest.Item]) -> None:
    """Of a test with the mark `few(n)`, all cases but n that are evenly spread over its
    parameters are long.
    """
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("few") and not item.get_closest_marker("long"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for name, same in cases.items():
        marker = same[0].get_closest_marker("few")
        assert marker is not None
        (count,) = marker.args
        if count >= len(same):  # named one by one on the command line
            continue
        same.sort(key=lambda item: item.nodeid)
        first = zlib.crc32(name.encode()) % len(same)  # not the same robot in each test
        chosen = {(first + k * len(same) // count) % len(same) for k in range(count)}
        for k, item in enumerate(same):
            if k not in chosen:
                item.add_marker("long")


def place(item: pytest.Item) -> int:
    name = "/".join(item.path.parts[-2:])
    return LONGEST.index(name) if name in LONGEST else len(LONGEST)


@pytest.hookimpl(hookwrapper=True)
def pytest_collection() -> Iterator[None]:
    """Leave what was collected to itself: each search for garbage would look through
    thousands of tests again.
    """
    gc.disable()
    yield
    gc.enable()
    gc.freeze()


# --- limits ---


def limit(item: pytest.Item) -> float:
    """What a pure test may take [s]: what its mark `timeout` or that of its file says, if any."""
    mark = item.get_closest_marker("timeout")
    if mark is not None and mark.args:
        return float(mark.args[0])
    return LONG_LIMIT if item.get_closest_marker("long") else PURE_LIMIT


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """pytest-timeout ends what Python can interrupt. What hangs in a library ends the run,
    and shows its stacks.
    """
    if is_system(item.path, item.config):
        yield
        return
    now = time.monotonic()
    due = now + 2.0 * limit(item)
    # a thread for each test would cost more
    if not due <= item.config.stash.get(_due, 0.0) <= due + STACKS_LATE:
        item.config.stash[_due] = due + STACKS_LATE
        wait = item.config.stash[_due] - now
        faulthandler.dump_traceback_later(wait, exit=True, file=item.config.stash[_stderr])
    yield


def pytest_configure(config: pytest.Config) -> None:
    """Ctrl-C ends programs here, also where a script started the tests in the background: there
    a shell ignores it.
    """
    config.stash[_stderr] = os.dup(2)  # while a test runs, its own output goes elsewhere
    # it is not for a pytest that a test starts
    config.stash[_summary] = os.environ.pop(SUMMARY, "")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_unconfigure() -> None:
    """An end that doesn't come within a minute is an error, and every thread says where it stands.

    Not so in a worker: when its own tests are done it waits for the other ones, however long they
    take.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        faulthandler.dump_traceback_later(END_LIMIT, exit=True, file=sys.__stderr__)


# --- counts ---


@dataclass
class Count:
    """How the tests of a part ended."""

    part: str
    outcomes: dict[str, str] = field(default_factory=dict)  # by test
    first_tries: dict[str, str] = field(default_factory=dict)  # why the first one failed, by test
    durations: dict[str, float] = field(default_factory=dict)  # s, with fixtures, by test

    def add(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.outcomes[report.nodeid] = "failed"
        elif report.skipped:
            self.outcomes.setdefault(
                report.nodeid, "xfailed" if hasattr(report, "wasxfail") else "skipped"
            )
        elif report.when == "call":
            self.outcomes.setdefault(report.nodeid, "passed")
        self.durations[report.nodeid] = self.durations.get(report.nodeid, 0.0) + report.duration
        if hasattr(report, "first_try"):
            self.first_tries[report.nodeid] = report.first_try

    def line(self) -> str:
        """As in `system: 148 passed, 1 of them at the second try, 2 skipped`."""
        outcomes = list(self.outcomes.values())
        second = sum(self.outcomes.get(test) == "passed" for test in self.first_tries)
        words = [f"{outcomes.count('passed')} passed"] + (
            [f"{second} of them at the second try"] if second else []
        )
        words += [f"{outcomes.count(each)} {each}" for each in OUTCOMES[1:] if each in outcomes]
        return f"{self.part}: {', '.join(words)}"

    def trouble(self) -> str:
        """Why the run is red although all may have passed."""
        count = len(self.first_tries)
        return f"{count} tests needed a second try: more than {SECOND_TRIES} are an error" * (
            count > SECOND_TRIES
        )


_summary, _stderr = pytest.StashKey[str](), pytest.StashKey[int]()
_due = pytest.StashKey[float]()  # steady time at which the stacks are due that are asked for now
_counts = {part: Count(part) for part in PARTS}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _counts[part_of(report.nodeid)].add(report)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    faulthandler.cancel_dump_traceback_later()
    if _counts["system"].trouble() and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: Any) -> Iterator[None]:
    yield
    system = _counts["system"]
    if system.first_tries:
        terminalreporter.section("needed a second try")
    for test, text in system.first_tries.items():
        terminalreporter.write_line(
            f"{test}: {system.outcomes[test]} at the second try, the first one failed"
        )
        if system.outcomes[test] == "passed":  # else this stands among the failures
            terminalreporter.write_line(text)
    if summary := terminalreporter.config.stash[_summary]:
        with open(summary, "a", encoding="utf-8") as file:
            file.writelines(
                json.dumps(vars(count)) + "\n" for count in _counts.values() if count.outcomes
            )
    for count in _counts.values():
        for line in filter(None, (count.outcomes and count.line(), count.trouble())):
            terminalreporter.write_line(line)
