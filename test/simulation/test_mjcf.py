"""Robots of MuJoCo (MJCF) as descriptions: what is read, what is told, what is refused; and the
same mechanics.
"""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robot_control_ros.core.errors import ModelError
from robot_control_ros.core.spatial import rotation_from_rpy
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.mjcf import check_same, exact_rpy, read_mjcf

pytestmark = pytest.mark.sim
mujoco = pytest.importorskip("mujoco")

ARM = """
<mujoco model="bench arm">
  <compiler angle="degree" autolimits="true"/>
  <default>
    <joint armature="0.1" damping="2" axis="0 0 1"/>
    <default class="light"><joint armature="0.02" frictionloss="0.3"/></default>
  </default>
  <asset><mesh name="wedge" vertex="0 0 0  0.1 0 0  0 0.06 0  0 0 0.04"/></asset>
  <worldbody>
    <geom type="plane" size="1 1 0.1"/>
    <body name="pedestal" pos="0.1 0.2 0.3" euler="0 0 30">
      <geom type="cylinder" size="0.1 0.15" mass="4"/>
      <body name="column" pos="0 0 0.15" euler="0 90 0">
        <joint name="turn" range="-170 170" ref="20"/>
        <joint name="tilt" axis="0 1 0" pos="0.01 -0.02 0.05" range="-100 100"/>
        <geom type="capsule" size="0.05" fromto="0 0 0 0.2 0.05 0.3" mass="3"/>
        <body name="slider" pos="0.2 0.05 0.3" quat="0.6 0.4 -0.5 0.48">
          <joint name="slide" type="slide" axis="1 1 0" range="-0.1 0.3" ref="0.05"/>
          <geom type="box" size="0.05 0.04 0.06" mass="1.5" pos="0.01 0 0.02"/>
          <body name="wrist" pos="0.05 0 0.1" euler="10 -90 40">
            <joint name="roll" class="light" pos="0 0.03 0"/>
            <inertial mass="0.7" pos="0.01 0.02 0.03" fullinertia="0.01 0.02 0.015 0.001 0.002 -0.001"/>
            <geom type="mesh" mesh="wedge" mass="0"/>
            <site name="tool" pos="0 0.02 0.1" euler="0 45 0"/>
            <body name="left" pos="0 0.03 0.1">
              <joint name="left_finger" type="slide" axis="0 1 0" range="0 0.04"/>
              <geom type="box" size="0.01 0.005 0.02" mass="0.05"/>
            </body>
            <body name="right" pos="0 -0.03 0.1">
              <joint name="right_finger" type="slide" axis="0 -1 0" range="0 0.04"/>
              <geom type="box" size="0.01 0.005 0.02" mass="0.05"/>
            </body>
          </body>
        </body>
      </body>
    </body>
    <body name="cube" pos="1 0 0.1"><freejoint/><geom type="box" size="0.02 0.02 0.02" mass="0.1"/></body>
  </worldbody>
  <equality><joint name="grip" joint1="right_finger" joint2="left_finger"/></equality>
  <tendon><fixed name="pull"><joint joint="left_finger" coef="0.5"/></fixed></tendon>
  <actuator>
    <motor joint="turn" gear="50" ctrlrange="-2 2"/>
    <position joint="tilt" kp="100" forcerange="-30 40"/>
    <position joint="slide" kp="100"/>
  </actuator>
</mujoco>
"""
JOINTS = ("turn", "tilt", "slide", "roll")


