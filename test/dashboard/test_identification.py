"""The page's panel of identification: bounds first, then a motion that can be
stopped, then the figures.
"""

from pathlib import Path

from dashboard_support import Browser, text, until

from robot_control_ros.identification.dialog import IdentificationStep

PLAN, MOVE, STOP = "Identify this arm", "Move within these bounds", "Stop identification"


def test_the_buttons_follow_the_steps_and_ask_for_them(page, link):
    browser = Browser(page)

    def shown():
        return {label for label in (PLAN, MOVE, STOP) if browser.handle(label).visible}

    until(lambda: shown() == {PLAN}, "the first button")
    for step, buttons in (
        (IdentificationStep("planning", "planning"), {STOP}),
        (IdentificationStep("planned", "elbow_joint: 1 to 2 rad"), {MOVE, STOP}),
        (IdentificationStep("moving", "moving: 30 %", progress=0.3), {STOP}),
        (IdentificationStep("stopped", "stopped"), {PLAN}),
        (IdentificationStep("failed", "why"), {PLAN}),
    ):
        link.identification.step = step
        until(lambda wanted=buttons: shown() == wanted, f"the buttons of {step}")
    for label, action in ((PLAN, "plan"), (MOVE, "agree"), (STOP, "stop")):
        browser.set(label, True)
        until(lambda wanted=action: wanted in link.identification.asked, action)
    assert link.identification.asked == ["plan", "agree", "stop"]


def test_a_refusal_is_shown(page, link):
    link.identification.refusal = "an identification is moving: stop it first"
    Browser(page).set(PLAN, True)
    until(lambda: link.identification.refusal in text(page), "the refusal")
    assert link.identification.asked == []


def test_the_figures_the_file_and_the_picture_are_shown(page, link, tmp_path):
    picture = tmp_path / "mine.png"
    picture.write_bytes(b"a picture")
    link.identification.step = IdentificationStep(
        "done", "delay <5 ms>\npayload 1 kg", file=Path("/home/me/mine.yaml"), picture=picture
    )
    browser = Browser(page)
    assert browser.sees(b"delay &lt;5 ms&gt;<br>payload 1 kg")
    assert Browser(page).sees(b"/home/me/mine.yaml")
    assert Browser(page).sees(b"data:image/png;base64,YSBwaWN0dXJl")
