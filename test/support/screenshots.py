"""Pictures of the running pages for the documentation: ``make screenshots``, or some with
``ARGS="planar joint"``.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import page_sizes
from browser import Box, Browser
from camera import VIEW, Camera
from dashboard_system import SLIDER, System
from geometry_msgs.msg import PoseStamped
from PIL import Image
from ros_support import Ros
from served_pages import free_port

from robot_control_ros.core.spatial import make_pose
from robot_control_ros.ros.messages import fill_pose

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "images"
ALONE = FOLDER.parent / "pages"  # pages that run in the browser alone
WINDOW, SMALL = (1280, 720), (1040, 585)  # px
PHONE = (390, 640)  # px
CAMERA, NEAR = (
    Camera((1.3, -1.2, 0.85), (0.27, 0.0, 0.3)),
    Camera((1.05, -1.3, 0.6), (0.1, -0.12, 0.22)),
)
ASIDE = Camera((0.75, -1.2, 0.5), (0.5, 0.0, 0.12))
ABOVE = Camera((0.9, -0.5, 0.33), (0.49, 0.1, 0.25))
DRAG = 1.0  # s
CHECKBOX = "input[type=checkbox]"
BALL = (0.9, 0.0, 0.1)  # m, where the scene has it
PUSH_ARROW, BALL_ARROW = 0.115, 0.135  # m, from a handle's origin to the head of its arrow
PLANE = 4.7  # m, that the planar page shows from top to bottom
SCOPE = (  # what is chosen, in this order
    ("Field 1", "v"),
    ("Field 2", "wrench"),
    ("Trigger", "a field falls to"),
    ("Of trigger field", "z"),
)
POINTER = """(() => {
  const pointer = document.createElement("div");
  pointer.style = "position:fixed;z-index:99999;pointer-events:none;left:-50px;top:0";
  pointer.innerHTML = '<svg width="22" height="22"><path d="M2 1v16l4-4 3 7 3-1-3-7h6z" stroke="white"/></svg>';
  document.body.append(pointer);
  addEventListener("mousemove", at => Object.assign(pointer.style, {left: at.x + "px", top: at.y + "px"}), true);
})()"""


def arm() -> None:
    """The main page: as it is, and with plots of what a push does."""
    with dashboard(CAMERA, *WINDOW) as (system, browser):
        save(browser, "page")
        browser.click("Push mode", CHECKBOX)
        browser.click("Plots", CHECKBOX)
        browser.rest(5.0)
        push(system, CAMERA, browser)
        browser.rest(2.0)
        save(browser, "page_plots")


def scope() -> None:
    """Each cycle around the moment at which a push is felt."""
    with dashboard(CAMERA, *WINDOW) as (system, browser):
        browser.click("Push mode", CHECKBOX)
        browser.click("Scope", CHECKBOX)
        browser.rest(2.0)
        for label, option in SCOPE:
            browser.click(label, "input")
            browser.rest(0.5)
            browser.click(option)
            browser.rest(0.5)
        browser.click("Level", "input")
        browser.evaluate("document.activeElement.select()")
        browser.do("Input.insertText", text="-5")
        browser.click("Hold each trace", CHECKBOX)  # the field is left
        push(system, CAMERA, browser)
        browser.rest(4.0)
        save(browser, "page_scope")


def demo() -> None:
    """What one does on it, as it was: move the target, make the arm soft, push it."""
    with dashboard(NEAR, *SMALL) as (system, browser):
        browser.evaluate(POINTER)
        with browser.recording():
            drag(browser, system.grip(browser), system.grip(browser, (0.0, 0.0, 0.12)))
            browser.rest(0.6)
            thumb, track = (
                browser.box(SLIDER, part) for part in ("[role=slider]", ".mantine-Slider-track")
            )
            assert thumb is not None
            assert track is not None
            drag(browser, thumb.centre, (track.x + 0.05 * track.width, thumb.centre[1]))
            browser.click("Push mode", CHECKBOX)
            browser.rest(0.8)
            push(system, NEAR, browser)
            browser.rest(1.0)
        animate(browser.frames, "demo")


def push(system: System, camera: Camera, browser: Browser) -> None:
    """Pull the tip down, in push mode."""
    tip = system.tip()
    start, end = (
        camera.pixel(tip + [0.0, 0.0, z], browser) for z in (PUSH_ARROW, PUSH_ARROW - 0.15)
    )
    drag(browser, start, end, held=0.8)


def ball() -> None:
    """A ball that is led against the tool."""
    with dashboard(ASIDE, *WINDOW, scene="ball") as (_, browser):
        browser.click("Drag", "input")
        browser.click("ball")
        browser.rest(1.0)
        drag(
            browser,
            *(
                ASIDE.pixel(np.add(BALL, [x, 0.0, 0.0]), browser)
                for x in (BALL_ARROW, BALL_ARROW - 0.13)
            ),
        )
        browser.rest(2.0)
        save(browser, "page_ball")


def gripper() -> None:
    """A ball between the fingers, lifted."""
    with dashboard(ABOVE, *WINDOW, scene="pick", gripper="robotiq_2f85") as (system, browser):
        lift(system, browser, 0.148)
        browser.click("Close")
        browser.rest(2.0)
        lift(system, browser, 0.25)
        save(browser, "page_gripper")


def lift(system: System, browser: Browser, height: float) -> None:
    """Move the tip to a height [m], pointing down."""
    message = PoseStamped()
    message.header.frame_id = "base_link"
    fill_pose(message.pose, make_pose(np.array([0.5, 0.1, height]), np.diag([1.0, -1.0, -1.0])))
    publisher = system.ros.publisher(PoseStamped, "/controller/target_pose")
    system.ros.until(
        lambda: abs(system.tip()[2] - height) < 3e-3,
        "the height",
        lambda: publisher.publish(message),
    )
    browser.rest(1.0)


def planar() -> None:
    """The planar arm on its way to the wall."""
    with page("planar") as browser:
        browser.click("○ Impedance")
        browser.click("Show trajectory", CHECKBOX)
        browser.click("Wall", CHECKBOX)
        browser.rest(1.0)
        drag(browser, on_plane(browser, 0.0, 2.0), on_plane(browser, 1.3, 0.5))
        browser.rest(3.0)
        save(browser, "page_planar")


def on_plane(browser: Browser, x: float, y: float) -> tuple[float, float]:
    """Where a point [m] of the planar page is to be seen [px]."""
    view = Box(*browser.evaluate(VIEW))
    across, down = view.centre
    return across + x * view.height / PLANE, down - y * view.height / PLANE


def sizes() -> None:
    """The page at the sizes of a phone, a tablet and a desk, of a robot that isn't there."""
    page_sizes.main(FOLDER / "page_sizes")


