"""What is tried follows from the seed and the results alone; what has ended is kept; what
can't be is refused.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from refusals import refuses

pytest.importorskip("optuna")

from tuned_functions import FIRST, GOALS, SPACE, out_of_order, refusing, two_bowls

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.tuning import Goal, Range, TrialOutcome, tune

pytestmark = pytest.mark.starts("signs of life are given, and trials computed, in threads")
TRIALS = 40


def tuned(objective=two_bowls, trials=TRIALS, **settings):
    return tune(
        objective, SPACE, trials, **({"goals": GOALS, "first": [FIRST], "lag": 8} | settings)
    )


@pytest.fixture
def journal(tmp_path):
    return f"journal://{tmp_path}/study.journal"


@pytest.mark.parametrize("sampler", ["tpe", "nsga2", "random"])
def test_threads_that_end_out_of_order_give_the_same_table(sampler):
    expected = tuned(sampler=sampler, trials=60)
    with ThreadPoolExecutor(5) as executor:
        found = tuned(out_of_order, sampler=sampler, trials=60, executor=executor, slots=5)
    assert found.table() == expected.table()
    assert found.best.index == expected.best.index


def test_a_search_finds_better_values_than_random_trials_do():
    best = min(row.values[0] for row in tuned(trials=80).rows)
    assert best < min(row.values[0] for row in tuned(trials=80, sampler="random").rows)


def test_another_seed_gives_other_trials_and_the_same_first_one():
    one = tuned()
    other = tuned(seed=1)
    assert one.rows[0].parameters == other.rows[0].parameters == FIRST
    assert all(
        a.parameters != b.parameters for a, b in zip(one.rows[1:], other.rows[1:], strict=True)
    )


def test_parameters_are_within_their_ranges():
    for row in tuned().rows:
        assert all(
            SPACE[name].lower <= value <= SPACE[name].upper
            for name, value in row.parameters.items()
        )


def test_the_same_line_again_goes_on(journal):
    expected = tuned(trials=30)
    calls = []

    def counted(parameters):
        calls.append(parameters)
        return two_bowls(parameters)

    assert tuned(counted, trials=12, storage=journal).table() == expected.table()[:13]
    assert tuned(counted, trials=30, storage=journal).table() == expected.table()
    assert tuned(counted, trials=30, storage=journal).table() == expected.table()
    assert len(calls) == 30


def test_what_is_ended_by_ctrl_c_is_run_again(journal):
    calls = []

    def interrupted(parameters):
        calls.append(parameters)
        if len(calls) == 10:
            raise KeyboardInterrupt
        return two_bowls(parameters)

    with pytest.raises(KeyboardInterrupt):
        tuned(interrupted, trials=20, storage=journal)
    assert tuned(interrupted, trials=20, storage=journal).table() == tuned(trials=20).table()
    assert len(calls) == 21


def test_two_searches_at_once_share_the_trials(journal):
    calls = []

    def counted(parameters):
        calls.append(parameters["x"])
        return out_of_order(parameters)

    with ThreadPoolExecutor(2) as threads:
        both = [threads.submit(tuned, counted, storage=journal) for _ in range(2)]
    tables = [each.result().table() for each in both]
    assert tables == [tuned().table()] * 2
    assert len(calls) == len(set(calls)) == TRIALS


def test_a_trial_that_fails_is_a_result_with_its_reason(journal):
    found = tuned(refusing, storage=journal)
    failed = [row for row in found.rows if row.failed]
    assert {row.parameters["x"] < 0.0 or row.parameters["x"] > 3.0 for row in failed} == {True}
    assert all(row.reason for row in failed)
    assert len(found.rows) == TRIALS
    assert tuned(refusing, storage=journal).table() == found.table()


def test_an_outcome_s_reason_and_details_are_kept(journal):
    def told(parameters):
        return TrialOutcome((1.0, 2.0), "it shook", {"arms": [1.0, 0.1 + 0.2]})

    tuned(told, trials=2, storage=journal)
    row = tuned(told, trials=2, storage=journal).rows[1]
    assert (row.values, row.reason, row.details) == (
        (1.0, 2.0),
        "it shook",
        {"arms": [1.0, 0.1 + 0.2]},
    )


@pytest.mark.parametrize(
    "result", [(1.0,), (1.0, 2.0, 3.0), {"near": 1.0}, "none", None, (float("nan"), 1.0)]
)
def test_a_result_that_can_t_be_used_is_a_failed_trial(result):
    row = tuned(lambda parameters: result, trials=1).rows[0]
    assert row.failed
    assert row.reason


def test_one_number_is_enough_for_one_objective():
    found = tune(lambda parameters: parameters["x"] ** 2, {"x": (-1.0, 1.0)}, 20)
    assert found.best.values[0] == min(row.values[0] for row in found.rows)


def test_progress_tells_how_many_have_ended():
    seen = []
    tuned(trials=10, progress=seen.append)
    assert [len(each.tuned.rows) for each in seen] == list(range(11))
    assert seen[-1].remaining == 0.0


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"about": {"robot": "gen3"}}, "robot"),
        ({"seed": 1}, "seed"),
        ({"lag": 9}, "lag"),
        ({"sampler": "nsga2"}, "sampler"),
        ({"goals": (GOALS[0], replace(GOALS[1], name="farther"))}, "objectives"),
        ({"first": [{"x": 1.0, "y": 1.0}]}, "first"),
    ],
)
def test_a_storage_with_a_study_of_something_else_is_refused(journal, changed, name):
    def never(parameters):
        raise AssertionError

    before = tuned(trials=3, storage=journal, about={"robot": "ur5"})
    with refuses(name):
        tuned(never, trials=3, storage=journal, **({"about": {"robot": "ur5"}} | changed))
    assert tuned(trials=3, storage=journal, about={"robot": "ur5"}).table() == before.table()
    assert tuned(trials=2, storage=journal, name="another", **changed).rows


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"trials": 0}, "trials"),
        ({"trials": 2.5}, "trials"),
        ({"seed": -1}, "seed"),
        ({"lag": 0}, "lag"),
        ({"goals": ()}, "goals"),
        ({"goals": (Goal("a"), Goal("a"))}, "goals"),
        ({"goals": (Goal("a", "smaller"),)}, "direction"),
        ({"first": [{"x": 1.0}]}, "first"),
        ({"first": [{"x": 9.0, "y": 1.0}]}, "x"),
        ({"sampler": "grid"}, "sampler"),
        ({"workers": -1}, "workers"),
        ({"workers": 2, "scheduler": "tcp://127.0.0.1:1"}, "scheduler"),
        ({"storage": "redis://here"}, "storage"),
        ({"storage": "journal://"}, "storage"),
        ({"storage": "journal:///nowhere/at/all"}, "file"),
    ],
)
def test_what_can_t_be_searched_is_refused_before_the_first_trial(arguments, name):
    def never(parameters):
        raise AssertionError

    with refuses(name):
        tuned(never, **arguments)


@pytest.mark.parametrize(
    "space", [{}, {"x": (1.0, 1.0)}, {"x": Range(0.0, 1.0, log=True)}, {"x": (0.0, float("inf"))}]
)
def test_a_space_without_room_is_refused(space):
    with pytest.raises(ConfigError):
        tune(lambda parameters: 0.0, space, 3)
