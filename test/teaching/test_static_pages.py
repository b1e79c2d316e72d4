"""The pages that run in the browser alone: their numbers are the package's, and they can be used from
disk, without a network, on a phone and on a desk.
"""

import json
import math
import os
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

pytest.importorskip("websockets", reason="drives the browser")

from browser import Browser, chromium

from evidence.reproduce.planar_case import VARIANTS
from robot_control_ros.core.errors import HardwareFault
from robot_control_ros.teaching.joint_step.callbacks import Braking, Pid, Trapezoidal
from robot_control_ros.teaching.joint_step.response import Step, respond
from robot_control_ros.teaching.joint_step.source import LINES, reference
from robot_control_ros.teaching.joint_step.stability import Loop
from robot_control_ros.teaching.planar_arm import PlanarArm, PlanarArmSettings

pytestmark = [
    pytest.mark.starts("Chromium, without a window"),
    pytest.mark.skipif(
        chromium() is None, reason="needs Chromium: apt-get install chromium, or set CHROMIUM"
    ),
]

PAGES = Path(__file__).resolve().parents[2] / "docs" / "pages"
SIZES = [(390, 844), (1280, 720)]  # px
EXACT = 1e-9
HIT = 40  # px, that a finger needs
SERIES = ("time", "angle", "command")
BOX = "(box => [box.x, box.y, box.width, box.height])(document.querySelector('%s').getBoundingClientRect())"


@contextmanager
def opened(name, width=390, height=844):
    """A browser with a page from disk; nothing but the page's own files was asked for."""
    with Browser((PAGES / f"{name}.html").as_uri(), width, height) as made:
        made.wait(lambda: made.evaluate("document.readyState === 'complete'"), "the page")
        yield made
        assert made.complaints == []
        assert [each for each in made.requests if not each.startswith(PAGES.as_uri())] == [
            each for each in made.requests if each.startswith("data:")
        ]


@pytest.fixture(scope="module")
def planar():
    with opened("planar") as made:
        yield made


@pytest.fixture(scope="module")
def joint():
    with opened("joint") as made:
        yield made


def same(found, expected, tolerance=EXACT):
    """Compare arrays whose infinite numbers are None or infinite."""
    left, right = (
        np.array([math.inf if each is None else each for each in np.ravel(values)], dtype=float)
        for values in (found, expected)
    )
    np.testing.assert_allclose(left, right, rtol=0.0, atol=tolerance)


# --- the planar arm: the same numbers ---

ARMS = {
    "impedance": {},
    "damped": {"stiffness": 200.0, "damping": 20.0},
    "other elbow": {"stiffness": 300.0},
    "inertia": {"inertia": 2.5, "stiffness": 120.0, "damping": 12.0},
    "inertia at a wall": {"inertia": 1.0, "wall": True, "wall_x": 0.9, "damping": 15.0},
    "wall": {"wall": True, "wall_x": 0.7, "wall_stiffness": 800.0, "damping": 20.0},
    "joint PD": {"joint_pd": True},
    "joint PD at a wall": {"joint_pd": True, "wall": True, "wall_x": 0.6, "joint_damping": 12.0},
    "rod, Taylor": {"link_inertia": 1.0 / 12.0, "taylor": True, "damping": 10.0},
}
STARTS = {"upright": (math.pi / 2.0, 0.0), "bent": (1.1, -0.9)}
SECONDS = 3.0


def package_run(settings, start, target):
    arm = PlanarArm()
    arm.change(**settings)
    arm.lead_elbow((math.cos(start[0]), math.sin(start[0])))
    arm.set_target_pose(arm.elbow + [math.cos(sum(start)), math.sin(sum(start))])
    arm.drive(True)
    arm.lead_target(target)
    rows = []
    for _ in range(round(100 * SECONDS)):
        rows.append([*arm.q, *arm.v, *arm.tip, *arm.torque, *arm.contact, *arm.tip_stiffness])
        arm.step()
    return rows


