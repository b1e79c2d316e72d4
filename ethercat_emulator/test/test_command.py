"""The command `ethercat-emulator`, and what the emulator's README says: every example runs as written."""

import functools
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ethercat_emulator_support import MS, Master

import ethercat_emulator
from ethercat_emulator import DriveSettings, FaultChannelError, Load, Motor, NetworkError, inject
from ethercat_emulator.network.veth import why_no_namespace
from ethercat_emulator.program import drives_on_a_bus, main

PACKAGE = Path(ethercat_emulator.__file__).resolve().parent
README = (PACKAGE / "README.md").read_text(encoding="utf-8")


@functools.cache
def shown_help() -> str:
    command = [sys.executable, "-m", "ethercat_emulator", "--help"]
    return subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, text=True, check=True).stdout


def test_help_names_every_option_and_default():
    assert "CiA 402 drives, for any master" in shown_help()
    for words in ("--interface NAME", "--pair NAME", "--drives N", "--faults SOCKET", "--inject LINE", "(default: 1)"):
        assert words in shown_help()


def test_options_of_the_readme_are_the_commands():
    used = set(re.findall(r"(?<=\s)--[a-z-]+", " ".join(re.findall(r"ethercat-emulator( .*)", README))))
    assert {"--pair", "--interface", "--drives", "--faults", "--inject", "--help"} <= used
    assert {option for option in used if f"{option} " not in shown_help() and option != "--help"} == set()


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


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("code", [code for code in blocks("python") if "pysoem" not in code])
def test_python_of_the_readme_runs(code, capsys):
    exec(compile(code, "README.md", "exec"), {})
    printed = re.findall(r"print\(.*#\s*(\(.*\)):", code)
    assert capsys.readouterr().out.splitlines() == printed


def test_a_master_finds_the_drives_of_the_command(tmp_path):
    """The README's first shell and its master, in a network namespace."""
    pytest.importorskip("pysoem")
    if why_no_namespace():
        pytest.skip(f"needs a network namespace of its own; {why_no_namespace()}")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), *sys.path])}
    namespace = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    command = [*namespace, sys.executable, __file__, str(tmp_path / "faults")]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=90)
    assert result.returncode == 0, result.stderr
    seen = json.loads(result.stdout)
    assert seen["line"] == f"emulating 6 drives on ecs; faults on {tmp_path / 'faults'}\n"
    assert seen["master"] == "6 Emulated CiA 402 drive\n"
    assert "drive_fault slave:int code:int lasting:bool=false" in seen["help"]
    assert len(json.loads(seen["drives"])) == 6
    assert json.loads(seen["drives"])[0]["powers"][-1] == "FAULT"
    assert seen["status"] == 0


def in_namespace(faults: str) -> dict:
    words = next(line for line in blocks("sh")[0].splitlines() if line.startswith("ethercat-emulator")).split()
    arguments = [faults if word == "/tmp/faults" else word for word in words[1:]]
    python = [sys.executable, "-m", "ethercat_emulator"]
    emulator = subprocess.Popen([*python, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        seen = {"line": emulator.stdout.readline()}
        code = next(code for code in blocks("python") if "pysoem" in code)
        seen["master"] = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        seen["help"] = subprocess.run(
            [*python, "--faults", faults, "--inject", "help"], capture_output=True, text=True, check=True
        ).stdout
        inject(faults, "drive_fault 0 0x7305")
        deadline = time.monotonic() + 60.0
        while '"FAULT"' not in inject(faults, "drives") and time.monotonic() < deadline:
            time.sleep(0.01)
        seen["drives"] = inject(faults, "drives")
    finally:
        emulator.terminate()
        seen["status"] = emulator.wait(timeout=60)
    return seen


if __name__ == "__main__":
    print(json.dumps(in_namespace(sys.argv[1])))
