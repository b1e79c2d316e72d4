"""The ellipsoid of stiffness: the spring of the law, along the axes in which it is given."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("viser", reason="the page needs viser")

from robot_control_ros.control.requests import Parameter
from robot_control_ros.core.gains import AXES
from robot_control_ros.core.spatial import make_pose, rotation_exp
from robot_control_ros.dashboard.link import RobotTelemetry
from robot_control_ros.dashboard.view.stiffness_ellipsoid import (
    StiffnessEllipsoid,
    principal_stiffness,
)
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

UR5 = load_robot("ur5")
MODEL = RobotModel.of(UR5)
Q = np.array(UR5.home) + 0.3
KIN = MODEL.at(Q)
REFERENCE = make_pose(np.zeros(3), rotation_exp(np.array([0.3, -0.5, 0.9])))
SPRING = (800.0, 400.0, 100.0, 50.0, 50.0, 50.0)


def parameters(stiffness=SPRING, axes=AXES, **others):
    others = {name: Parameter(name, value, value) for name, value in others.items()}
    return {"stiffness": Parameter("stiffness", stiffness, stiffness, axes=axes), **others}


def matrix(found):
    """K (3, 3) in the base that an ellipsoid shows."""
    values, axes = found
    assert np.linalg.det(axes) == pytest.approx(1.0)
    return axes @ np.diag(values) @ axes.T


@pytest.mark.parametrize("frame", ["base", "tip", "reference", "forearm_link"])
def test_it_is_the_spring_along_the_axes_of_its_frame(frame):
    rotations = {"base": np.eye(3), "tip": KIN.pose[:3, :3], "reference": REFERENCE[:3, :3]}
    rotation = rotations.get(frame, MODEL.link("forearm_link", Q)[0][:3, :3])
    found = principal_stiffness("impedance", parameters(frame=frame), KIN, REFERENCE)
    assert matrix(found) == pytest.approx(rotation @ np.diag(SPRING[:3]) @ rotation.T)


def test_a_full_matrix_has_its_own_axes(rng):
    root = rng.normal(size=(6, 6))
    full = root @ root.T
    found = principal_stiffness("impedance", parameters(tuple(full.ravel())), KIN)
    assert matrix(found) == pytest.approx(full[:3, :3])


def test_free_axes_and_those_of_a_force_have_none():
    free = parameters(axes=AXES, force_axes=(0.0, 1.0, 0.0, 0.0, 0.0, 0.0)) | {
        "axes": Parameter("axes", (1.0, 1.0, 0.0, 1.0, 1.0, 1.0), ())
    }
    assert matrix(principal_stiffness("force_control", free, KIN)) == pytest.approx(
        np.diag((800.0, 0.0, 0.0))
    )


@pytest.mark.parametrize(("law", "factor"), [("impedance", 0.25), ("admittance", 1.0)])
def test_ringing_leaves_less_of_it_where_the_law_softens_its_spring(law, factor):
    found = principal_stiffness(law, parameters(), KIN, left=0.25)
    assert sorted(found[0]) == pytest.approx(sorted(factor * np.array(SPRING[:3])))


@pytest.mark.parametrize(
    ("law", "given"),
    [
        ("gravity_compensation", {}),
        ("joint_impedance", parameters(axes=UR5.joints)),
        ("impedance", parameters((0.0,) * 6)),
        ("not_here:Law", parameters()),
        ("impedance", parameters(frame="not_a_link")),
    ],
)
def test_a_law_without_a_spring_at_the_tip_has_none(law, given):
    assert principal_stiffness(law, given, KIN) is None


class Scene:
    """Remembers its nodes."""

    def __getattr__(self, name):
        return lambda node, *arguments, **settings: self.__dict__.setdefault(
            node, SimpleNamespace(**settings)
        )


def test_it_is_drawn_at_the_tip_while_it_is_switched_on():
    scene, link = (
        Scene(),
        SimpleNamespace(law=lambda: "impedance", parameters=lambda: parameters(frame="tip")),
    )
    ellipsoid, telemetry = StiffnessEllipsoid(scene, link, MODEL, 1.0), RobotTelemetry(q=Q)
    ball, label = (vars(scene)[name] for name in ("/stiffness", "/stiffness/label"))
    ellipsoid.draw(telemetry)
    assert (ball.visible, label.visible) == (False, False)
    ellipsoid.show(True)
    ellipsoid.draw(telemetry)
    assert ball.visible
    assert label.visible
    assert ball.position == pytest.approx(KIN.pose[:3, 3])
    assert label.text == "100 · 400 · 800 N/m"
    assert np.divide(ball.scale, max(ball.scale)) == pytest.approx(
        np.array([100.0, 400.0, 800.0]) / 800.0
    )
    ellipsoid.show(False)
    ellipsoid.draw(telemetry)
    assert (ball.visible, label.visible) == (False, False)
