"""``python -m evidence``: each option of its programs refuses what it can't use,
at once, in one line.
"""

import os
import re
from pathlib import Path

import pytest
from command_lines import cases, exit_status

from evidence.__main__ import PROGRAMS, command_parser, main

ROOT = Path(__file__).resolve().parents[2]
NEEDED = {"reproduce": ["planar"], "faults": ["--list"]}
PARSERS = command_parser().subcommands()
TEXTS = [
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "evidence").rglob("*.md"),
    ROOT / "README.md",
    ROOT / "Makefile",
]
COMMAND = re.compile(r"python -m evidence ((?:[a-z-]+ ?)[^`\n|{…#\"]*)")


@pytest.mark.starts("a thread that draws the progress, before a program looks at its file")
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_option_refuses_a_wrong_value_in_one_line(name, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    for option in cases(PARSERS[name]):
        status = exit_status(main, [name, *NEEDED.get(name, []), *option])
        shown = capsys.readouterr()
        assert status == 2, option
        assert shown.err.startswith(("evidence: ", "python -m evidence ")), option
        assert shown.err.count("\n") == 1, option


def test_each_program_in_a_text_exists_and_has_its_options():
    lines = [
        line.strip() for path in TEXTS for line in COMMAND.findall(path.read_text(encoding="utf-8"))
    ]
    assert len(lines) > 10
    for line in lines:
        name, *words = line.split()
        assert name in PROGRAMS, line
        known = {option for action in PARSERS[name].actions() for option in action.option_strings}
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known, line


def test_the_page_of_evidence_has_each_program_once():
    page = (ROOT / "evidence" / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)) == sorted(PROGRAMS)
