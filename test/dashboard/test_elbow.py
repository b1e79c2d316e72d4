"""The handle at the elbow of an arm with seven joints."""

import asyncio
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("viser", reason="needs the page (viser)")

from robot_control_ros.core.spatial import pose_error
from robot_control_ros.dashboard.view.elbow import EVERY, ElbowHandle, posture_with_elbow
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

GEN3 = load_robot("gen3")
MODEL = RobotModel.of(GEN3)
HOME = np.array(GEN3.home)
ELBOW = "forearm_link"


class Gizmo:
    """A handle of a scene, which somebody drags."""

    def __init__(self):
        self.position = (0.0, 0.0, 0.0)
        self.wxyz = np.array((1.0, 0.0, 0.0, 0.0))
        self.visible = False

    def add_transform_controls(self, name, **look):
        return self

    def on_update(self, callback):
        self.callback = callback

    def drag(self, phase, position):
        self.position = tuple(position)
        asyncio.run(self.callback(SimpleNamespace(phase=phase, client_id=1)))


def elbow_at(q):
    return MODEL.link(ELBOW, q)[0][:3, 3]


@pytest.mark.parametrize("side", [-0.1, 0.1])
def test_the_elbow_comes_nearer_to_its_place_and_the_tip_keeps_its_pose(side):
    wanted = elbow_at(HOME) + [0.0, side, 0.0]
    posture = posture_with_elbow(MODEL, ELBOW, HOME, wanted)
    pose = MODEL.link(MODEL.tip, HOME)[0]
    assert np.abs(pose_error(pose, MODEL.link(MODEL.tip, posture)[0])).max() < 1e-4
    assert np.linalg.norm(wanted - elbow_at(posture)) < 0.6 * abs(side)
    assert (posture >= MODEL.limits.lower).all()
    assert (posture <= MODEL.limits.upper).all()


def test_a_place_out_of_reach_gives_a_posture_all_the_same():
    posture = posture_with_elbow(MODEL, ELBOW, HOME, np.array((5.0, 5.0, 5.0)))
    assert np.isfinite(posture).all()
    pose = MODEL.link(MODEL.tip, HOME)[0]
    assert np.abs(pose_error(pose, MODEL.link(MODEL.tip, posture)[0])[:3]).max() < 0.01


def test_postures_are_sent_while_it_is_dragged_and_where_it_is_let_go():
    gizmo = Gizmo()
    sent = []
    handle = ElbowHandle(gizmo, SimpleNamespace(set_target_posture=sent.append), MODEL, ELBOW, 0.9)
    handle.draw(HOME, shown=True)
    np.testing.assert_allclose(gizmo.position, elbow_at(HOME), atol=1e-9)
    assert not sent
    gizmo.drag("start", elbow_at(HOME))
    gizmo.drag("update", elbow_at(HOME) + [0.0, 0.05, 0.0])
    for _ in range(2 * EVERY):
        handle.draw(HOME, shown=True)
    assert len(sent) == 2
    gizmo.drag("end", elbow_at(HOME) + [0.0, 0.1, 0.0])
    handle.draw(HOME, shown=True)
    assert len(sent) == 3
    expected = posture_with_elbow(MODEL, ELBOW, HOME, elbow_at(HOME) + [0.0, 0.1, 0.0])
    np.testing.assert_allclose(sent[-1], expected, atol=1e-6)
    handle.draw(HOME, shown=True)
    assert len(sent) == 3
    handle.draw(HOME, shown=False)
    assert not gizmo.visible
