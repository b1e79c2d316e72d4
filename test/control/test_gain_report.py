"""What is said of gains beside their bounds: by the report, the command, the page and the
controller's monitor.
"""

import re
from dataclasses import replace

import numpy as np
import pytest
from arms import robot_cases

from evidence.stability import gain_table
from robot_control_ros.control.gain_report import gain_report
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.control.requests import Parameter
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import RobotState
from robot_control_ros.dashboard.gains.gains_panel import describe_bounds
from robot_control_ros.laws import law_names
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.stability.contact_bound import contact_bound
from robot_control_ros.stability.stiffness_bound import stiffness_bound

UR5E = load_robot("ur5e")
HOME = RobotModel.of(UR5E).at(np.array(UR5E.home))


def with_delay(delay):
    return replace(UR5E, profile=replace(UR5E.profile, delay=delay))


@pytest.mark.few(1)
@pytest.mark.parametrize("law", ["impedance", "joint_impedance", "task_space_pd"])
def test_stiffness_beyond_the_factor_is_told_and_below_it_isn_t(law):
    robot = with_delay(0.02)
    gains = RunningLaw(robot, law).gains.target
    diagonal = gains.stiffness.diagonal() if gains.stiffness.ndim == 2 else gains.stiffness
    values = {} if law != "task_space_pd" else {"damping": [20.0] * 3 + [1.0] * 3}
    factor = stiffness_bound(RunningLaw(robot, law, values), HOME).factor
    for times, told in ((0.8, False), (1.5, True)):
        stiffness = (times * factor * diagonal).tolist()
        running = RunningLaw(robot, law, values | {"stiffness": stiffness})
        report = gain_report(running, HOME)
        assert bool(report.warning) is told
        assert (law in report.warning) is told
        assert (
            running.gains.target.stiffness.tolist()
            == RunningLaw(robot, law, {"stiffness": stiffness}).gains.target.stiffness.tolist()
        )


def test_translations_and_rotations_each_have_their_unit():
    running = RunningLaw(UR5E, "impedance")
    text, values = (
        gain_report(running, HOME).bounds["stiffness"],
        stiffness_bound(running, HOME).values,
    )
    for part, unit in ((values[:3], "N/m"), (values[3:], "N·m/rad")):
        shown = re.search(rf"([\d., ]+) {unit}(?= and|,)", text)[1].split(",")
        np.testing.assert_allclose(
            [float(each) for each in shown] * (3 // len(shown)), part, rtol=0.05
        )


def test_damping_that_is_unstable_alone_is_told():
    values = {"damping": [2000.0] * 3 + [500.0] * 3, "stiffness": 0.0}
    assert gain_report(RunningLaw(UR5E, "task_space_pd", values), HOME).warning


@pytest.mark.few(1)
def test_a_stiffness_in_the_null_space_has_its_bound_and_is_told_beyond():
    gen3 = load_robot("gen3")
    gen3 = replace(gen3, profile=replace(gen3.profile, delay=0.02))
    kin = RobotModel.of(gen3).at(np.array(gen3.home))
    others = {"posture_damping": 2.0, "stiffness": [200.0] * 3 + [10.0] * 3}
    bound = stiffness_bound(RunningLaw(gen3, "impedance", others), kin)
    joint = int(bound.null_space_values.argmin())
    highest = bound.null_space_values[joint]
    assert 0.0 < highest < bound.null_space.upper
    for times, told in ((0.8, False), (1.5, True)):
        stiffness = np.zeros(7)
        stiffness[joint] = times * highest
        values = {"posture_stiffness": stiffness.tolist()} | others
        report = gain_report(RunningLaw(gen3, "impedance", values), kin)
        assert set(report.bounds) == {"stiffness", "posture_stiffness"}
        assert ("posture_stiffness" in report.warning) is told
        assert bool(report.warning) is told


def test_a_body_that_is_too_light_for_a_wall_is_told():
    least = contact_bound(RunningLaw(UR5E, "admittance"), HOME).mass.min()
    for times, told in ((0.5, True), (3.0, False)):
        values = {"mass": [times * least] * 3 + [0.1] * 3}
        assert bool(gain_report(RunningLaw(UR5E, "admittance", values), HOME).warning) is told


def test_axes_that_give_no_way_are_not_told():
    values = {"mass": [0.1] * 6, "selected_axes": [0, 0, 0, 1, 1, 1]}
    assert not gain_report(RunningLaw(UR5E, "admittance", values), HOME).warning


@pytest.mark.parametrize("output", ["position", "velocity"])
def test_a_light_body_of_force_control_that_rings_at_a_wall_is_told(output):
    """Also along axes on which no force is controlled: there it is an admittance."""
    values = {"output": output, "force_axes": [0.0] * 6}
    assert "rings" in RunningLaw(UR5E, "force_control", values).warning
    heavy = {"mass": [20.0] * 3 + [1.0] * 3, "damping": [2000.0] * 3 + [50.0] * 3}
    assert RunningLaw(UR5E, "force_control", values | heavy).warning == ""


def test_a_law_without_bounds_says_nothing():
    report = gain_report(RunningLaw(UR5E, "gravity_compensation"), HOME)
    assert (report.bounds, report.warning) == ({}, "")


@pytest.mark.parametrize("robot", robot_cases())
def test_the_robots_own_gains_are_within_their_bounds(robot, capsys):
    assert gain_table([robot], "sim") == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[1] for line in lines} == {
        "impedance",
        "force_control",
        "joint_impedance",
        "task_space_pd",
        "admittance",
    } & set(law_names())


