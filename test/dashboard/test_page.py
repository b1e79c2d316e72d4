"""The page over its websocket, with a robot that only the test knows."""

import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import trimesh
import viser
import yaml
from dashboard_support import HOME, ROBOT, Browser, folder, press_stop, text, until

from robot_control_ros.control.requests import Parameter
from robot_control_ros.core.spatial import make_pose, rotation_exp
from robot_control_ros.dashboard.link import DrawnObject, Health, RobotTelemetry
from robot_control_ros.dashboard.page import Page
from robot_control_ros.dashboard.page_thread import PERIOD, PageThread
from robot_control_ros.dashboard.state_panel import describe_loss, summarize
from robot_control_ros.dashboard.view.placing import pose_of
from robot_control_ros.dashboard.view.robot_view import GREEN, add_shape
from robot_control_ros.dashboard.view.shapes import DrawnShape
from robot_control_ros.dashboard.view.trail import Trail
from robot_control_ros.robot.model import RobotModel


def node(page, name):
    return page.server.scene._handle_from_node_name[name]


def placed_at(page, link):
    """Where a link is drawn: the poses of its node and those above it in the tree,
    one after the other.
    """
    name, pose = page.robot.node(link), np.eye(4)
    while name not in ("", "/robot"):
        pose = pose_of(node(page, name)) @ pose
        name = name.rpartition("/")[0]
    return pose


# --- gains ---


def test_a_slider_changes_the_gain_on_its_axes(browser, link):
    browser.set("Stiffness [N/m]", 700)
    until(lambda: link.asked, "the change")
    assert link.asked == [("gains", {"stiffness": (700.0, 700.0, 700.0, 50.0, 50.0, 50.0)})]


def test_a_refused_value_shows_the_message_of_the_node_and_the_slider_goes_back(
    browser, page, link
):
    link.refusal = "stiffness = 700: must be <less>"
    browser.set("Stiffness [N/m]", 700)
    until(lambda: "refused: stiffness = 700: must be <less>" in text(page), "the message")
    until(lambda: browser.handle("Stiffness [N/m]").value == 500.0, "the slider to go back")


