"""Fixtures shared by the tests."""

import faulthandler
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from robot_control_ros.robot.configuration import RobotConfig, load_robot
from robot_control_ros.robot.model import RobotModel

# Whatever is begun last is waited for: so these files, which take longest, are begun first.
LONGEST = (
    "system/test_ethercat_node.py",
    "nodes/test_controller_node.py",
    "across/test_law_switching.py",
    "cli/test_demo.py",
    "nodes/test_mock_hardware.py",
    "nodes/test_simulator_node.py",
    "cli/test_doctor.py",
    "nodes/test_controller_laws.py",
    "experiments/test_reproduce_position_domain.py",
    "nodes/test_dashboard_node.py",
)


def pytest_configure():
    """Ctrl-C ends programs here, also where a script started the tests in the background: there a shell ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    def place(item):
        name = "/".join(item.path.parts[-2:])
        return LONGEST.index(name) if name in LONGEST else len(LONGEST)

    items.sort(key=place)


def pytest_unconfigure():
    """An end that doesn't come within a minute is an error, and every thread says where it stands.

    Not so in a worker: when its own tests are done it waits for the other ones, however long they take.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        faulthandler.dump_traceback_later(60.0, exit=True, file=sys.__stderr__)


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
def xacro_program(monkeypatch):
    """The program of this interpreter's environment is found."""
    folder = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", os.pathsep.join([folder, os.environ["PATH"]]))


@pytest.fixture
def ros(tmp_path):
    """A ROS graph in this process, on a clock that only the test moves."""
    from lockstep import LockstepRos

    with LockstepRos(tmp_path) as made:
        yield made


@pytest.fixture
def processes(tmp_path):
    """A ROS domain that only the test has, for nodes in processes of their own."""
    from ros_support import Ros

    with Ros(tmp_path) as made:
        yield made


@pytest.fixture
def link():
    """A robot that only the test knows, for its page."""
    from dashboard_support import FakeLink

    return FakeLink()


@pytest.fixture
def page(link):
    """A page of that robot."""
    from dashboard_support import free_port

    from robot_control_ros.dashboard.page import Page

    made = Page(link, port=free_port())
    yield made
    made.close()


@pytest.fixture
def browser(page):
    """Somebody who looks at the test's page, over its websocket."""
    from dashboard_support import Browser

    made = Browser(page)
    yield made
    made.socket.close()
