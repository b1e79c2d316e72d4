"""The scripts of docs/skills.md: each does what the page says, and prints what stands there."""

import re
import shlex
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from robot_control_ros import Robot, load_scene
from robot_control_ros.recording.cycle_file import whole_file
from robot_control_ros.sensing.contact_detector import GUARD

ROOT = Path(__file__).resolve().parents[2]
SKILLS = ROOT / "examples" / "skills"
PAGE = (ROOT / "docs" / "skills.md").read_text(encoding="utf-8")
COMMANDS = re.findall(
    r"```sh\n(python examples/skills/\S+\.py.*)\n```\n\n```text\n([^`]*)```", PAGE
)
SCRIPTS = sorted(path.name for path in SKILLS.glob("*.py"))
PNG = b"\x89PNG"

pytestmark = pytest.mark.sim


@pytest.fixture
def skill(monkeypatch):
    """A function that returns a script as a module, by its name."""
    monkeypatch.syspath_prepend(SKILLS)
    return import_module


def assert_drawn(path):
    assert path.read_bytes().startswith(PNG)


# --- the page ---


def test_the_page_has_each_script_and_its_picture():
    named = [Path(shlex.split(command)[1]).name for command, _ in COMMANDS]
    assert sorted(named) == SCRIPTS
    for name in SCRIPTS:
        picture = f"skill_{Path(name).stem}.png"
        assert f"(images/{picture})" in PAGE
        assert_drawn(ROOT / "docs" / "images" / picture)


@pytest.mark.long
@pytest.mark.parametrize(("command", "printed"), COMMANDS, ids=[each for each, _ in COMMANDS])
def test_each_command_of_the_page_prints_what_stands_under_it(
    skill, command, printed, monkeypatch, capsys, tmp_path
):
    pytest.importorskip("matplotlib")
    _, script, *arguments = shlex.split(command)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [script, *arguments])
    assert not skill(Path(script).stem).main()
    assert capsys.readouterr().out == printed
    (picture,) = tmp_path.iterdir()
    assert_drawn(picture)


# --- each script, shortly ---


def test_a_guarded_move_ends_at_the_pad(skill, tmp_path):
    pytest.importorskip("matplotlib")
    script = skill("guarded_move")
    words, log = script.run("hold", "impedance")
    assert GUARD in words
    assert log.wrench[:, 2].max() < 7.0
    script.plot({"hold": log}, tmp_path / "drawn.png")
    assert_drawn(tmp_path / "drawn.png")


def test_a_program_that_watches_the_force_holds_the_arm_too(skill):
    _, log = skill("guarded_move").run("by a program", "impedance")
    assert log.wrench[:, 2].max() > 5.0
    assert abs(log.twist[-1]).max() < 1e-3


def test_a_peg_goes_into_a_misplaced_hole(skill, tmp_path):
    pytest.importorskip("matplotlib")
    script = skill("peg")
    insertion = script.trial(16)  # one that is found soon
    assert insertion.is_in
    assert insertion.dropped < 2.0
    script.plot(insertion, tmp_path / "drawn.png")
    assert_drawn(tmp_path / "drawn.png")


def test_the_page_tries_twenty_places_up_to_2_mm_off(skill):
    """The test of the page's commands judges that the peg goes into each of them."""
    script = skill("peg")
    offsets = [
        np.random.default_rng(seed).uniform(-script.MISPLACED, script.MISPLACED, 2)
        for seed in range(20)
    ]
    assert script.MISPLACED == 0.002
    assert np.abs(offsets).max() > 0.0015
    assert "20 of 20 pegs in the hole" in PAGE


def test_the_spiral_covers_the_places_where_a_hole_may_be(skill):
    """Nowhere is it further from the next turn than the clearance of the peg, 0.25 mm aside."""
    script = skill("peg")
    points = script.spiral()
    places = np.random.default_rng(1).uniform(-script.MISPLACED, script.MISPLACED, (500, 2))
    away = np.linalg.norm(places[:, None] - points[None], axis=2).min(axis=1)
    assert away.max() < 0.00025


