"""The page at the sizes of a phone, a tablet and a desk, of a robot that only the test knows.

As a program it writes a picture of each size into a folder: ``page_sizes.py FOLDER``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from browser import Browser
from dashboard_support import HOME, FakeLink
from served_pages import free_port

from robot_control_ros.control.requests import Parameter
from robot_control_ros.core.gains import AXES, MATRIX, gain_specs
from robot_control_ros.dashboard.link import Health
from robot_control_ros.dashboard.page import Page
from robot_control_ros.laws.law import law_class

PHONE, PHONE_ASIDE = (390, 844), (844, 390)  # px
TABLET, TABLET_ASIDE = (768, 1024), (1024, 768)
LAPTOP, DESK = (1280, 720), (1920, 1080)
SIZES = (PHONE, PHONE_ASIDE, TABLET, TABLET_ASIDE, LAPTOP, DESK)
RUNNING = Health(True, 0.0, "active", diagnosis={"rate [Hz]": "499.6", "response p99 [us]": "210"})
READY = "document.querySelector('canvas[data-engine]') && !document.querySelector('.mantine-Loader-root')"
# Where points of the robot's base are in the window [px], by the camera that draws them.
PIXELS = """(points => {
  const { camera, canvas } = window.__viserMutable;
  const [w, i, j, k] = window.__viserSceneTree.getState()[""].wxyz;
  const box = canvas.getBoundingClientRect();
  return points.map(([x, y, z]) => {
    const [a, b, c] = [2 * (j * z - k * y), 2 * (k * x - i * z), 2 * (i * y - j * x)];
    const place = camera.position.clone().set(x + w * a + j * c - k * b, y + w * b + k * a - i * c,
      z + w * c + i * b - j * a).project(camera);
    return [box.x + (1 + place.x) / 2 * box.width, box.y + (1 - place.y) / 2 * box.height];
  });
})(POINTS)"""
# Whether the picture, and nothing else, is at a place of the window.
OF_PICTURE = "document.elementFromPoint(X, Y)?.tagName === 'CANVAS'"
STATE = "document.querySelector('#bar-state')?.textContent ?? ''"
SHEET = "document.querySelector('[data-sheet]')?.dataset.sheet ?? ''"
HANDLE = "document.querySelector('[data-sheet-handle]')"
# No folder is on its way: what is open is seen in full.
STILL = """[...document.querySelectorAll("#root [style*='box-sizing: border-box; opacity']")]
  .every(each => each.inert || getComputedStyle(each).opacity === "1" && !each.style.willChange)"""
# Lets the picture rest, so that a browser that draws in software answers each key at once.
REST = "window.requestAnimationFrame = draw => setTimeout(() => draw(performance.now()), 400)"
PANELS = ("Step and chirp", "Plots", "Scope")  # switches that open a panel each
SWITCH_ON = ("input[type=checkbox]", "(found.checked || found.click(), 1)")
# Opens what is folded: folders, whose contents follow their names, and panels in a sheet.
UNFOLD = """[...document.querySelectorAll("#root [role=button]")]
  .filter(each => each.nextElementSibling?.inert || each.matches("[aria-label^='Expand panel']"))
  .map(each => each.click()).length"""


def law_gains(law: str) -> dict[str, Parameter]:
    """The gains that a law declares, and the speed of moves, as the page gets them."""
    found = {}
    for spec in gain_specs(law_class(law).Gains):
        value = spec.default
        length = 6 if spec.size == MATRIX else spec.length(6)  # of a matrix, its diagonal
        if not isinstance(value, (bool, str)):
            value = np.broadcast_to(value, length).astype(float).tolist()
            value = value[0] if length == 1 else tuple(value)
        axes = AXES if length == 6 else ()
        found[spec.name] = Parameter(
            spec.name, value, value, spec.doc, spec.unit, spec.lower, spec.upper, spec.choices, axes
        )
    found["limits.speed"] = Parameter("limits.speed", 1.0, 1.0, "Speed.", "", 0.001, 1.0)
    return found


def robot(law: str = "impedance") -> FakeLink:
    """A robot at home under a law, with a push on its tip."""
    made = FakeLink()
    made.running = law
    made.gains = law_gains(law)
    made.state = RUNNING
    made.now = replace(made.now, wrench=np.array([0.0, 0.0, -12.0, 0.0, 0.0, 0.0]))
    return made


@contextmanager
def opened(
    link: FakeLink, size: Sequence[int], query: str = "", before: str = ""
) -> Iterator[tuple[Page, Browser]]:
    """A page of a robot, and a browser of this size with it.

    Args:
        link: to the robot.
        size: width and height of the window [px].
        query: more of the address.
        before: script that runs before those of the page.
    """
    page = Page(link, port=free_port())
    try:
        with Browser("about:blank", *size) as browser:
            if before:
                browser.do("Page.addScriptToEvaluateOnNewDocument", source=before)
            browser.do("Page.navigate", url=page.address + query)
            settle(browser)
            yield page, browser
    finally:
        page.close()


def settle(browser: Browser) -> None:
    """Until all is drawn, and where it stays."""
    browser.wait(lambda: browser.evaluate(READY), "the page")
    browser.wait(lambda: browser.evaluate(STATE) not in ("", "connecting"), "the state")
    browser.wait(lambda: browser.evaluate(SHEET) != "new", "the sheet")
    before = None
    while (now := pixels(browser, [HOME[:3, 3], np.zeros(3)])) is None or now != before:
        before = now
        browser.rest(0.7)


def resize(browser: Browser, size: Sequence[int]) -> None:
    """Another size of the window, as when a phone is turned."""
    browser.do(
        "Emulation.setDeviceMetricsOverride",
        width=size[0],
        height=size[1],
        deviceScaleFactor=1,
        mobile=False,
    )
    browser.wait(lambda: browser.evaluate("[innerWidth, innerHeight]") == list(size), "the size")
    settle(browser)


def open_sheet(browser: Browser) -> None:
    """Open the sheet of a small window; a large one has none."""
    if browser.evaluate(SHEET) == "closed":
        browser.evaluate(f"{HANDLE}.click()")
        browser.wait(lambda: browser.evaluate(SHEET) == "open", "an open sheet")
    browser.wait(lambda: browser.evaluate(STILL), "a sheet that has opened")


def open_all(browser: Browser) -> None:
    """Open each folder and each panel, once the sheet is open."""
    browser.wait(lambda: browser.evaluate(UNFOLD), "folders")
    for name in PANELS:
        browser.wait(lambda name=name: browser.find(name, *SWITCH_ON), name)  # type: ignore[misc]
    browser.wait(lambda: browser.evaluate("document.querySelector('.uplot') !== null"), "plots")
    browser.wait(lambda: not browser.evaluate(UNFOLD), "folders in folders")
    browser.wait(lambda: browser.evaluate(STILL), "folders that have opened")


def pixels(browser: Browser, points: Sequence[np.ndarray]) -> list[list[float]] | None:
    """Where points (3,) [m] of the base are in the window [px]; None before the first picture."""
    if not browser.evaluate("Boolean(window.__viserMutable?.camera)"):
        return None
    rows = json.dumps([[float(each) for each in point] for point in points])
    found: list[list[float]] = browser.evaluate(PIXELS.replace("POINTS", rows))
    return found


def in_picture(browser: Browser, point: np.ndarray) -> bool:
    """Whether a point (3,) [m] of the base is to be seen, with nothing of the page before it."""
    places = pixels(browser, [point])
    assert places is not None
    x, y = (f"{number:g}" for number in places[0])
    return bool(browser.evaluate(OF_PICTURE.replace("X", x).replace("Y", y)))


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with opened(robot(), SIZES[0]) as (_, browser):
        if browser.box("Software WebGL rendering detected", "button"):
            browser.click("Software WebGL rendering detected", "button")
        for size in SIZES:
            resize(browser, size)
            path = folder / f"{size[0]}x{size[1]}.png"
            path.write_bytes(browser.screenshot())
            print(path, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
