"""Programs that need a terminal, for the tests."""

import os
import pty
import select
import signal
import sys
import termios
import time

from ros_support import LIMIT


class Terminal:
    """A Python program in a terminal of its own.

    Attributes:
        shown: what it has written so far.
        before: the terminal's modes at the beginning.
    """

    def __init__(self, *arguments, environment=None):
        self.shown, self._ended = "", False
        begin, may_begin = os.pipe()
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.read(begin, 1)
            os.execve(sys.executable, [sys.executable, *arguments], environment or os.environ)
        self.before = self.modes()
        os.write(may_begin, b"!")
        os.close(begin)
        os.close(may_begin)

    def modes(self):
        """Of echo, whole lines and Ctrl-C, those that are on."""
        _, _, _, local, *_ = termios.tcgetattr(self.master)
        return local & (termios.ECHO | termios.ICANON | termios.ISIG)

    def until(self, wanted):
        """Read until it has written these words, or until a condition holds."""
        deadline = time.monotonic() + LIMIT
        while not (wanted() if callable(wanted) else wanted in self.shown):
            assert time.monotonic() < deadline, self.shown
            self._read()

    def press(self, data):
        """Type bytes."""
        os.write(self.master, data)

    def end(self):
        """Wait for the end; the exit status and the terminal's modes then."""
        deadline = time.monotonic() + LIMIT
        while (found := os.waitpid(self.pid, os.WNOHANG))[0] == 0:
            assert time.monotonic() < deadline, self.shown
            self._read()
        self._ended = True
        return os.waitstatus_to_exitcode(found[1]), self.modes()

    def close(self):
        if not self._ended:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.master)

    def _read(self):
        ready, _, _ = select.select([self.master], [], [], 0.05)
        if ready:
            try:
                self.shown += os.read(self.master, 4096).decode(errors="replace")
            except OSError:  # the program has closed its side
                time.sleep(0.01)
