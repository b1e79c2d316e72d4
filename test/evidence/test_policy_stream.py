"""30 Hz targets with stiffness, a fifth lost, 50 ms of jitter, on the UR5 under torques: every
bound at every tick.
"""

import pytest

pytest.importorskip("mujoco", reason="needs MuJoCo")

from evidence.__main__ import main
from evidence.policy_stream import first_torque, rows

pytestmark = pytest.mark.sim


def test_a_targets_first_torque_comes_within_two_periods():
    assert first_torque().holds


@pytest.mark.long
def test_for_a_minute_all_limits_are_kept_and_the_arm_does_not_stop_and_go(capsys):
    assert main(["policy"]) == 0, capsys.readouterr().out
    assert capsys.readouterr().out.splitlines()[-1].startswith("91 rows: ")


@pytest.mark.long
def test_its_bounds_are_no_matter_of_course():
    """Single poses with a delay shorter than their jitter do stop and go."""
    assert not all(row.holds for row in rows(1, 0.05, 5.0))
