"""Compiled functions and their cache on disk, each case in processes of its own, on a small copy of
the package.

These processes are forks of this one: they have Numba, and import the copy anew. To import Numba
takes longer than all that they do.
"""

import fcntl
import importlib
import multiprocessing
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from full_disk import files_end_at
from numba.core import config, event
from numba.core.errors import TypingError

import robot_control_ros
from robot_control_ros.core.compiled import KEPT, ROOMS, compile_now, compiled, compiled_functions
from robot_control_ros.core.record import Field, Record

PACKAGE = Path(robot_control_ros.__file__).parent
INNER = "from ..core.compiled import compiled\n\n@compiled\ndef inner(x):\n    return x + {added}\n"
OUTER = """
from ..core.compiled import compiled
from .inner import inner


@compiled
def outer(x):
    return inner(x)
"""
PROCESSES = multiprocessing.get_context("fork")


def enter(environment):
    """Let this process have an environment, and import the package anew."""
    os.environ.clear()
    os.environ.update(environment)
    config.reload_config()
    tempfile.tempdir = None
    sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in environment
    sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
    for name in [
        name for name in sys.modules if name.partition(".")[0] == robot_control_ros.__name__
    ]:
        del sys.modules[name]


def use_copy(environment, answer):
    """Call the compiled function of a copy of the package, in a process with this environment."""
    enter(environment)
    from robot_control_ros.laws.outer import outer

    from robot_control_ros.core.compiled import cache_folder, compile_now

    with event.install_recorder("numba:compile") as compilations:
        compile_now([lambda: outer(1.0)], lambda text: None)
    folder = cache_folder(Path(sys.modules["robot_control_ros"].__file__).parent)
    count = sum(each.is_start for _, each in compilations.buffer)
    answer.send({"result": outer(1.0), "compiled": count, "folder": folder and str(folder)})


class Started:
    """A process that calls compiled functions: by default that of a copy."""

    def __init__(self, environment, use=use_copy, *arguments):
        self._answer, answer = PROCESSES.Pipe(duplex=False)
        self._process = PROCESSES.Process(target=use, args=(environment, *arguments, answer))
        self._process.start()
        answer.close()

    def runs_after(self, seconds):
        self._process.join(seconds)
        return self._process.is_alive()

    def result(self):
        result = self._answer.recv()
        self._process.join()
        assert self._process.exitcode == 0
        return result


