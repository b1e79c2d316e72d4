"""`robot_control init-robot`: the file that it makes loads, and every law runs with it at once."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from robot_control_ros.cli.init_robot import write_robot
from robot_control_ros.cli.main import main
from robot_control_ros.core.errors import ModelError
from robot_control_ros.laws import law_names
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.simulation.in_process import simulate

pytestmark = pytest.mark.sim
ROOT = Path(__file__).resolve().parents[2]


def link(name, mass):
    inertia = '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/>'
    return f'<link name="{name}"><inertial><mass value="{mass}"/>{inertia}</inertial></link>'


def joint(name, kind, parent, child, origin, limits):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{origin}"/><axis xyz="0 0 1"/><limit {limits}/></joint>'
    )


def scara():
    turn, slide = (
        'lower="-2.5" upper="2.5" effort="50" velocity="3"',
        'lower="0" upper="0.2" effort="200" velocity="1"',
    )
    parts = (
        '<link name="base_link"/>',
        joint("shoulder", "revolute", "base_link", "arm", "0 0 0.3", turn),
        link("arm", 3.0),
        joint("elbow", "revolute", "arm", "forearm", "0.3 0 0", turn),
        link("forearm", 2.0),
        joint("quill", "prismatic", "forearm", "tool", "0.25 0 0", slide),
        link("tool", 1.0),
    )
    return f'<robot name="scara">{"".join(parts)}</robot>'


def desk_arm():
    guide = (ROOT / "docs" / "adding_a_robot.md").read_text(encoding="utf-8")
    return re.search(r"`desk_arm.urdf`:\n\n```xml\n(.*?)```", guide, re.DOTALL).group(1)


ARMS = {"desk_arm": desk_arm, "scara": scara}


@pytest.fixture(params=ARMS)
def made(request, tmp_path):
    """The name of an arm, and the file that is made of its URDF."""
    pytest.importorskip("mujoco")
    urdf = tmp_path / f"{request.param}.urdf"
    urdf.write_text(ARMS[request.param](), encoding="utf-8")
    assert main(["init-robot", str(urdf)]) == 0
    return request.param, str(urdf.with_suffix(".yaml"))


def test_the_file_has_the_joints_frames_and_axes_of_the_urdf(made):
    name, path = made
    robot = load_robot(path)
    joints = {"desk_arm": ("waist", "shoulder", "elbow"), "scara": ("shoulder", "elbow", "quill")}
    assert robot.joints == joints[name]
    assert (robot.base, robot.tip) == ("base_link", {"desk_arm": "tool0", "scara": "tool"}[name])
    assert robot.axes == (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "law",
    [
        law
        if law in ("impedance", "admittance", "joint_pid")
        else pytest.param(law, marks=pytest.mark.long)
        for law in law_names(plugins=False)
    ],
)
def test_every_law_runs_at_once(made, law):
    log = simulate(made[1], law, duration=0.1, rate=500.0)
    assert np.isfinite(log.q).all()
    assert not any(log.fault)
    assert np.abs(log.q - log.q[0]).max() < 0.05


def test_a_file_that_is_there_stays(made, capsys):
    before = Path(made[1]).read_text()
    assert main(["init-robot", made[1].replace(".yaml", ".urdf")]) == 2
    assert Path(made[1]).read_text() == before
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("text", ["", "<robot name='r'><link name='a'/></robot>", "no xml"])
def test_what_is_no_arm_is_refused_in_a_line(text, tmp_path, capsys):
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(text, encoding="utf-8")
    assert main(["init-robot", str(urdf)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not urdf.with_suffix(".yaml").exists()


@pytest.mark.parametrize("kind", ["pipe", "/dev/zero", "folder"])
def test_what_is_no_regular_file_is_refused_at_once(kind, tmp_path):
    urdf = Path(kind)
    if kind == "pipe":
        urdf = tmp_path / "pipe.urdf"
        os.mkfifo(urdf)
    if kind == "folder":
        urdf = tmp_path
    with pytest.raises(ModelError) as caught:
        write_robot(urdf, tmp_path / "arm.yaml")
    assert caught.value.value == str(urdf)
    assert not (tmp_path / "arm.yaml").exists()


def arm(*parts):
    """A description of an arm of two joints, with more parts."""
    turn = 'lower="-2" upper="2" effort="50" velocity="3"'
    return "".join(
        (
            '<robot name="arm"><link name="base"/>',
            joint("a", "revolute", "base", "upper", "0 0 0.2", turn),
            link("upper", 2.0),
            joint("b", "revolute", "upper", "fore", "0.2 0 0", turn),
            link("fore", 1.0),
            *parts,
            "</robot>",
        )
    )


def finger(name, more="", kind="prismatic"):
    """A finger on the forearm, whose joint may follow another one."""
    limits = 'lower="0" upper="0.04" effort="20" velocity="0.2"'
    text = joint(f"{name}_joint", kind, "fore", name, "0.1 0 0", limits)
    return text.replace("</joint>", f"{more}</joint>") + link(name, 0.05)


@pytest.fixture
def written(tmp_path):
    """A function that writes the file of a description's text."""

    def write(text, name="arm.urdf", **options):
        urdf = tmp_path / name
        urdf.write_text(text, encoding="utf-8")
        return write_robot(urdf, urdf.with_suffix(".yaml"), **options)

    return write