def joint() -> None:
    """The step of one joint."""
    with page("joint") as browser:
        browser.rest(3.0)
        save(browser, "page_joint")


# --- pages ---


@contextlib.contextmanager
def dashboard(
    camera: Camera, width: int, height: int, **arguments: str
) -> Iterator[tuple[System, Browser]]:
    """A simulated arm and a browser with its page, once both have settled."""
    with tempfile.TemporaryDirectory() as folder, Ros(Path(folder)) as ros:
        system = System(ros, camera, width, height, **arguments)
        for child in system.children.values():
            # a browser that draws in software takes their time else
            with contextlib.suppress(PermissionError):
                os.setpriority(os.PRIO_PGRP, child.process.pid, -15)
        with system.open() as browser:
            settle(browser)
            yield system, browser


@contextlib.contextmanager
def page(command: str) -> Iterator[Browser]:
    """A browser with one of the pages that need no ROS."""
    program = [sys.executable, "-m", "robot_control_ros.cli", command, "--port", str(free_port())]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            address = next(
                word for word in process.stdout.readline().split() if word.startswith("http://")
            )
            with Browser(address, *WINDOW) as browser:
                settle(browser)
                browser.wait(lambda: still(browser), "a page that stands still")
                yield browser
        finally:
            process.terminate()


