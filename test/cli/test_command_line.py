"""The command line: each option refuses what it can't use, at once, in one line; each
command in a hint exists.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_lines import UNUSABLE, cases, exit_status, parsers

from evidence.__main__ import PROGRAMS
from robot_control_ros.cli.main import MOVED, command_parser, main

ROOT = Path(__file__).resolve().parents[2]
# their sockets belong to the emulators
OUTSIDE = ("can emulate", "ethercat emulate")
NEEDED = {
    "init-robot": [str(ROOT / "urdf/planar_two_link/planar_two_link.urdf")],
    "new": [str(ROOT / "urdf/planar_two_link/planar_two_link.urdf")],
    "identify": ["--simulated", "like_ur5e", "--yes"],
    "tune": ["ur5"],
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

COMMANDS = parsers(command_parser())

TEXTS = [
    *(ROOT / "robot_control_ros").rglob("*.py"),
    *(ROOT / "docs").rglob("*.md"),
    ROOT / "README.md",
]
COMMAND = re.compile(
    r"(?:`|^|Next: |ARGS=)robot_control ((?:[a-z-]+ ?)[^`\n|{…#\"]*)", re.MULTILINE
)


def commands_in_texts():
    """Each `robot_control …` of the package's texts, with its file."""
    return [
        (path.name, line.strip())
        for path in TEXTS
        for line in COMMAND.findall(path.read_text(encoding="utf-8"))
    ]


def test_each_command_in_a_text_has_a_parser_and_its_options():
    options = {
        command: {option for action in parser.actions() for option in action.option_strings}
        for command, parser in {**command_parser().subcommands(), **COMMANDS}.items()
    }
    wrong = []
    for file, line in sorted(set(commands_in_texts())):
        words = line.split()
        command = next((each for each in (" ".join(words[:2]), words[0]) if each in options), None)
        used = {word.partition("=")[0] for word in words if word.startswith("--")}
        if command is None or not used <= options[command]:
            wrong.append((file, line))
    assert len(options) > 20
    assert wrong == []


@pytest.mark.starts("a program whose output nobody reads")
def test_a_reader_that_has_read_enough_is_no_error():
    command = [sys.executable, "-m", "robot_control_ros.cli", "docs"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.close()  # before it prints
        assert process.stderr.read() == ""


@pytest.mark.starts("the program refuses an option")
def test_the_program_refuses_as_its_function_does():
    command = [sys.executable, "-m", "robot_control_ros.cli", "simulate", "--robot", UNUSABLE]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)


def test_each_extra_in_a_hint_is_one_of_setup_py():
    extras = set(re.findall(r'^        "(\w+)": \[', (ROOT / "setup.py").read_text(), re.MULTILINE))
    text = "".join(path.read_text(encoding="utf-8") for path in TEXTS)
    named = re.findall(r"pip install '\.\[([\w,]+)\]'", text) + re.findall(
        r'missing_extra\(.*"([\w,]+)"\)', text
    )
    assert len(named) > 5
    assert {name for names in named for name in names.split(",")} <= extras


@pytest.mark.parametrize("moved", MOVED)
def test_a_command_that_moved_names_its_new_place(moved, capsys):
    assert main([*moved, "--robot", "ur5"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.endswith(f"python -m evidence {MOVED[moved]} --robot ur5\n")
    assert MOVED[moved] in PROGRAMS


@pytest.mark.sim
@pytest.mark.parametrize(
    "arguments", [["--circle", "5"], ["--push", "1", "0", "0", "--push-from", "10"]]
)
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


def cases_of(line):
    """Options of a command with values that they can't take."""
    skipped = ("--faults",) if line in OUTSIDE else ()
    return [case for case in cases(COMMANDS[line]) if case[0] not in skipped]


@pytest.mark.parametrize("line", [line for line in COMMANDS if cases_of(line)])
def test_every_option_refuses_a_wrong_value_in_one_line(line, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    for option in cases_of(line):
        status = exit_status(main, [*line.split(), *NEEDED.get(line, []), *option])
        shown = capsys.readouterr()
        assert status == 2, option
        assert shown.err.startswith("robot_control"), option
        assert shown.err.count("\n") == 1, option
        assert "Traceback" not in shown.err, option


@pytest.mark.parametrize("command", ["joint", "planar", "demo"])
def test_every_page_takes_host_port_and_open(command):
    options = command_parser().parse_args(
        [command, "--host", "127.0.0.2", "--port", "9000", "--open"]
    )
    assert (options.host, options.port, options.open) == ("127.0.0.2", 9000, True)