@pytest.fixture
def read(tmp_path):
    """A function that reads a file with a text."""

    def read_text(text, name="arm.xml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return read_mjcf(path)

    return read_text


def model_of(arm, joints=JOINTS, base="pedestal", tip="tool"):
    rotors = [arm.rotor_inertia[name] for name in joints]
    return RobotModel(arm.urdf, joints, base, tip, rotors)


def joint(arm, name):
    return ElementTree.fromstring(arm.urdf).find(f"joint[@name='{name}']")


def test_the_mechanics_are_mujocos(read, rng):
    arm = read(ARM)
    model = model_of(arm)
    check_same(arm, model, "arm.xml")
    compiled = mujoco.MjModel.from_xml_string(ARM)
    data = mujoco.MjData(compiled)
    places = [compiled.joint(name).qposadr[0] for name in JOINTS]
    columns = [compiled.joint(name).dofadr[0] for name in JOINTS]
    inertia = np.zeros((compiled.nv, compiled.nv))
    for _ in range(20):
        q, v = rng.uniform(-1.0, 1.0, 4), rng.uniform(-2.0, 2.0, 4)
        data.qpos[places], data.qvel[columns] = q, v
        mujoco.mj_forward(compiled, data)
        mujoco.mj_fullM(compiled, data, inertia)
        kin = model.at(q, v)
        np.testing.assert_allclose(kin.mass, inertia[np.ix_(columns, columns)], rtol=0, atol=1e-11)
        np.testing.assert_allclose(model.bias(q, v), data.qfrc_bias[columns], rtol=0, atol=1e-10)
        tip = data.site("tool").xpos - data.body("pedestal").xpos
        rotation = data.body("pedestal").xmat.reshape(3, 3)
        np.testing.assert_allclose(kin.pose[:3, 3], rotation.T @ tip, rtol=0, atol=1e-12)


def test_another_mechanism_is_told_with_the_quantity(read):
    arm = read(ARM)
    heavier = arm.urdf.replace('mass value="1.5"', 'mass value="1.6"')
    assert heavier != arm.urdf
    rotors = [arm.rotor_inertia[name] for name in JOINTS]
    with pytest.raises(ModelError) as refusal:
        check_same(arm, RobotModel(heavier, JOINTS, "pedestal", "tool", rotors), "arm.xml")
    assert refusal.value.name == "inertia"
    assert refusal.value.value > refusal.value.bound


def test_limits_losses_and_rotors_are_those_of_the_file(read):
    arm = read(ARM)
    limits = model_of(arm).limits
    np.testing.assert_allclose(limits.lower, np.radians([-170, -100, 0, 0]) - [0, 0, 0.1, np.inf])
    np.testing.assert_allclose(limits.upper[:3], [np.radians(170), np.radians(100), 0.3])
    assert limits.effort.tolist() == [100.0, 40.0, 0.0, 0.0]
    assert joint(arm, "roll").get("type") == "continuous"
    assert float(joint(arm, "turn").find("dynamics").get("damping")) == 2.0
    assert float(joint(arm, "roll").find("dynamics").get("friction")) == 0.3
    assert arm.rotor_inertia["turn"] == 0.1
    assert arm.rotor_inertia["roll"] == 0.02


def test_a_joint_that_an_equality_couples_follows_the_other(read):
    mimic = joint(read(ARM), "right_finger").find("mimic")
    assert (mimic.get("joint"), float(mimic.get("multiplier"))) == ("left_finger", 1.0)


def test_what_a_description_cannot_say_is_told(read):
    told = " ".join(read(ARM).left_out)
    for part in ("cube", "free", "pull"):
        assert part in told
    assert "grip" not in told


def test_shapes_are_those_that_collide(read):
    root = ElementTree.fromstring(read(ARM).urdf)
    kinds = {
        link.get("name"): [shape.tag for shape in link.findall("collision/geometry/*")]
        for link in root.findall("link")
    }
    assert kinds["pedestal"] == ["cylinder"]
    assert kinds["column"] == ["cylinder", "sphere", "sphere"]
    assert kinds["wrist"] == ["box"]  # around the mesh


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("<mujoco><worldbody/></mujoco>", "no joint"),
        (
            "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>",
            "free",
        ),
        (
            "<mujoco><worldbody><body><joint type='ball'/><geom size='1'/></body></worldbody></mujoco>",
            "ball",
        ),
        (
            "<mujoco><worldbody><body><joint type='slide'/><geom size='1'/></body></worldbody></mujoco>",
            "range",
        ),
        ("<mujoco><worldbody><body><joint name='a'/></body></worldbody></mujoco>", "compile"),
        ("<mujoco><asset><mesh name='a' file='nowhere.stl'/></asset></mujoco>", "nowhere.stl"),
        ("no xml", "compile"),
    ],
)
def test_what_is_no_arm_is_refused_in_words(read, text, word):
    with pytest.raises(ModelError, match=word):
        read(text)


def test_names_that_are_missing_or_stand_twice_are_no_obstacle(read):
    text = """<mujoco><worldbody><body><joint/><geom size="0.1"/><site name="a"/>
      <body name="a" pos="0 0 1"><joint pos="0 0 0.1"/><geom size="0.1"/></body></body></worldbody></mujoco>"""
    arm = read(text)
    model = model_of(arm, tuple(arm.rotor_inertia), "world", "a")
    check_same(arm, model, "arm.xml")
    assert model.n == 2


def test_rotations_are_exact_near_a_pitch_of_90_degrees(rng):
    for tilt in (0.0, 1e-16, 1e-12, 1e-9, 1e-6, 1e-4, 1e-2):
        for pitch in (np.pi / 2 - tilt, tilt - np.pi / 2):
            roll, yaw = rng.uniform(-np.pi, np.pi, 2)
            rotation = Rotation.from_euler("xyz", [roll, pitch, yaw]).as_matrix()
            made = rotation_from_rpy(*exact_rpy(rotation))
            np.testing.assert_allclose(made, rotation, rtol=0, atol=2e-15)
