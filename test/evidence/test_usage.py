"""What the soak judges."""

import mmap
import os

import pytest

from evidence.row import exit_status, failed
from evidence.soak.usage import (
    MAX_GROWTH,
    SETTLED,
    Missed,
    Usage,
    growth,
    missed_share,
    soak_rows,
    usage_of,
)

MINUTES = 30


def usages(per_minute=0.0, start=50.0):
    """Of half an hour: the memory grows by so many MB a minute."""
    return [Usage(12.0 * k, start + 0.2 * k * per_minute, 9, 4) for k in range(5 * MINUTES + 1)]


def test_growth_counts_from_the_tenth_minute_on():
    early = [Usage(each.time, min(each.time, SETTLED), 9, 4) for each in usages()]
    assert growth(early) == pytest.approx(0.0)
    assert growth(usages(0.5)) == pytest.approx(0.5 * 18.0, abs=0.3)


def test_a_process_that_begins_late_has_ten_minutes_to_settle_too():
    late = [
        Usage(each.time + 1700.0, each.memory, 9, 4) for each in usages(5.0) if each.time < SETTLED
    ]
    assert growth(late) is None
    assert growth([Usage(each.time + 1700.0, each.memory, 9, 4) for each in usages(0.5)]) == growth(
        usages(0.5)
    )


def test_a_process_that_grows_by_five_megabytes_fails_and_one_that_does_not_passes():
    counts = [Missed(0.0, 0, 0), Missed(1800.0, 900_000, 100)]
    assert failed(soak_rows({"page": usages(0.2)}, counts)) == []
    (row,) = failed(
        soak_rows({"page": usages(0.2), "controller": usages(MAX_GROWTH / 15.0)}, counts)
    )
    assert row.name.startswith("controller")
    assert row.measured > row.high == MAX_GROWTH


def test_a_process_that_ran_for_less_than_ten_minutes_is_not_judged():
    young = [each for each in usages(5.0) if each.time < SETTLED]
    counts = [Missed(0.0, 0, 0), Missed(500.0, 250_000, 0)]
    assert [row.unit for row in soak_rows({"page": young}, counts)] == ["%"]


@pytest.mark.parametrize(("missed", "fails"), [(899, False), (901, True)])
def test_one_joint_state_in_a_thousand_may_not_be_missed(missed, fails):
    counts = [Missed(0.0, 10, 5000), Missed(1800.0, 10 + 900_000 - missed, 5000 + missed)]
    assert exit_status(soak_rows({}, counts)) == int(fails)
    assert missed_share(counts) == pytest.approx(missed / 900_000)


def test_a_process_says_what_it_takes():
    before = usage_of(os.getpid(), 1.0)
    held = mmap.mmap(-1, 30_000_000)  # pages that the process hasn't had
    held[:] = bytes(len(held))
    with open(os.devnull, "rb"):
        after = usage_of(os.getpid(), 2.0)
    assert after.memory - before.memory > 0.9 * len(held) / 1e6
    assert after.handles == before.handles + 1
    assert after.threads == before.threads >= 1
    held.close()
