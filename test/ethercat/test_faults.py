"""The table of faults: its rows, and what is refused. The faults themselves: test/system/test_fault_table.py."""

import pytest

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.experiments.ethercat_faults.table import row, table, trials
from robot_control_ros.experiments.ethercat_faults.trial import TrialRecord


def test_an_unknown_row_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match="must be one of: one lost frame, K lost frames"):
        list(trials(["flood"]))


def test_the_table_is_markdown():
    seen = TrialRecord(
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
