"""The command `ethercat-emulator`, and what the emulator's README says: every
example runs as written.
"""

import re

import pytest
from ethercat_emulator_readme import README, blocks
from ethercat_emulator_support import MS, Master

from ethercat_emulator import DriveSettings, FaultChannelError, Load, Motor, NetworkError
from ethercat_emulator.program import drives_on_a_bus, main


@pytest.fixture
def shown_help(capsys) -> str:
    with pytest.raises(SystemExit):
        main(["--help"])
    return capsys.readouterr().out


def test_help_names_every_option_and_default(shown_help):
    assert "CiA 402 drives, for any master" in shown_help
    for words in (
        "--interface NAME",
        "--pair NAME",
        "--drives N",
        "--faults SOCKET",
        "--inject LINE",
        "(default: 1)",
    ):
        assert words in shown_help


def test_options_of_the_readme_are_the_commands(shown_help):
    used = set(
        re.findall(r"(?<=\s)--[a-z-]+", " ".join(re.findall(r"ethercat-emulator( .*)", README)))
    )
    assert {"--pair", "--interface", "--drives", "--faults", "--inject", "--help"} <= used
    assert {
        option for option in used if f"{option} " not in shown_help and option != "--help"
    } == set()


def test_equal_drives_go_to_op_and_terminals_follow_them():
    settings = DriveSettings(motor=Motor(gear=50.0, inertia=0.2))
    bus = drives_on_a_bus(3, settings, Load(inertia=0.2), terminals=True)
    master = Master(bus)
    master.to_op(slaves=3)
    assert [slave.sii.identity.serial for slave in bus.slaves[:3]] == [1, 2, 3]
    assert [slave.sii.name for slave in bus.slaves[3:]] == ["Emulated inputs", "Emulated outputs"]
    master.wait(MS)
    assert [drive.settings for drive in bus.machine.drives] == [settings] * 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--interface is needed"),
        (("--inject", "help"), "--inject needs --faults SOCKET"),
        (("--interface", "lo", "--drives", "0"), "0: must be at least 1"),
        (("--interface", "lo", "--priority", "100"), "invalid choice: 100"),
    ],
)
def test_wrong_options_are_refused(arguments, message, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert message in capsys.readouterr().err


def test_an_unknown_interface_is_named_with_those_that_exist(capsys):
    assert main(["--interface", "nowhere0"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("ethercat-emulator: no network interface 'nowhere0'; interfaces: ")
    assert error.count("\n") == 1


def test_nobody_to_inject_into_is_an_error(tmp_path, capsys):
    assert main(["--faults", str(tmp_path / "faults"), "--inject", "help"]) == 1
    assert "no emulator answers at" in capsys.readouterr().err


def test_errors_are_the_systems():
    assert issubclass(NetworkError, OSError)
    assert issubclass(FaultChannelError, OSError)


# --- as the README says ---


@pytest.mark.parametrize("code", [code for code in blocks("python") if "pysoem" not in code])
def test_python_of_the_readme_runs(code, capsys):
    exec(compile(code, "README.md", "exec"), {})
    printed = re.findall(r"print\(.*#\s*(\(.*\)):", code)
    assert capsys.readouterr().out.splitlines() == printed
