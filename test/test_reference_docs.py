"""The pages that are made from the code are those in the repository."""

from pathlib import Path

from robot_control_ros.cli import main
from robot_control_ros.gains import gain_specs
from robot_control_ros.laws import law_class, law_names
from robot_control_ros.reference_docs import law_section, laws_page

PAGE = Path(__file__).resolve().parents[1] / "docs" / "laws.md"


def test_the_page_of_the_laws_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == laws_page(), "run: robot_control docs > docs/laws.md"


def test_every_law_says_its_five_parts_and_every_gain_is_in_the_page():
    page = laws_page()
    for name in law_names(plugins=False):
        law = law_class(name)
        for part in ("Law:", "Closed loop:", "Frames and units:", "Assumptions:", "Source:"):
            assert part in law.__doc__, f"{name} lacks {part}"
        for spec in gain_specs(law.Gains):
            assert f"| `{spec.name}` |" in page


def test_a_law_of_the_users_own_gets_its_section(monkeypatch, capsys):
    monkeypatch.syspath_prepend(PAGE.parents[1] / "examples")
    assert main(["docs", "--law", "joint_callback_law:JointCallback"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("## joint_callback_law:JointCallback\n")
    for words in (
        "Commands effort.",
        "A spring and a damper in each joint",
        "| `spring` | 100 | one per joint | N·m/rad |",
    ):
        assert words in said


def test_every_section_of_the_page_is_what_its_law_alone_gives():
    page = laws_page()
    assert all(law_section(name).strip() in page for name in law_names(plugins=False))
