"""Servers of a lab, on free ports of this machine: a Dask scheduler with workers, and a
PostgreSQL database.
"""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

SUPPORT = Path(__file__).resolve().parent
PATIENCE = 60.0  # s, that a server may take to answer
POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def wait_for(condition, what):
    """Until a condition holds; it is a failure where it never does."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {PATIENCE:g} s"
        time.sleep(0.05)


def answers(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
        return True
    return False


class DaskLab:
    """A scheduler and its workers, each a process.

    Attributes:
        address: of the scheduler.
        workers: their processes.
    """

    def __init__(self, folder):
        self._folder = folder
        self._port = free_port()
        self.address = f"tcp://127.0.0.1:{self._port}"
        self.workers = []
        self.start_scheduler()

    def start_scheduler(self):
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", str(self._port))
        wait_for(lambda: answers(self._port), "the scheduler")

    def add_worker(self, *arguments, **variables):
        local = self._folder / f"worker{len(self.workers)}"
        settings = ("--nthreads", "1", "--no-nanny", "--local-directory", str(local), *arguments)
        worker = self._start("worker", self.address, *settings, **variables)
        self.workers.append(worker)
        return worker

    def kill(self, process):
        process.kill()
        process.wait()

    def close(self):
        for process in (*self.workers, self.scheduler):
            process.kill()
        for process in (*self.workers, self.scheduler):
            process.wait()

    def _start(self, *arguments, **variables):
        environment = {
            **os.environ,
            "PYTHONPATH": str(SUPPORT),
            "OMP_NUM_THREADS": "1",
            **variables,
        }
        command = [sys.executable, "-m", "dask", *arguments, "--no-dashboard"]
        log = (self._folder / f"{arguments[0]}.log").open("ab")
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log)


@contextlib.contextmanager
def dask_lab(folder):
    lab = DaskLab(folder)
    try:
        yield lab
    finally:
        lab.close()


@contextlib.contextmanager
def postgresql(folder):
    """The address of an empty database."""
    tools = POSTGRES[-1] if POSTGRES else None
    if tools is None or shutil.which("initdb", path=str(tools)) is None:
        pytest.skip("no PostgreSQL here: apt-get install postgresql")
    user = _not_root()
    data = folder / "data"
    data.mkdir()
    if user:
        for place in (*folder.parents[:-2], folder):
            with contextlib.suppress(PermissionError):
                place.chmod(place.stat().st_mode | 0o055)
        os.chown(data, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)
    port = free_port()
    name = user or pwd.getpwuid(os.getuid()).pw_name
    settings = f"-p {port} -k {data} -c listen_addresses=127.0.0.1"
    run = {"user": user, "check": True, "capture_output": True, "cwd": data}
    subprocess.run([tools / "initdb", "-D", data / "db", "-A", "trust", "-U", name], **run)
    # What it starts keeps an output open: that would be waited for.
    quiet = {
        **run,
        "capture_output": False,
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
    }
    subprocess.run([tools / "pg_ctl", "-D", data / "db", "-o", settings, "-w", "start"], **quiet)
    try:
        yield f"postgresql://{name}@127.0.0.1:{port}/postgres"
    finally:
        subprocess.run([tools / "pg_ctl", "-D", data / "db", "-m", "immediate", "stop"], **quiet)


def _not_root():
    """Who runs the database, which refuses to be run by root; None is this user."""
    if os.getuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        pytest.skip("PostgreSQL isn't run by root, and there is no user postgres")


def kill_hard(number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(number, signal.SIGKILL)
