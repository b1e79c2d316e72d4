"""Identification of a running arm, in lockstep: the arm is found, and left holding under its
law, however it ends.
"""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from refusals import refuses
from ros_support import Controller
from sensor_msgs.msg import JointState

from robot_control_ros.core.errors import HardwareFault
from robot_control_ros.identification.dialog import StopRequested
from robot_control_ros.identification.motion_plan import MotionBounds
from robot_control_ros.identification.over_ros import identify_running
from robot_control_ros.identification.running_arm import COARSE
from robot_control_ros.identification.session import IdentificationRequest
from robot_control_ros.simulation.imperfect.imperfections import load_imperfections

pytestmark = [pytest.mark.ros, pytest.mark.sim]

RATE = 125.0  # Hz: a quarter of the usual one, for a quarter of the time; the steps depend on none
JOINT = 2  # the elbow, which moves
BOUNDS = MotionBounds(joints=("elbow_joint",))
BEFORE = {
    "law": "impedance",
    "joint_impedance.stiffness": [90.0] * 6,
    "joint_impedance.damping_ratio": [0.9] * 6,
}


class Person:
    """Agrees to the bounds, and does something once the arm moves.

    Attributes:
        states: of all steps.
        warnings: all of them.
    """

    def __init__(self, arm, on_motion=lambda: None, before_answer=lambda: None, answer=True):
        self.states, self.warnings = [], []
        self._arm, self._answer = arm, answer
        self._on_motion, self._before_answer = on_motion, before_answer
        self._acted = self._stops = False

    def report(self, step):
        self.states.append(step.state)

    def warn(self, text):
        self.warnings.append(text)

    def agrees(self, robot, plan):
        self._before_answer()
        self.check_stop()
        return self._answer

    def stop(self):
        self._stops = True

    def check_stop(self):
        if self._arm.moves() and not self._acted:
            self._acted = True
            self._on_motion()
        if self._stops:
            self._stops = False
            raise StopRequested


class Arm:
    """A simulated arm under a controller with gains of its own."""

    def __init__(self, ros):
        self.ros = ros
        self.simulator = ros.start("simulator", {"robot": "ur5e", "rate": RATE})
        wrench = "/force_torque_sensor_broadcaster/wrench"
        self.controller = Controller(ros, wrench=wrench, robot="ur5e", rate=RATE, use_sim_time=True)
        ros.until(lambda: self.controller.state == "active", "the controller")
        gains = {name.replace(".", "__"): value for name, value in BEFORE.items() if name != "law"}
        assert [each.reason for each in ros.set("controller", **gains)] == ["", ""]
        self.states = ros.subscribe(JointState, "/joint_states")
        ros.until(lambda: len(self.states), "joint states")

    def identify(self, person, **request):
        return identify_running("controller", IdentificationRequest(BOUNDS, **request), person)

    def speed(self):
        return np.abs(self.states.last.velocity).max()

    def moves(self):
        return self.speed() > 0.05

    def transition(self, number):
        change = ChangeState.Request(transition=Transition(id=number))
        self.ros.node.create_client(ChangeState, "/controller/change_state").call_async(change)

    def check_left_as_before(self, law=BEFORE["law"]):
        """Its law and gains are those of before, and it comes to rest."""
        for name, value in (BEFORE | {"law": law}).items():
            assert self.ros.get("controller", name) == value
        self.ros.wait(1.0)
        assert self.speed() < 0.02


@pytest.fixture
def arm(ros):
    return Arm(ros)


@pytest.mark.parametrize("where", ["motion", "question"])
def test_a_stop_leaves_law_gains_and_an_arm_that_holds(arm, where):
    person = Person(arm)
    if where == "motion":
        person._on_motion = person.stop
    else:
        person._before_answer = person.stop
    with pytest.raises(StopRequested):
        arm.identify(person)
    assert person.states[-1:] == (["restored"] if where == "motion" else [])
    assert person.warnings == []
    arm.check_left_as_before()


def test_a_motion_that_is_not_agreed_to_is_not_made(arm):
    person = Person(arm, answer=False)
    start = arm.states.last.position[JOINT]
    assert arm.identify(person) is None
    arm.ros.wait(5.0)
    assert arm.states.last.position[JOINT] == pytest.approx(start, abs=1e-3)
    assert person.states == []
    arm.check_left_as_before()


def test_a_controller_that_is_stopped_ends_it(arm):
    """As STOP on the page does it."""
    person = Person(arm, lambda: arm.transition(Transition.TRANSITION_DEACTIVATE))
    with pytest.raises(HardwareFault, match="was the controller stopped"):
        arm.identify(person)
    arm.check_left_as_before()


def test_a_controller_that_is_lost_ends_it_with_a_warning(arm):
    person = Person(arm, lambda: arm.controller.child.end(9))
    with pytest.raises(HardwareFault, match="no command"):
        arm.identify(person)
    assert "joint_impedance" in person.warnings[0]


def test_a_robot_that_is_lost_ends_it(arm):
    person = Person(arm, lambda: arm.simulator.end(9))
    with pytest.raises(HardwareFault, match="no joint state"):
        arm.identify(person)
    assert "may be changed" in person.warnings[0]  # a law isn't changed without joint states


def test_a_law_that_was_changed_before_the_answer_comes_back(arm):
    """On the page the bounds may be shown for a while."""
    person = Person(arm)
    person._on_motion = person.stop
    person._before_answer = lambda: arm.ros.set("controller", law="joint_pid")
    with pytest.raises(StopRequested):
        arm.identify(person)
    arm.check_left_as_before("joint_pid")


def test_an_arm_that_was_moved_after_the_bounds_were_shown_is_refused(arm):
    names, start = arm.states.last.name, np.array(arm.states.last.position)
    goal = JointState(
        name=names, position=(start + 0.1 * (np.arange(len(start)) == JOINT)).tolist()
    )
    target = arm.ros.publisher(JointState, "/controller/target_joint")

    def move():
        arm.ros.until(
            lambda: arm.states.last.position[JOINT] > start[JOINT] + 0.05,
            "motion",
            lambda: target.publish(goal),
        )

    with refuses("posture"):
        arm.identify(Person(arm, before_answer=move))


def test_the_arm_is_found_and_written_at_the_usual_rate_of_the_clock(arm, tmp_path):
    path = tmp_path / "found.yaml"
    person = Person(arm)
    found = arm.identify(person, file=path)
    delay = found.line.delay
    # that between two messages of /clock is in it
    assert float(delay.half_width) > COARSE / RATE / 2.0
    assert float(delay.value) >= -float(delay.half_width)
    assert load_imperfections(str(path)).commands.delay >= 0.0
    assert person.states[-2:] == ["restored", "done"]
    arm.check_left_as_before()
