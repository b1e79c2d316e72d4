"""The command line: each option refuses what it can't use, at once, in one line; each command in a hint exists."""

import os
from pathlib import Path

import pytest

from robot_control_ros.cli.main import command_parser, main

ROOT = Path(__file__).resolve().parents[1]
FREE = {"--browser": "a program", "--browsers": "only with --page"}  # what nothing can be wrong with before it runs
OUTSIDE = "ethercat emulate"  # its interface and its socket belong to the emulator
NEEDED = {
    "init-robot": [str(ROOT / "urdf/planar_two_link/planar_two_link.urdf")],
    "ethercat emulate": ["--interface", "lo"],
    "ethercat scan": ["--interface", "lo"],
    "ethercat info": ["--interface", "lo"],
    "ethercat read": ["--interface", "lo", "--position", "0", "0x6041"],
    "ethercat write": ["--interface", "lo", "--position", "0", "--type", "u16", "0x6041", "1"],
    "ethercat icube": ["--output", "made"],
}
NAMES = ("--robot", "--law", "--scene", "--topology", "--profile", "--entries", "--interface", "--host", "--callback")
NAMES += ("--gains", "--set", "--base", "--tip")
FILES = ("--csv", "--plot", "--json", "--page", "--output", "--schemas", "--faults")
UNUSABLE = "nonsense.invalid"


def parsers(parser, words=()):
    """Every command that runs something, by its words."""
    below = parser.subcommands()
    if not below:
        return {" ".join(words): parser}
    return {line: each for name in below for line, each in parsers(below[name], (*words, name)).items()}


COMMANDS = parsers(command_parser())


def wrong_values(action):
    """Values that an option can't take; none for a switch."""
    if action.nargs == 0 or not action.option_strings or action.option_strings[0] in FREE:
        return []
    name = action.option_strings[0]
    if name in FILES:
        return [[f"{__file__}/a.xyz"]]
    if action.type is None and not action.choices and name not in NAMES and name != "--type":
        raise AssertionError(f"{name}: say here what is wrong for it")
    values = [UNUSABLE] if action.type is None else [UNUSABLE, "nan", "-1e9"]
    return [[value] * (action.nargs if isinstance(action.nargs, int) else 1) for value in values]


CASES = [
    pytest.param(line, [*action.option_strings[:1], *values], id=f"{line} {action.option_strings[0]} {values[0]}")
    for line, parser in COMMANDS.items()
    for action in parser.actions()
    if action.option_strings
    if not (line == OUTSIDE and action.option_strings[0] in ("--interface", "--faults"))
    for values in wrong_values(action)
]


def run(arguments):
    try:
        return main(arguments)
    except SystemExit as end:
        return end.code


@pytest.mark.parametrize(("line", "option"), CASES)
def test_every_option_refuses_a_wrong_value_in_one_line(line, option, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    assert run([*line.split(), *NEEDED.get(line, []), *option]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("robot_control")
    assert shown.err.count("\n") == 1
    assert "Traceback" not in shown.err
