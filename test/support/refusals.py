"""Errors by their fields, so that no test depends on the sentences of a message."""

from contextlib import contextmanager
from unittest.mock import ANY

import numpy as np
import pytest

from robot_control_ros.core.errors import ConfigError


@contextmanager
def refuses(name, value=ANY, bound=ANY, error=ConfigError):
    """What is called within must raise this error with these fields."""
    with pytest.raises(error) as caught:
        yield caught
    found = caught.value
    assert (name, bound) == (found.name, found.bound), str(found)
    # NaN is like NaN
    assert value is ANY or str(np.array(found.value)) == str(np.array(value)), str(found)