class Installation:
    """A copy of what compiles, with a function in one file that calls one in another file."""

    def __init__(self, folder):
        self.folder = folder
        self.package = folder / "site" / "robot_control_ros"
        self.home = folder / "home"
        self.temporary = folder / "tmp"
        for each in (self.package / "core", self.package / "laws", self.home, self.temporary):
            each.mkdir(parents=True)
        for each in (self.package, self.package / "core", self.package / "laws"):
            (each / "__init__.py").touch()
        shutil.copy(PACKAGE / "core" / "compiled.py", self.package / "core")
        (self.package / "laws" / "outer.py").write_text(OUTER)
        self.add(1.0)

    def add(self, number):
        """What the inner function adds from now on."""
        (self.package / "laws" / "inner.py").write_text(INNER.format(added=number))

    @property
    def cache(self):
        return self.home / ".cache" / "robot_control_ros"

    def start(self, **variables):
        names = ("NUMBA_DISABLE_JIT", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
        environment = {name: value for name, value in os.environ.items() if name not in names}
        environment |= {
            "PYTHONPATH": str(self.package.parent),
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
        }
        return Started(environment | variables)

    def run(self, **variables):
        return self.start(**variables).result()


@pytest.fixture
def installation(tmp_path):
    return Installation(tmp_path)


starts = pytest.mark.starts("processes that compile two short functions, and end")


@starts
def test_what_was_compiled_is_loaded_until_another_file_changes_and_the_package_is_not_written(
    installation,
):
    before = {path for path in installation.package.rglob("*") if path.suffix != ".pyc"}
    first = installation.run()
    assert (first["result"], first["compiled"]) == (2.0, 2)
    second = installation.run()
    assert (second["result"], second["compiled"]) == (2.0, 0)
    assert first["folder"] == second["folder"]
    written = {path for path in installation.package.rglob("*") if path.suffix != ".pyc"} - before
    assert {path.name for path in written} <= {"__pycache__"}
    installation.add(10.0)
    assert installation.run()["result"] == 11.0


@starts
def test_a_law_of_a_user_notices_a_change_in_the_file_beside_it(installation):
    mine = installation.folder / "mine"
    mine.mkdir()
    (mine / "inner.py").write_text(
        INNER.format(added=1.0).replace("..core", "robot_control_ros.core")
    )
    outer = OUTER.replace("..core", "robot_control_ros.core").replace(".inner", "inner")
    (installation.package / "laws" / "outer.py").write_text("from mine_outer import outer\n")
    (mine / "mine_outer.py").write_text(outer)
    path = os.pathsep.join([str(installation.package.parent), str(mine)])
    assert installation.run(PYTHONPATH=path)["result"] == 2.0
    assert not installation.run(PYTHONPATH=path)["compiled"]
    (mine / "inner.py").write_text(
        INNER.format(added=10.0).replace("..core", "robot_control_ros.core")
    )
    assert installation.run(PYTHONPATH=path)["result"] == 11.0


def test_the_function_of_a_record_is_named_by_its_text_alone():
    """Numba's cache knows it by its name: two processes may make records in another order."""

    def name(size):
        return Record("Same", [Field("quantity", (size,), "", "")]).views.__name__

    first = name(1)
    assert name(2) != first
    assert name(1) == first


@starts
def test_files_that_cannot_be_read_are_left_out(installation):
    # an editor's lock
    (installation.package / "laws" / ".#inner.py").symlink_to("nobody@nowhere:1")
    assert installation.run()["result"] == 2.0


@starts
def test_without_a_home_the_cache_is_among_the_temporary_files(installation):
    nowhere = str(installation.package / "__init__.py")  # a file, in which no folder can be
    assert Path(installation.run(HOME=nowhere)["folder"]).is_relative_to(installation.temporary)
    assert not installation.run(HOME=nowhere)["compiled"]


@starts
def test_where_nothing_can_be_written_each_process_compiles(installation):
    nowhere = str(installation.package / "__init__.py")
    (installation.temporary / f"robot_control_ros-{os.getuid()}").touch()
    for _ in range(2):
        result = installation.run(HOME=nowhere)
        assert (result["result"], result["compiled"], result["folder"]) == (2.0, 2, None)


@starts
def test_a_folder_that_others_may_write_is_not_used(installation):
    installation.cache.mkdir(parents=True)
    installation.cache.chmod(0o777)
    assert Path(installation.run()["folder"]).is_relative_to(installation.temporary)


@starts
@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_root_leaves_nothing_in_the_folders_of_another_user(installation):
    os.chown(installation.home, 12345, -1)
    assert Path(installation.run()["folder"]).is_relative_to(installation.temporary)
    assert list(installation.home.iterdir()) == []


@starts
def test_the_folder_that_numba_is_told_is_taken(installation):
    told = installation.folder / "told"
    told.mkdir()
    assert Path(installation.run(NUMBA_CACHE_DIR=str(told))["folder"]).is_relative_to(told)


@starts
@pytest.mark.parametrize(("kind", "content"), [("nbi", b""), ("nbc", b"\x80\x04 cut off")])
def test_files_of_the_cache_that_a_crash_has_cut_off_are_made_anew(installation, kind, content):
    installation.run()
    files = list(installation.cache.rglob(f"*.{kind}"))
    assert files
    for file in files:
        file.write_bytes(content)
    damaged = installation.run()
    assert (damaged["result"], damaged["compiled"]) == (2.0, 2)
    assert not installation.run()["compiled"]


@starts
def test_a_full_disk_costs_the_time_to_compile_and_nothing_else(installation):
    with files_end_at(500):
        # else it leaves libraries cut off for other tests
        result = installation.run(PYTHONDONTWRITEBYTECODE="1")
    assert (result["result"], result["compiled"]) == (2.0, 2)
    assert installation.run()["result"] == 2.0


@starts
def test_old_folders_are_removed(installation):
    for number in range(2 * KEPT):
        old = installation.cache / f"old{number}"
        old.mkdir(parents=True, mode=0o700)
        os.utime(old, (number, number))
    installation.cache.chmod(0o700)
    folder = Path(installation.run()["folder"])
    newest = {f"old{number}" for number in range(KEPT + 1, 2 * KEPT)}
    assert {each.name for each in installation.cache.iterdir()} == newest | {folder.name}


@starts
def test_without_compilation_the_same_text_runs_as_python(installation):
    result = installation.run(NUMBA_DISABLE_JIT="1")
    assert (result["result"], result["compiled"]) == (2.0, 0)
    assert list(installation.cache.rglob("*.nb?")) == []


@starts
def test_four_processes_that_start_at_once_give_the_same_and_leave_a_cache_that_can_be_used(
    installation,
):
    results = [process.result() for process in [installation.start() for _ in range(4)]]
    assert {(result["result"], result["folder"]) for result in results} == {
        (2.0, results[0]["folder"])
    }
    # each function once, in one of the processes
    assert sum(result["compiled"] for result in results) == 2
    assert not installation.run()["compiled"]


@starts
def test_a_process_waits_while_another_one_compiles(installation):
    installation.run()
    for file in installation.cache.rglob("*.nb?"):
        file.unlink()
    (inner,) = installation.cache.rglob("inner*.lock")
    with inner.open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting = installation.start()
        assert waiting.runs_after(3.0)
        assert list(installation.cache.rglob("*.nbc")) == []
        fcntl.flock(lock, fcntl.LOCK_UN)  # the process that waits has this file, too
        assert waiting.result()["result"] == 2.0


def test_a_function_that_cannot_be_compiled_keeps_no_other_process_waiting(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "adds_a_word.py").write_text(
        INNER.format(added="'a word'").replace("..core", "robot_control_ros.core")
    )
    inner = importlib.import_module("adds_a_word").inner
    with pytest.raises(TypingError):
        inner(1.0)
    (path,) = tmp_path.rglob("*.lock")
    with path.open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_all_compiled_functions_stand_where_a_change_is_noticed():
    import robot_control_ros.control.warm_up  # noqa: F401  # which imports what laws need

    for name in compiled_functions():
        package, room, *_ = name.split(".")
        assert package != "robot_control_ros" or room in ROOMS, name


def test_a_function_in_no_file_is_compiled_all_the_same():
    space = {"compiled": compiled}
    exec("@compiled\ndef typed_by_hand(x):\n    return 2.0 * x\n", space)
    assert space["typed_by_hand"](2.0) == 4.0


def test_a_line_tells_that_compilation_takes_long(monkeypatch):
    space = {"compiled": compiled}
    exec("@compiled\ndef one(x):\n    return x\n\n@compiled\ndef other(x):\n    return x\n", space)
    times = iter(range(0, 1000, 100))
    monkeypatch.setattr("time.monotonic", lambda: float(next(times)))
    said = []
    compile_now([lambda: space["one"](1.0), lambda: space["other"](1.0)], said.append)
    assert len(said) == 1


def test_what_is_compiled_already_is_not_announced():
    said = []
    compile_now([lambda: None], said.append)
    assert said == []
