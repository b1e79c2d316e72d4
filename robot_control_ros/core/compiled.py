"""Functions that Numba compiles, and a cache of them on disk that notices every change.

``@compiled`` is the only way to compile a function in this package. The text of such a function is Python, and runs as
Python where the environment has NUMBA_DISABLE_JIT=1: for a debugger, or to measure which lines were reached.

Numba's own cache looks at the time stamp of a function's own file alone. A change in a compiled function of another
file would go unnoticed (github.com/numba/numba/issues/1833). So the folder of the cache is named after the content of
all files that may hold compiled functions.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
from numba.core import config

ROOMS = ("core", "robot", "references", "sensing", "laws", "stability", "control")  # that hold compiled functions
KEPT = 4  # folders of the cache: of other versions and checkouts that were used last
SLOW = 1.0  # s of compiling that are announced

_Function = TypeVar("_Function", bound=Callable[..., Any])
_functions: dict[str, Any] = {}


def compiled(function: _Function) -> _Function:
    """Decorator: compile a function for the types that it is first called with, and keep it on disk.

    It holds no lock of the interpreter while it runs. It uses no fast-math, so that its result doesn't depend on the
    processor. Its arguments are numbers and arrays, and what :meth:`..record.Record.views` gives.
    """
    source = cast(FunctionType, function)
    with _CacheFolder(source):
        made = numba.njit(cache=True, nogil=True)(source)
    _functions[f"{source.__module__}.{source.__qualname__}"] = made
    return cast(_Function, made)


def compiled_functions() -> dict[str, Any]:
    """Numba's dispatchers of all functions that were decorated so far, by module and name."""
    return dict(_functions)


def compile_now(calls: Iterable[Callable[[], object]], announce: Callable[[str], None] = print) -> None:
    """Make calls whose functions have to be compiled before an arm is under control.

    Args:
        calls: each calls compiled functions, with the types that they will be called with.
        announce: is told once, where it takes more than a second.
    """
    begin = time.monotonic()
    announced = False
    for call in calls:
        call()
        if not announced and time.monotonic() - begin > SLOW:
            announce("Compiling the control laws, 20 s the first time …")
            announced = True


class _CacheFolder:
    """Numba's setting of the cache's folder, for as long as a function is decorated.

    Other packages that use Numba keep their own folder.
    """

    def __init__(self, function: FunctionType) -> None:
        self._folder = cache_folder(Path(function.__code__.co_filename).parent)

    def __enter__(self) -> None:
        self._before = config.CACHE_DIR
        config.CACHE_DIR = str(self._folder)

    def __exit__(self, *_: object) -> None:
        config.CACHE_DIR = self._before


@cache
def cache_folder(source_folder: Path) -> Path:
    """The folder for the functions of a folder, made where it is missing.

    It is in the user's cache, or in one of this user's in the folder for temporary files. So it doesn't matter whether
    the package may be written.

    Args:
        source_folder: whose functions are compiled; for a law of a user it isn't one of this package.
    """
    name = _content(source_folder)[:16]
    for base in _bases():
        folder = base / name
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.utime(folder)
        except OSError:
            continue
        if os.access(folder, os.W_OK) and folder.stat().st_uid == os.getuid():
            _forget_old(base)
            return folder
    return Path(tempfile.mkdtemp(prefix="robot_control_ros_"))


def _bases() -> list[Path]:
    """Where the cache may be, best first. What is read from there is executed: it must be this user's own."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    name = "robot_control_ros/compiled"
    return [Path(home) / name, Path(tempfile.gettempdir()) / f"robot_control_ros-{os.getuid()}" / "compiled"]


@cache
def _content(source_folder: Path) -> str:
    """A digest of the version of Numba, of the rooms of this package, and of the files in one more folder."""
    package = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256(numba.__version__.encode())
    files = [path for room in ROOMS for path in sorted((package / room).rglob("*.py"))]
    if not source_folder.resolve().is_relative_to(package):
        files += sorted(source_folder.glob("*.py"))
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _forget_old(base: Path) -> None:
    """Remove all folders but those that were used last."""
    try:
        folders = sorted((each for each in base.iterdir() if each.is_dir()), key=lambda each: each.stat().st_mtime)
    except OSError:  # another process removes them
        return
    for folder in folders[:-KEPT]:
        shutil.rmtree(folder, ignore_errors=True)
