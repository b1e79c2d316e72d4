"""Arms that run into a body of 75 N/mm: with `contact.max_impact` no blow and nothing after it
is above the limit.
"""

from itertools import product

import numpy as np
import pytest

blow_trials = pytest.importorskip("blow_trials")
LIMIT = blow_trials.LIMIT
ALL = list(product(blow_trials.ROBOTS, blow_trials.LAWS))
APPROACHES = 200

pytestmark = pytest.mark.sim


def judge(blow):
    """A blow within the limit, whose pressing has ended."""
    assert blow.peak <= LIMIT
    assert blow.left <= 0.5 * LIMIT
    assert blow.reaction or blow.peak < 0.5 * LIMIT
    assert not blow.faults


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("name", "law", "output", "seed"),
    [
        ("ur5e", "impedance", "effort", 1),
        ("ur5e", "admittance", "position", 2),
        ("gen3", "joint_impedance", "effort", 3),
        ("gen3", "joint_pid", "velocity", 4),
    ],
)
def test_a_blow_stays_below_the_limit(name, law, output, seed):
    bounded = blow_trials.approach(name, law, output, seed)
    assert np.isfinite(bounded.speed)
    judge(bounded)


def test_without_a_limit_the_same_approach_strikes_harder():
    assert blow_trials.approach("ur5e", "impedance", "effort", 1, limit=None).peak > LIMIT


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_200_random_approaches_stay_below_the_limit(part):
    touched = 0
    for number in range(part, APPROACHES, 10):
        name, (law, output) = ALL[number % len(ALL)]
        blow = blow_trials.approach(name, law, output, 1000 + number)
        judge(blow)
        touched += bool(np.isfinite(blow.speed))
    assert touched > 0.9 * APPROACHES / 10