def test_polishing_keeps_its_force(skill, tmp_path):
    pytest.importorskip("matplotlib")
    script = skill("polish")
    with Robot.simulated("ur5e", scene=str(script.SCENE)) as robot:
        log = script.polish(robot, 1)
    assert script.normal_force(log).min() > 9.0
    assert script.normal_force(log).max() < 11.0
    script.plot(log, tmp_path / "drawn.png")
    assert_drawn(tmp_path / "drawn.png")


@pytest.mark.long
@pytest.mark.starts("the file of the cycles is written in a thread")
def test_polishing_keeps_its_force_in_each_cycle(skill, tmp_path):
    """9 to 11 N throughout, at 5 cm/s; as much as the robot's record of a minute has."""
    pytest.importorskip("mcap")
    script = skill("polish")
    with Robot.simulated("ur5e", scene=str(script.SCENE)) as robot:
        log = script.polish(robot, 4)
        robot.save_cycles(tmp_path / "run.mcap", log.t[-1])
    assert np.median(script.tool_speed(log)) == pytest.approx(0.05, rel=0.05)
    assert np.ptp(log.pose[:, 1, 3]) > 1.9 * np.sin(script.ANGLE) * (script.RADIUS + script.LENGTH)
    (cycles,) = whole_file(tmp_path / "run.mcap").blocks(100_000)
    assert len(cycles) > 9 * len(log)
    assert script.FORCE == 10.0
    force = -np.einsum("ij,ij->i", cycles["wrench"][:, :3], cycles["pose"][:, :3, 2])
    assert force.min() > 9.0
    assert force.max() < 11.0


def test_wiping_presses_with_its_force(skill, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    script = skill("wipe")
    monkeypatch.setattr(script, "SECONDS", 0.5)
    with Robot.simulated("ur5e", scene="surface") as robot:
        log = script.wipe(robot, 1)
    assert log.wrench[:, 2] == pytest.approx(script.FORCE, abs=1.0)
    assert log.pose[-1, 1, 3] < log.pose[0, 1, 3] - 0.01
    script.plot(log, tmp_path / "drawn.png")
    assert_drawn(tmp_path / "drawn.png")


def test_a_shown_path_ends_behind_the_wall(skill, tmp_path):
    """A test of the page judges the force of its replay: it prints that."""
    pytest.importorskip("matplotlib")
    script = skill("teach")
    scene = load_scene("wall")
    with Robot.simulated("ur5e", scene=replace(scene, objects={})) as robot:
        path = script.show(robot, 4.0)
        shown = script.tips(robot, path)
    assert shown[-1, 0] - shown[0, 0] == pytest.approx(script.WALL + script.DEPTH, abs=2e-3)
    assert np.ptp(shown[:, 1]) == pytest.approx(script.SIZE, abs=0.01)
    script.plot(shown, {}, tmp_path / "drawn.png")
    assert_drawn(tmp_path / "drawn.png")


def test_an_arm_that_knows_its_load_stays_where_the_hand_leaves_it(skill, tmp_path):
    pytest.importorskip("matplotlib")
    script = skill("guide")
    log = script.guided(True, 0.5)
    assert script.height(log)[-1] == pytest.approx(0.0, abs=3.0)
    assert log.pose[-1, 1, 3] - log.pose[0, 1, 3] == pytest.approx(script.WAY, abs=0.02)
    script.plot({"load told": log}, tmp_path / "drawn.png")
    assert_drawn(tmp_path / "drawn.png")


@pytest.mark.long
def test_an_arm_that_does_not_know_its_load_sinks(skill):
    script = skill("guide")
    assert script.height(script.guided(False, 0.5))[-1] < -40.0


def test_two_arms_squeeze_and_lift_the_box(skill, tmp_path):
    pytest.importorskip("matplotlib")
    script = skill("two_arms")
    pair = script.Pair()
    pair.lead(0.0, 0.0, 1.5)
    pair.lead(script.SQUEEZE, 0.0, 0.8)
    pair.lead(script.SQUEEZE, 0.05, 0.8)
    rows = np.array(pair.rows)
    assert rows[-1, 1] - rows[0, 1] > 0.02
    assert rows[-1, 2:] == pytest.approx(20.0, abs=2.0)
    script.plot(rows, tmp_path / "drawn.png")
    assert_drawn(tmp_path / "drawn.png")
