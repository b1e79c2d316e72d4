"""Fixtures of the tests that need several processes."""

import pytest


@pytest.fixture
def ros(tmp_path):
    """A ROS domain that only the test has, for nodes in processes of their own."""
    from ros_support import Ros

    with Ros(tmp_path) as made:
        yield made
