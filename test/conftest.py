"""Fixtures shared by the tests."""

import numpy as np
import pytest

from robot_control_ros.model import RobotModel
from robot_control_ros.robots import RobotConfig, load_robot


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240917)


@pytest.fixture(scope="session")
def ur5() -> RobotConfig:
    return load_robot("ur5")


@pytest.fixture
def ur5_model(ur5) -> RobotModel:
    return RobotModel.of(ur5)


@pytest.fixture
def browser(page):
    """Somebody who looks at the test's page, over its websocket."""
    from dashboard_support import Browser

    made = Browser(page)
    yield made
    made.socket.close()
