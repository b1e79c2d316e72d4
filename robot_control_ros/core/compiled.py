"""Functions that Numba compiles, and a cache of them on disk that notices every change.

``@compiled`` is the only way to compile a function in this package. The text of such a function is
Python, and runs as Python where the environment has NUMBA_DISABLE_JIT=1: for a debugger, or to
measure which lines were reached.

Numba's own cache looks at the content of a function's own file alone. A change in a compiled
function of another file would go unnoticed (github.com/numba/numba/issues/1833). So the folder of
the cache is named after the content of all files that compiled functions may use.

The cache saves time and is never needed: where it can't be read or written, functions are compiled
anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import IO, Any, TypeVar, cast

import numba
from numba.core import config
from numba.core import event as events
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator

# that compiled functions stand in
ROOMS = ("core", "robot", "references", "sensing", "laws", "stability", "control")
PACKAGE = Path(__file__).resolve().parents[1]
KEPT = 8  # folders of the cache: of other versions, checkouts and laws of users that were used last
SLOW = 1.0  # s of compiling after which it is announced
LONGEST_WAIT = 120.0  # s for another process that compiles the same
LOOK = 0.05  # s between two looks whether it has ended
# Numba's event: it starts to compile a function, also one that another one calls
COMPILES = "numba:compile"
WAITS = "robot_control_ros:wait"  # the event of another look

_Function = TypeVar("_Function", bound=Callable[..., Any])
_functions: dict[str, Any] = {}


def compiled(function: _Function) -> _Function:
    """Decorator: compile a function for the types that it is first called with, and keep it on
    disk.

    It holds no lock of the interpreter while it runs. It uses no fast-math, so that its result
    doesn't depend on the processor. A division by 0 gives infinity or NaN, as with NumPy: nothing
    is raised. Its arguments are numbers, arrays, and the views that :attr:`..record.Record.views`
    returns.
    """
    source = cast(FunctionType, function)
    made = numba.njit(nogil=True, error_model="numpy")(source)
    if not config.DISABLE_JIT:
        _keep(made, source)
    _functions[f"{source.__module__}.{source.__qualname__}"] = made
    return cast(_Function, made)


def compiled_functions() -> dict[str, Any]:
    """All functions that were decorated so far, by module and name.

    They are Numba's dispatchers; with NUMBA_DISABLE_JIT=1 the functions themselves.
    """
    return dict(_functions)


# --- compiling before it is needed ---


def say(text: str) -> None:
    """Print a line of progress on stderr, as another program may read the output on stdout."""
    print(text, file=sys.stderr, flush=True)


def compile_now(
    calls: Iterable[Callable[[], object]], announce: Callable[[str], object] = say
) -> None:
    """Make calls whose functions have to be compiled before an arm is under control.

    Args:
        calls: Functions, each of which calls compiled functions with the types that they will get
            later.
        announce: Function that gets a message once, where it takes more than a second.
    """
    progress = _Progress(announce)
    with events.install_listener(COMPILES, progress), events.install_listener(WAITS, progress):
        for call in calls:
            call()


class _Progress(events.Listener):  # type: ignore[misc]  # Numba has no types
    """Tells once that compiling takes long, here or in another process; loading isn't told."""

    def __init__(self, announce: Callable[[str], object]) -> None:
        self._announce = announce
        self._begin: float | None = None
        self._announced = False

    def on_start(self, event: Any) -> None:
        if self._begin is None:
            self._begin = time.monotonic()
        elif time.monotonic() - self._begin > SLOW and not self._announced:
            self._announced = True
            self._announce("Compiling the control laws, a minute the first time …")

    def on_end(self, event: Any) -> None:
        """Do nothing: only starts count."""


# --- the cache on disk ---


class _Files(CompileResultCacheImpl):  # type: ignore[misc]  # Numba has no types
    """Numba's files of a compiled function, which are nowhere but in the folder that it is told."""

    _locator_classes = (UserProvidedCacheLocator,)


