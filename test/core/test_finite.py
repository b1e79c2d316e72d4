"""Numbers that are too large for arithmetic are found without arithmetic that overflows."""

import warnings

import numpy as np
import pytest

from robot_control_ros.core.types import is_finite


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300, -1e300])
def test_a_number_that_is_not_finite_or_too_large_is_found_without_a_warning(value):
    values = np.array([0.0, 1.0, value, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not is_finite(values)
        assert is_finite(
            np.where(values == value, 2.0, np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0))
        )


def test_ordinary_numbers_and_none_are_finite():
    assert is_finite(np.array([0.0, -1e6, 1e-300]))
    assert is_finite(np.zeros(0))
