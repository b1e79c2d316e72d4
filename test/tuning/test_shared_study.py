"""Attempts at trials: nobody's is lost, none counts twice."""

import pytest
from optuna.distributions import FloatDistribution

pytest.importorskip("optuna")

from tuned_functions import GOALS, SPACE

from robot_control_ros.tuning.shared_study import SharedStudy
from robot_control_ros.tuning.storage import open_storage

DISTRIBUTIONS = {
    name: FloatDistribution(each.lower, each.upper, log=each.log) for name, each in SPACE.items()
}
PARAMETERS = {"x": 1.0, "y": 2.0}


@pytest.fixture(params=["memory", "journal", "sqlite"])
def storage(request, tmp_path):
    urls = {
        "memory": None,
        "journal": f"journal://{tmp_path}/a.journal",
        "sqlite": f"sqlite:///{tmp_path}/a.db",
    }
    return open_storage(urls[request.param])


@pytest.fixture
def study(storage):
    return study_in(storage)


def study_in(storage, **settings):
    return SharedStudy(storage, "here", "tuning", GOALS, {"robot": "ur5"}, print, **settings)


def begin(study, index=None):
    claim, _ = study.claim(index)
    return claim


def end(study, claim, values=(1.0, 2.0), reason=""):
    study.end(
        claim,
        PARAMETERS,
        DISTRIBUTIONS,
        values,
        remembered={},
        reason=reason,
        details={},
        seconds=0.1,
        worker="me",
    )


def test_new_attempts_are_numbered_from_0_on(study):
    assert [begin(study).index for _ in range(3)] == [0, 1, 2]


def test_what_is_given_up_is_lost_until_it_is_claimed_again(study):
    first = begin(study)
    second = begin(study)
    study.give_up(first)
    assert study.read().lost(2) == 0
    again = begin(study, 0)
    assert again.index == 0
    assert study.read().lost(2) is None
    assert begin(study).index == 2
    end(study, again)
    end(study, second)
    assert study.read().number_ended(3) == 2
    assert [row.index for row in study.read().tuned(GOALS).rows] == [0, 1]


def test_of_two_attempts_at_a_lost_trial_the_second_gives_way(study):
    study.give_up(begin(study))
    kept = begin(study, 0)
    assert begin(study, 0) is None
    end(study, kept, (3.0, 4.0))
    assert begin(study, 0) is None
    assert [row.values for row in study.read().tuned(GOALS).rows] == [(3.0, 4.0)]


def test_a_failed_trial_has_ended_with_its_reason(study):
    end(study, begin(study), (), "it fell")
    (row,) = study.read().tuned(GOALS).rows
    assert (row.values, row.reason) == ((), "it fell")
    assert study.read().lost(1) is None


def test_a_result_that_comes_after_its_trial_was_taken_for_lost_harms_nobody(study):
    late = begin(study)
    study.give_up(late)
    again = begin(study, 0)
    end(study, late, (9.0, 9.0))
    end(study, again, (1.0, 2.0))
    assert [row.values for row in study.read().tuned(GOALS).rows] == [(1.0, 2.0)]


def test_who_gives_no_sign_of_life_is_taken_for_gone(storage, monkeypatch):
    """The other machine is this one, under another name; time goes on where the test says so."""
    now = [0.0]
    module = "robot_control_ros.tuning.shared_study"
    other = study_in(storage)
    monkeypatch.setattr(f"{module}.time.monotonic", lambda: now[0])
    claim = begin(other)
    study = study_of_another_machine(storage, monkeypatch)
    assert study.read().lost(1) is None
    now[0] = 50.0
    assert study.read().lost(1) is None
    other.beat()
    now[0] = 100.0
    assert study.read().lost(1) is None
    now[0] = 161.0
    assert study.read().lost(1) == 0
    end(other, claim)
    assert study.read().lost(1) == 0


def study_of_another_machine(storage, monkeypatch):
    real = SharedStudy
    monkeypatch.setattr(
        "robot_control_ros.tuning.shared_study.os.readlink", lambda path: "pid:[another]"
    )
    return real(storage, "here", "tuning", GOALS, {"robot": "ur5"}, print)
