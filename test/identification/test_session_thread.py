"""An identification in a thread: what it says at each step, who may ask for
what, and how it ends.
"""

import threading
import time

import pytest
from identification_trials import HOME, MODEL, ROBOT
from refusals import refuses

from robot_control_ros.core.errors import HardwareFault
from robot_control_ros.identification.dialog import IdentificationStep, StopRequested
from robot_control_ros.identification.motion_plan import plan_motion
from robot_control_ros.identification.session_thread import IdentificationThread

pytestmark = pytest.mark.starts("the thread of an identification, whose end is waited for")

PLAN = plan_motion(ROBOT, MODEL, HOME)
LIMIT = 30.0  # s, for a thread of a busy machine


class Arm:
    """An arm whose motion lasts until the test ends it; it holds afterwards, however that was."""

    def __init__(self, warning="", error=None, deaf=False):
        self.moves, self.arrived, self.holds = (
            threading.Event(),
            threading.Event(),
            threading.Event(),
        )
        self.warning, self.error, self.deaf = warning, error, deaf
        self.agreed = None

    def identify(self, dialog):
        self.agreed = dialog.agrees(ROBOT, PLAN)
        self.moves.set()
        try:
            while not self.arrived.wait(0.001):
                if not self.deaf:
                    dialog.check_stop()
        finally:
            if self.warning:
                dialog.warn(self.warning)
            dialog.check_stop()  # a request is told once, so that the arm is left holding
            self.holds.set()
        if self.error is not None:
            raise self.error
        dialog.report(IdentificationStep("done", "the figures"))


def until(condition):
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def begun(arm):
    """An identification whose motion has begun."""
    identification = IdentificationThread(arm.identify)
    identification.plan()
    until(lambda: identification.step.state == "planned")
    identification.agree()
    assert arm.moves.wait(LIMIT)
    return identification


def ended(identification):
    """The last step."""
    until(lambda: not identification.running)
    return identification.step


def test_the_bounds_are_shown_and_nothing_moves_before_the_person_agrees():
    arm = Arm()
    identification = IdentificationThread(arm.identify)
    assert identification.step is None
    with refuses("identification"):
        identification.agree()
    identification.plan()
    until(lambda: identification.step.state == "planned")
    assert identification.step.text == PLAN.describe(ROBOT.joints)
    with refuses("identification") as caught:
        identification.plan()
    assert caught.value.value == "planned"
    assert not arm.moves.is_set()
    identification.agree()
    assert arm.moves.wait(LIMIT)
    assert identification.step.progress == 0.0
    with refuses("identification"):
        identification.agree()
    arm.arrived.set()
    assert ended(identification).state == "done"
    assert arm.agreed is True


def test_a_stop_in_place_of_an_agreement_moves_nothing():
    arm = Arm()
    identification = IdentificationThread(arm.identify)
    identification.plan()
    until(lambda: identification.step.state == "planned")
    identification.stop()
    assert ended(identification).state == "stopped"
    assert not arm.moves.is_set()


def test_a_stop_ends_the_motion_and_another_one_does_not_disturb_the_end():
    arm = Arm(warning="the law may be changed")
    identification = begun(arm)
    for _ in range(3):
        identification.stop()
    step = ended(identification)
    assert step.state == "stopped"
    assert "the law may be changed" in step.text
    assert arm.holds.is_set()


def test_after_its_end_another_one_may_begin():
    identification = begun(Arm())
    identification.stop()
    ended(identification)
    identification.plan()
    until(lambda: identification.step.state == "planned")
    identification.close(LIMIT)
    assert not identification.running


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (HardwareFault("no joint state"), "no joint state"),
        (OSError("the disk is full"), "the disk"),
    ],
)
def test_an_error_is_told_with_the_warnings(error, words):
    arm = Arm(warning="the law may be changed", error=error)
    identification = begun(arm)
    arm.arrived.set()
    step = ended(identification)
    assert step.state == "failed"
    assert words in step.text
    assert "the law may be changed" in step.text


def test_what_fails_after_a_stop_is_told_as_its_end():
    def identify(dialog):
        try:
            while True:
                dialog.check_stop()
                time.sleep(0.001)
        except StopRequested:
            raise HardwareFault("the controller gives no reply") from None

    identification = IdentificationThread(identify)
    identification.plan()
    identification.stop()
    step = ended(identification)
    assert (step.state, step.text) == ("stopped", "the controller gives no reply")


def test_closing_waits_for_the_end_no_longer_than_it_may():
    arm = Arm(deaf=True)
    identification = begun(arm)
    identification.close(0.01)
    assert identification.running
    arm.arrived.set()
    assert ended(identification).state == "stopped"
