"""Control laws that are compiled while a system starts: by the controller, and by a process beside it.

``python -m robot_control_ros.bringup.compiling`` is that process.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ..control.warm_up import compute_alone
from ..core.compiled import PACKAGE, cache_folder, say
from ..laws import law_names
from ..robot.configuration import load_robot
from .program_session import die_with_parent

PERIOD = 10.0  # s between two lines
MARK = "all_laws"  # file in the folder of the compiled functions: all laws were compiled


class Compiling:
    """Helps a controller that starts to compile its laws, and says that this goes on.

    The controller compiles all laws before it commands the robot, the first one first. The process
    beside it begins with the last one. It ends with the ``with`` block. Where all laws were compiled
    before, nothing is started.

    Args:
        folder: Folder of the compiled functions; None where nothing can be kept.
        announce: Function that gets a line of progress.
        clock: Function that returns the time [s].
    """

    def __init__(
        self,
        folder: Path | None,
        announce: Callable[[str], object] = say,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._mark = None if folder is None else folder / MARK
        self._announce = announce
        self._clock = clock
        self._began = clock()
        self._lines = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_first(self) -> bool:
        """True where the laws have to be compiled and can be kept."""
        return self._mark is not None and not self._mark.exists()

    def __enter__(self) -> Compiling:
        if self.is_first:
            command = [sys.executable, "-m", "robot_control_ros.bringup.compiling"]
            self._process = subprocess.Popen(
                command, start_new_session=True, preexec_fn=die_with_parent
            )
        return self

    def __exit__(self, *exception: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def tell(self) -> None:
        """Print a line where 10 s have passed; to be called while the controller starts."""
        passed = self._clock() - self._began
        if passed < (self._lines + 1) * PERIOD:
            return
        self._lines += 1
        work = "compiles its laws, the first time only" if self.is_first else "starts"
        self._announce(f"{passed:3.0f} s: the controller {work}")

    def end(self) -> None:
        """Note that all laws were compiled, so that the next start needs no help."""
        if self._mark is not None:
            with suppress(OSError):  # it can't be written any more: the next start is helped again
                self._mark.touch()


def laws_folder() -> Path | None:
    """Folder of the package's compiled functions; None where nothing can be kept."""
    return cache_folder(PACKAGE)


if __name__ == "__main__":
    compute_alone(load_robot("ur5"), law_names(plugins=False)[::-1])
