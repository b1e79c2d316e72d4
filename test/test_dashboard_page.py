"""The page over its real websocket, with a robot that only the test knows."""

from dataclasses import replace

import numpy as np
import pytest
from dashboard_support import HOME, ROBOT, Browser, FakeLink, free_port, until

from robot_control_ros.dashboard.link import Health, SceneObject
from robot_control_ros.dashboard.page import Page
from robot_control_ros.dashboard.robot_view import add_shape
from robot_control_ros.dashboard.shapes import Shape
from robot_control_ros.errors import ConfigError
from robot_control_ros.model import RobotModel
from robot_control_ros.spatial import make_pose, rotation_exp


@pytest.fixture
def link():
    return FakeLink()


@pytest.fixture
def page(link):
    made = Page(link, port=free_port())
    yield made
    made.close()


@pytest.fixture
def browser(page):
    made = Browser(page)
    yield made
    made.socket.close()


def said(page):
    return page._state._text.content


def node(page, name):
    return page.server.scene._handle_from_node_name[name]


# --- gains ---


def test_a_slider_changes_the_gain_on_its_axes(browser, link):
    browser.set("Stiffness [N/m]", 700)
    until(lambda: link.asked, "the change")
    assert link.asked == [("gains", {"stiffness": (700.0, 700.0, 700.0, 50.0, 50.0, 50.0)})]


def test_a_refused_value_is_told_in_the_nodes_words_and_the_slider_goes_back(browser, page, link):
    link.refusal = "stiffness = 700: must be <less>"
    browser.set("Stiffness [N/m]", 700)
    until(lambda: "refused: stiffness = 700: must be &lt;less&gt;" in said(page), "the words")
    until(lambda: browser.handle("Stiffness [N/m]").value == 500.0, "the slider to go back")


def test_what_others_change_shows(browser, link):
    assert browser.handle("Stiffness [N/m]").value == 500.0
    link.gains = link.gains | {"stiffness": replace(link.gains["stiffness"], value=(300.0,) * 3 + (50.0,) * 3)}
    until(lambda: browser.handle("Stiffness [N/m]").value == 300.0, "the slider to move")
    link.gains = link.gains | {"stiffness": replace(link.gains["stiffness"], value=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))}
    until(lambda: browser.handle("Stiffness 2 [N/m]").value == 2.0, "a slider for each axis")


def test_switches_and_words_are_gains_too(browser, link):
    browser.set("Coriolis", True)
    browser.set("Output", "position")
    until(lambda: len(link.asked) == 2, "both changes")
    assert link.asked == [("gains", {"coriolis": True}), ("gains", {"output": "position"})]


def test_the_last_of_many_moves_is_what_the_node_has(browser, link):
    for value in range(100, 1100, 10):
        browser.set("Stiffness [N/m]", value)
    until(lambda: link.gains["stiffness"].value[0] == 1090.0, "the last value")


def test_a_preset_sets_springs(browser, link):
    browser.set("Preset", "Stiff")
    until(lambda: link.asked, "the change")
    assert link.asked[0][1]["stiffness"] == (1500.0, 1500.0, 1500.0, 150.0, 150.0, 150.0)


def test_the_law_is_chosen_or_goes_back(browser, link):
    browser.set("Law", "joint_pid")
    until(lambda: link.running == "joint_pid", "the law")
    link.refusal = "no"
    browser.set("Law", "impedance")
    until(lambda: ("law", "impedance") in link.asked, "the attempt")
    until(lambda: browser.handle("Law").value == "joint_pid", "the law that still runs")


# --- dragging ---


def aside(x, y, z):
    return make_pose(HOME[:3, 3] + [x, y, z], rotation_exp(np.array([0.0, 0.0, 0.3])) @ HOME[:3, :3])


