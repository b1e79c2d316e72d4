"""What the shell is told when a user presses Tab, asked as the shells ask."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from robot_control_ros.laws import law_names
from robot_control_ros.robot.configuration import load_robot, robot_names
from robot_control_ros.simulation.imperfect.imperfections import imperfection_names
from robot_control_ros.simulation.scene import scene_names

pytestmark = pytest.mark.starts("the shell asks the program, which answers and ends")
argcomplete = pytest.importorskip("argcomplete")
ASKED = "robot_control "


def offered(line: str, shell: str, folder: Path) -> list[str]:
    """What is offered at the end of a line."""
    answer = folder / "answer"
    answer.touch()
    asks = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_SHELL": shell,
        "COMP_LINE": line,
    }
    asks |= {
        "COMP_POINT": str(len(line)),
        "COMP_TYPE": "9",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
    }
    program = "from robot_control_ros.cli.main import main; main()"
    subprocess.run([sys.executable, "-c", program], env=os.environ | asks, cwd=folder, check=True)
    return [word.split(":")[0].strip() for word in answer.read_text().splitlines()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_commands_are_offered_in_each_shell(shell, tmp_path):
    assert {"demo", "simulate", "list", "doctor"} <= {
        word.split("\t")[0] for word in offered(ASKED, shell, tmp_path)
    }


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("simulate --robot ", robot_names()),
        ("simulate --law ", law_names()),
        ("demo --scene ", scene_names()),
        ("simulate --imperfections ", imperfection_names()),
        ("ethercat jitter --robot ", robot_names()),
        ("doctor --robot gen3 --profile ", ["gz", "gz_position", "mock", "real", "sim"]),
        ("demo --law joint_i", ["joint_impedance"]),
        ("law joint_i", ["joint_impedance"]),
        ("get stiff", ["stiffness"]),
    ],
)
def test_names_of_the_package_are_offered_as_values(line, names, tmp_path):
    assert sorted(offered(ASKED + line, "bash", tmp_path)) == sorted(names)


def test_the_profiles_are_those_of_the_robot_that_is_given(tmp_path):
    for profile in offered(f"{ASKED}doctor --robot ur5e --profile ", "bash", tmp_path):
        load_robot("ur5e", profile)


def test_files_are_offered_where_no_name_is_known(tmp_path):
    (tmp_path / "arm.urdf").touch()
    assert "arm.urdf" in offered(f"{ASKED}init-robot ", "bash", tmp_path)


def test_for_a_robot_that_is_unknown_nothing_is_offered(tmp_path):
    assert offered(f"{ASKED}doctor --robot nonsense --profile ", "bash", tmp_path) == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_a_bash_completes_once_it_has_read_the_line_of_the_readme(tmp_path):
    """The whole way, in a bash: the function that the shell gets, called as bash calls it
    when Tab is pressed.
    """
    program = tmp_path / "robot_control"
    program.write_text(
        f"#!{sys.executable}\nfrom robot_control_ros.cli.main import main\nraise SystemExit(main())\n"
    )
    program.chmod(0o755)
    script = """eval "$CODE"
        COMP_LINE="robot_control simulate --law joint_i" COMP_POINT=${#COMP_LINE} COMP_TYPE=9 COMP_KEY=9
        COMP_WORDS=(robot_control simulate --law joint_i) COMP_CWORD=3
        function=$(complete -p robot_control | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
        $function robot_control joint_i --law
        printf '%s' "${COMPREPLY[*]}" """
    # what register-python-argcomplete prints
    code = argcomplete.shellcode(["robot_control"], shell="bash")
    given = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "CODE": code}
    command = ["bash", "--norc", "-c", script]
    shown = subprocess.run(command, env=os.environ | given, capture_output=True, text=True)
    assert shown.stdout.split() == ["joint_impedance"], shown.stderr