def test_fingers_that_follow_each_other_are_no_joints_of_the_arm(written):
    robot = written(arm(finger("left"), finger("right", '<mimic joint="left_joint"/>')))
    assert robot.joints == ("a", "b")


def test_where_chains_fork_the_tip_has_to_be_said(written, tmp_path):
    text = arm(finger("left"), finger("right"))
    with pytest.raises(ModelError) as caught:
        written(text)
    assert caught.value.name == "--tip"
    assert set(caught.value.bound) == {"left", "right"}
    assert not (tmp_path / "arm.yaml").exists()
    assert written(text, tip="fore").joints == ("a", "b")


def test_joints_and_links_may_have_one_name(written):
    text = arm().replace('name="a"', 'name="upper"').replace('name="b"', 'name="fore"')
    assert written(text).joints == ("upper", "fore")
    assert written(text, "short.urdf", tip="upper").joints == ("upper",)


@pytest.mark.parametrize(
    ("told", "name"), [('effort="50"', "effort"), ('velocity="3"', "velocity")]
)
def test_limits_that_the_description_does_not_tell_are_assumed_and_marked(
    written, tmp_path, told, name
):
    robot = written(arm().replace(told, f'{name}="0"'))
    assert min(robot.profile.limits[name]) > 0.0
    assert np.isfinite(robot.profile.limits[name]).all()
    line = next(
        each
        for each in (tmp_path / "arm.yaml").read_text().splitlines()
        if f"      {name}:" in each
    )
    assert "CHECK" in line
    log = simulate(str(tmp_path / "arm.yaml"), "joint_impedance", duration=0.1)
    assert not log.trouble


@pytest.mark.parametrize(
    ("lower", "upper"), [("2", "3"), ("-0.02", "0.03"), ("-3.0", "-2.99"), ("-100", "100")]
)
def test_home_is_well_within_any_limits(written, lower, upper):
    robot = written(arm().replace('lower="-2" upper="2"', f'lower="{lower}" upper="{upper}"'))
    room = 0.05 * min(float(upper) - float(lower), np.pi)
    assert (np.array(robot.home) > float(lower) + room).all()
    assert (np.array(robot.home) < float(upper) - room).all()
    assert np.abs(robot.home).max() < np.pi


def test_numbers_that_can_not_be_are_lines_to_check(written, tmp_path):
    written(arm().replace('mass value="1.0"', 'mass value="1000.0"'))
    text = (tmp_path / "arm.yaml").read_text(encoding="utf-8")
    (line,) = (each for each in text.splitlines() if each.startswith("# CHECK: link fore"))
    assert "1000" in line


@pytest.mark.parametrize("name", ["1", "yes", "a: b", "# x", "ж", "0x10", "left arm"])
def test_names_are_read_as_they_were_written(written, name):
    text = arm().replace('name="b"', f'name="{name}"').replace('"fore"', f'"{name}_link"')
    robot = written(text)
    assert robot.joints == ("a", name)
    assert robot.tip == f"{name}_link"


def test_after_a_refusal_no_file_is_left(written, tmp_path, monkeypatch):
    def refuse(robot):
        raise ModelError("refused")

    with monkeypatch.context() as changed:
        changed.setattr("robot_control_ros.robot.model.RobotModel.of", refuse)
        with pytest.raises(ModelError):
            written(arm())
    assert not (tmp_path / "arm.yaml").exists()
    written(arm())


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (
            '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:include filename="a"/></robot>',
            "xacro",
        ),
        ('<sdf version="1.9"><model name="m"/></sdf>', "SDF"),
        ('<mujoco model="m"><worldbody/></mujoco>', "MJCF"),
        ("<html/>", "<robot>"),
        ("<robot name='r'/>", "link"),
        (arm().replace('lower="-2" upper="2"', ""), "continuous"),
    ],
    ids=["xacro", "sdf", "mjcf", "html", "empty", "no range"],
)
def test_files_of_other_kinds_are_named(written, text, word):
    with pytest.raises(ModelError, match=word):
        written(text)


@pytest.mark.parametrize(
    "text",
    [
        arm().replace('<child link="fore"/>', ""),
        arm().replace('<child link="fore"/>', '<child link="nowhere"/>'),
        arm().replace('<parent link="base"/>', '<parent link="fore"/>'),
    ],
    ids=["no child", "unknown child", "loop"],
)
def test_a_description_that_is_no_tree_is_refused_in_words(written, text):
    with pytest.raises(ModelError):
        written(text)
