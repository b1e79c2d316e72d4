"""The page's panel of identification: bounds first, then a motion that can be stopped, then the figures."""

from dashboard_support import Browser, until

PLAN, MOVE, STOP = "Identify this arm", "Move within these bounds", "Stop identification"


def test_the_buttons_follow_the_steps_and_request_them(page, link):
    browser = Browser(page)

    def shown():
        return {label for label in (PLAN, MOVE, STOP) if browser.handle(label).visible}

    for step, buttons in (
        ({}, {PLAN}),
        ({"state": "planning", "text": "planning"}, {STOP}),
        ({"state": "planned", "text": "elbow_joint: 1 to 2 rad"}, {MOVE, STOP}),
        ({"state": "moving", "text": "moving: 30 %", "progress": 0.3}, {STOP}),
        ({"state": "stopped", "text": "stopped"}, {PLAN}),
        ({"state": "failed", "text": "why"}, {PLAN}),
    ):
        link.step = step
        until(lambda wanted=buttons: shown() == wanted, f"the buttons of {step}")
    for label, name in ((PLAN, "plan_identification"), (MOVE, "identify"), (STOP, "stop_identification")):
        browser.set(label, True)
        until(lambda wanted=f"controller/{name}": wanted in link.asked, name)


def test_the_figures_the_file_and_the_picture_are_shown(page, link, tmp_path):
    picture = tmp_path / "mine.png"
    picture.write_bytes(b"a picture")
    link.step = {
        "state": "done",
        "text": "delay <5 ms>\npayload 1 kg",
        "file": "/home/me/mine.yaml",
        "picture": str(picture),
    }
    browser = Browser(page)
    assert browser.sees(b"delay &lt;5 ms&gt;<br>payload 1 kg")
    assert Browser(page).sees(b"/home/me/mine.yaml")
    assert Browser(page).sees(b"data:image/png;base64,YSBwaWN0dXJl")
