"""A row of evidence: its bounds, its verdict, and the tables that show it."""

import csv
import io
import math
from dataclasses import FrozenInstanceError, replace

import pytest

from evidence.row import (
    CALCULATED,
    FAR,
    FOLLOWS,
    HEAD,
    PRINTED,
    Row,
    Verdict,
    csv_lines,
    exit_status,
    failed,
    markdown_table,
    required,
    summary,
    text_table,
)

REQUIRED = required("docs/a_page.md")
GOOD = Row.near("good", 1.0, 1.0, 0.1, "mm", PRINTED)
BAD = Row.at_most("other | one", 3.0, 2.0, "", REQUIRED)


@pytest.mark.parametrize(
    ("row", "verdict", "bound"),
    [
        (Row.near("a", 1.04, 1.0, 0.05, "", FOLLOWS), Verdict.HOLDS, "1 ± 0.05"),
        (Row.near("a", 1.06, 1.0, 0.05, "", FOLLOWS), Verdict.FAILS, "1 ± 0.05"),
        (Row.near("a", math.nan, 1.0, 0.05, "", FOLLOWS), Verdict.FAILS, "1 ± 0.05"),
        (Row.near("a", 0.0, 0.0, 0.0, "", FOLLOWS), Verdict.HOLDS, "0 ± 0"),
        (Row("a", 1.5, 1.0, 2.0, origin=FOLLOWS), Verdict.HOLDS, "1 … 2"),
        (Row.at_most("a", 2.0, 2.0, "", REQUIRED), Verdict.HOLDS, "<= 2"),
        (Row.at_most("a", 2.0001, 2.0, "", REQUIRED), Verdict.FAILS, "<= 2"),
        (Row.at_most("a", math.nan, 2.0, "", REQUIRED), Verdict.FAILS, "<= 2"),
        (Row.at_most("a", math.inf, 2.0, "", REQUIRED), Verdict.FAILS, "<= 2"),
        (Row.at_most("a", 0.0, 0.0, "", REQUIRED), Verdict.HOLDS, "<= 0"),
        (Row.at_most("a", 0.019, 0.696, "mm", CALCULATED), Verdict.FAR_BELOW, "<= 0.696"),
        (Row.at_most("a", -1.0, 2.0, "", CALCULATED), Verdict.FAR_BELOW, "<= 2"),
        (Row.at_most("a", FAR * 2.0, 2.0, "", CALCULATED), Verdict.HOLDS, "<= 2"),
        (Row.at_least("a", 1.0, 2.0, "", REQUIRED), Verdict.FAILS, ">= 2"),
        (Row.at_least("a", math.inf, 2.0, "", REQUIRED), Verdict.HOLDS, ">= 2"),
        (Row.report("a", -1e9), Verdict.HOLDS, "reported"),
        (Row.report("a", math.inf), Verdict.FAILS, "reported"),
        (Row.report("a", math.nan), Verdict.FAILS, "reported"),
    ],
)
def test_a_row_holds_within_its_bounds_only_and_says_where_it_is_far_below(row, verdict, bound):
    assert row.verdict is verdict
    assert row.bound == bound
    assert row.within is row.holds is (verdict is not Verdict.FAILS)


def test_an_excuse_makes_a_value_beyond_its_bound_no_failure_and_is_shown():
    excused = replace(BAD, excuse="friction")
    assert excused.verdict is Verdict.EXCUSED
    assert excused.holds
    assert not excused.within
    assert "friction" in excused.cells()[-1]
    assert replace(excused, measured=2.0).verdict is Verdict.HOLDS
    assert "friction" not in replace(excused, measured=2.0).cells()[-1]


def test_a_row_is_frozen():
    with pytest.raises(FrozenInstanceError):
        GOOD.measured = 2.0


@pytest.mark.parametrize(("rows", "status"), [((), 0), ((GOOD,), 0), ((GOOD, BAD), 1)])
def test_the_exit_status_is_1_where_a_row_fails(rows, status):
    assert exit_status(rows) == status
    assert failed(rows) == [BAD] * status
    assert summary(rows).startswith(f"{len(rows)} rows")


def test_a_text_table_has_a_line_for_each_row_in_the_columns_of_its_head():
    head, good, bad = text_table([GOOD, BAD])
    for title in HEAD[1:]:
        assert title in head
    for text in ("good [mm]", "1 ± 0.1", str(PRINTED), Verdict.HOLDS.value):
        assert text in good
    assert good.index(str(PRINTED)) == bad.index(str(REQUIRED)) == head.index(HEAD[3])
    assert bad.endswith(Verdict.FAILS.value)
    assert list(text_table([GOOD], head=False)) == [good]


def test_a_markdown_table_has_a_cell_for_each_column_and_hides_bars_in_names():
    lines = list(markdown_table([GOOD, BAD]))
    assert [line.replace("\\|", "").count("|") for line in lines] == [len(HEAD) + 1] * 4
    assert lines[2] == f"| good [mm] | 1 | 1 ± 0.1 | {PRINTED} | holds |"
    assert lines[3].startswith("| other \\| one | 3 | <= 2 |")


def test_a_csv_file_holds_every_field():
    file = io.StringIO()
    csv.writer(file).writerows(csv_lines([GOOD, BAD]))
    good, bad = csv.DictReader(io.StringIO(file.getvalue()))
    assert (good["name"], good["unit"], good["verdict"]) == ("good", "mm", "holds")
    assert [float(good[each]) for each in ("measured", "low", "high")] == [1.0, 0.9, 1.1]
    assert float(bad["low"]) == -math.inf
    assert bad["origin"] == str(REQUIRED)