def test_what_others_change_shows(browser, link):
    assert browser.handle("Stiffness [N/m]").value == 500.0
    link.gains = link.gains | {
        "stiffness": replace(link.gains["stiffness"], value=(300.0,) * 3 + (50.0,) * 3)
    }
    until(lambda: browser.handle("Stiffness [N/m]").value == 300.0, "the slider to move")
    link.gains = link.gains | {
        "stiffness": replace(link.gains["stiffness"], value=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
    }
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


def presets(browser):
    return tuple(browser.handle("Preset").options)


def test_the_preset_in_force_is_marked(browser, link):
    until(lambda: presets(browser)[1] == "✓ Medium", "the mark at the robot's own gains")
    browser.set("Preset", "Stiff")
    until(lambda: presets(browser) == ("Soft", "Medium", "✓ Stiff", "Hand guiding"), "the mark")
    browser.set("Preset", "✓ Stiff")  # again
    until(lambda: len(link.asked) == 2, "the change")
    assert link.gains["stiffness"].value[0] == 1500.0
    browser.set("Stiffness [N/m]", 700)
    until(lambda: presets(browser) == ("Soft", "Medium", "Stiff", "Hand guiding"), "no mark")


def test_changes_of_gains_are_taken_back_one_by_one(browser, page, link):
    browser.set("Preset", "Stiff")
    until(lambda: link.gains["stiffness"].value[0] == 1500.0, "the preset")
    browser.set("Coriolis", True)
    until(lambda: link.gains["coriolis"].value is True, "the switch")
    browser.set("Gains", "Undo")
    until(lambda: link.gains["coriolis"].value is False, "the switch as before")
    assert link.gains["stiffness"].value[0] == 1500.0
    browser.set("Gains", "Undo")
    until(lambda: link.gains["stiffness"].value[0] == 500.0, "the gains before the preset")
    browser.set("Gains", "Undo")
    until(lambda: "nothing to undo" in text(page), "a refusal")


def test_a_slider_that_is_dragged_is_one_change(browser, link):
    for value in range(600, 1100, 10):
        browser.set("Stiffness [N/m]", value)
    until(lambda: link.gains["stiffness"].value[0] == 1090.0, "the last value")
    browser.set("Gains", "Undo")
    until(lambda: link.gains["stiffness"].value[0] == 500.0, "the value before the drag")


def test_reset_gives_all_gains_their_defaults_and_can_be_taken_back(browser, page, link):
    low_pass = Parameter("wrench.low_pass", 20.0, 0.0, "Corner.", "Hz", 0.0, 1000.0)
    link.gains = link.gains | {"wrench.low_pass": low_pass}
    browser.set("Gains", "Reset to defaults")
    until(lambda: "nothing to reset" in text(page), "a refusal")
    browser.set("Stiffness [N/m]", 700)
    browser.set("Coriolis", True)
    until(lambda: link.gains["coriolis"].value is True, "both changes")
    browser.set("Gains", "Reset to defaults")
    until(lambda: link.gains["coriolis"].value is False, "the defaults")
    assert link.gains["stiffness"].value[0] == 500.0
    assert link.gains["wrench.low_pass"].value == 20.0  # a setting is no gain
    browser.set("Gains", "Undo")
    until(lambda: link.gains["coriolis"].value is True, "the gains before the reset")
    assert link.gains["stiffness"].value[0] == 700.0


def test_a_refused_change_is_none_to_take_back(browser, page, link):
    link.refusal = "no"
    browser.set("Stiffness [N/m]", 700)
    until(lambda: "refused: no" in text(page), "the refusal")
    link.refusal = ""
    browser.set("Gains", "Undo")
    until(lambda: "nothing to undo" in text(page), "that there is none")


@pytest.mark.parametrize(
    "content", [b"\x89PNG\r\n\x1a\n\x00\xff", b"", b"hello", b"- 1\n- 2\n", b"{a: [", b"a: 1\n"]
)
def test_a_file_that_is_not_gains_is_refused_on_the_page(browser, page, link, content):
    before = link.gains
    browser.upload(LOAD, "mine.txt", content)
    until(lambda: "mine.txt is refused" in text(page), "the refusal")
    assert link.gains is before
    assert not link.asked


LOAD, SAVE = "Load gains and view", "Save gains and view"


def test_a_saved_file_brings_back_the_gains_and_the_view(browser, page, link, monkeypatch):
    given = []
    take = lambda client, name, content, **how: given.append((name, content))  # noqa: E731
    monkeypatch.setattr(viser.ClientHandle, "send_file_download", take)
    browser.set(SAVE, True)
    name, content = until(lambda: given, "the file")[0]
    assert name == "ur5_impedance.yaml"
    view = yaml.safe_load(content)["dashboard"]["ros__parameters"]["view"]
    assert (view["position"], view["fov"]) == ([2.0, 0.0, 0.0], 0.8)
    browser.set("Coriolis", True)
    until(lambda: link.gains["coriolis"].value, "another gain")
    browser.upload(LOAD, name, content.replace(b"2.0, 0.0, 0.0", b"2.5, 0.0, 0.0"))
    until(lambda: link.gains["coriolis"].value is False, "the saved gain")
    client = next(iter(page.server.get_clients().values()))
    until(lambda: np.allclose(client.camera.position, [2.5, 0.0, 0.0]), "the saved view")


@pytest.mark.parametrize("wrong", ["gain", "view"])
def test_a_refused_file_leaves_nothing_and_its_refusal_stays(browser, page, link, wrong):
    given = {"impedance": {"coriolis": True, "stiffness": [1.0] * 6}}
    view = {
        "position": [9.0, 0.0, 0.0],
        "look_at": [0.0] * 3,
        "fov": 0.7 if wrong == "gain" else 7.0,
    }
    link.refusal = "no such stiffness" if wrong == "gain" else ""
    before, client = link.gains, next(iter(page.server.get_clients().values()))
    content = {"/**": {"ros__parameters": given}, "dashboard": {"ros__parameters": {"view": view}}}
    browser.upload(LOAD, "mine.yaml", yaml.safe_dump(content).encode())
    until(lambda: "mine.yaml is refused" in text(page), "the refusal beside the button")
    assert link.gains == before
    np.testing.assert_allclose(client.camera.position, [2.0, 0.0, 0.0])
    until(lambda: browser.handle("Stiffness [N/m]").value == 500.0, "the gain in force")
    link.refusal = ""
    browser.set("Stiffness [N/m]", 700)
    until(lambda: link.gains["stiffness"].value[0] == 700.0, "a later change")
    assert link.gains["coriolis"].value is False


NEEDS_COMMANDS = ("Robot", "Keys and gamepad", "Go to", "Test", "Identify this arm")
NEEDS_ANSWERS = ("Law", "Preset", LOAD, "Stiffness [N/m]", "Controller")


def disabled(browser, labels):
    """Which of these controls a browser shows as disabled."""
    handles = [browser.handle(label) for label in labels]
    return [
        label for label, handle in zip(labels, handles, strict=True) if handle._impl.props.disabled
    ]


def test_what_cannot_act_looks_so_and_says_why(browser, page, link):
    labels = (*NEEDS_COMMANDS, *NEEDS_ANSWERS)
    hints = [browser.handle(label).hint for label in labels]
    assert disabled(browser, labels) == []
    link.state = Health(answers=True, lifecycle="inactive", stopped="stopped by the page")
    until(
        lambda: disabled(browser, labels) == list(NEEDS_COMMANDS),
        "what needs an active controller to be disabled",
    )
    assert all("stopped by the page" in browser.handle(label).hint for label in NEEDS_COMMANDS)
    link.state = Health(answers=False, silence=1.0)
    until(lambda: disabled(browser, labels) == list(labels), "all to be disabled")
    link.state = Health(answers=True, lifecycle="active")
    until(lambda: disabled(browser, labels) == [], "all to act again")
    assert [browser.handle(label).hint for label in labels] == hints


@pytest.mark.parametrize("shown", ["left · ur5", "left · UR5 (CB3)", "left \\u00b7 ur5: impedance"])
def test_the_page_names_its_arm_in_its_window_its_heading_and_the_browser_s_tab(web, link, shown):
    link.arm = "left"
    made = Page(link)
    try:
        browser = Browser(made)
        assert browser.sees(shown.encode())
        browser.socket.close()
    finally:
        made.close()


def test_gains_cant_be_moved_while_the_controller_doesnt_answer(browser, link):
    assert not browser.handle("Stiffness [N/m]").disabled
    link.state = Health(answers=False, silence=1.0)
    until(
        lambda: browser.handle("Stiffness [N/m]").disabled and browser.handle("Law").disabled,
        "them to be disabled",
    )
    link.refusal = "/controller doesn't answer"  # somebody was quicker
    browser.set("Stiffness [N/m]", 700)
    until(lambda: "refused: /controller doesn't answer" in text(browser.page), "the message")
    until(lambda: browser.handle("Stiffness [N/m]").value == 500.0, "the slider to go back")
    link.state, link.refusal = Health(answers=True, lifecycle="active"), ""
    until(lambda: not browser.handle("Stiffness [N/m]").disabled, "them to be enabled")


def test_a_page_that_is_there_before_its_controller(link, browser):
    link.state, link.running, gains = Health(silence=5.0), "", link.gains
    link.gains = {}
    link.now = RobotTelemetry()
    other = Browser(other_page := Page(link))
    try:
        until(
            lambda: (
                "is it running? ros2 launch robot_control_ros sim.launch.py" in text(other_page)
            ),
            "what to do",
        )
        assert other.handle("Law").value == "…"
        link.state, link.running, link.gains = (
            Health(answers=True, lifecycle="active"),
            "impedance",
            gains,
        )
        assert other.handle("Stiffness [N/m]").value == 500.0
        until(lambda: other.handle("Law").value == "impedance", "the law")
        link.running, link.gains = "joint_pid", {"p": Parameter("p", 2.0, 2.0, upper=10.0)}
        assert other.handle("P").value == 2.0
        until(lambda: other.handle("Law").value == "joint_pid", "the law of the next controller")
    finally:
        other.socket.close()
        other_page.close()


def test_settings_of_the_wrench_have_a_folder_and_their_own_names(browser, link):
    low_pass = Parameter("wrench.low_pass", 0.0, 0.0, "Corner.", "Hz", 0.0, 1000.0)
    link.gains = link.gains | {"wrench.low_pass": low_pass}
    browser.set("Low pass [Hz]", 20.0)
    until(lambda: link.asked, "the change")
    assert link.asked == [("gains", {"wrench.low_pass": 20.0})]


def test_the_workspace_has_a_slider_for_each_coordinate(browser, link):
    link.gains = link.gains | bounded((-0.9, -0.9, 0.0), (0.9, 0.9, 1.2))
    browser.set("Lower 3 [m]", 0.2)
    until(lambda: link.asked, "the change")
    assert link.asked == [("gains", {"workspace.lower": (-0.9, -0.9, 0.2)})]


def test_the_law_is_chosen_or_goes_back(browser, link):
    browser.set("Law", "joint_pid")
    until(lambda: link.running == "joint_pid", "the law")
    link.refusal = "no"
    browser.set("Law", "impedance")
    until(lambda: ("law", "impedance") in link.asked, "the attempt")
    until(lambda: browser.handle("Law").value == "joint_pid", "the law that still runs")


# --- dragging ---


def aside(x, y, z):
    return make_pose(
        HOME[:3, 3] + [x, y, z], rotation_exp(np.array([0.0, 0.0, 0.3])) @ HOME[:3, :3]
    )


def test_a_dragged_target_is_streamed_and_let_go(browser, link):
    browser.begin_drag("/target")
    browser.drag("/target", aside(0.05, 0.0, 0.0))
    until(lambda: len(link.targets) >= 10, "a stream without further moves")
    browser.drag("/target", aside(0.1, 0.0, 0.02))
    browser.end_drag("/target")
    until(
        lambda: np.allclose(link.targets[-1], aside(0.1, 0.0, 0.02), atol=1e-6), "the last target"
    )
    until(
        lambda: np.allclose(node(browser.page, "/target").position, HOME[:3, 3]),
        "the gizmo at the reference",
    )
    count = len(link.targets)
    browser.set("Coriolis", True)
    until(lambda: link.asked, "another turn of the page")
    assert len(link.targets) == count


def bounded(lower, upper):
    return {
        f"workspace.{name}": Parameter(f"workspace.{name}", value, value, "Bound.", "m", -5.0, 5.0)
        for name, value in (("lower", lower), ("upper", upper))
    }


def test_the_workspace_is_a_box_and_targets_stay_in_it(browser, page, link):
    def box():
        return page.server.scene._handle_from_node_name.get("/workspace")

    tip = HOME[:3, 3]
    browser.set("Workspace box", True)
    link.gains = link.gains | bounded((-5.0, -5.0, 0.0), (tip[0] + 0.02, 0.9, 5.0))
    until(box, "the box")
    edges = np.asarray(box().points)
    assert edges.shape == (12, 2, 3)
    assert edges[..., 2].min() == 0.0
    assert edges[..., 0].max() == pytest.approx(tip[0] + 0.02, abs=1e-6)
    assert np.isclose(edges[:, 0], edges[:, 1]).sum() == 24  # each edge along one axis
    browser.set("Workspace box", False)
    until(lambda: box() is None, "no box")
    browser.begin_drag("/target")
    browser.drag("/target", aside(0.05, 0.01, 0.0))
    until(
        lambda: (
            len(link.targets) and np.allclose(link.targets[-1], aside(0.02, 0.01, 0.0), atol=1e-6)
        ),
        "a target",
    )
    until(box, "the box whose wall stops the target")
    browser.drag("/target", aside(0.01, 0.01, 0.0))
    until(lambda: box() is None, "no box where the target is inside")
    browser.end_drag("/target")
    browser.set("Workspace box", True)
    until(box, "the box")
    link.gains = link.gains | bounded((-20.0,) * 3, (20.0,) * 3)
    until(lambda: box() is None, "none, where nothing is bounded")


def test_a_browser_that_dies_while_it_drags_lets_go(browser, link):
    browser.begin_drag("/target")
    browser.drag("/target", aside(0.05, 0.0, 0.0))
    until(lambda: link.targets, "a target")
    browser.socket.close()
    until(
        lambda: np.allclose(node(browser.page, "/target").position, HOME[:3, 3]),
        "the gizmo at the reference",
    )


@pytest.mark.parametrize("how", ["STOP", "deactivated", "gone"])
def test_a_drag_is_over_once_the_controller_has_stopped(browser, page, link, how):
    """Also after it is activated again: whoever drags must grasp the target anew."""
    browser.begin_drag("/target")
    browser.drag("/target", aside(0.05, 0.0, 0.0))
    until(lambda: link.targets, "a target")
    active = link.state
    if how == "STOP":
        press_stop(page)
        until(lambda: not page.target.drag.held, "the drag to be dropped")
    else:
        link.state = replace(active, answers=how != "gone", lifecycle="inactive")
        until(lambda: not node(page, "/target").visible, "the gizmo to go")
        link.state = active
    until(lambda: node(page, "/target").visible, "the gizmo")
    until(
        lambda: np.allclose(node(page, "/target").position, HOME[:3, 3]),
        "the gizmo at the reference",
    )
    count = len(link.targets)
    browser.drag("/target", aside(0.1, 0.0, 0.0))
    until(
        lambda: np.allclose(node(page, "/target").position[0], HOME[0, 3] + 0.1),
        "the move to be known",
    )
    browser.set("Coriolis", True)
    until(lambda: ("gains", {"coriolis": True}) in link.asked, "another turn of the page")
    assert len(link.targets) == count
    browser.end_drag("/target")
    browser.begin_drag("/target")
    until(lambda: len(link.targets) > count, "a target of the new drag")


def test_of_two_browsers_that_drag_the_target_the_first_has_it(browser, page, link):
    other = Browser(page)
    browser.begin_drag("/target")
    browser.drag("/target", aside(0.05, 0.0, 0.0))
    until(lambda: link.targets, "a target")
    other.begin_drag("/target")
    for _ in range(20):
        other.drag("/target", aside(-0.05, 0.0, 0.0))
    until(
        lambda: np.allclose(node(page, "/target").position, aside(0.05, 0.0, 0.0)[:3, 3]),
        "the first one's place",
    )
    assert all(target[0, 3] > HOME[0, 3] - 1e-6 for target in link.targets)
    browser.end_drag("/target")
    until(lambda: not page.target.drag.held, "the end")
    other.end_drag("/target")
    other.begin_drag("/target")
    other.drag("/target", aside(-0.05, 0.0, 0.0))
    until(
        lambda: np.allclose(link.targets[-1], aside(-0.05, 0.0, 0.0), atol=1e-6), "the other's turn"
    )
    other.socket.close()


def test_ten_browsers_see_the_same_and_one_that_is_cut_while_it_drags_disturbs_none(page, link):
    browsers = [Browser(page) for _ in range(10)]
    until(lambda: len(page.server.get_clients()) == 10, "ten clients")
    browsers[3].begin_drag("/target")
    browsers[3].drag("/target", aside(0.05, 0.0, 0.0))
    until(lambda: link.targets, "a target")
    browsers[3].socket.cut()  # as if the machine had died: no farewell
    until(lambda: len(page.server.get_clients()) == 9, "its end to be seen")
    until(lambda: not page.target.drag.held, "the drag to end")
    for each in (browsers[0], browsers[9]):
        asked = len(link.asked)
        each.set("Coriolis", not link.gains["coriolis"].value)
        until(lambda asked=asked: len(link.asked) > asked, "the change of another")
    link.state = replace(link.state, lifecycle="inactive")
    until(lambda: "controller inactive" in text(page), "the state")
    for each in browsers[:3] + browsers[4:]:
        assert each.sees(b"controller inactive")
        each.socket.close()


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


def shown_way(page):
    """Length that is written [mm]; None where none is."""
    label = node(page, "/displacement/label")
    return float(label.text.removesuffix(" mm")) if label.visible else None


def test_how_far_a_push_has_moved_the_arm_is_written(browser, page, link):
    away = HOME.copy()
    away[:3, 3] += [0.0, 0.0, 0.046]
    link.now = replace(link.now, reference=away)
    browser.set("Push mode", True)
    until(lambda: node(page, "/push").visible, "the handle")
    assert shown_way(page) is None
    browser.begin_drag("/push")
    browser.drag("/push", make_pose(HOME[:3, 3] + [0.0, 0.0, 0.1]))
    until(lambda: shown_way(page) == 46.0, "the way from the reference")
    browser.end_drag("/push")
    until(lambda: shown_way(page) is None, "nothing after the push")


def test_how_far_the_target_is_ahead_is_written_while_it_is_dragged(browser, page):
    browser.begin_drag("/target")
    browser.drag("/target", aside(0.03, 0.04, 0.0))
    until(lambda: shown_way(page) == 50.0, "the way to the target")
    browser.end_drag("/target")
    until(lambda: shown_way(page) is None, "nothing after the drag")


def test_objects_are_drawn_led_and_taken_away(browser, page, link):
    place = np.array([0.6, 0.1, 0.3])
    ball = DrawnObject(
        "ball", "sphere", np.full(3, 0.05), make_pose(place), (1.0, 0.0, 0.0), ROBOT.base, led=True
    )
    table = DrawnObject(
        "table", "box", np.ones(3), make_pose(np.zeros(3)), (0.5, 0.5, 0.5), ROBOT.base
    )
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
    until(
        lambda: np.allclose(placed_at(page, "tool0"), model.frame_pose("tool0"), atol=1e-6),
        "the tip",
    )
    for name in ("base_link", "upper_arm_link", "wrist_2_link", "ft_frame"):
        np.testing.assert_allclose(placed_at(page, name), model.frame_pose(name), atol=1e-6)


def test_a_joint_near_its_limit_shows_a_ring(page, link):
    until(lambda: page.robot.q is not None, "the arm at home")
    assert not node(page, "/robot/forearm_link/limit").visible
    q = np.array(ROBOT.home)
    q[2] = RobotModel.of(ROBOT).limits.upper[2] - 0.05
    link.now = replace(link.now, q=q)
    until(lambda: node(page, "/robot/forearm_link/limit").visible, "the ring")
    until(lambda: "elbow_joint: 0.05 rad before its limit" in text(page), "its message")


def test_the_link_that_is_touched_has_a_mark_and_the_panel_says_so(page, link):
    def marked(name):
        return (
            page.robot.node(name) + "/contact" in page.server.scene._handle_from_node_name
            and node(page, page.robot.node(name) + "/contact").visible
        )

    until(lambda: page.robot.q is not None, "the arm at home")
    for name in ("forearm_link", "wrist_1_link"):
        values = {"contact": f"contact on {name} or beyond: 9 N·m", "contact link": name}
        link.state = Health(True, 0.0, "active", diagnosis=values)
        until(lambda name=name: marked(name), "the mark")
        until(lambda values=values: values["contact"] in text(page), "the line")
    assert not marked("forearm_link")
    link.state = Health(True, 0.0, "active")
    until(lambda: not marked("wrist_1_link"), "no mark")


def test_the_rings_of_all_joints_show_on_demand_and_are_green_far_from_a_limit(browser, page):
    rings = [f"/robot/{joint.link}/limit" for joint in page.description.joints.values()]
    until(lambda: page.robot.q is not None, "the arm at home")
    assert len(rings) == 6
    assert not any(node(page, name).visible for name in rings)
    browser.set("Joint limits", True)
    until(lambda: all(node(page, name).visible for name in rings), "the rings")
    assert all(node(page, name).color == tuple(GREEN.tolist()) for name in rings)
    browser.set("Joint limits", False)
    until(lambda: not any(node(page, name).visible for name in rings), "no rings")


def test_the_wrench_is_an_arrow_in_newtons(page, link):
    link.now = replace(link.now, wrench=np.array([0.0, 0.0, -12.0, 0.0, 0.0, 0.0]))
    until(lambda: node(page, "/wrench").visible, "the arrow")
    start, end = np.array(node(page, "/wrench").points[0])
    np.testing.assert_allclose(start, HOME[:3, 3], atol=1e-6)
    assert end[2] < start[2]
    np.testing.assert_allclose(end[:2], start[:2])
    assert start[2] - end[2] == pytest.approx(page.reach / 10, abs=1e-3)  # half the reach at 60 N
    assert node(page, "/wrench/label").text == "wrench 12 N"
    link.now = replace(link.now, wrench=np.array([0.0, 0.0, -200.0, 0.0, 0.0, 0.0]))
    until(lambda: node(page, "/wrench/label").text == "wrench 200 N", "the larger one")
    assert np.ptp(node(page, "/wrench").points[0], axis=0)[2] == pytest.approx(
        page.reach / 2, abs=1e-3
    )
    link.now = replace(link.now, wrench=np.full(6, np.nan))
    until(lambda: not node(page, "/wrench").visible, "no arrow for no wrench")


def test_the_trail_follows_the_tip_and_is_cleared(browser, page, link):
    def pieces():
        return [
            name
            for name in list(page.server.scene._handle_from_node_name)
            if name.startswith("/trail/")
        ]

    def step(angle):
        link.now = replace(link.now, q=np.array(ROBOT.home) + np.array([angle, 0, 0, 0, 0, 0]))

    browser.set("Show trajectory", True)
    until(lambda: browser.handle("Show trajectory").value, "the trail")
    for angle in np.linspace(0.0, 0.3, 10):
        step(angle)
        until(
            lambda: page.robot.q is not None and np.array_equal(page.robot.q, link.now.q),
            "the arm there",
        )
    until(pieces, "a piece of the trail")
    browser.set("Trajectory", "Clear")
    until(lambda: not pieces(), "none")


def test_a_long_trail_uses_few_names(page):
    """Viser remembers each name that was ever drawn: names that are always new fill the memory."""
    drawn = []
    scene = page.server.scene

    def add(name, *given, **look):
        drawn.append(name)
        return scene.add_frame(name)

    trail = Trail(SimpleNamespace(add_line_segments=add))
    trail.show(True)
    for k in range(20_000):
        trail.draw(np.array([0.003 * k, 0.0, 0.0]))
    assert len(drawn) > 300
    assert len(set(drawn)) < 70
    trail.clear()


def test_laws_that_are_changed_to_and_fro_make_no_new_controls(page, link, monkeypatch):
    """Viser remembers each control that was ever removed."""
    made = []
    gui = page.server.gui
    impedance = link.gains
    other = {"p": Parameter("p", 2.0, 2.0, upper=10.0), "i": Parameter("i", 1.0, 1.0, upper=10.0)}

    def shown():
        return {
            handle.label for handle in gui._gui_input_handle_from_uuid.values() if handle.visible
        }

    def counted(add):
        def make(label, *given, **look):
            made.append(label)
            return add(label, *given, **look)

        return make

    until(lambda: "Coriolis" in shown(), "the first gains")
    for name in ("add_slider", "add_checkbox", "add_dropdown"):
        monkeypatch.setattr(gui, name, counted(getattr(gui, name)))
    for _ in range(5):
        link.running, link.gains = "joint_pid", other
        until(lambda: "P" in shown() and "Coriolis" not in shown(), "the gains of joint_pid")
        link.running, link.gains = "impedance", impedance
        until(lambda: "Coriolis" in shown() and "P" not in shown(), "the gains of impedance")
    assert sorted(made) == ["I", "P"]


# --- the state ---


def test_stop_is_asked_for_at_once(page, link):
    press_stop(page)
    until(lambda: "stop" in link.asked, "the stop")


def test_a_silent_controller_and_an_inactive_one_are_shown(page, link):
    link.state = Health(answers=False, silence=3.0)
    until(lambda: "the controller doesn't answer for 3 s" in text(page), "its silence")
    link.state = Health(answers=True, lifecycle="inactive", problem="no joint states")
    until(lambda: "controller inactive: the robot isn't commanded" in text(page), "its state")
    assert "no joint states" not in text(page)  # it has no use for them


def test_a_controller_that_starts_is_not_called_lost(page, link):
    link.state = Health(answers=False, silence=30.0, starting=True)
    until(lambda: "the controller starts" in text(page), "its state")
    assert "is it running" not in text(page)
    lost = describe_loss(link.state, "make demo")
    assert "make demo" not in lost
    assert summarize(link.state, "", lost, "").level == "starting"
    assert describe_loss(Health(answers=False, silence=30.0), "make demo").count("make demo") == 1


def test_rate_and_response_are_shown_below_what_matters_more(page, link):
    values = {"rate [Hz]": "499.6", "response p99 [us]": "210", "refusals": "3"}
    link.state = Health(True, 0.0, "active", diagnosis=values, problem="no wrench")
    until(lambda: "500 Hz · 99 of 100 commands within 0.21 ms" in text(page), "the line")
    # what matters most is in sight
    assert text(page).index("no wrench") < text(page).index("500 Hz")


def test_refusals_of_this_page_and_of_others_are_listed(browser, page, link):
    link.refusal = "stiffness = 700: must be <less>"
    browser.set("Stiffness [N/m]", 700)
    until(lambda: "Refused lately" in text(page), "a list")
    values = {"rate [Hz]": "500", "refusals": "4", "last refusal": "target pose: outside"}
    link.state = Health(True, 0.0, "active", diagnosis=values)
    until(lambda: "target pose: outside" in text(page), "what another program was refused")
    listed = text(page).partition("Refused lately")[2]
    assert listed.index("target pose: outside") < listed.index(link.refusal)


@pytest.mark.parametrize("margin", ["100%", "67%", "20%"])
def test_only_an_arm_that_nearly_rings_is_said_to_oscillate(page, link, margin):
    values = {"rate [Hz]": "500", "ringing margin": margin, "spring load": "12 %"}
    link.state = Health(True, 0.0, "active", diagnosis=values)
    until(lambda: "spring at 12 %" in text(page), "the state")
    assert ("oscillates" in text(page)) == (margin == "20%")
    assert "margin" not in text(page)


def test_lifecycle_buttons_are_those_that_are_possible(browser, page, link):
    link.state = Health(answers=True, lifecycle="inactive")
    until(
        lambda: tuple(browser.handle("Controller").options) == ("Activate", "Clean up"),
        "the buttons",
    )
    browser.set("Controller", "Activate")
    until(lambda: "activate" in link.asked, "the transition")


def test_drives_have_buttons_where_there_are_some(browser, page, link, monkeypatch):
    until(lambda: not folder(page, "Drives").visible, "no drives")
    names = {"enable", "disable", "quick_stop", "reset_fault"}
    monkeypatch.setattr(link, "requests", lambda: frozenset(f"drives/{name}" for name in names))
    link.state = replace(link.state, drives="shoulder_pan_joint: fault")
    until(lambda: folder(page, "Drives").visible, "the buttons")
    until(lambda: "drives: shoulder_pan_joint: fault" in text(page), "their state")
    for label in browser.handle("Drives").options:
        browser.set("Drives", label)
    until(lambda: set(link.asked) == {f"drives/{name}" for name in names}, "each request")


def test_nothing_is_sent_while_nothing_changes(browser, page, link):
    until(lambda: browser.handle("Stiffness [N/m]") and node(page, "/target").visible, "all of it")
    page.thread.close()
    page.draw()
    sent = page.server._websock_server._broadcast_buffer.message_counter
    for _ in range(5):
        page.draw()
    assert page.server._websock_server._broadcast_buffer.message_counter == sent
    link.now = replace(link.now, q=np.array(ROBOT.home) + 0.1)
    page.draw()
    assert page.server._websock_server._broadcast_buffer.message_counter > sent


def test_what_people_do_is_not_kept_waiting_by_drawings_that_take_longer_than_their_period(web):
    done = []
    thread = PageThread(lambda: time.sleep(2.0 * PERIOD), lambda message: None)
    thread.post(lambda: done.append("a click"))
    thread.turn()
    assert done == ["a click"]


def test_a_taken_port_gives_way_to_the_next_free_one(page, link):
    other = Page(link, port=page.port)
    try:
        assert other.port > page.port
    finally:
        other.close()


# --- meshes ---


@pytest.mark.parametrize("colour", [None, (1.0, 0.0, 0.0)])
def test_a_mesh_is_drawn_at_its_scale(page, colour):
    mesh = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    shape = DrawnShape("mesh", (0.5, 0.5, 0.5), make_pose(np.array([1.0, 2.0, 3.0])), colour, mesh)
    drawn = add_shape(page.server.scene, "/part", shape)
    assert tuple(drawn.scale) == (0.5, 0.5, 0.5)
    np.testing.assert_allclose(drawn.position, [1.0, 2.0, 3.0])


def test_a_page_opens_without_a_mesh_and_names_it(web, link, tmp_path, caplog):
    (tmp_path / "bad.stl").write_text("nothing")
    bad = f'<visual><geometry><mesh filename="file://{tmp_path}/bad.stl"/></geometry></visual>'
    link.urdf = link.urdf.replace(
        '<link name="forearm_link">', f'<link name="forearm_link">{bad}', 1
    )
    page = Page(link)
    try:
        assert f"the mesh {tmp_path}/bad.stl can't be read" in caplog.text
        assert node(page, "/robot/forearm_link/0").visible
    finally:
        page.close()
