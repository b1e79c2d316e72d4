"""The table of faults: its rows, and what is refused. The faults themselves:
test/system/test_fault_table.py.
"""

import pytest

from evidence.ethercat_faults.bus_table import row, table, trials
from evidence.ethercat_faults.bus_trial import BusTrialRecord
from robot_control_ros.core.errors import ConfigError


def test_an_unknown_row_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match="must be one of: one lost frame, K lost frames"):
        list(trials(["flood"]))


def test_the_table_is_markdown():
    seen = BusTrialRecord(
        *("cut", "effort", "working counter 9", "quick stop", ("lost: a|b\nc",)),
        0.0021,
        None,
        1e-4,
        2e-3,
        0,
        "reset",
        False,
    )
    assert row(seen) == (
        "| cut, torque | working counter 9 | quick stop: lost: a/b c | 2.1 | - | 0.10, 2.0 | reset (NOT RECOVERED) |"
    )
    head, rule, line = table([seen]).splitlines()
    assert head.count("|") == rule.count("|") == line.count("|") == 8
