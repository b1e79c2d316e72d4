"""The command line: each option refuses what it can't use, at once, in one line; each
command in a hint exists.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from command_lines import UNUSABLE, cases, exit_status, parsers

from evidence.__main__ import PROGRAMS
from evidence.__main__ import command_parser as evidence_parser
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
# Programs of evidence by their names; those that need a library that is missing are left out.
PROGRAM_PARSERS = {
    name: parser
    for name, parser in evidence_parser().subcommands().items()
    if name not in ("contour", "ethercat-faults") or find_spec("pysoem")
}
HELPED = {
    **{f"robot_control {line}": parser for line, parser in COMMANDS.items()},
    **{f"python -m evidence {line}": parser for line, parser in PROGRAM_PARSERS.items()},
}
# A help text that begins with one of these leans on the name of its option.
LEANING = {
    *("of", "for", "that", "which", "whose", "to", "on", "in", "with", "by", "from", "at"),
    *("after", "before", "instead:", "what", "where", "when", "such", "as", "be"),
}

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


@pytest.mark.parametrize("line", HELPED)
def test_the_help_of_each_command_has_a_sentence_and_examples_that_are_taken(
    line, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    parser = HELPED[line].filled()
    first, _, _ = parser.description.partition(". ")
    assert first[0].isupper(), parser.description
    assert parser.description.endswith(".")
    assert len(first.split()) > 3
    title, *examples = parser.epilog.splitlines()
    assert title in ("Example:", "Examples:")
    assert (title == "Example:") is (len(examples) == 1)
    main_parser = command_parser() if line.startswith("robot_control") else evidence_parser()
    for example in examples:
        assert example.strip().startswith(line)
        words = shlex.split(example, comments=True)[len(main_parser.prog.split()) :]
        main_parser.parse_args(words)  # ends the process where one isn't taken


@pytest.mark.parametrize("line", HELPED)
def test_no_help_of_an_option_is_a_fragment(line):
    for action in HELPED[line].actions():
        words = (action.help or "").split()
        assert words, (line, action.dest)
        assert words[0] not in LEANING, (line, action.dest, action.help)
        assert words[0][0].isalnum(), (line, action.dest, action.help)


def test_one_name_is_one_kind_of_option():
    kinds = {}
    for line, parser in HELPED.items():
        for action in parser.actions():
            for name in action.option_strings:
                if action.nargs != 0:  # no switch
                    kinds.setdefault(name, {}).setdefault(action.metavar, []).append(line)
    several = {name: found for name, found in kinds.items() if len(found) > 1}
    # a folder for several files, or one file
    assert set(several.pop("--output")) == {"FOLDER", "FILE"}
    # evidence computes them by a profile
    assert set(several.pop("--gains")) == {"FILE", "PROFILE"}
    assert several == {}
    assert "--out" not in kinds


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["identify", "--out", "arm.yaml"], "--output"),
        (["identify", "--out"], "--output"),
        (["tune", "ur5", "--arm", "mine.yaml"], "--imperfections"),
    ],
)
def test_a_renamed_option_is_refused_with_its_new_name(words, name, capsys):
    assert exit_status(main, words) == 2
    said = capsys.readouterr()
    assert name in said.err.split()
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["simulat"], "simulate"),
        (["ethercat", "sacn"], "scan"),
        (["simulate", "--roboot", "ur5"], "--robot"),
        (["list", "robot"], "robots"),
        (["simulate", "--law", "impedence"], "impedance"),
        (["simulate", "--robot", "ur55"], "ur5"),
        (["tune", "ur5", "exprot"], "export"),
        (["docs", "--entries", "robots"], "robot"),
    ],
)
def test_a_name_that_is_nearly_right_gets_the_right_one(words, meant, capsys):
    assert exit_status(main, words) == 2
    said = capsys.readouterr()
    assert f"did you mean {meant}?" in said.err
    assert said.err.count("\n") == 1


@pytest.mark.sim
def test_a_gain_that_is_nearly_right_gets_the_right_one(capsys):
    pytest.importorskip("mujoco")
    assert main(["simulate", "--set", "stifness=400"]) == 2
    assert "did you mean stiffness?" in capsys.readouterr().err


def test_a_name_that_is_like_none_gets_none(capsys):
    assert exit_status(main, ["zzz"]) == 2
    assert "did you mean" not in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["ethercat"], ["can"]])
def test_without_a_command_the_list_is_printed(words, capsys):
    assert main(words) == 0
    said = capsys.readouterr()
    assert said.err == ""
    parser = command_parser()
    for word in words:
        parser = parser.subcommands()[word]
    assert parser.subcommands()
    for name in parser.subcommands():
        assert re.search(rf"^  +{name}\b", said.out, re.MULTILINE)


@pytest.mark.parametrize("text", ["-1e-3", "-.5", "-0.2", "-3", "-1.5E+2"])
def test_a_negative_number_is_a_number_and_no_option(text):
    options = command_parser().parse_args(["move", "--by", text, "0", "0"])
    assert options.values == [float(text), 0.0, 0.0]


def test_a_gain_without_a_value_is_refused_before_a_robot_is_looked_for(capsys):
    assert exit_status(main, ["set", "stiffness"]) == 2
    assert "GAIN=VALUE" in capsys.readouterr().err


def test_an_unknown_option_is_refused_by_its_own_command(capsys):
    assert exit_status(main, ["simulate", "--frobnicate"]) == 2
    assert capsys.readouterr().err.startswith("robot_control simulate: ")


def test_a_hidden_option_is_in_no_help():
    for line, parser in HELPED.items():
        shown = parser.filled().format_help()
        assert argparse.SUPPRESS not in shown, line
