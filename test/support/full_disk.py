"""A disk that is full, for this process."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


class FullDisk:
    """A limit for the size of files."""

    def __init__(self) -> None:
        self._before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def lift(self) -> None:
        """From now on there is room again."""
        resource.setrlimit(resource.RLIMIT_FSIZE, self._before)


@contextmanager
def files_end_at(size: int) -> Iterator[FullDisk]:
    """No file may become longer than so many bytes."""
    disk = FullDisk()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield disk
    finally:
        disk.lift()