def test_a_dragged_target_is_streamed_and_let_go(browser, link):
    browser.begin_drag("/target")
    browser.drag("/target", aside(0.05, 0.0, 0.0))
    until(lambda: len(link.targets) >= 10, "a stream without further moves")
    browser.drag("/target", aside(0.1, 0.0, 0.02))
    browser.end_drag("/target")
    until(lambda: np.allclose(link.targets[-1], aside(0.1, 0.0, 0.02), atol=1e-6), "the last target")
    until(lambda: np.allclose(node(browser.page, "/target").position, HOME[:3, 3]), "the gizmo at the reference")
    count = len(link.targets)
    browser.set("Coriolis", True)
    until(lambda: link.asked, "another turn of the page")
    assert len(link.targets) == count


def test_a_browser_that_dies_while_it_drags_lets_go(browser, link):
    browser.begin_drag("/target")
    browser.drag("/target", aside(0.05, 0.0, 0.0))
    until(lambda: link.targets, "a target")
    browser.socket.close()
    until(lambda: np.allclose(node(browser.page, "/target").position, HOME[:3, 3]), "the gizmo at the reference")


@pytest.mark.parametrize("ends", ["released", "killed"])
def test_a_push_is_a_spring_to_the_handle_and_ends_with_it(browser, link, ends):
    browser.set("Push mode", True)
    until(lambda: node(browser.page, "/push").visible, "the handle")
    browser.begin_drag("/push")
    browser.drag("/push", make_pose(HOME[:3, 3] + [0.0, 0.0, 0.1]))
    name, force = until(lambda: [push for push in link.pushes if push[1].any()], "a push")[-1]
    assert name == "tool0"
    np.testing.assert_allclose(HOME[:3, :3] @ force, [0.0, 0.0, 20.0], atol=1e-3)  # 200 N/m
    if ends == "released":
        browser.end_drag("/push")
    else:
        browser.socket.close()
    until(lambda: not link.pushes[-1][1].any(), "the end of the push")


def test_objects_are_drawn_led_and_taken_away(browser, page, link):
    place = np.array([0.6, 0.1, 0.3])
    ball = SceneObject("ball", "sphere", np.full(3, 0.05), make_pose(place), (1.0, 0.0, 0.0), ROBOT.base, led=True)
    table = SceneObject("table", "box", np.ones(3), make_pose(np.zeros(3)), (0.5, 0.5, 0.5), ROBOT.base)
    link.now = replace(link.now, objects=(ball, table))
    until(lambda: "/lead/ball" in page.server.scene._handle_from_node_name, "a handle")
    assert "/lead/table" not in page.server.scene._handle_from_node_name
    browser.begin_drag("/lead/ball")
    browser.drag("/lead/ball", make_pose(place + [0.0, 0.0, 0.1]))
    browser.end_drag("/lead/ball")
    until(lambda: link.places, "a place for it")
    assert link.places[-1][0] == "ball"
    np.testing.assert_allclose(link.places[-1][1], place + [0.0, 0.0, 0.1], atol=1e-6)
    link.now = replace(link.now, objects=(table,))
    until(lambda: "/objects/ball" not in page.server.scene._handle_from_node_name, "the ball to go")
    assert "/objects/table" in page.server.scene._handle_from_node_name


# --- what it shows ---


def test_the_links_are_where_the_model_has_them(page, link):
    q = np.array([0.3, -1.2, 1.0, -0.5, 0.4, 0.2])
    link.now = replace(link.now, q=q)
    model = RobotModel.of(ROBOT)
    model.update(q, np.zeros(6))
    until(lambda: np.allclose(node(page, "/robot/tool0").position, model.frame_pose("tool0")[:3, 3]), "the tip")
    for name in ("upper_arm_link", "wrist_2_link"):
        np.testing.assert_allclose(node(page, f"/robot/{name}").position, model.frame_pose(name)[:3, 3], atol=1e-9)


def test_a_joint_near_its_limit_shows_a_ring(page, link):
    until(lambda: np.linalg.norm(node(page, "/robot/tool0").position) > 0.1, "the arm at home")
    assert not node(page, "/robot/forearm_link/limit").visible
    q = np.array(ROBOT.home)
    q[2] = RobotModel.of(ROBOT).limits.upper[2] - 0.05
    link.now = replace(link.now, q=q)
    until(lambda: node(page, "/robot/forearm_link/limit").visible, "the ring")