def settle(browser: Browser) -> None:
    """Everything is drawn, and viser's remark on software rendering is gone."""
    browser.click("Software WebGL rendering detected", "button")
    browser.rest(5.0)


def still(browser: Browser) -> bool:
    """Whether nothing changes in a second."""
    before = browser.screenshot()
    browser.rest(1.0)
    return browser.screenshot() == before


def alone() -> None:
    """The planar arm without a server, in a window of a phone's size; its target is dragged."""
    with Browser((ALONE / "planar.html").as_uri(), *PHONE) as browser:
        browser.wait(lambda: browser.evaluate("document.readyState === 'complete'"), "the page")
        browser.click("Impedance")
        browser.click("Trace", CHECKBOX)
        browser.evaluate("scrollTo(0, 0)")
        x, y, width, height = browser.evaluate(
            "(at => [at.x, at.y, at.width, at.height])(drawing.getBoundingClientRect())"
        )
        metre = min(width, height) / PLANE
        centre = (x + width / 2, y + height / 2)
        with browser.recording():
            drag(
                browser,
                (centre[0], centre[1] - 2.0 * metre),
                (centre[0] + 1.2 * metre, centre[1] - 0.8 * metre),
                held=2.5,
            )
    animate(browser.frames, "planar_alone")


# --- the mouse ---


def drag(browser: Browser, start: Sequence[float], end: Sequence[float], held: float = 0.0) -> None:
    """From one place to another (2,) [px], and stay there for some time [s]."""
    with browser.holding(*start) as move:
        began, share = time.monotonic(), 0.0
        while share < 1.0:
            share = min((time.monotonic() - began) / DRAG, 1.0)
            move(*(float(a + share * (b - a)) for a, b in zip(start, end, strict=True)))
        browser.rest(held)


# --- pictures ---


def save(browser: Browser, name: str) -> None:
    """The window in 256 colours, with those of thin lines among them; the mouse points at
    nothing that has a hint.
    """
    browser.mouse("Moved", WINDOW[0] / 2, 20.0)
    browser.rest(1.0)
    picture = (
        Image.open(io.BytesIO(browser.screenshot()))
        .convert("RGB")
        .quantize(256, method=Image.Quantize.MAXCOVERAGE, kmeans=4, dither=Image.Dither.NONE)
    )
    write(picture, f"{name}.png", optimize=True)


def animate(frames: Sequence[tuple[float, bytes]], name: str) -> None:
    """What was recorded, as fast as it was."""
    kept = dict(sorted((round(1e3 * at), content) for at, content in frames))
    times = [*kept, max(kept) + 500]
    pictures = [Image.open(io.BytesIO(content)).convert("RGB") for content in kept.values()]
    # during the push, when every colour is there
    palette = pictures[-len(pictures) // 5].quantize(200)
    first, *others = (
        picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures
    )
    durations = [int(length) for length in np.diff(times)]
    write(first, f"{name}.gif", save_all=True, append_images=others, duration=durations, loop=0)
    print(f"{len(durations)} frames, {sum(durations) / 1e3:.1f} s")


def write(picture: Image.Image, name: str, **options: object) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    picture.save(FOLDER / name, **options)
    print(f"{FOLDER / name}: {(FOLDER / name).stat().st_size / 1e3:.0f} kB", flush=True)


PICTURES = {
    make.__name__: make for make in (arm, scope, demo, ball, gripper, planar, joint, alone, sizes)
}


if __name__ == "__main__":
    for each in sys.argv[1:] or PICTURES:
        PICTURES[each]()
