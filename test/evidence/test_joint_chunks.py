"""Chunks of joint angles that begin 6 cm behind the one before, ten times per second."""

import pytest

pytest.importorskip("mujoco", reason="needs MuJoCo")

from evidence.joint_chunks import LAWS, ROBOTS, rows

pytestmark = pytest.mark.sim


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", ROBOTS)
def test_with_a_latency_all_bounds_are_kept_and_the_delay_is_measured(name, law):
    for declared in (True, False):
        for row in rows(name, law, 0.15, declared):
            assert row.holds, row