RUN = """((settings, start, target, steps) => {
  const arm = new PlanarArm();
  arm.change(settings);
  arm.leadElbow([Math.cos(start[0]), Math.sin(start[0])]);
  arm.leadTip(add(arm.elbow, [Math.cos(start[0] + start[1]), Math.sin(start[0] + start[1])]));
  arm.drive(true);
  arm.leadTarget(target);
  const rows = [];
  for (let k = 0; k < steps; k += 1) {
    rows.push([...arm.q, ...arm.v, ...arm.tip, ...arm.torque, ...arm.contact, ...arm.tipStiffness]);
    arm.step();
  }
  return rows;
})"""


def called(browser, function, *arguments):
    return browser.evaluate(f"{function}({', '.join(map(json.dumps, arguments))})")


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("case", ARMS)
def test_the_planar_arm_moves_as_the_packages_does(planar, case, start):
    arguments = (ARMS[case], STARTS[start], (1.2, 0.8))
    rows = called(planar, RUN, *arguments, round(100 * SECONDS))
    expected = package_run(*arguments)
    motion = np.array(expected)[:, :10]
    assert np.ptp(motion[:, 0]) > 0.1  # it does move
    same([row[:10] for row in rows], motion)
    # a singular posture has a stiffness without bound, and one that is almost infinite
    for row, wanted in zip(rows, expected, strict=True):
        for value, stiffness in zip(row[10:], wanted[10:], strict=True):
            if stiffness < 1e6:
                assert value == pytest.approx(stiffness, rel=1e-9)


def test_a_target_out_of_reach_is_the_nearest_within(planar):
    arm = PlanarArm()
    arm.drive(True)
    arm.lead_target((3.0, 1.0))
    script = "(arm => (arm.drive(true), arm.leadTarget([3, 1]), arm.target))(new PlanarArm())"
    same(planar.evaluate(script), arm.target)


def test_its_settings_begin_as_the_packages_do(planar):
    assert planar.evaluate("SETTINGS") == asdict(PlanarArmSettings())


def steps(arm, count):
    for _ in range(count):
        arm.step()


def test_an_arm_that_becomes_too_fast_is_reset_by_both(planar):
    settings = {"joint_pd": True, "joint_stiffness": 300.0, "joint_damping": 300.0}
    arm = PlanarArm()
    arm.change(**settings)
    arm.drive(True)
    arm.lead_target((1.2, 0.8))
    with pytest.raises(HardwareFault):
        steps(arm, 1000)
    script = """(settings => {
      const arm = new PlanarArm();
      arm.change(settings);
      arm.drive(true);
      arm.leadTarget([1.2, 0.8]);
      for (let k = 0; k < 1000; k += 1) if (arm.step()) return arm.q;
      return null;
    })"""
    same(called(planar, script, settings), arm.q)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda each: each.name)
def test_it_settles_when_the_source_does(planar, variant):
    changes = dict(variant.changes)
    start = changes.pop("start", STARTS["upright"])
    if "arm" in changes:
        changes["link_inertia"] = changes.pop("arm").inertia
    script = """((settings, start) => {
      const arm = new PlanarArm();
      arm.change(settings);
      arm.q = start;
      arm.rest();
      arm.drive(true);
      arm.leadTarget([1.2, 0.8]);
      for (let k = 0; k < 2000; k += 1) arm.step();
      return arm.settling.times;
    })"""
    assert called(planar, script, changes, start) == pytest.approx(variant.settled, abs=0.0101)


# --- the joint: the same numbers ---

PIDS = [
    {"variant": "legacy", "p": 0.1, "i": 2.0, "d": 0.0, "anti_windup": False},
    {"variant": "legacy", "p": 0.3, "i": 5.0, "d": 0.001, "anti_windup": True},
    {"variant": "current", "p": 0.2, "i": 1.0, "d": 0.002, "anti_windup": False},
    {"variant": "current", "p": 1.0, "i": 0.0, "d": 0.0005, "anti_windup": True},
]
STEPS = [
    {},
    {"target": -75.0, "velocity_limit": 90.0},
    {"start": 10.0, "target": 350.0, "cyclic": True, "velocity_limit": 360.0, "dt": 0.002},
    {"start": 30.0, "target": 200.0, "cyclic": True, "duration": 2.0, "dt": 0.01},
]


