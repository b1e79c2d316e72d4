"""What viser's thread and the page's thread share, in the orders that only threads bring about."""

from types import SimpleNamespace

import numpy as np
import pytest
from stepped_loop import SteppedLoop

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.dashboard import page_thread
from robot_control_ros.dashboard.page_thread import PERIOD, UNWATCHED_PERIOD, PageThread
from robot_control_ros.dashboard.view.dragging import Drag


class Gizmo:
    """A handle of viser; `while_read` happens in the middle of each reading of its pose."""

    def __init__(self):
        self.position, self.visible = np.zeros(3), True
        self.while_read = lambda: None

    @property
    def wxyz(self):
        self.while_read()
        return np.array([1.0, 0.0, 0.0, 0.0])

    def on_update(self, action):
        self.update = action


class Scene:
    """A scene of viser with one handle."""

    def __init__(self):
        self.gizmo = Gizmo()

    def add_transform_controls(self, name, **settings):
        return self.gizmo


@pytest.fixture
def loop(web):
    made = SteppedLoop(web.clock, web.network)
    yield made
    made.end()


def test_stop_in_the_middle_of_a_move_ends_the_drag(loop):
    scene = Scene()
    drag = Drag(scene, "/target")
    for phase in ("start", "update"):
        loop.run_until_complete(scene.gizmo.update(SimpleNamespace(phase=phase, client_id=1)))
    assert drag.moved()
    scene.gizmo.while_read = drag.drop
    loop.run_until_complete(scene.gizmo.update(SimpleNamespace(phase="update", client_id=1)))
    assert not drag.held
    assert not drag.moved()


def test_the_last_pose_of_a_drag_counts_once(loop):
    scene = Scene()
    drag = Drag(scene, "/target")
    for phase in ("start", "end"):
        loop.run_until_complete(scene.gizmo.update(SimpleNamespace(phase=phase, client_id=1)))
    assert drag.moved()
    assert not drag.moved()


def test_a_file_that_is_refused_is_refused_in_the_page_s_thread(loop, web):
    said, clicked = [], []
    thread = PageThread(lambda: None, said.append)

    def make(value, camera):
        raise ConfigError("nothing to save")

    thread.offer_file(SimpleNamespace(on_click=clicked.append), make)
    event = SimpleNamespace(target=SimpleNamespace(value=True), client=SimpleNamespace(camera=None))
    loop.run_until_complete(clicked[0](event))
    web.wait(0.1)
    assert said == []
    assert thread.run_next(0.0)
    assert said == ["nothing to save"]


def test_a_drawing_that_fails_again_and_again_is_told_once(caplog):
    def draw():
        raise ValueError("no such thing")

    thread = PageThread(draw, lambda message: None)
    for _ in range(100):
        thread.draw()
    assert [record.levelname for record in caplog.records] == ["ERROR"]


@pytest.mark.parametrize(("watched", "period"), [(True, PERIOD), (False, UNWATCHED_PERIOD)])
def test_a_page_that_nobody_watches_draws_more_seldom(monkeypatch, watched, period):
    # drawing takes none
    monkeypatch.setattr(page_thread, "time", SimpleNamespace(monotonic=lambda: 0.0))
    waits = []

    class Waiting(PageThread):
        """Notes how long it may wait for actions after a drawing."""

        def run_next(self, timeout):
            waits.append(timeout)
            return False

    Waiting(lambda: None, lambda message: None, lambda: watched).turn()
    assert waits == [period]
