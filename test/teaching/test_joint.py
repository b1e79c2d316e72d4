"""The joint's page: its curves and files, and the page itself over its websocket."""

import struct

import numpy as np
import pytest
from dashboard_support import Browser, camera, text, until

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.dashboard.chart import png
from robot_control_ros.teaching.joint.curves import MAX_ERROR, Curves
from robot_control_ros.teaching.joint.joint_page import JointPage
from robot_control_ros.teaching.joint_step.callbacks import Pid
from robot_control_ros.teaching.joint_step.response import Step, T, respond
from robot_control_ros.teaching.joint_step.source import LINES

NO_LIMIT, LIMITED = LINES[0], LINES[1]


def curves(line=NO_LIMIT, step=None, **gains):
    step = step or Step()
    return Curves(
        "PID", step, respond(Pid({"variant": "legacy", "p": 0.1, "i": 2.0, **gains}), step), line
    )


# --- curves and files ---


def test_the_sources_figures_lie_on_its_curve_and_on_the_same_law():
    time, own, goal, beside, dots = curves().angles()
    there = np.isfinite(dots)
    assert dict(zip(time[there].tolist(), dots[there].tolist(), strict=True)) == {
        0.005: 1.1,
        0.05: 9.2453,
        0.1: 12.9199,
        0.115: pytest.approx(13.072),
        0.3: 9.5349,
        1.0: 9.9997,
    }
    np.testing.assert_allclose(own, beside, rtol=0, atol=1e-9)
    # 13.072 is of a percentage
    np.testing.assert_allclose(own[there], dots[there], rtol=0, atol=1e-3)
    assert (goal == 10.0).all()


def test_no_figures_where_the_step_is_another():
    shown = curves(step=Step(target=20.0))
    assert shown.figures == {}
    assert not np.isfinite(shown.angles()[4]).any()
    assert shown.angles()[3].max() == pytest.approx(20.0 * 1.3072, abs=2e-3)  # the line is linear


def test_another_time_step_leaves_the_reference_as_it_is():
    time, own, _, beside, _ = curves(step=Step(dt=0.002)).angles()
    np.testing.assert_allclose(beside[np.searchsorted(time, 0.05 - 1e-9)], 9.2453, atol=1e-4)
    assert np.isfinite(own).all()


