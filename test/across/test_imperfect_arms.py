"""No guard reacts to what real arms have: friction, backlash, quantised encoders, wrong masses,
late commands.

Friction is 2 to 8 N·m, backlash 0.5 mrad, masses are up to 20 % off, commands act 1 to 8 ms late,
with jitter.
"""

import pytest
from imperfect_trials import LAWS, ROBOTS, ImperfectTrial

pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

pytestmark = pytest.mark.sim

SHORT = 3.0  # s
LONG = 600.0 / (len(LAWS) * len(ROBOTS))  # s of each law on each robot: ten minutes in all
SEEDS = 3


@pytest.mark.few(2)
@pytest.mark.parametrize("law", ["impedance", "admittance"])
@pytest.mark.parametrize("robot", ROBOTS)
def test_an_imperfect_arm_is_no_false_alarm(robot, law):
    assert ImperfectTrial(robot, law, 0).alarms(SHORT) == {}


@pytest.mark.long
@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("robot", ROBOTS)
def test_ten_minutes_of_imperfect_arms_are_no_false_alarm(robot, law, seed):
    assert ImperfectTrial(robot, law, seed + 1).alarms(LONG / SEEDS) == {}


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("robot", ROBOTS)
def test_the_worst_preset_is_no_false_alarm(robot, law):
    assert ImperfectTrial(robot, law, 1, "worst").alarms(10.0) == {}
