"""What a reproduction is made of: rows that pass or fail, files, the page, the exit status."""

import csv
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from evidence import reproduce as package
from evidence.__main__ import main
from evidence.options import FIGURES
from evidence.reproduce import CASES, Result, Row, reproduce
from evidence.row import CALCULATED, PRINTED

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "evidence" / "reproduce" / "README.md"
pytestmark = pytest.mark.starts("a thread draws the progress")


@pytest.fixture
def fake(monkeypatch):
    """Stands in for the cases: one good row, one that is made bad, a figure and a series."""

    def install(measured):
        from matplotlib.figure import Figure

        def draw():
            figure = Figure()
            figure.subplots().plot([0, 1])
            return figure

        def run_case(name, tell):
            rows = [
                Row.near("good", 1.0, 1.0, 0.1, "mm", PRINTED),
                Row.at_most("other | one", measured, 2.0, "", CALCULATED),
            ]
            series = {"path": {"t": np.arange(3.0), "x": np.ones(3)}}
            return Result(
                f"title of {name}", "what it is", rows, ["a finding"], {"error": draw}, series
            )

        monkeypatch.setattr(package, "run_case", run_case)

    return install


@pytest.mark.parametrize(("measured", "status"), [(1.0, 0), (3.0, 1), (math.nan, 1)])
def test_a_row_out_of_its_bounds_makes_the_exit_status_1(fake, tmp_path, capsys, measured, status):
    fake(measured)
    assert reproduce(["planar"], tmp_path / "out") == status
    said = capsys.readouterr().out
    assert ("FAILS" in said) is bool(status)
    assert "a finding" in said
    for name in ("planar.csv", "planar_path.csv", "planar_error.png"):
        assert (tmp_path / "out" / name).stat().st_size > 0


def test_the_csv_file_holds_every_row(fake, tmp_path):
    fake(3.0)
    reproduce(["planar"], tmp_path)
    with (tmp_path / "planar.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == ["good", "other | one"]
    assert [row["verdict"] for row in rows] == ["holds", "FAILS"]
    assert float(rows[1]["measured"]) == 3.0
    assert np.loadtxt(tmp_path / "planar_path.csv", delimiter=",", skiprows=1).tolist() == [
        [0, 1],
        [1, 1],
        [2, 1],
    ]


def test_the_page_has_every_row_and_its_pictures_exist(fake, tmp_path):
    fake(3.0)
    page = tmp_path / "docs" / "report.md"
    page.parent.mkdir()
    assert main(["reproduce", "all", "--output", str(tmp_path / "out"), "--page", str(page)]) == 1
    text = page.read_text(encoding="utf-8")
    for name in CASES:
        assert f"## {name}: title of {name}" in text
        assert f"({FIGURES}/{name}_error.png)" in text
        assert (page.parent / FIGURES / f"{name}_error.png").is_file()
    assert text.count(f"| good [mm] | 1 | 1 ± 0.1 | {PRINTED} | holds |") == len(CASES)
    assert text.count(f"| other \\| one | 3 | <= 2 | {CALCULATED} | FAILS |") == len(CASES)


def test_an_unknown_case_is_refused_with_the_valid_ones(capsys):
    with pytest.raises(SystemExit):
        main(["reproduce", "nonsense"])
    assert ", ".join(CASES) in capsys.readouterr().err


def test_the_page_in_the_repository_has_every_case_and_nothing_failed():
    text = PAGE.read_text(encoding="utf-8")
    assert text.startswith(package.PAGE_HEAD)
    assert f"--page {PAGE.relative_to(ROOT)}\n" in text
    assert [line.split(":")[0] for line in text.splitlines() if line.startswith("## ")] == [
        f"## {n}" for n in CASES
    ]
    assert "| FAILS |" not in text
    for line in text.splitlines():
        if line.startswith("!["):
            assert (PAGE.parent / line.split("(")[1].rstrip(")")).is_file(), line


def test_without_matplotlib_the_tables_and_numbers_are_there(fake, monkeypatch, tmp_path, capsys):
    fake(1.0)
    monkeypatch.setattr(package, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["reproduce", "planar", "--output", str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["planar.csv", "planar_path.csv"]
    assert "matplotlib" in capsys.readouterr().out


def test_a_page_without_matplotlib_is_refused_before_anything_runs(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    page = tmp_path / "page.md"
    assert (
        main(["reproduce", "planar", "--output", str(tmp_path / "out"), "--page", str(page)]) == 2
    )
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
