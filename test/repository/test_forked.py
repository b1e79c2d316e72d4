"""Forked nodes end with the tests, however those end."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1] / "support"


@pytest.mark.long
def test_no_node_outlives_tests_that_are_killed(tmp_path):
    (tmp_path / "sleeper.py").write_text("import time\n\n\ndef main():\n    time.sleep(300)\n")
    (tmp_path / "said").touch()
    program = f"""
        import os, sys, time
        sys.path[0:0] = [{str(SUPPORT)!r}]
        from forked import Forked
        said = {str(tmp_path / "said")!r}
        print(Forked("sleeper", out=said, err=said, variables={{**os.environ, "PYTHONPATH": {str(tmp_path)!r}}}).pid)
        time.sleep(300)
    """
    command = [sys.executable, "-u", "-c", textwrap.dedent(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=SUPPORT.parents[1]) as tests:
        end = os.pidfd_open(int(tests.stdout.readline()))
        try:
            signal.pidfd_send_signal(end, 0)
        finally:
            tests.kill()
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline:
        try:
            signal.pidfd_send_signal(end, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    signal.pidfd_send_signal(end, signal.SIGKILL)
    pytest.fail("the node goes on")