def test_the_wrench_is_an_arrow_in_newtons(page, link):
    link.now = replace(link.now, wrench=np.array([0.0, 0.0, -12.0, 0.0, 0.0, 0.0]))
    until(lambda: node(page, "/wrench").visible, "the arrow")
    start, end = np.array(node(page, "/wrench").points[0])
    np.testing.assert_allclose(start, HOME[:3, 3], atol=1e-6)
    assert end[2] < start[2]
    np.testing.assert_allclose(end[:2], start[:2])
    assert node(page, "/wrench/label").text == "wrench 12 N"
    link.now = replace(link.now, wrench=np.full(6, np.nan))
    until(lambda: not node(page, "/wrench").visible, "no arrow for no wrench")


def test_the_trail_follows_the_tip_and_is_cleared(browser, page, link):
    def pieces():
        return [name for name in list(page.server.scene._handle_from_node_name) if name.startswith("/trail/")]

    def step(angle):
        link.now = replace(link.now, q=np.array(ROBOT.home) + np.array([angle, 0, 0, 0, 0, 0]))

    browser.set("Show trajectory", True)
    until(lambda: page._trail.shown, "the trail")
    for angle in np.linspace(0.0, 0.3, 10):
        step(angle)
        until(lambda: page._robot._q is not None and np.array_equal(page._robot._q, link.now.q), "the arm there")
    until(pieces, "a piece of the trail")
    browser.set("Trajectory", "Clear")
    until(lambda: not pieces(), "none")


# --- the state ---


def test_stop_is_asked_for_at_once(browser, link):
    browser.set("STOP", True)
    until(lambda: "stop" in link.asked, "the stop")


def test_a_silent_controller_and_an_inactive_one_are_told(page, link):
    link.state = Health(answers=False, silence=3.0)
    until(lambda: "the controller doesn&#x27;t answer for 3 s" in said(page), "its silence")
    link.state = Health(answers=True, lifecycle="inactive")
    until(lambda: "controller inactive: the robot isn&#x27;t commanded" in said(page), "its state")


def test_rate_response_and_refusals_are_told(page, link):
    values = {"rate [Hz]": "499.6", "response p99 [us]": "210", "refusals": "3"}
    link.state = Health(True, 0.0, "active", diagnosis=values, problem="no wrench")
    until(lambda: "500 Hz · response p99 0.21 ms · 3 refusals" in said(page), "the line")
    assert "no wrench" in said(page)


def test_lifecycle_buttons_are_those_that_are_possible(browser, page, link):
    link.state = Health(answers=True, lifecycle="inactive")
    until(lambda: tuple(browser.handle("Controller").options) == ("Activate", "Clean up"), "the buttons")
    browser.set("Controller", "Activate")
    until(lambda: "activate" in link.asked, "the transition")


def test_a_taken_port_gives_way_to_the_next_free_one(page, link):
    other = Page(link, port=page.port)
    try:
        assert other.port > page.port
    finally:
        other.close()


# --- meshes ---

STL = """solid part
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 1 0
endloop
endfacet
endsolid part
"""


@pytest.mark.parametrize("colour", [None, (1.0, 0.0, 0.0)])
def test_a_mesh_is_drawn_at_its_scale(page, tmp_path, colour):
    path = tmp_path / "part.stl"
    path.write_text(STL)
    shape = Shape("mesh", (0.5, 0.5, 0.5), make_pose(np.array([1.0, 2.0, 3.0])), colour, path)
    drawn = add_shape(page.server.scene, "/part", shape)
    assert tuple(drawn.scale) == (0.5, 0.5, 0.5)
    np.testing.assert_allclose(drawn.position, [1.0, 2.0, 3.0])


def test_a_mesh_that_cant_be_read_is_named(page, tmp_path):
    path = tmp_path / "part.stl"
    path.write_text("nothing")
    with pytest.raises(ConfigError, match=r"the mesh .*part\.stl can't be read"):
        add_shape(page.server.scene, "/part", Shape("mesh", (1.0, 1.0, 1.0), np.eye(4), None, path))
