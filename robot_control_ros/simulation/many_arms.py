"""Many simulated arms at once: each differs in what is given, and follows from its
number and a seed alone.
"""

from __future__ import annotations

import inspect
import pickle
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from ..core.errors import HardwareFault, RobotControlError, refused, short
from .imperfect.imperfections import load_imperfections
from .in_process import simulate
from .log import Log
from .trouble import GainsWarning, TroubleWarning
from .worker_processes import BROKEN, worker_processes

NAMED = 5  # arms in a warning
LONGEST = 80  # characters of an argument in an error

Progress = Callable[[int, int], object]


class _Outcome(NamedTuple):
    """Outcome of the simulation of an arm; the text is that of a GainsWarning, or empty."""

    log: Log
    gains_warning: str


def simulate_many(
    n: int | Sequence[int],
    robot: Any = "ur5",
    law: Any = "impedance",
    gains: Any = None,
    reference: Any = None,
    duration: float = 2.0,
    push: Any = None,
    *,
    q0: Any = None,
    imperfections: Any = None,
    record: Any = None,
    seed: int = 0,
    workers: int = 1,
    executor: Executor | None = None,
    progress: Progress | None = None,
    return_errors: bool = False,
    **settings: Any,
) -> list[Any]:
    """Simulate many arms, each as :func:`simulate` does, in this process or in several.

    The arms may differ in `robot`, `law`, `gains`, `reference`, `push`, `q0`, `imperfections` and
    `record`. Each of these is one value for all, a list with a value for each arm, or a function of
    the arm's number and its random generator, which returns the arm's value. The functions are
    called in the order of the arguments. A `reference` is a function of the start pose, as in
    :func:`simulate`, or a list of those. A `record` is a file of one arm.

    An arm's generator, and the seed of its imperfections, follow from `seed` and the arm's number
    alone. So an arm is the same to the last bit among any number of arms, and in any number of
    processes.

    Args:
        n: Number of arms; or the numbers of those to simulate, as in ``[17]``: each one is the same
            as among all.
        robot, law, gains, reference, duration, push, q0, imperfections, record: Arguments of each
            arm, see above, and :func:`simulate`.
        seed: Seed of all random numbers; not negative.
        workers: 1 simulates in this process; more do so in as many fresh ones, with one thread
            each. A script then needs ``if __name__ == "__main__":``.
        executor: Executor that simulates in place of `workers`, and stays open.
        progress: Function that is called with the number of arms that are done, and that of all.
        return_errors: True where an error takes the place of its arm's log; else the first one ends
            all.
        settings: Settings of all arms, see :func:`simulate`.

    Returns:
        The logs (n,) in the order of the numbers. What went wrong is the `trouble` of a log, and
        one TroubleWarning.

    Raises:
        ConfigError: an argument is refused, or can't be sent to another process.
        RobotControlError: of an arm, with its number and arguments. It has the type that
            :func:`simulate` raises; what isn't an error of this package is its cause.
        HardwareFault: a process has ended by itself.
    """
    numbers = _numbers(n)
    for name, value, least in (("seed", seed, 0), ("workers", workers, 1)):
        if not _is_whole(value, least):
            raise refused(name, value, f"must be a whole number from {least} on", least)
    values = {
        "robot": robot,
        "law": law,
        "gains": gains,
        "reference": reference,
        "push": push,
        "q0": q0,
        "imperfections": imperfections,
        "record": record,
    }
    _check_lengths(values, numbers)
    if isinstance(record, (str, Path)) and len(numbers) > 1:
        raise refused(
            "record",
            str(record),
            "must be a list of files, or a function that names one: an arm has its own",
        )
    settings = {"duration": duration, **settings}
    inspect.signature(simulate).bind(**settings)  # a TypeError names an unknown one
    arms = [_arguments(number, values, seed) for number in numbers]
    results: list[_Outcome | RobotControlError] = []
    with _calls([{**arm, **settings} for arm in arms], workers, executor) as calls:
        for number, arm, call in zip(numbers, arms, calls, strict=True):
            try:
                results.append(call())
            except BrokenExecutor as error:
                raise HardwareFault(BROKEN) from error
            except Exception as error:
                told = _of_arm(
                    error, number, {name: arm[name] for name in values if values[name] is not None}
                )
                if not return_errors:
                    raise told from error
                results.append(told)
            if progress is not None:
                progress(len(results), len(arms))
    _warn(numbers, results)
    return [result.log if isinstance(result, _Outcome) else result for result in results]


