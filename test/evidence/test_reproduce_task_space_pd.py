"""The reproduction of the task-space PD motion model: every row, and its integrator
against another one.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from evidence.reproduce import rotation_errors, run_case
from evidence.reproduce.motion_model import TaskSpaceMotionModel
from robot_control_ros.core.spatial import make_pose, rotation_exp
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def result():
    return run_case("task_space_pd")


def test_every_figure_of_the_source_is_within_its_bounds(result):
    assert [row for row in result.rows if not row.holds] == []
    assert len(result.rows) > 40


def test_figures_and_series_are_complete(result, tmp_path):
    names = {
        path.name
        for path in result.write(tmp_path, "task_space_pd") + result.draw(tmp_path, "task_space_pd")
    }
    assert {
        "task_space_pd_following.png",
        "task_space_pd_regulation.png",
        "task_space_pd_error_vectors.png",
    } <= names
    for columns in result.series.values():
        assert len({len(values) for values in columns.values()}) == 1
        assert all(np.isfinite(values).all() for values in columns.values())


def test_regulation_is_what_an_integrator_with_error_control_gives(result):
    """Where the law is smooth: so3_log about y, from the recorded samples."""
    model = RobotModel.of(replace(load_robot("gen3"), rotor_inertia=(0.0,) * 7))
    arm = TaskSpaceMotionModel(model, rotation_errors.SOFT_STIFFNESS, rotation_errors.SOFT_DAMPING)
    start = model.at(rotation_errors.POSTURE).pose
    reference = make_pose(
        start[:3, 3], rotation_exp(rotation_errors.TURN * np.array([0, 1, 0])) @ start[:3, :3]
    )
    recorded = result.series["regulation"]
    solution = solve_ivp(
        lambda t, state: arm.derivative(state, reference, np.zeros(6)),
        (0.0, recorded["time"][-1]),
        np.concatenate((rotation_errors.POSTURE, np.zeros(7))),
        method="Radau",
        t_eval=recorded["time"],
        rtol=1e-6,
        atol=1e-8,
    )
    exact = rotation_errors.tip_errors(model, solution.y, [reference] * len(recorded["time"]))
    np.testing.assert_allclose(
        recorded["angle about y (so3_log)"], exact["angle"], rtol=0, atol=0.3
    )
    np.testing.assert_allclose(
        recorded["position about y (so3_log)"], exact["position"], rtol=0, atol=0.3
    )
