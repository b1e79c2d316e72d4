"""What measures speed does what it says: replayed samples give the same commands, the
forty lines hold an arm.
"""

import argparse
import json
from importlib import import_module

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the simulated arm needs MuJoCo")

from evidence.speed import report
from evidence.speed.forty_lines import forty_lines
from evidence.speed.samples import Situation, inputs_of, record
from evidence.speed.ticks import IMPEDANCE, LED, WORKING, BareCalls, tick_rows
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.simulation.mujoco_plant import MujocoPlant

pytestmark = [pytest.mark.sim, pytest.mark.starts("a thread draws the progress")]
COUNT = 450  # cycles: two moves and two changes of gains


def options(*arguments):
    parser = argparse.ArgumentParser()
    report.add_arguments(parser)
    return parser.parse_args(arguments)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "situation", [Situation(), LED, WORKING, Situation(streamed=True, late=0.01)]
)
def test_replayed_samples_get_the_commands_of_the_closed_loop(situation):
    robot = load_robot("ur5")
    states, commands = record(robot, "impedance", situation, COUNT)
    loop, give = ControlLoop(robot, "impedance"), inputs_of(robot, situation)
    for cycle, (state, command) in enumerate(zip(states, commands, strict=True)):
        give(loop, cycle)
        assert np.array_equal(loop.tick(state).values, command.values)
        assert not loop.fault
    moved = np.abs(states[-1].q - states[0].q).max()
    assert (moved > 0.01) == (situation.moving or situation.streamed)


def test_a_situation_does_what_it_is_called():
    robot = load_robot("ur5")
    for situation in (*IMPEDANCE.values(), WORKING):
        states, _ = record(robot, "impedance", situation, 20)
        assert all((state.wrench is not None) == situation.wrench for state in states)
        assert {state.age for state in states} == {situation.late}
    loop = ControlLoop(robot, "impedance")
    give = inputs_of(robot, Situation(fading=True))
    for cycle, state in enumerate(record(robot, "impedance", Situation(fading=True), 20)[0]):
        give(loop, cycle)
        loop.tick(state)
    gains = loop.running.gains
    assert not np.array_equal(gains.current.stiffness, gains.target.stiffness)


@pytest.mark.parametrize("name", ["ur5", "gen3"])
def test_the_bare_calls_take_the_angles_of_every_robot(name):
    robot = load_robot(name)
    bare, q = BareCalls(robot), np.linspace(-2.0, 2.0, robot.n)
    configuration = bare.configuration(q)
    joints_without_end = configuration.size - robot.n
    assert joints_without_end == (4 if name == "gen3" else 0)
    assert bare.time(record(robot, "impedance", Situation(), 3)[0]) > 0.0


def test_the_forty_lines_hold_an_arm_and_bring_a_pushed_one_back():
    robot = load_robot("ur5")
    plant = MujocoPlant(robot, rate=1000.0)
    tip = plant.model.body(robot.tip).id
    log = forty_lines(plant.model, plant.data, tip, plant.start, 200)
    assert np.abs(log["q"] - plant.start).max() < 1e-6
    _, bias, _ = plant.dynamics(plant.start, np.zeros(robot.n))
    assert log["torque"][0] == pytest.approx(bias)


def test_every_part_has_its_functions():
    pytest.importorskip("rclpy", reason="the parts over DDS need ROS 2 (rclpy)")
    for module, make, show, _ in report.PARTS.values():
        room = import_module(module, "evidence.speed")
        assert callable(getattr(room, make))
        assert callable(getattr(room, show))
    for module, name, taken, _ in report.LOADS.values():
        assert callable(getattr(import_module(module, "evidence.speed"), name))
        assert set(taken) <= set(vars(options()))


def test_a_run_is_written_and_compared_with_an_earlier_one(tmp_path, monkeypatch, capsys):
    rows = {"a": {"tick_us": 4.0, "ratio": 2.0}}
    room = argparse.Namespace(tick_rows=lambda laws: rows, print_ticks=lambda rows: None)
    monkeypatch.setattr(report, "import_module", lambda name, package: room)
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    assert report.run(options("ticks", "--json", str(first))) == 0
    assert json.loads(first.read_text())["ticks"] == rows
    rows["a"]["ratio"] = 1.0
    capsys.readouterr()
    assert report.run(options("ticks", "--json", str(second), "--against", str(first))) == 0
    last = capsys.readouterr().out.splitlines()[-1].split()
    assert [float(each) for each in last[-3:]] == [2.0, 1.0, 0.5]


@pytest.mark.parametrize("arguments", [["tick"], ["ticks", "--against", "missing.json"]])
def test_what_can_not_be_measured_is_refused(arguments):
    with pytest.raises(ConfigError):
        report.run(options(*arguments))


def test_one_law_can_be_measured_alone(monkeypatch):
    monkeypatch.setattr("evidence.speed.ticks.BATCHES", 3)
    rows = tick_rows(("gravity_compensation",))
    assert [row["ratio"] > 1.0 for row in rows.values()] == [True]
