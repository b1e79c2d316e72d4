"""Tests of the system, each in a process of its own: none can hang, crash or disturb another one.

This is a plug-in of pytest. The process of a test is forked from pytest's, runs the test with its
fixtures, writes its reports into a file, and ends at once, without the clean-up of interpreter and
middleware. Whoever runs longer than its limit is ended, with everything that it has started, and
its stacks are the report. A test that fails is run once more.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import pickle
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from parts import is_system
from processes import alive, children, descendants, kill_tagged, tagged

LIMIT = 120.0  # s that a test may take, where it has no mark `limit`
# an environment variable by which descendants are found, whoever their parent is
TAG = "ROBOT_CONTROL_TEST_PROCESS"
STACKS_TIME = 20.0  # s for the stacks of one process
NOT_AVAILABLE = "are not available"
MAX_STACKS = 8  # processes whose stacks are shown
PR_SET_PDEATHSIG, PR_SET_PTRACER, ANY = 1, 0x59616D61, ctypes.c_ulong(-1)

started = 0  # processes of tests that this one has started; in such a process, which one it is
inside = False  # whether this is the process of a test


@dataclass
class Ended:
    """How a test's process ended: its reports, or else what became of it, in words."""

    reports: list[pytest.TestReport]
    failure: str = ""
    duration: float = 0.0

    @property
    def passed(self) -> bool:
        return not self.failure and not any(report.failed for report in self.reports)

    def text(self) -> str:
        """Why it failed."""
        return "\n".join(
            [self.failure, *(report.longreprtext for report in self.reports if report.failed)]
        ).strip()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if not is_system(item.path, item.config) or item.config.option.usepdb:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    first = run(item)
    ended = first if first.passed else run(item)
    for report in reports_of(item, ended):
        if ended is not first:
            report.first_try = first.text()  # type: ignore[attr-defined]
            report.sections.append(("of the first try, which failed", first.text()))
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    # of what an earlier test in this process shares with this one
    item.session._setupstate.teardown_exact(nextitem)
    return True


def reports_of(item: pytest.Item, ended: Ended) -> list[pytest.TestReport]:
    if not ended.failure:
        return ended.reports
    words = {
        "outcome": "failed",
        "longrepr": ended.failure,
        "when": "call",
        "duration": ended.duration,
    }
    return [pytest.TestReport(item.nodeid, item.location, dict.fromkeys(item.keywords, 1), **words)]


# --- in pytest's process ---


def run(item: pytest.Item) -> Ended:
    """Run a test in a process of its own."""
    global started
    import forked

    started += 1
    item.config._tmp_path_factory.getbasetemp()  # one for all, not one for each process
    mark = item.get_closest_marker("limit")
    limit = float(mark.args[0]) if mark else LIMIT
    begin = time.monotonic()
    variable = f"{TAG}={os.getpid()}-{started}"
    with tempfile.TemporaryDirectory(prefix="apart_") as folder, forked.link(variable) as link:
        test = Process(item, Path(folder), link, variable)
        try:
            in_time = test.wait(limit)
            stacks = "" if in_time else test.stacks()
        finally:
            test.end()
        reports = test.reports()
        if in_time and reports is not None:
            return Ended(reports)
        status = os.waitstatus_to_exitcode(test.status)
        why = (
            f"ended by {signal.Signals(-status).name}"
            if status < 0
            else f"ended with status {status}"
        )
        words = (
            f"the test's process {why}, without a result"
            if in_time
            else f"not ended within {limit:g} s"
        )
        parts = [words, test.said(), stacks, captured(item)]
        return Ended([], "\n".join(filter(None, parts)), time.monotonic() - begin)


def captured(item: pytest.Item) -> str:
    """What a process that is gone has printed: pytest's files of the output are those
    of its children, too.
    """
    manager = item.config.pluginmanager.getplugin("capturemanager")
    if manager is None or manager._global_capturing is None:
        return ""
    out, err = manager.read_global_capture()
    return "\n".join(
        f"--- {name} ---\n{text}" for name, text in (("stdout", out), ("stderr", err)) if text
    )


