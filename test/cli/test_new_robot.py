"""`robot_control new`: a robot of a URDF, an MJCF or a name, with a report; or a refusal in a line."""

import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from robot_control_ros.cli.main import main
from robot_control_ros.cli.robot_report import holdable_force
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.in_process import simulate

pytestmark = pytest.mark.sim
pytest.importorskip("mujoco")
pytest.importorskip("matplotlib")
ROOT = Path(__file__).resolve().parents[2]

MJCF = """
<mujoco model="two bars">
  <compiler angle="radian" autolimits="true"/>
  <default><joint armature="0.05" damping="0.1" range="-2.5 2.5"/></default>
  <worldbody>
    <body name="upper" pos="0 0 0.3">
      <joint name="shoulder" axis="0 1 0"/>
      <geom type="capsule" size="0.03" fromto="0 0 0 0.3 0 0" mass="1.5"/>
      <body name="fore" pos="0.3 0 0">
        <joint name="elbow" axis="0 1 0"/>
        <geom type="capsule" size="0.025" fromto="0 0 0 0.25 0 0" mass="1"/>
        <site name="flange" pos="0.25 0 0"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="shoulder" ctrlrange="-40 40"/><motor joint="elbow" ctrlrange="-20 20"/></actuator>
</mujoco>
"""


def desk_arm():
    """The description of docs/adding_a_robot.md."""
    guide = (ROOT / "docs" / "adding_a_robot.md").read_text(encoding="utf-8")
    return re.search(r"`desk_arm.urdf`:\n\n```xml\n(.*?)```", guide, re.DOTALL).group(1)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_urdf_becomes_a_robot_with_a_report(here, capsys):
    Path("desk_arm.urdf").write_text(desk_arm(), encoding="utf-8")
    assert main(["new", "desk_arm.urdf"]) == 0
    shown = capsys.readouterr().out
    folder = here / "desk_arm"
    assert {path.name for path in folder.iterdir()} == {
        "desk_arm.yaml",
        "report.md",
        "workspace.png",
    }
    report = (folder / "report.md").read_text(encoding="utf-8")
    assert report in shown
    for joint in ("waist", "shoulder", "elbow"):
        assert f"| {joint} | " in report
    assert "| 500 Hz |" in report
    assert "impedance.stiffness" in report
    assert "rotor_inertia" in report.partition("What is not known")[2]
    assert (folder / "workspace.png").read_bytes().startswith(b"\x89PNG")


def test_the_simulation_in_the_report_is_that_of_the_robot(here, capsys):
    Path("desk_arm.urdf").write_text(desk_arm(), encoding="utf-8")
    assert main(["new", "desk_arm.urdf", "--output", "made"]) == 0
    report = Path("made/report.md").read_text(encoding="utf-8")
    moved, expected = re.search(r"by ([\d.]+) mm; F/K is ([\d.]+) mm", report).groups()
    assert float(moved) == pytest.approx(float(expected), rel=0.02)


def test_an_mjcf_becomes_a_robot_with_its_rotors_and_efforts(here, capsys):
    Path("bars.xml").write_text(MJCF, encoding="utf-8")
    assert main(["new", "bars.xml"]) == 0
    robot = load_robot("bars/bars.yaml")
    assert robot.joints == ("shoulder", "elbow")
    assert robot.tip == "flange"
    assert robot.rotor_inertia == (0.05, 0.05)
    assert RobotModel.of(robot).limits.effort.tolist() == [40.0, 20.0]
    assert not simulate(robot, "impedance", duration=0.2, rate=500.0).trouble


def test_a_robot_of_the_package_is_extended(here, capsys):
    assert main(["new", "planar_two_link", "--output", "mine"]) == 0
    robot = load_robot("mine/my_planar_two_link.yaml")
    assert (robot.name, robot.joints) == (
        "my_planar_two_link",
        load_robot("planar_two_link").joints,
    )


@pytest.fixture
def library(monkeypatch, here):
    """A stand-in for robot_descriptions, with a file, one that can't be loaded, and xacro alone."""
    Path("elsewhere.xml").write_text(MJCF, encoding="utf-8")
    made = ModuleType("robot_descriptions")
    made.DESCRIPTIONS = ["bars_mj_description", "far_description", "odd_description"]
    bars = ModuleType("robot_descriptions.bars_mj_description")
    bars.MJCF_PATH = str(here / "elsewhere.xml")
    odd = ModuleType("robot_descriptions.odd_description")
    odd.XACRO_PATH = "arm.xacro"
    for module in (made, bars, odd):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return made


def test_a_name_of_the_library_is_loaded(library):
    assert main(["new", "bars"]) == 0
    assert load_robot("bars/bars.yaml").joints == ("shoulder", "elbow")
    assert Path("bars/bars.urdf").is_file()


@pytest.mark.parametrize("name", ["nothing", "far", "odd"])
def test_what_the_library_has_not_is_refused_in_a_line(library, name, capsys):
    assert main(["new", name]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not Path(name).exists()


def test_without_the_library_a_name_is_refused_with_the_robots_and_the_extra(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "robot_descriptions", None)
    assert main(["new", "nothing"]) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert "planar_two_link" in shown
    assert "descriptions" in shown


def test_a_folder_with_files_stays(here, capsys):
    Path("bars.xml").write_text(MJCF, encoding="utf-8")
    folder = here / "bars"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    assert main(["new", "bars.xml"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("text", ["", "no xml", "<html/>", "<mujoco><worldbody/></mujoco>"])
def test_what_is_no_arm_is_refused_and_leaves_no_folder(here, text, capsys):
    Path("arm.xml").write_text(text, encoding="utf-8")
    assert main(["new", "arm.xml"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (here / "arm").exists()


def test_the_force_that_is_held_is_that_of_the_weakest_joint():
    jacobian = np.zeros((6, 2))
    jacobian[0] = (0.5, 0.0)
    jacobian[1] = (0.0, 0.25)
    held = holdable_force(jacobian, np.array([4.0, -1.0]), np.array([10.0, 2.0]))
    # 12 N by the first joint, 4 N by the second one
    assert held == pytest.approx(4.0)
