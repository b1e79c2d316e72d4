"""The support matrix claims what its tests exercise, and the page is the one that is generated."""

from dataclasses import replace

import pytest

from release import support
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.laws import law_names
from robot_control_ros.robot.configuration import robot_names

ROW = support.EVIDENCE[-1]


@pytest.mark.parametrize("row", support.EVIDENCE, ids=lambda row: row.test.rpartition("::")[2])
def test_each_row_names_a_test_and_what_that_test_names(row):
    support.check(row)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"interface": "Modbus"}, "interface"),
        ({"test": "test/franka/test_simulated_robot.py::test_it_flies"}, "test"),
        ({"test": "test/franka/test_nothing.py::test_it_flies"}, "test"),
        ({"laws": ("magic",)}, "law"),
        ({"robots": ("ur5",)}, "robot"),  # it exists, and this test doesn't run it
        ({"laws": ("joint_pid",)}, "law"),
        ({"robots": support.ALL}, "robot"),
    ],
)
def test_a_row_that_claims_more_is_refused(change, name):
    with pytest.raises(ConfigError) as caught:
        support.check(replace(ROW, **change))
    assert caught.value.name == name


def test_a_name_in_another_test_of_the_file_does_not_count(tmp_path):
    text = 'LAW = "impedance"\ndef test_one(): run(LAW)\ndef test_two(): run("admittance")\n'
    (tmp_path / "test_laws.py").write_text(text, "utf-8")
    words = support.names_in_test("test_laws.py::test_one", tmp_path)
    assert "impedance" in words
    assert "admittance" not in words


def test_the_page_is_the_generated_one_and_has_every_law_and_robot():
    page = support.PAGE.read_text("utf-8")
    assert page == support.page()
    for name in (*law_names(plugins=False), *robot_names()):
        assert f"\n| `{name}` | a |" in page


def test_no_real_arm_is_claimed_without_a_row():
    rows = [line for line in support.page().splitlines() if line.startswith("| `")]
    tables = [line for line in rows if not line.startswith("| `test")]
    assert len(tables) == len(law_names(plugins=False)) + len(robot_names())
    assert all(line.endswith("| |") for line in tables)