class Process:
    """The process of a test, and all that it starts.

    Args:
        item: the test.
        folder: for its results.
        link: to the process from which nodes are forked.
        variable: of the environment, by which all that it starts is found.
    """

    def __init__(self, item: pytest.Item, folder: Path, link: Any, variable: str) -> None:
        self._results, self._said = folder / "results", folder / "said"
        self._variable = variable
        self.status = 0
        self.pid = os.fork()
        if self.pid == 0:
            self._be_it(item, link)
        self._end = os.pidfd_open(self.pid)

    def _be_it(self, item: pytest.Item, link: Any) -> None:
        global inside
        status = 1
        try:
            inside = True
            os.setsid()
            os.environ.update([self._variable.split("=")])
            prctl = ctypes.CDLL(None).prctl
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            prctl(PR_SET_PTRACER, ANY)  # whoever wants its stacks
            with self._said.open("w", encoding="utf-8") as said:
                faulthandler.enable(said)
                faulthandler.register(signal.SIGUSR2, said)
                link.take()
                try:
                    reports = runtestprotocol(item, log=False, nextitem=None)
                    hook = item.config.hook.pytest_report_to_serializable
                    plain = [hook(config=item.config, report=report) for report in reports]
                    partly = self._results.with_suffix(".partly")
                    partly.write_bytes(pickle.dumps((item.config.rootpath, plain)))
                    partly.rename(self._results)
                    status = 0
                except (
                    BaseException
                ):  # the test has left its frame: pytest.exit(), Ctrl-C of its own
                    traceback.print_exc(limit=-2, file=said)
                    said.flush()
        finally:
            os._exit(status)

    def wait(self, limit: float) -> bool:
        """Whether it ends within a time [s]."""
        waiting = select.poll()
        waiting.register(self._end, select.POLLIN)
        return bool(waiting.poll(limit * 1e3))

    def reports(self) -> list[pytest.TestReport] | None:
        """Those that it has written before it ended."""
        if not self._results.exists():
            return None
        _, plain = pickle.loads(self._results.read_bytes())
        return [pytest.TestReport._from_json(each) for each in plain]

    def said(self) -> str:
        """What the fault handler has written: stacks of a crash, or where it hung."""
        return (
            self._said.read_text(encoding="utf-8", errors="replace") if self._said.exists() else ""
        )

    def others(self) -> list[int]:
        """What it has started and is still there, also where the parent is gone; nodes
        are not among them.
        """
        found = {*descendants(self.pid), *tagged(self._variable)}
        return sorted(each for each in found - {self.pid} if alive(each))

    def stacks(self) -> str:
        """Where everybody stands: native stacks if these can be had, else Python's."""
        import forked

        server = forked.server()
        nodes = children(server) if server else []
        own, *others = [stacks_of(each) for each in [self.pid, *nodes, *self.others()][:MAX_STACKS]]
        if NOT_AVAILABLE in own:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGUSR2)
                time.sleep(1.0)  # the fault handler writes them into the file of what is said
        # some are no Python
        return "\n".join([own, *(each for each in others if NOT_AVAILABLE not in each)])

    def end(self) -> None:
        """End it and all that it has started."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._end, signal.SIGSTOP)  # it starts nothing more
        for each in descendants(self.pid):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(each, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._end, signal.SIGKILL)
        kill_tagged(self._variable)
        _, self.status = os.waitpid(self.pid, 0)
        os.close(self._end)


def stacks_of(pid: int) -> str:
    """The stacks of a process by py-spy, native ones if they can be had."""
    program = shutil.which(
        "py-spy", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    )
    error = "py-spy is not installed"
    for options in (["--native"], []) if program else ():
        command = [str(program), "dump", *options, "--pid", str(pid)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=STACKS_TIME, check=False
            )
        except subprocess.TimeoutExpired:
            error = f"{' '.join(command)}: no answer"
            continue
        if done.returncode == 0:
            return f"--- stacks: {' '.join(command[1:])} ---\n{done.stdout.strip()}"
        error = done.stderr.strip().partition("\n")[0]
    return f"--- stacks of process {pid} {NOT_AVAILABLE}: {error} ---"


# --- what is told of it ---


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"limit(seconds): what a test of the system may take, instead of {LIMIT:g} s"
    )


def pytest_report_teststatus(report: Any) -> tuple[str, str, str] | None:
    if getattr(report, "first_try", "") and report.when == "call" and report.passed:
        return "passed", "2", "PASSED at the second try"
    return None
