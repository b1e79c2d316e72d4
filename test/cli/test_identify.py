"""The command that identifies an arm, on a simulated one: what is refused, and
what is not agreed to.
"""

import pytest

from robot_control_ros.cli.main import main
from robot_control_ros.identification import simulated

pytestmark = pytest.mark.sim
pytest.importorskip("mujoco")


@pytest.fixture(autouse=True)
def moved(monkeypatch):
    """Whether the arm was moved."""
    calls = []
    monkeypatch.setattr(simulated, "identify_plan", lambda *given, **named: calls.append(given))
    return calls


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--joints", "nonsense"], "nonsense"),
        (["--speed", "9"], "speed"),
        (["--robot", "nobody"], "nobody"),
    ],
)
def test_what_cannot_be_identified_is_refused_in_a_line_and_moves_nothing(
    options, word, moved, capsys
):
    assert main(["identify", "--simulated", "like_ur5", "--yes", *options]) == 2
    printed = capsys.readouterr()
    assert word in printed.err
    assert printed.err.count("\n") == 1
    assert moved == []


@pytest.mark.parametrize("answer", ["n", "", EOFError])
def test_a_motion_that_is_not_agreed_to_is_not_made(answer, moved, monkeypatch, capsys):
    def answered(question):
        assert question.endswith("[y/N] ")
        if answer is EOFError:
            raise EOFError
        return answer

    monkeypatch.setattr("builtins.input", answered)
    assert main(["identify", "--simulated", "like_ur5"]) == 1
    assert moved == []
    assert capsys.readouterr().err == ""
