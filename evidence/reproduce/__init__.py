"""The experiments that the laws come from, run again: one module per source."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from robot_control_ros.cli.progress import Progress
from robot_control_ros.core.output_files import write_text
from robot_control_ros.simulation.log import figure_class

from ..options import FIGURES
from ..row import Row, markdown_table, summary, text_table
from .case import Result, Tell, tell_nobody

CASES = ("joint_pid", "admittance", "task_space_pd", "position_domain", "planar")

__all__ = ["CASES", "Result", "Row", "reproduce", "run_case"]


def run_case(name: str, tell: Tell = tell_nobody) -> Result:
    """The experiments of one source, of CASES; `tell` takes the part that is done."""
    result: Result = import_module(f"{__name__}.{name}_case").run(tell)
    return result


def reproduce(names: Sequence[str], output: Path, page: Path | None = None) -> int:
    """Run the experiments, print the tables and write CSV files, and figures where matplotlib is
    installed.

    Args:
        names: Names of sources, of CASES.
        output: Folder for the files.
        page: Markdown page to write as well, with its pictures in the folder FIGURES beside it.

    Returns:
        The exit status: 1 where a row is out of its bounds.

    Raises:
        ConfigError: a page is asked for, whose figures need matplotlib, which is not installed.
    """
    can_draw = find_spec("matplotlib") is not None
    if page is not None:
        figure_class()  # refuses now what could not be drawn in the end
    failed = 0
    sections = []
    with Progress("reproduce", 100.0 * len(names), "%", beats=True) as shown:
        for index, name in enumerate(names):
            result = run_case(name, _teller(shown, index, name))
            failed += len(result.failed)
            files = result.write(output, name)
            if can_draw:
                files += result.draw(output, name)
            shown.print(
                f"{name}: {result.title}",
                *text_table(result.rows),
                *(f"  note: {note}" for note in result.notes),
                f"  {summary(result.rows)}; files: {', '.join(map(str, files))}\n",
            )
            if page is not None:
                sections.append(_section(name, result, page))
    if not can_draw:
        print("The figures were not drawn: matplotlib is not installed (pip install matplotlib)")
    if page is not None:
        write_text(page, "\n".join([PAGE_HEAD, *sections]), ".md")
        print(page)
    return 1 if failed else 0


def _teller(shown: Progress, index: int, name: str) -> Tell:
    """Function that shows the part of a source that is done, after `index` other sources."""
    return lambda part: shown.show(100.0 * (index + part), name)


PAGE_HEAD = """# Reproduction

This page is for you if you ask whether the laws do what their sources say. After it you can repeat each figure.

The experiments that the laws come from, run again with the laws of this package. Made by

    python -m evidence reproduce all --page evidence/reproduce/README.md

A row holds if the measured figure is within its bound. If one fails, `python -m evidence reproduce` ends with exit
status 1. `python -m evidence reproduce <name>` runs one of the experiments.

| where the bound comes from | |
|---|---|
| printed in the source | The source prints this number. |
| follows from the source's code | The source prints no such number. Its own code gives exactly this one. |
| our calculation | A formula or a program of ours gives it, apart from the law that is measured. |
| our requirement | The source says nothing. We ask for it, in the file that is named. |

The sources of `task_space_pd` and `position_domain` print no figure. We computed all of theirs.

A row with the verdict `far below its bound` has less than a tenth of it. There the bound says little: the
figure isn't met, but far undercut.
"""


def _section(name: str, result: Result, page: Path) -> str:
    pictures = result.draw(page.parent / FIGURES, name)
    lines = [f"## {name}: {result.title}", "", result.source, "", *markdown_table(result.rows), ""]
    for note in result.notes:
        lines += [note, ""]
    for path in pictures:
        lines += [f"![{path.stem.replace('_', ' ')}]({FIGURES}/{path.name})", ""]
    return "\n".join(lines)