def compared(browser, law, step, run):
    settings = json.dumps({name: value for name, value in step.items() if math.isfinite(value)})
    found = browser.evaluate(f"(r => [r, figures(r)])(respond({law}, {settings}))")
    for name, values in zip(SERIES, (run.time, run.angle, run.command), strict=True):
        same(found[0][name], values)
    assert found[0]["problem"] == run.problem == ""
    figures = found[1]
    same(figures["rise"], [run.reached(10.0), run.reached(90.0)])
    same(figures["settled"], [run.settled(5.0), run.settled(2.0)])
    same([figures["t95"], figures["peak"]], [run.reached(95.0), run.peak])
    same([figures["overshoot"][0]], [run.overshoot])


@pytest.mark.parametrize("step", STEPS, ids=str)
@pytest.mark.parametrize("gains", PIDS, ids=str)
def test_the_pid_steps_as_the_packages_law_does(joint, gains, step):
    law = f"pidLaw({json.dumps(gains)})"
    compared(joint, law, step, respond(Pid(gains), Step(**step)))


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_the_two_examples_step_as_the_packages_do(joint, step):
    fast = {**step, "velocity_limit": 200.0}
    braking = '{"p": 0.4, "acceleration": 20}'
    compared(joint, f"brakingLaw({braking})", fast, respond(Braking(0.4, 20.0), Step(**fast)))
    law = 'trapezoidalLaw({"acceleration": 20})'
    compared(joint, law, fast, respond(Trapezoidal(20.0), Step(**fast)))


def test_the_lines_of_the_source_are_the_packages(joint):
    shown = joint.evaluate("LINES.map(each => ({ ...each, name: lineName(each) }))")
    for line, found in zip(LINES, shown, strict=True):
        assert found["name"] == line.name
        assert tuple(found["pid"]) == line.pid
        assert found["limit"] == line.limit
        for name in ("rise", "overshoot", "settled"):
            assert tuple(found[name]) == getattr(line, name)
        assert (found["t95"], found["peak"]) == (line.t95, line.peak)
        assert dict(found["samples"]) == dict(line.samples)


@pytest.mark.parametrize("index", range(len(LINES)))
def test_the_curves_of_the_source_are_the_packages(joint, index):
    _, angles = reference(LINES[index], -75.0, 2.0)
    same(joint.evaluate(f"referenceAngles(LINES[{index}], -75, 2)"), angles)


@pytest.mark.parametrize("dt", [0.002, 0.005])
@pytest.mark.parametrize("gains", [*PIDS, {**PIDS[0], "p": 1.9, "i": 0.0, "d": 0.004}], ids=str)
def test_the_verdict_on_stability_is_the_packages(joint, gains, dt):
    loop = Loop(gains["p"], gains["i"], gains["d"], dt, gains["variant"])
    found = joint.evaluate(f"stability({json.dumps(gains)}, {dt})")
    same([found["growth"], found["dLimit"]], [loop.growth, loop.d_limit])
    roots = sorted((complex(*root) for root in found["roots"]), key=lambda z: (z.real, z.imag))
    expected = sorted(loop.roots, key=lambda z: (z.real, z.imag))
    np.testing.assert_allclose(roots, expected, rtol=0.0, atol=EXACT)


# --- in the hand ---

# path of axe.min.js, or the package that has it
AXE = os.environ.get("AXE_CORE") or find_spec("axe_core_python")
BROKEN_RULES = (
    "axe.run().then(found => found.violations.map(each => each.id + ': ' + each.nodes[0].html))"
)


@pytest.mark.skipif(AXE is None, reason="needs axe-core-python, or AXE_CORE with its script's path")
@pytest.mark.few(2)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["planar", "joint"])
def test_a_page_can_be_used_by_keyboard_and_screen_reader(name, scheme):
    script = (
        next(Path(AXE.origin).parent.rglob("axe.min.js")) if hasattr(AXE, "origin") else Path(AXE)
    )
    with opened(name) as browser:
        preference = {"name": "prefers-color-scheme", "value": scheme}
        browser.do("Emulation.setEmulatedMedia", features=[preference])
        if name == "planar":
            browser.click("Impedance")
        browser.evaluate(script.read_text("utf-8") + ";1")
        assert browser.evaluate(BROKEN_RULES) == []