def test_commands_are_drawn_as_steps():
    shown = curves()
    time, own, beside = shown.commands()
    np.testing.assert_allclose(time, 1e-3 * np.arange(1001), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(
        own, np.append(np.repeat(shown.run.command, round(T / 1e-3)), np.nan)
    )
    np.testing.assert_allclose(beside, own, rtol=0, atol=1e-6)


def test_what_goes_far_away_is_drawn_up_to_there():
    shown = curves(i=0.0, d=0.006)
    own = shown.angles()[1]
    seen = own[np.isfinite(own)]
    assert len(seen) == round((shown.drawn - 1) * T / 1e-3) + 1 < len(own)
    assert (
        np.abs(seen - 10.0).max() <= MAX_ERROR * 10.0 < np.abs(shown.run.angle[shown.drawn] - 10.0)
    )
    assert np.isfinite(shown.commands()[1]).sum() == round((shown.drawn - 1) * T / 1e-3)


def test_the_csv_has_every_sample():
    shown = curves(LIMITED, Step(start=5.0, target=15.0, velocity_limit=90.0))
    head, *rows = shown.csv().decode().splitlines()
    assert head == "time [s],angle [deg],command [deg/s],reference (0.1 2 0) 90 deg/s [deg]"
    table = np.array([[float(cell) for cell in row.split(",")] for row in rows])
    np.testing.assert_allclose(table[:, 0], T * np.arange(201), rtol=0, atol=1e-9)
    np.testing.assert_allclose(table[:, 1], 5.0 + shown.run.angle, rtol=1e-8)
    np.testing.assert_allclose(table[:-1, 2], shown.run.command, rtol=0, atol=1e-6)
    np.testing.assert_allclose(table[:, 3], table[:, 1], rtol=0, atol=1e-6)


def test_the_picture_is_a_png():
    pytest.importorskip("matplotlib")
    shown = curves()
    assert png(shown.charts(), shown.title).startswith(b"\x89PNG")


# --- the page ---

LAWS = """
def half(joint):
    return 0.5 * joint.error / joint.step_size

def broken(joint):
    return joint.error / 0.0
"""


@pytest.fixture
def laws(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / f"own_{tmp_path.name}.py"
    file.write_text(LAWS)
    return file


@pytest.fixture
def new_page(web):
    opened = []

    def make(callback=""):
        page = JointPage(callback=callback)
        opened.append(page)
        browser = Browser(page)
        opened.append(browser.socket)
        until(lambda: page.curves is not None, "the first drawing")
        return page, browser

    yield make
    for each in reversed(opened):
        each.close()


def redrawn(page, change):
    before = page.curves
    change()
    return until(lambda: page.curves if page.curves is not before else None, "another drawing")


def test_it_opens_with_the_sources_first_line(new_page):
    page, _ = new_page()
    assert page.curves.line is NO_LIMIT
    assert page.curves.run.overshoot == pytest.approx(30.72, abs=0.05)
    until(lambda: text(page).count("30.72 at 0.115 s") == 2, "measured and printed")


def test_moving_p_redraws(new_page):
    page, browser = new_page()
    shown = redrawn(page, lambda: browser.set("P", 1.0))
    assert shown.run.angle[1] == pytest.approx(10.1)  # P e + I e T
    assert browser.sees(struct.pack(">d", shown.angles()[1][1]))
    assert "PID (1, 2, 0)" in text(page)


@pytest.mark.parametrize(
    ("label", "value", "words"),
    [
        ("I [1/s]", 0.0, "PID (0.1, 0, 0)"),
        ("D [s]", 0.006, "unstable: the error grows"),
        ("Limit the velocity", True, "PID (0.1, 2, 0), 90 deg/s"),
        ("Law", "trapezoidal velocity", "trapezoidal velocity"),
        ("Law", "P, square-root braking", "square-root braking"),
        ("Target [deg]", 0.0, "no step"),
        ("Reference", "(1, 0, 0), 360 deg/s", "source, (1, 0, 0), 360 deg/s"),
    ],
)
def test_every_control_shows(new_page, label, value, words):
    page, browser = new_page()
    browser.set(label, value)
    until(lambda: words in text(page), words)


def test_only_what_the_law_uses_is_shown(new_page):
    page, browser = new_page()
    until(lambda: not browser.handle("Acceleration [deg/s²]").visible, "no acceleration")
    assert not browser.handle("Limit [deg/s]").visible
    redrawn(page, lambda: browser.set("Law", "trapezoidal velocity"))
    until(lambda: browser.handle("Acceleration [deg/s²]").visible, "the acceleration")
    assert not browser.handle("P").visible


def test_the_plots_fill_the_window(new_page):
    page, browser = new_page()
    before = sum(plot.height for plot in page.plots)
    browser.send(camera((2.0, 0.0, 0.0), height=1000, width=1600))
    until(lambda: sum(plot.height for plot in page.plots) == before + 280, "1000 px instead of 720")


def test_a_cyclic_joint_goes_the_short_way(new_page):
    page, browser = new_page()
    browser.set("Start [deg]", 10.0)
    browser.set("Target [deg]", 350.0)
    browser.set("Cyclic joint", True)
    until(lambda: page.curves.step == Step(10.0, 350.0, True), "the step")
    assert page.curves.run.size == pytest.approx(-20.0)
    assert page.curves.angles()[1][-1] == pytest.approx(-10.0, abs=1e-3)


def test_everything_is_set_as_the_reference(new_page):
    page, browser = new_page()
    for label, value in (
        ("Variant", "current"),
        ("D [s]", 0.001),
        ("Target [deg]", 50.0),
        ("Time step [ms]", "1"),
    ):
        browser.set(label, value)
    browser.set("Reference", LIMITED.name)
    until(lambda: page.curves.line is LIMITED and page.curves.step.target == 50.0, "the reference")
    browser.set("Gains and step", "As the reference")
    until(lambda: page.curves.step == Step(velocity_limit=90.0), "the source's step")
    assert page.curves.run.overshoot == pytest.approx(59.51, abs=0.05)
    assert browser.handle("Limit [deg/s]").value == 90.0
    redrawn(page, lambda: browser.set("Anti-windup", True))
    assert page.curves.run.overshoot < 59.5 / 2.0


def test_an_own_law_runs_from_the_start(new_page, laws):
    page, _ = new_page(f"{laws.stem}:half")
    assert page.curves.run.angle[1] == pytest.approx(5.0)
    until(lambda: f"{laws.stem}:half" in text(page), "its name")


def test_what_an_own_law_raises_is_told_with_its_line_and_the_page_goes_on(new_page, laws):
    page, browser = new_page(f"{laws.stem}:broken")
    words = (
        f"{laws.name}, line 6: ZeroDivisionError: float division by zero: return joint.error / 0.0"
    )
    until(lambda: words in text(page), "the message")
    laws.write_text(LAWS.replace("/ 0.0", "/ / 0.0"))
    redrawn(page, lambda: browser.set("My law", "Load again"))
    until(lambda: "SyntaxError" in text(page) and "line 6" in text(page), "the fault in the file")
    laws.write_text(LAWS.replace("/ 0.0", "/ 0.25  # s"))
    redrawn(page, lambda: browser.set("My law", "Load again"))
    until(lambda: "Error" not in text(page), "no fault any more")
    assert page.curves.run.command[0] == pytest.approx(40.0)
    redrawn(page, lambda: browser.set("Law", "PID"))
    assert page.curves.run.overshoot == pytest.approx(30.72, abs=0.05)


def test_an_own_law_that_cant_be_loaded_is_refused_at_once(web):
    with pytest.raises(ConfigError, match="no_such_module"):
        JointPage(callback="no_such_module:f")


def test_a_browser_gets_the_csv(new_page):
    _, browser = new_page()
    browser.set("Save as", "CSV")
    assert browser.sees(b"time [s],angle [deg],command [deg/s]")