def test_the_page_shows_the_bounds_of_the_gains_that_it_has():
    parameters = {name: Parameter(name, 1.0, 1.0) for name in ("stiffness", "damping_ratio")}
    shown = describe_bounds(
        parameters, {"bound of stiffness": "at most 7 N/m", "bound of mass": "at least 3 kg"}
    )
    assert "at most 7 N/m" in shown
    assert "at least 3 kg" not in shown
    assert not describe_bounds(parameters, {})


# --- the controller ---


def bounds(text, gain):
    """The numbers in the line of a law's gain."""
    (line,) = (each for each in text.splitlines() if gain in each)
    return np.array(
        [float(each) for each in re.search(r"at (?:most|least) ([\d., ]+) ", line)[1].split(",")]
    )


def test_the_table_takes_delay_and_rotors_of_a_file(tmp_path, capsys):
    file = tmp_path / "arm.yaml"
    found = []
    for late, heavy in ((0.002, 0.1), (0.02, 0.1), (0.02, 1.0)):
        file.write_text(f"commands: {{ delay: {late} }}\nrotor_inertia: [{heavy}]\n")
        gain_table(["ur5e"], "sim", str(file))
        found.append(capsys.readouterr().out)
    masses = [bounds(text, "admittance mass") for text in found[:2]]
    assert (masses[0] < masses[1]).all()
    wrists = [bounds(text, "joint_impedance stiffness")[3:] for text in found]
    assert (wrists[1] < wrists[0]).all()
    assert (wrists[1] < wrists[2]).all()


def test_the_table_refuses_the_file_of_an_arm_with_other_joints(tmp_path):
    file = tmp_path / "arm.yaml"
    file.write_text("rotor_inertia: [1.0, 1.0]\n")
    with pytest.raises(ConfigError) as refusal:
        gain_table(["ur5e"], "sim", str(file))
    assert refusal.value.name == "rotor_inertia"


@pytest.mark.ros
def test_the_controller_computes_anew_after_a_change_of_gains_and_warns_once(monkeypatch):
    pytest.importorskip("rclpy")
    from lockstep import AtOnce

    from robot_control_ros.nodes.controller import gain_monitor

    computed = []

    def counted(*arguments):
        computed.append(gain_report(*arguments))
        return computed[-1]

    monkeypatch.setattr(gain_monitor, "ThreadPoolExecutor", AtOnce)
    monkeypatch.setattr(gain_monitor, "gain_report", counted)
    loop = ControlLoop(with_delay(0.02), "impedance")
    loop.tick(RobotState(0.0, np.array(UR5E.home), np.zeros(6), np.zeros(6)))
    monitor = gain_monitor.GainMonitor(loop)
    assert not any(monitor.look() for _ in range(10))
    assert set(monitor.values()) == {"bound of stiffness"}
    assert len(computed) == 1
    loop.running.gains.change(loop.running.gains.check({"stiffness": [500.0] * 3 + [5000.0] * 3}))
    (said,) = [text for text in (monitor.look() for _ in range(10)) if text]
    assert said == monitor.report.warning
    assert len(computed) == 2
    monitor.close()


@pytest.mark.ros
def test_before_the_first_state_the_controller_says_nothing():
    pytest.importorskip("rclpy")
    from robot_control_ros.nodes.controller.gain_monitor import GainMonitor

    monitor = GainMonitor(ControlLoop(UR5E, "impedance"))
    assert (monitor.look(), monitor.values()) == ("", {})
    monitor.close()


# --- against a body of another stiffness ---


def test_a_light_body_on_a_stiff_wall_is_told_and_the_arm_s_own_mass_stands_beside_it():
    values = {
        "mass": [2.0] * 3 + [0.1] * 3,
        "damping_ratio": 0.0,
        "damping": [120.0] * 3 + [10.0] * 3,
    }
    running = RunningLaw(UR5E, "admittance", values)
    assert not gain_report(running, HOME).warning
    report = gain_report(running, HOME, wall=1e5)
    assert "100000 N/m" in report.warning
    mobility = HOME.jacobian[:3] @ np.linalg.inv(HOME.mass) @ HOME.jacobian[:3].T
    own = np.linalg.inv(mobility).diagonal()
    assert all(f"{mass:.2g}" in report.bounds["mass"] for mass in own)


@pytest.mark.parametrize("name", ["ur5", "ur5e", "gen3"])
def test_the_robots_own_bodies_bear_a_hand(name):
    robot = load_robot(name)
    kin = RobotModel.of(robot).at(np.array(robot.home))
    hand = ControlLoop(robot, "gravity_compensation").contact.settings.target.body_stiffness
    assert not gain_report(RunningLaw(robot, "admittance"), kin, wall=hand).warning


@pytest.mark.ros
def test_the_controller_computes_anew_for_another_body(monkeypatch):
    pytest.importorskip("rclpy")
    from lockstep import AtOnce

    from robot_control_ros.nodes.controller import gain_monitor

    monkeypatch.setattr(gain_monitor, "ThreadPoolExecutor", AtOnce)
    loop = ControlLoop(UR5E, "admittance")
    loop.tick(RobotState(0.0, np.array(UR5E.home), np.zeros(6), np.zeros(6)))
    monitor = gain_monitor.GainMonitor(loop)
    told = []
    for stiffness in (75000.0, 2000.0):
        loop.contact.settings.set({"body_stiffness": stiffness})
        for _ in range(4):
            monitor.look()
        told.append(monitor.values()["bound of mass"])
    assert "75000 N/m" in told[0]
    assert "2000 N/m" in told[1]
    monitor.close()
