"""A law that needs a wrench is refused where its robot's profile names no source of one,
and the ways out hold.
"""

import math
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robot_control_ros.bringup import SETUPS, package_nodes
from robot_control_ros.cli.live_line import force_text
from robot_control_ros.control.controller import missing_wrench
from robot_control_ros.control.wrench_supply import check_wrench_supply, laws_without_wrench
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.dashboard.link import Health
from robot_control_ros.dashboard.plots.charts import WRENCH, Charts
from robot_control_ros.dashboard.state_panel import details
from robot_control_ros.laws import law_names
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.sensing.wrench import WrenchPipeline
from robot_control_ros.simulation.in_process import Push, simulate

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "adding_a_robot.md"
SHOWN = ("admittance", "impedance", "joint_pid")  # with a wrench; torques; velocities
PROFILES = ("sim", "real")


def controller(robot, law, gains="", *, profile):
    return package_nodes.controller({"robot": robot, "law": law, "gains": gains}, profile)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The files of the guide, and the robot without its sensors."""
    text = GUIDE.read_text(encoding="utf-8")
    for name, content in re.findall(r"`([\w.]+)`:\n\n```\w+\n(.*?)```", text, re.DOTALL):
        (tmp_path / name).write_text(content, encoding="utf-8")
    lines = (tmp_path / "desk_arm.yaml").read_text(encoding="utf-8").splitlines(keepends=True)
    without = [line for line in lines if "wrench_topic" not in line]
    (tmp_path / "no_sensor.yaml").write_text("".join(without), encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def laws_of(robot):
    """The laws that its interfaces allow."""
    laws = []
    for name in law_names():
        with suppress(ConfigError):
            laws.append(RunningLaw(robot, name))
    return laws


def refusal(law, **arguments):
    with pytest.raises(ConfigError) as error:
        check_wrench_supply(law, **arguments)
    return error.value


@pytest.mark.parametrize("profile", PROFILES)
def test_the_guide_s_robot_has_a_wrench_for_every_law_that_its_interfaces_allow(folder, profile):
    laws = laws_of(load_robot("desk_arm.yaml", profile))
    assert {"admittance", "position_domain_pd"} <= {law.name for law in laws}
    for law in laws:
        controller("desk_arm.yaml", law.name, profile=profile)


def test_the_controller_of_the_guide_s_robot_listens_where_the_simulator_sends(folder):
    (spec,) = [
        spec
        for spec in SETUPS["sim"].make(robot="desk_arm.yaml", law="admittance").nodes()
        if spec.name == "controller"
    ]
    assert spec.remappings["wrench"] == load_robot("ur5").profile.wrench_topic


@pytest.mark.sim
@pytest.mark.parametrize(
    "name",
    [
        name if name in SHOWN else pytest.param(name, marks=pytest.mark.long)
        for name in law_names(plugins=False)
    ],
)
def test_the_guide_s_robot_comes_to_rest_under_every_law(folder, name):
    pytest.importorskip("mujoco")
    push = Push((5.0, 0.0, 0.0), start=0.2, duration=0.3)
    log = simulate("desk_arm.yaml", name, duration=2.0, rate=500.0, push=push)
    assert log.trouble == ()
    assert np.abs(log.v).max() > 1e-3
    assert np.abs(log.v[-50:]).max() < 0.01


@pytest.mark.parametrize("profile", PROFILES)
def test_without_one_the_refusal_names_key_and_file(folder, profile):
    error = refusal(RunningLaw(load_robot("no_sensor.yaml", profile), "admittance"))
    assert error.name == f"profiles.{profile}.wrench_topic"
    assert error.value == ""
    assert f"{error.name} is empty in no_sensor.yaml" in str(error)
    with pytest.raises(ConfigError) as configured:
        controller("no_sensor.yaml", "admittance", profile=profile)
    assert str(configured.value) == str(error)


def test_the_guide_shows_the_refusal(folder):
    error = refusal(RunningLaw(load_robot("no_sensor.yaml", "real"), "admittance"))
    assert f"ConfigError: {error}\n" in GUIDE.read_text(encoding="utf-8")


@pytest.mark.parametrize("profile", PROFILES)
def test_each_way_out_of_a_refusal_is_accepted(folder, profile):
    robot = load_robot("no_sensor.yaml", profile)
    law = RunningLaw(robot, "admittance")
    error = refusal(law)
    assert error.bound == laws_without_wrench(robot) != ()
    for name in error.bound:
        controller("no_sensor.yaml", name, profile=profile)
    named = replace(robot, profile=replace(robot.profile, wrench_topic="/sensor"))
    check_wrench_supply(RunningLaw(named, "admittance"))
    check_wrench_supply(law, topic="/sensor")
    offered = "joint_effort" in str(error)
    assert offered is (profile == "sim")  # the real one measures no torques
    if offered:
        check_wrench_supply(law, source="joint_effort")


@pytest.mark.parametrize("kind", ["torque", "reversed_torque", "none"])
def test_an_estimate_is_offered_where_the_pipeline_takes_it(kind):
    robot = load_robot("ur5", "ethercat")
    robot = replace(robot, profile=replace(robot.profile, joint_effort=kind))
    law = RunningLaw(robot, "admittance")
    measured = robot.profile.measures_torque
    assert ("joint_effort" in str(refusal(law))) is measured
    assert ("joint_effort" in missing_wrench(law, "no wrench has arrived")) is measured
    if measured:
        WrenchPipeline({"source": "joint_effort"}, measured)
    else:
        with pytest.raises(ConfigError):
            WrenchPipeline({"source": "joint_effort"}, measured)


@pytest.mark.parametrize("form", ["wrench: {source: joint_effort}", "wrench.source: joint_effort"])
def test_the_file_of_the_gains_may_choose_the_estimate(tmp_path, form):
    with pytest.raises(ConfigError):
        controller("ur5", "admittance", profile="ethercat")
    path = tmp_path / "gains.yaml"
    path.write_text(f"controller:\n  ros__parameters:\n    {form}\n", encoding="utf-8")
    controller("ur5", "admittance", str(path), profile="ethercat")


# --- a missing sensor is shown as such ---


def test_the_page_shows_no_sensor():
    missing = details(Health(diagnosis={"wrench": "no wrench has arrived"}))
    assert [line for line in missing if line.startswith("no sensor")]
    assert details(Health(diagnosis={"wrench": "fresh"})) == details(Health())


@pytest.mark.parametrize(("force", "shown"), [(math.nan, True), (3.0, False)])
def test_the_page_s_plot_shows_no_sensor(force, shown):
    robot = load_robot("ur5")

    class Recorded:
        t = np.arange(3.0)

        def block(self, name, width):
            return np.full((3, width), force)

    charts = Charts(robot, RobotModel.of(robot).limits)
    found = charts.of(WRENCH, charts.joints[0], None, Recorded())
    assert [("no sensor" in chart.label) for chart in found] == [shown, shown]


# --- the controller node ---


@pytest.mark.ros
@pytest.mark.parametrize(
    ("wrench", "settings", "configured"),
    [
        ("wrench", {}, False),
        ("/sensor/wrench", {}, True),
        ("wrench", {"wrench.source": "joint_effort"}, True),
    ],
)
def test_the_controller_is_only_configured_with_a_source_of_the_wrench(
    tmp_path, wrench, settings, configured
):
    pytest.importorskip("rclpy")
    from lockstep import LockstepRos
    from ros_support import Controller

    chosen = {"robot": "ur5", "profile": "ethercat", "law": "admittance", "autostart": False}
    with LockstepRos(tmp_path) as ros:
        node = Controller(ros, wrench, **chosen, **settings)
        assert node.change("configure") is configured
        if not configured:
            ros.until(
                lambda: "profiles.ethercat.wrench_topic is empty" in node.child.err, "the reason"
            )


@pytest.mark.parametrize(("force", "shown"), [(math.nan, "no sensor"), (3.0, "force   5.2 N")])
def test_the_demonstration_prints_no_sensor_in_place_of_a_force(force, shown):
    assert force_text(np.full(6, force)) == shown
