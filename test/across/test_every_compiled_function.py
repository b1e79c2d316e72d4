"""Every compiled function does the same as its own text run as Python, in the situations
that warm up a loop.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import compiled_twins
import numpy as np
import pytest

import robot_control_ros
from robot_control_ros.core.compiled import compiled

SAME = 1e-12
ROOT = Path(robot_control_ros.__file__).parents[1]


@compiled
def overflow(number, result):
    """Python's numbers are longer than the processor's."""
    result[0] = number * number


@pytest.fixture(scope="module")
def comparisons():
    """How often each function was compared, and the largest difference; in a process that
    makes twins of all.
    """
    names = ("NUMBA_DISABLE_JIT",)
    environment = {name: value for name, value in os.environ.items() if name not in names}
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(ROOT), *filter(None, [environment.get("PYTHONPATH")])]
    )
    command = [sys.executable, compiled_twins.__file__]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(ended.stdout)


starts = pytest.mark.starts("a program that ends by itself, and replaces what the package imports")


@starts
def test_every_compiled_function_is_called(comparisons):
    never = [name for name, (compared, _) in comparisons.items() if not compared]
    assert never == [], (
        "let control/warm_up.py reach them, or add arguments to OTHERS of support/compiled_twins.py"
    )
    assert len(comparisons) > 10


@starts
def test_every_compiled_function_gives_what_its_text_gives_as_python(comparisons):
    assert {name: off for name, (_, off) in comparisons.items() if off > SAME} == {}


def test_a_function_that_differs_is_found():
    twin = compiled_twins.Twin(overflow)
    twin(1, np.zeros(1))
    assert twin.difference == 0.0
    twin(2**40, np.zeros(1))
    assert twin.difference == 1.0


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1.0, 1.5, 0.5),
        (np.array([100.0, 1.0]), np.array([100.0, 2.0]), 0.01),
        ((None, True), (None, True), 0.0),
        ((None, True), (None, False), 1.0),
        (1.0, None, np.inf),
        (np.nan, np.nan, 0.0),
        (np.array([np.nan, 1.0]), np.array([1.0, np.nan]), np.inf),
        (np.inf, -np.inf, np.inf),
        (np.zeros(2), np.zeros(3), np.inf),
    ],
)
def test_difference(one, other, expected):
    assert compiled_twins.difference(one, other) == expected


@pytest.mark.parametrize(
    "array", [np.eye(3), np.eye(3).T, np.ones((4, 6))[::2, ::3], np.ones((2, 3), order="F")]
)
def test_a_copy_has_the_same_type_for_numba(array):
    import numba

    fixed = array[...]
    fixed.flags.writeable = False
    for each in (array, fixed):
        copied = compiled_twins.copy(each)
        assert numba.typeof(copied) == numba.typeof(each)
        assert np.array_equal(copied, each)
        assert not np.shares_memory(copied, each)
