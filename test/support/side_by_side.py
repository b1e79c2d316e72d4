"""Tests of several files at once, in processes that are forked when all tests are collected.

This is a plug-in of pytest: ``--forks=N``. The tests are imported once, not once in each process.
Each process takes the next file when it has run its own one, and sends its reports to pytest's
process, which prints and counts them. A process that ends by itself ends the run: the test that it
ran has failed.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import pickle
import selectors
import signal
import struct
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

FORK = "ROBOT_CONTROL_TEST_FORK"  # an environment variable: "1/3" in the second of three
INDEX = struct.Struct("<H")  # a file's place in the queue; a pipe holds 32768 of them
SIZE = struct.Struct("<I")  # before each message: its length in bytes
CHUNK = 1 << 16  # bytes that are read at once
MAX_END = 10.0  # s that a process may take to clean up
PR_SET_PDEATHSIG = 1


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--forks",
        type=int,
        default=0,
        help="run the files of tests side by side in so many processes, forked when all tests are"
        " collected",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    option = session.config.option
    if option.forks < 2 or option.collectonly or option.usepdb or session.testsfailed:
        return None
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    if reporter is not None:
        reporter.showfspath = False  # lines of several files would alternate
    session.config._tmp_path_factory.getbasetemp()  # one for all, not one for each process
    files = [list(items) for _, items in itertools.groupby(session.items, lambda item: item.path)]
    queue = queue_of(len(files))
    forks: list[Fork] = []
    try:
        for number in range(min(option.forks, len(files))):
            forks.append(Fork(number, option.forks, session, files, queue))
        receive(session, forks)
    except KeyboardInterrupt:  # the others have been told as well
        raise
    except BaseException:
        for fork in forks:
            fork.interrupt()
        raise
    finally:
        os.close(queue)
        for fork in forks:
            fork.end()
    return True


def queue_of(count: int) -> int:
    """A pipe from which each process reads the number of its next file; it ends after the last."""
    queue, end = os.pipe()
    os.write(end, b"".join(INDEX.pack(index) for index in range(count)))
    os.close(end)
    return queue


# --- in pytest's process ---


class Fork:
    """A process that runs tests, as pytest's process sees it.

    Args:
        number: The process's place among all of them.
        count: The number of processes.
        session: The session that has collected the tests.
        files: The tests of each file.
        queue: The pipe with the numbers of the files that nobody has taken.
    """

    def __init__(
        self,
        number: int,
        count: int,
        session: pytest.Session,
        files: list[list[pytest.Item]],
        queue: int,
    ) -> None:
        self.number = number
        self.test = ""  # what it runs now
        self.location: Any = None
        self.status: int | None = None
        self._bytes = b""
        self.messages, end = os.pipe()
        os.set_blocking(self.messages, False)
        self.pid = os.fork()
        if self.pid == 0:
            Runner(session, files, queue, end).run(number, count)
        os.close(end)
        self.ended = os.pidfd_open(self.pid)

    def read(self) -> list[Any]:
        """The messages that have come."""
        with contextlib.suppress(BlockingIOError):
            while read := os.read(self.messages, CHUNK):
                self._bytes += read
        messages = []
        while len(self._bytes) >= SIZE.size:
            (size,) = SIZE.unpack_from(self._bytes)
            if len(self._bytes) < SIZE.size + size:
                break
            messages.append(pickle.loads(self._bytes[SIZE.size : SIZE.size + size]))
            self._bytes = self._bytes[SIZE.size + size :]
        return messages

    def wait(self) -> int:
        """The status with which it ended."""
        if self.status is None:
            _, status = os.waitpid(self.pid, 0)
            self.status = os.waitstatus_to_exitcode(status)
        return self.status

    def interrupt(self) -> None:
        """Let it clean up, and end."""
        if self.status is None:
            signal.pidfd_send_signal(self.ended, signal.SIGINT)

    def end(self) -> None:
        """End it where it still runs after a while."""
        if self.status is None:
            with selectors.DefaultSelector() as selector:
                selector.register(self.ended, selectors.EVENT_READ)
                if not selector.select(MAX_END):
                    signal.pidfd_send_signal(self.ended, signal.SIGKILL)
            self.wait()
        os.close(self.messages)
        os.close(self.ended)

    def failure(self) -> pytest.TestReport:
        """The report of the test in which it ended."""
        status = self.wait()
        end = f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
        test = self.test or f"process {self.number}, between two tests"
        location = self.location or ("", None, test)
        words = f"the process of the tests ended {end}"
        return pytest.TestReport(test, location, {}, "failed", words, "call")


def receive(session: pytest.Session, forks: list[Fork]) -> None:
    """Tell pytest what the processes report, until all of them have ended.

    The end of a pipe doesn't show the end of a process: what a test has started may have the pipe.
    """
    with selectors.DefaultSelector() as selector:
        for fork in forks:
            selector.register(fork.messages, selectors.EVENT_READ, fork)
            selector.register(fork.ended, selectors.EVENT_READ, fork)
        running = set(forks)
        while running:
            chosen = [(key.data, key.fd) for key, _ in selector.select()]
            for fork, descriptor in chosen:
                for message in fork.read():
                    tell(session, fork, *message)
                if descriptor == fork.ended:
                    selector.unregister(fork.messages)
                    selector.unregister(fork.ended)
                    running.discard(fork)
                    if fork.wait() != 0 or fork.test:
                        session.config.hook.pytest_runtest_logreport(report=fork.failure())
                        raise session.Failed(f"process {fork.number} of the tests has ended")


def tell(session: pytest.Session, fork: Fork, kind: str, *values: Any) -> None:
    """Tell pytest one message of a process."""
    hook = session.config.hook
    if kind == "start":
        fork.test, fork.location = values
        hook.pytest_runtest_logstart(nodeid=fork.test, location=fork.location)
    elif kind == "report":
        (data,) = values
        report = hook.pytest_report_from_serializable(config=session.config, data=data)
        hook.pytest_runtest_logreport(report=report)
    elif kind == "finish":
        hook.pytest_runtest_logfinish(nodeid=fork.test, location=fork.location)
        fork.test = ""
    elif kind == "warning":
        text, category, filename, line, when, test, location = values
        message = warnings.WarningMessage(category(text), category, filename, line)
        hook.pytest_warning_recorded.call_historic(
            kwargs={
                "warning_message": message,
                "when": when,
                "nodeid": test,
                "location": location,
            }
        )
    elif kind == "stop":
        (session.shouldstop,) = values
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)


# --- in a process that runs tests ---


class Writer:
    """In the place of pytest's reporter, that prints nothing: pytest-timeout writes by it."""

    def __init__(self, writer: Any) -> None:
        self._tw = writer