class _Cache(FunctionCache):  # type: ignore[misc]  # Numba has no types
    """Numba's cache of one function. Files that can't be used cost the time to compile, and nothing
    else.

    Of several processes that need the function one compiles it. The others wait, and load what it
    has kept. A process that waits holds the locks of the functions that call this one. No compiled
    function calls itself through others, so two processes never wait for each other.
    """

    _impl_class = _Files

    def __init__(self, function: FunctionType) -> None:
        super().__init__(function)
        self._lock_path = (
            Path(self.cache_path)
            / f"{function.__qualname__}-{function.__code__.co_firstlineno}.lock"
        )
        self._lock: IO[bytes] | None = None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function that was kept for some types of arguments; None for none.

        Before it returns None, it waits until no other process compiles the function.
        """
        kept = self._load(sig, target_context)
        if kept is None and self._lock is None:
            self._lock = _take_lock(self._lock_path)
            kept = self._load(sig, target_context)  # what another process has kept meanwhile
            if kept is not None:
                self.unlock()
        return kept

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled function where that is possible, and let other processes load it."""
        with suppress(OSError):
            super().save_overload(sig, data)
        self.unlock()

    def unlock(self) -> None:
        """Let other processes compile the function."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _load(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever a file raises that a crash or a full disk has cut off
            with suppress(OSError):
                self.flush()
            return None


class _Unlocking(events.Listener):  # type: ignore[misc]  # Numba has no types
    """Lets other processes compile a function that could not be compiled here:
    nothing of it is kept.
    """

    def on_start(self, event: Any) -> None:
        """Do nothing: the lock is there already."""

    def on_end(self, event: Any) -> None:
        made = event.data["dispatcher"]
        if event.data["args"] not in made.overloads and isinstance(made._cache, _Cache):
            made._cache.unlock()


events.register(COMPILES, _Unlocking())


def _take_lock(path: Path) -> IO[bytes] | None:
    """Wait while another process holds a lock; one that is stopped meanwhile doesn't hold up this
    one for ever.

    Returns:
        File that holds the lock until it is closed; None where there are no locks.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.open("wb")
    except OSError:
        return None
    end = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < end:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            with events.trigger_event(WAITS):
                time.sleep(LOOK)
        except OSError:  # a file system without locks
            break
    return lock


def _keep(made: Any, source: FunctionType) -> None:
    """Give a dispatcher its cache; without a source file, or a folder for it, it gets none."""
    folder = cache_folder(Path(source.__code__.co_filename).parent)
    if folder is not None:
        with _told(folder), suppress(OSError, RuntimeError):
            made._cache = _Cache(source)


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    """Set Numba's cache folder for the time of the context; other packages keep theirs."""
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = before


def cache_folder(source_folder: Path) -> Path | None:
    """The cache folder for the functions of a source folder; None where none can be made.

    It is made where it is missing. It is in the folder that NUMBA_CACHE_DIR names, in the user's
    cache, or in a folder of this user among the temporary files. So the package itself needn't be
    writable. Files in the cache are executed: so the folder is this user's own, and nobody else may
    write there.

    Args:
        source_folder: Folder of the functions that are compiled; for a law of a user it isn't one
            of this package.
    """
    source_folder = source_folder.resolve()
    return _folder(PACKAGE if source_folder.is_relative_to(PACKAGE) else source_folder)


@cache
def _folder(source_folder: Path) -> Path | None:
    name = _content(source_folder)[:16]
    for base in _bases():
        folder = base / name
        try:
            for each in (base, folder):
                each.mkdir(mode=0o700, parents=True, exist_ok=True)
                _check_own(each)
            os.utime(folder)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        _forget_old(base)
        return folder
    return None


def _bases() -> list[Path]:
    """Folders in which the cache may be, the best one first."""
    home = os.path.join(os.path.expanduser("~"), ".cache")
    caches = [Path(each) for each in (config.CACHE_DIR, os.environ.get("XDG_CACHE_HOME", ""), home)]
    bases = [each / "robot_control_ros" for each in caches if each.is_absolute() and _is_own(each)]
    return [*bases, Path(tempfile.gettempdir()) / f"robot_control_ros-{os.getuid()}"]


def _is_own(folder: Path) -> bool:
    """Return True where a folder is this user's, or would be once it is made.

    So root, by sudo, leaves nothing in the folders of another user.
    """
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    return existing.stat().st_uid == os.getuid()


def _check_own(folder: Path) -> None:
    """Refuse a folder that somebody else may write, such as an old one among the temporary files.

    Raises:
        PermissionError: it is refused.
    """
    status = folder.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise PermissionError(f"{folder} must belong to this user, and be writable by no other one")


@cache
def _content(source_folder: Path) -> str:
    """A digest of the version of Numba, of the rooms of this package, and of the files
    in one more folder.
    """
    files = [path for room in ROOMS for path in sorted((PACKAGE / room).rglob("*.py"))]
    if source_folder != PACKAGE:
        files += sorted(source_folder.glob("*.py"))
    digest = hashlib.sha256(numba.__version__.encode())
    for path in files:
        with suppress(OSError):  # what can't be read can't be imported: an editor's lock, say
            content = path.read_bytes()
            digest.update(f"{path.name} {len(content)} ".encode())
            digest.update(content)
    return digest.hexdigest()


def _forget_old(base: Path) -> None:
    """Remove all folders but those that were used last."""
    with suppress(OSError):  # another process removes them
        folders = sorted(
            (each for each in base.iterdir() if each.is_dir()),
            key=lambda each: each.stat().st_mtime,
        )
        for folder in folders[:-KEPT]:
            shutil.rmtree(folder, ignore_errors=True)