def _numbers(n: Any) -> Sequence[int]:
    """The numbers of the arms."""
    numbers = range(n) if _is_whole(n, 1) else n
    if (
        isinstance(numbers, Sequence)
        and len(numbers) > 0
        and all(_is_whole(number, 0) for number in numbers)
    ):
        return numbers
    raise refused(
        "n", n, "must be a whole number from 1 on, or a list of arms' numbers from 0 on", 1
    )


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def _is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    """True where a value is a list with a value for each arm.

    Joint angles are a list of numbers themselves, so they aren't one.
    """
    return (
        isinstance(value, (list, tuple, np.ndarray))
        and len(value) > 0
        and not isinstance(value[0], Real)
    )


def _check_lengths(values: Mapping[str, Any], numbers: Sequence[int]) -> None:
    """Refuse a list that lacks the value of an arm, or has more than there are arms."""
    wanted = max(numbers) + 1
    for name, value in values.items():
        if _is_list(value) and (
            len(value) < wanted or (isinstance(numbers, range) and len(value) > wanted)
        ):
            raise refused(
                name,
                len(value),
                f"must be {wanted} values, one for each arm",
                wanted,
                where="values of ",
            )


def _arguments(number: int, values: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Arguments of :func:`simulate` for an arm."""
    sequence = np.random.SeedSequence(seed, spawn_key=(number,))
    random = np.random.default_rng(sequence)
    arguments = {}
    for name, value in values.items():
        if _is_list(value):
            value = value[number]
        elif callable(value) and name != "reference":
            value = value(number, random)
        arguments[name] = value
    imperfections = arguments["imperfections"]
    if isinstance(imperfections, str):
        imperfections = load_imperfections(imperfections)
    if imperfections is not None:
        (own,) = sequence.spawn(1)
        arguments["imperfections"] = replace(imperfections, seed=int(own.generate_state(1)[0]))
    return arguments


@contextmanager
def _calls(
    arms: Sequence[Mapping[str, Any]], workers: int, executor: Executor | None
) -> Iterator[Sequence[Callable[[], _Outcome]]]:
    """A call for each arm, which returns what it gives: here, or as soon as another
    process has done it.
    """
    if executor is not None:
        with _submitted(executor, arms) as calls:
            yield calls
    elif min(workers, len(arms)) == 1:
        yield [partial(_simulate, arm) for arm in arms]
    else:
        _check_sendable(arms[0])
        with (
            worker_processes(min(workers, len(arms))) as (processes,),
            _submitted(processes, arms) as calls,
        ):
            yield calls


@contextmanager
def _submitted(
    executor: Executor, arms: Sequence[Mapping[str, Any]]
) -> Iterator[Sequence[Callable[[], _Outcome]]]:
    futures = [executor.submit(_simulate, arm) for arm in arms]
    try:
        yield [future.result for future in futures]
    finally:
        for future in futures:
            future.cancel()


def _simulate(arguments: Mapping[str, Any]) -> _Outcome:
    texts: list[str] = []
    log = simulate(**arguments, warn=lambda trouble, gains: texts.append(gains))
    return _Outcome(log, texts[0])


def _of_arm(error: Exception, number: int, arguments: Mapping[str, Any]) -> RobotControlError:
    """The error of an arm, with what the arm was given."""
    given = ", ".join(
        f"{name}={short(getattr(value, 'name', value), LONGEST)}"
        for name, value in arguments.items()
    )
    where = f"arm {number} ({given}): " if given else f"arm {number}: "
    if isinstance(error, RobotControlError):
        return type(error)(f"{where}{error}", name=error.name, value=error.value, bound=error.bound)
    return RobotControlError(f"{where}{type(error).__name__}: {error}")


def _check_sendable(arguments: Mapping[str, Any]) -> None:
    """Refuse what can't be sent to another process, such as a lambda."""
    for name, value in arguments.items():
        try:
            pickle.dumps(value)
        except Exception as error:  # whatever the value raises
            rule = (
                "must be such that another process can have it: "
                "defined at the top of a module; or leave out `workers`"
            )
            raise refused(name, value, rule) from error


def _warn(numbers: Sequence[int], results: Sequence[_Outcome | RobotControlError]) -> None:
    """One TroubleWarning and one GainsWarning for all arms, where there is any."""
    trouble = {}
    gains = {}
    for number, result in zip(numbers, results, strict=True):
        if isinstance(result, _Outcome):
            trouble[number] = "; ".join(each.message for each in result.log.trouble)
            gains[number] = result.gains_warning
    for texts, category in ((gains, GainsWarning), (trouble, TroubleWarning)):
        lines = [f"arm {number}: {text}" for number, text in texts.items() if text]
        if lines:
            more = "" if len(lines) <= NAMED else f"; {len(lines) - NAMED} more"
            text = f"{len(lines)} of {len(numbers)} arms: {'; '.join(lines[:NAMED])}{more}"
            warnings.warn(text, category, stacklevel=3)
