"""The front has what nothing beats, and the chosen trial is better than the
first one where any is.
"""

import csv

import numpy as np
import pytest

from robot_control_ros.core.errors import RobotControlError
from robot_control_ros.tuning import Goal, TrialRow, Tuned

GOALS = (Goal("error", "minimize", "mm"), Goal("margin", "maximize"))


def tuned(*values):
    return Tuned(
        GOALS,
        tuple(TrialRow(index, {"k": float(index)}, each) for index, each in enumerate(values)),
    )


def test_the_front_is_what_a_plain_comparison_of_all_pairs_gives(rng):
    values = [tuple(each) for each in rng.uniform(0.1, 1.0, (200, 2))]
    losses = np.array(values) * (1.0, -1.0)
    worse = (losses[:, None] >= losses[None]).all(axis=2) & (losses[:, None] > losses[None]).any(
        axis=2
    )
    expected = np.flatnonzero(~worse.any(axis=1))
    assert [row.index for row in tuned(*values).front] == expected.tolist()


def test_of_equal_trials_the_front_has_the_first():
    assert [row.index for row in tuned((1.0, 1.0), (1.0, 1.0), (2.0, 0.5)).front] == [0]


def test_the_chosen_trial_gains_in_all_objectives_where_one_does():
    found = tuned((1.0, 1.0), (0.01, 0.99), (0.02, 1.001), (0.9, 1.25), (0.5, 1.2))
    gains = [
        (1.0 - error) * (1.0 - 1.0 / margin)
        for error, margin in (row.values for row in found.rows[2:])
    ]
    assert found.best.index == 2 + int(np.argmax(gains)) == 4
    assert found.is_better(found.best, found.rows[0])
    assert not found.is_better(found.rows[1], found.rows[0])


def test_without_one_the_smallest_product_is_chosen():
    assert tuned((1.0, 1.0), (0.5, 0.9), (0.9, 0.95)).best.index == 1


def test_a_failed_first_trial_gives_its_place_to_the_next():
    assert tuned((), (1.0, 1.0), (0.5, 2.0)).best.index == 2


def test_without_values_there_is_no_best():
    with pytest.raises(RobotControlError):
        _ = tuned((), ()).best


def test_a_value_of_zero_is_the_best_there_is():
    assert tuned((1.0, 1.0), (0.0, 1.1), (0.5, 1.1)).best.index == 1


def test_the_table_keeps_all_digits_and_names_units_and_reasons(tmp_path):
    rows = (
        TrialRow(0, {"k": 0.1 + 0.2}, (1.0 / 3.0, 2.0)),
        TrialRow(1, {"k": 1.0}, (), "it fell", seconds=9.0),
    )
    path = Tuned(GOALS, rows).to_csv(tmp_path / "table.csv")
    header, first, second = csv.reader(path.read_text().splitlines())
    assert header == ["trial", "k", "error [mm]", "margin", "reason"]
    assert (float(first[1]), float(first[2])) == (0.1 + 0.2, 1.0 / 3.0)
    assert second == ["1", "1.0", "", "", "it fell"]
