"""A function at each point of a grid, on one core or on many machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, Future
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from ..core.errors import ConfigError, refused
from ..core.output_files import write_rows
from .engine import SLOTS, Engine, engine, in_one_line, timed
from .package_version import package_version

AHEAD = 2  # tasks submitted for each slot, so that no worker waits
POLL = 0.5  # s between two looks at the scheduler


@dataclass(frozen=True)
class Point:
    """A point of a grid.

    Attributes:
        arguments: Arguments of the function, by name.
        result: Value that the function returned; None where it failed.
        error: Error that the function raised; None where it raised none.
    """

    arguments: Mapping[str, Any]
    result: Any = None
    error: Exception | None = None

    @property
    def reason(self) -> str:
        """Reason why there is no result; empty where there is one."""
        return "" if self.error is None else in_one_line(self.error)


@dataclass(frozen=True)
class Sweep:
    """All points of a grid, in its order: the last name changes fastest."""

    points: tuple[Point, ...]

    @property
    def results(self) -> list[Any]:
        """Values that the function returned, one for each point.

        Raises:
            Exception: the first error of a point.
        """
        for point in self.points:
            if point.error is not None:
                raise point.error
        return [point.result for point in self.points]

    def table(self) -> list[list[Any]]:
        """Header and a row for each point; a result that is a mapping has a
        column for each name.
        """
        names = list(self.points[0].arguments)
        mappings = [point.result for point in self.points if isinstance(point.result, Mapping)]
        keys = list(dict.fromkeys(key for mapping in mappings for key in mapping))
        lines = [[*names, *(keys or ["result"]), "reason"]]
        for point in self.points:
            lines.append([*point.arguments.values(), *_cells(point.result, keys), point.reason])
        return lines

    def to_csv(self, path: str | Path) -> Path:
        """Write the table as CSV; returns the path.

        Raises:
            ConfigError, HardwareFault: see :func:`~..core.output_files.write_rows`.
        """
        return write_rows(path, self.table())


def sweep(
    function: Callable[..., Any],
    grid: Mapping[str, Sequence[Any]],
    *,
    workers: int = 0,
    scheduler: str = "",
    executor: Executor | None = None,
    slots: int = SLOTS,
    progress: Callable[[int, int, Point], None] | None = None,
) -> Sweep:
    """Call a function at each point of a grid.

    An error that the function raises is that point's result, and the others go on. A point whose
    process is killed is computed again.

    Args:
        function: Function that is called with one value for each name of the grid. In processes it
            must be importable.
        grid: Values of each argument by name.
        workers, scheduler, executor, slots: Engine that computes, see :func:`~.engine.engine`; by
            default this process.
        progress: Function that is called for each point in the order of the grid. It takes the
            number of points so far, the number of all points, and the point.

    Raises:
        ConfigError: an empty grid; what :func:`~.engine.engine` refuses; a worker with another
            version of the package.
        HardwareFault: the scheduler has gone.
    """
    points = _points(grid)
    with engine(workers, scheduler, executor, slots) as computing:
        computing.check_function(function)
        found = []
        for point in _computed(function, points, computing):
            found.append(point)
            if progress is not None:
                progress(len(found), len(points), point)
    return Sweep(tuple(found))


def _points(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    if not grid:
        raise refused("grid", {}, "must have an argument with its values")
    for name, values in grid.items():
        if isinstance(values, str) or not len(values):
            raise refused(name, values, "must be a list with a value or more")
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def _computed(
    function: Callable[..., Any], points: Sequence[dict[str, Any]], computing: Engine
) -> Iterator[Point]:
    """The points in their order, as they come."""
    ended: dict[int, Point] = {}
    following = 0
    given = 0
    while given < len(points):
        while following < len(points) and computing.room(AHEAD) > 0:
            computing.submit(
                following, timed, _Named(function), package_version(), points[following]
            )
            following += 1
        for index, future in computing.ended(POLL):
            error = _error_of(future, computing)
            result = None if error is not None else future.result()[0]
            ended[index] = Point(points[index], result, error)
        while given in ended:
            yield ended.pop(given)
            given += 1


@dataclass(frozen=True)
class _Named:
    """Calls a function with named arguments."""

    function: Callable[..., Any]

    def __call__(self, arguments: dict[str, Any]) -> Any:
        return self.function(**arguments)


def _error_of(future: Future[Any], computing: Engine) -> Exception | None:
    """The error of a point; None where there is none.

    It is raised where it must end all: a worker has another version of the package.
    """
    try:
        error = future.exception()
    except CancelledError as cancelled:
        computing.check()
        return cancelled
    if isinstance(error, ConfigError) and error.name == "version":
        raise error
    if error is not None and not isinstance(error, Exception):
        raise error
    return error


def _cells(result: Any, keys: Sequence[str]) -> list[Any]:
    if not keys:
        return [result]
    return [result.get(key, "") if isinstance(result, Mapping) else "" for key in keys]