class Runner:
    """What such a process does; a plug-in that sends what pytest tells its plug-ins.

    Args:
        session: The session that has collected the tests.
        files: The tests of each file.
        queue: The pipe with the numbers of the files that nobody has taken.
        end: The pipe for the messages.
    """

    def __init__(
        self, session: pytest.Session, files: list[list[pytest.Item]], queue: int, end: int
    ) -> None:
        self._session = session
        self._files = files
        self._queue = queue
        self._end = end

    def run(self, number: int, count: int) -> None:
        """Run files until none is left, and end this process."""
        status = 1
        try:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            os.environ[FORK] = f"{number}/{count}"
            self._keep_output_apart()
            self._session.config.pluginmanager.register(self, "side by side")
            self._run_tests()
            status = 0
        except KeyboardInterrupt:
            status = int(pytest.ExitCode.INTERRUPTED)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(status)

    def _keep_output_apart(self) -> None:
        """Capture into files of this process; let only pytest's process print reports."""
        plugins = self._session.config.pluginmanager
        capture = plugins.getplugin("capturemanager")
        capture.stop_global_capturing()
        capture.start_global_capturing()
        capture.suspend_global_capture()
        reporter = plugins.getplugin("terminalreporter")
        if reporter is not None:
            writer = Writer(self._session.config.get_terminal_writer())
            plugins.unregister(reporter)
            plugins.register(writer, "terminalreporter")

    def _run_tests(self) -> None:
        session = self._session
        for test, following in self._tests():
            test.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
            if session.shouldstop:
                self._send("stop", str(session.shouldstop))
            if session.shouldfail or session.shouldstop:
                return
        session._setupstate.teardown_exact(None)

    def _tests(self) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
        """Each test, and one that may follow: fixtures that both have are kept.

        Another file's first test stands for the next one, which nobody has taken yet.
        """
        while place := os.read(self._queue, INDEX.size):
            (index,) = INDEX.unpack(place)
            tests = self._files[index]
            self._session._setupstate.teardown_exact(tests[0])  # of folders that it isn't in
            others = self._files[:index] + self._files[index + 1 :]
            yield from itertools.pairwise([*tests, others[0][0] if others else None])

    def _send(self, *message: Any) -> None:
        data = pickle.dumps(message)
        data = SIZE.pack(len(data)) + data
        while data:
            data = data[os.write(self._end, data) :]

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        self._send("start", nodeid, location)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        config = self._session.config
        data = config.hook.pytest_report_to_serializable(config=config, report=report)
        self._send("report", data)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._send("finish")

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str, location: Any
    ) -> None:
        text, category = str(warning_message.message), warning_message.category
        if category.__module__ != "builtins":  # this one may be unknown there, or take other values
            text, category = f"{category.__name__}: {text}", UserWarning
        place = (warning_message.filename, warning_message.lineno)
        self._send("warning", text, category, *place, when, nodeid, location)
