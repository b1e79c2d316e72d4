"""The command line: each option refuses what it can't use, at once, in one line; each command in a hint exists."""

import itertools
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from robot_control_ros.cli.main import command_parser, main

ROOT = Path(__file__).resolve().parents[2]
FREE = {
    "--prefix": "any text",
    "--browser": "a program",
    "--browsers": "only with --page",
    "--controller": "asked for by name",
    "--namespace": "the same",
}  # what nothing can be wrong with before it runs
OUTSIDE = "ethercat emulate"  # its socket belongs to the emulator
NEEDED = {
    "init-robot": [str(ROOT / "urdf/planar_two_link/planar_two_link.urdf")],
    "identify": ["--simulated", "like_ur5e", "--yes"],
    "set": ["stiffness=1"],
    "law": ["impedance"],
    "move": ["0", "0", "0"],
    "ethercat emulate": ["--interface", "lo"],
    "ethercat scan": ["--interface", "lo"],
    "ethercat info": ["--interface", "lo"],
    "ethercat read": ["--interface", "lo", "--position", "0", "0x6041"],
    "ethercat write": ["--interface", "lo", "--position", "0", "--type", "u16", "0x6041", "1"],
    "ethercat icube": ["--output", "made"],
}
NAMES = ("--robot", "--law", "--scene", "--topology", "--profile", "--entries", "--interface", "--host", "--callback")
NAMES += (
    "--gains",
    "--set",
    "--base",
    "--tip",
    "--measured",
    "--imperfections",
    "--simulated",
    "--joints",
    "--workcell",
    "--gripper",
)
FILES = ("--csv", "--out", "--plot", "--json", "--page", "--output", "--schemas", "--faults")
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


TEXTS = [*(ROOT / "robot_control_ros").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
COMMAND = re.compile(r"(?:`|^|Next: |ARGS=)robot_control ((?:[a-z-]+ ?)[^`\n|{…#\"]*)", re.MULTILINE)


def commands_in_texts():
    """Each `robot_control …` of the package's texts, with its file."""
    return [(path.name, line.strip()) for path in TEXTS for line in COMMAND.findall(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(("file", "line"), sorted(set(commands_in_texts())))
def test_each_command_in_a_text_has_a_parser_and_its_options(file, line):
    parser, words = command_parser(), line.split()
    while words and words[0] in parser.subcommands():
        parser = parser.subcommands()[words.pop(0)]
    assert parser.prog != "robot_control", line
    options = {option for action in parser.actions() for option in action.option_strings}
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= options


def test_a_reader_that_has_read_enough_is_no_error():
    command = [sys.executable, "-m", "robot_control_ros.cli", "docs"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()  # before it prints
        assert process.stderr.read() == ""


def test_each_extra_in_a_hint_is_one_of_setup_py():
    extras = set(re.findall(r'^        "(\w+)": \[', (ROOT / "setup.py").read_text(), re.MULTILINE))
    text = "".join(path.read_text(encoding="utf-8") for path in TEXTS)
    named = re.findall(r"pip install '\.\[([\w,]+)\]'", text) + re.findall(r'missing_extra\(.*"([\w,]+)"\)', text)
    assert len(named) > 5
    assert {name for names in named for name in names.split(",")} <= extras


def test_reproduce_without_matplotlib_is_refused_before_it_runs(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["reproduce", "admittance", "--output", str(tmp_path / "out")]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1


@pytest.mark.sim
@pytest.mark.parametrize("arguments", [["--circle", "5"], ["--push", "1", "0", "0", "--push-from", "10"]])
def test_what_a_simulation_could_never_do_is_refused(arguments, capsys):
    pytest.importorskip("mujoco")
    assert main(["simulate", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1


def test_a_gripper_for_a_whole_work_cell_is_refused(capsys):
    assert main(["demo", "--workcell", "two_ur5e", "--gripper", "robotiq_2f85"]) == 2
    shown = capsys.readouterr()
    assert "robotiq_2f85" in shown.err
    assert shown.err.count("\n") == 1


CASES = [
    pytest.param(line, [*action.option_strings[:1], *values], id=f"{line} {action.option_strings[0]} {values[0]}")
    for line, parser in COMMANDS.items()
    for action in parser.actions()
    if action.option_strings
    if not (line == OUTSIDE and action.option_strings[0] == "--faults")
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


@pytest.mark.long
@pytest.mark.parametrize(("line", "option"), CASES)
def test_a_wrong_value_is_refused_by_the_program_within_two_seconds(line, option, tmp_path):
    """Of processor time, with all that Python loads; other work on the machine doesn't count."""
    command = [sys.executable, "-m", "robot_control_ros.cli", *line.split(), *NEEDED.get(line, []), *option]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        said = process.stdout.read(), process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 2
    assert said[0] == b""
    assert said[1].count(b"\n") == 1
    assert used.ru_utime + used.ru_stime <= 2.0


@pytest.mark.sim
@pytest.mark.parametrize("command", ["planar", "joint"])
def test_a_page_says_a_taken_port_and_takes_the_next_free_one(command, tmp_path):
    pytest.importorskip("viser")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        line = [sys.executable, "-m", "robot_control_ros.cli", command, "--port", str(port)]
        with subprocess.Popen(line, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as page:
            try:
                said = list(itertools.takewhile(lambda text: "http://" not in text, iter(page.stdout.readline, "")))
                assert any(str(port) in text for text in said), said
            finally:
                page.terminate()


@pytest.mark.parametrize("command", ["joint", "planar", "demo"])
def test_every_page_takes_host_port_and_open(command):
    options = command_parser().parse_args([command, "--host", "127.0.0.2", "--port", "9000", "--open"])
    assert (options.host, options.port, options.open) == ("127.0.0.2", 9000, True)


def test_open_gives_the_browser_the_address_with_its_token(monkeypatch):
    pytest.importorskip("viser")
    from robot_control_ros.dashboard.planar.planar_page import PlanarPage

    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    page = PlanarPage("127.0.0.1", 18734)
    try:
        page.show_in_browser()
        assert opened == [page.address]
        assert "token=" in page.address
    finally:
        page.close()
