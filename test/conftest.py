"""Fixtures shared by the tests."""

import subprocess
from types import SimpleNamespace

import numpy as np
import pytest

from robot_control_ros.robot.configuration import RobotConfig, load_robot
from robot_control_ros.robot.model import RobotModel


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
def xacro_here(monkeypatch):
    """The package's descriptions are made in this process, by the function that the
    program xacro calls.
    """
    import xacro

    def run(command, **options):
        _, path, *arguments = command
        made = xacro.process_file(path, mappings=dict(each.split(":=", 1) for each in arguments))
        return subprocess.CompletedProcess(command, 0, made.toprettyxml(indent="  "), "")

    monkeypatch.setattr("robot_control_ros.bringup.system.subprocess", SimpleNamespace(run=run))


@pytest.fixture
def ros(tmp_path):
    """A ROS graph in this process, on a clock that only the test moves."""
    from lockstep import LockstepRos

    with LockstepRos(tmp_path) as made:
        yield made


@pytest.fixture
def web():
    """Pages and browsers in this process, on a clock that only the test moves."""
    from web import Web

    with Web() as made:
        yield made


@pytest.fixture
def link():
    """A robot that only the test knows, for its page."""
    from dashboard_support import FakeLink

    return FakeLink()


@pytest.fixture
def page(web, link):
    """A page of that robot."""
    from robot_control_ros.dashboard.page import Page

    made = Page(link)
    yield made
    made.close()


@pytest.fixture
def browser(page):
    """Somebody who looks at the test's page, over its websocket."""
    from dashboard_support import Browser

    made = Browser(page)
    yield made
    made.socket.close()
