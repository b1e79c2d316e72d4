"""Fixtures of the tests of EtherCAT."""

import pytest
from played_drives import bus_of_three


@pytest.fixture(scope="module")
def topology(tmp_path_factory):
    """A bus of three drives that the tests play."""
    return bus_of_three(tmp_path_factory.mktemp("bus"))