def measured(browser, width):
    """Nothing is wider than the window, and what a finger has to hit is large enough."""
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert (
        browser.evaluate("(p => p.scrollWidth - p.clientWidth)(document.querySelector('.panel'))")
        <= 0
    )
    heights = browser.evaluate(
        "[...document.querySelectorAll('button, .row')].filter(each => each.offsetHeight)"
        ".map(each => each.offsetHeight)"
    )
    assert len(heights) > 5
    assert min(heights) >= HIT
    unnamed = (
        "[...document.querySelectorAll('input, select, textarea')]"
        ".filter(each => !(each.labels.length || each.ariaLabel)).length"
    )
    assert browser.evaluate(unnamed) == 0


def drawing_point(browser, point):
    """Pixels of a point (x, y) [m] of the planar page."""
    x, y, width, height = browser.evaluate(BOX % "#drawing")
    scale = min(width, height) / 470.0 * 100.0
    return x + width / 2 + scale * point[0], y + height / 2 - scale * point[1]


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_target_is_dragged_and_the_arm_follows_it(width, height):
    with opened("planar", width, height) as browser:
        measured(browser, width)
        browser.click("Impedance")
        browser.click("Kd [N·s/m]", "input")  # the middle of its slider
        assert browser.evaluate("arm.settings.damping") == pytest.approx(15.0, abs=1.0)
        browser.evaluate("scrollTo(0, 0)")
        with browser.holding(*drawing_point(browser, browser.evaluate("arm.target"))) as move:
            for share in (0.25, 0.5, 0.75, 1.0):
                move(*drawing_point(browser, (1.2 * share, 2.0 - 1.2 * share)))
        reached = browser.evaluate("arm.target")
        assert reached == pytest.approx([1.2, 0.8], abs=0.02)
        browser.wait(lambda: browser.evaluate("arm.distance") < 1e-3, "the arm at its target")
        assert browser.evaluate("arm.tip") == pytest.approx(reached, abs=1e-3)
        measured(browser, width)


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_a_finger_leads_the_joints_by_hand(width, height):
    with opened("planar", width, height) as browser:
        browser.do("Emulation.setTouchEmulationEnabled", enabled=True)
        browser.evaluate("scrollTo(0, 0)")
        for kind, point in (("Start", (0.0, 1.0)), ("Move", (0.5, 0.9)), ("Move", (1.0, 0.0))):
            x, y = drawing_point(browser, point)
            points = [{"x": x, "y": y}]
            browser.do("Input.dispatchTouchEvent", type=f"touch{kind}", touchPoints=points)
        browser.do("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        assert browser.evaluate("arm.elbow") == pytest.approx([1.0, 0.0], abs=0.02)
        assert browser.evaluate("arm.driven") is False
        assert browser.evaluate("scrollY") == 0  # the page stood still meanwhile


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_a_slider_of_the_joint_page_changes_the_curve_at_once(width, height):
    with opened("joint", width, height) as browser:
        measured(browser, width)
        curve = "document.querySelector('.curve').getAttribute('points')"
        before = browser.wait(lambda: browser.evaluate(curve), "a curve")
        browser.click("P", "input")  # the middle of its slider
        assert browser.evaluate("controls.p.value") == pytest.approx(1.0, abs=0.1)
        assert browser.evaluate(curve) != before
        x, y, wide, high = browser.evaluate(BOX % ".chart")
        assert (x >= 0, y >= 0, x + wide <= width, y + high <= height) == (True,) * 4
        browser.evaluate("(law.set('your own'), compute())")
        assert browser.evaluate("document.querySelector('#head').className") == "note"
        browser.evaluate("(own.value = 'return NaN', compute())")
        assert browser.evaluate("document.querySelector('#head').className") == "problem"
        measured(browser, width)


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files, and prints nothing."""

    def log_message(self, *words):
        pass


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["planar", "joint"])
def test_a_page_that_was_opened_once_opens_without_its_server(name):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(PAGES)))
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/{name}.html"
    with Browser(address, 390, 844) as browser:
        browser.wait(lambda: browser.evaluate("document.readyState === 'complete'"), "the page")
        browser.evaluate("navigator.serviceWorker.ready.then(() => 1)")
        server.shutdown()
        server.server_close()
        browser.do("Page.navigate", url=address)
        browser.wait(lambda: browser.evaluate("typeof make === 'function'"), "the page again")
        browser.wait(lambda: browser.box("Pause" if name == "planar" else "Law"), "its controls")
        assert browser.complaints == []
