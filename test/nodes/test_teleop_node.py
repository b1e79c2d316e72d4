"""The node teleop over DDS: a gamepad's and a hand's messages in, targets for a controller out."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from sensor_msgs.msg import Joy, JoyFeedback

from robot_control_ros.core.spatial import make_pose, rotation_from_rpy
from robot_control_ros.ros.messages import fill_pose, read_pose, vector

pytestmark = pytest.mark.ros

TIP = make_pose(np.array([0.4, 0.1, 0.3]), rotation_from_rpy(3.0, 0.2, 0.1))


class Teleop:
    """The node, its inputs, and what a controller would get."""

    def __init__(self, ros, **parameters):
        self.ros, self.child = ros, ros.start("teleop", parameters)
        self.joy = ros.publisher(Joy, "joy")
        self.hand = ros.publisher(PoseStamped, "hand_pose")
        self.wrench = ros.publisher(WrenchStamped, "controller/tip_wrench")
        self.reference = ros.publisher(PoseStamped, "controller/reference_pose")
        self.twists = ros.subscribe(TwistStamped, "controller/target_twist")
        self.poses = ros.subscribe(PoseStamped, "controller/target_pose")
        self.rumble = ros.subscribe(JoyFeedback, "joy/set_feedback")

    def refer(self):
        message = PoseStamped()
        message.header.frame_id = "base_link"
        fill_pose(message.pose, TIP)
        self.reference.publish(message)

    def press(self, *axes, held=True):
        """A gamepad's message, with the left shoulder held or not."""
        values = [0.0] * 6
        for axis, value in axes:
            values[axis] = value
        self.refer()
        self.joy.publish(Joy(axes=values, buttons=[0] * 9 + [int(held)]))

    def move_hand(self, pose):
        message = PoseStamped()
        fill_pose(message.pose, pose)
        self.hand.publish(message)


def twist_of(message):
    return np.concatenate((vector(message.twist.linear), vector(message.twist.angular)))


def test_a_gamepad_moves_the_tip_while_its_button_is_held_and_stops_it_then(ros):
    teleop = Teleop(ros, linear_scale=0.2, dead_band=0.0)
    first = ros.next(teleop.twists, "a twist", lambda: teleop.press((1, 0.5)))
    assert first.header.frame_id == "base_link"
    assert np.allclose(twist_of(first), [0.1, 0, 0, 0, 0, 0])
    ros.until(
        lambda: not twist_of(teleop.twists.last).any(),
        "a stop",
        lambda: teleop.press((1, 0.5), held=False),
    )
    stopped = len(teleop.twists)
    # what comes after the stop: only what the hand does again
    ros.next(teleop.twists, "a twist again", lambda: teleop.press((0, 1.0)))
    assert np.allclose(twist_of(teleop.twists.messages[stopped]), [0, 0.2, 0, 0, 0, 0])


def test_it_stops_the_tip_when_it_ends(ros):
    teleop = Teleop(ros)
    ros.next(teleop.twists, "a twist", lambda: teleop.press((1, 1.0)))
    teleop.child.process.send_signal(2)
    ros.until(lambda: not twist_of(teleop.twists.last).any(), "a stop")
    assert teleop.child.end() == 0


def test_a_gripping_hand_leads_the_tip_and_one_that_was_lost_must_grip_anew(ros):
    teleop = Teleop(ros, input="pose", timeout=1.0)
    hand = make_pose(np.array([1.0, 2.0, 3.0]))

    def grip():
        teleop.press()
        teleop.move_hand(hand)

    first = ros.next(teleop.poses, "a target", grip)
    assert np.allclose(read_pose(first.pose), TIP, atol=1e-9)
    moved = make_pose(np.array([1.0, 2.05, 3.0]))
    expected = TIP.copy()
    expected[1, 3] += 0.05

    def there():
        return np.allclose(read_pose(teleop.poses.last.pose), expected, atol=1e-9)

    ros.until(there, "5 cm to the left", lambda: teleop.move_hand(moved))
    ros.until(lambda: "grip anew" in teleop.child.err + teleop.child.out, "the loss of the hand")
    teleop.poses.messages.clear()
    elsewhere = make_pose(np.array([9.0, 9.0, 9.0]))

    def grip_elsewhere():
        teleop.press()
        teleop.move_hand(elsewhere)

    again = ros.next(teleop.poses, "a target after a new grip", grip_elsewhere)
    assert np.allclose(read_pose(again.pose), TIP, atol=1e-9)


def test_a_reference_pose_that_is_none_does_not_end_it(ros):
    teleop = Teleop(ros, input="pose", timeout=1.0)

    def grip_beside_nonsense():
        teleop.reference.publish(PoseStamped())  # whose quaternion is 0, 0, 0, 1
        broken = PoseStamped()
        broken.pose.orientation.w = float("nan")
        teleop.reference.publish(broken)
        teleop.joy.publish(Joy(axes=[0.0] * 6, buttons=[0] * 9 + [1]))
        teleop.move_hand(make_pose(np.array([1.0, 2.0, 3.0])))

    ros.until(
        lambda: "reference_pose: " in teleop.child.err, "a refusal in words", grip_beside_nonsense
    )
    ros.next(teleop.poses, "a target", grip_beside_nonsense)
    assert teleop.child.end(2) == 0


def test_a_force_at_the_tip_is_felt_as_rumble(ros):
    teleop = Teleop(ros, full_force=20.0)
    message = WrenchStamped()
    message.wrench.force.z = 10.0
    felt = ros.next(teleop.rumble, "rumble", lambda: teleop.wrench.publish(message))
    assert (felt.type, felt.id) == (JoyFeedback.TYPE_RUMBLE, 0)
    assert felt.intensity == pytest.approx(0.5, abs=1e-6)
    again = ros.next(
        teleop.rumble,
        "the same once more: one message lasts 1 s",
        lambda: teleop.wrench.publish(message),
    )
    assert again == felt


class Arms:
    """Two controllers' topics, and the node between them."""

    def __init__(self, ros, **parameters):
        given = {
            "input": "leader",
            "leader": "/left/arm",
            "controller": "/right/arm",
            "force_scale": 0.4,
            "timeout": 1.0,
        }
        self.ros, self.child = ros, ros.start("teleop", given | parameters)
        self.leader = ros.publisher(PoseStamped, "/left/arm/pose")
        self.follower = ros.publisher(PoseStamped, "/right/arm/pose")
        self.reference = ros.publisher(PoseStamped, "/right/arm/reference_pose")
        self.targets = ros.subscribe(PoseStamped, "/right/arm/target_pose")
        self.wrenches = ros.subscribe(WrenchStamped, "/left/arm/target_wrench")

    def force(self):
        """The last one on the leader; NaN before the first."""
        return vector(self.wrenches.last.wrench.force) if len(self.wrenches) else np.full(3, np.nan)

    def tell(self, leader, follower=TIP):
        for publisher, pose in (
            (self.follower, follower),
            (self.reference, follower),
            (self.leader, leader),
        ):
            message = PoseStamped()
            message.header.frame_id = "base_link"
            fill_pose(message.pose, pose)
            publisher.publish(message)


def test_a_leader_arm_leads_the_other_and_feels_it_and_both_are_let_go_when_one_is_lost(ros):
    arms, start = Arms(ros), make_pose(np.array([0.1, 0.2, 0.3]))
    first = ros.next(arms.targets, "a target", lambda: arms.tell(start))
    assert np.allclose(read_pose(first.pose), TIP, atol=1e-9)
    moved = make_pose(np.array([0.1, 0.25, 0.3]))
    expected = TIP.copy()
    expected[1, 3] += 0.05
    ros.until(
        lambda: np.allclose(read_pose(arms.targets.last.pose), expected, atol=1e-9),
        "5 cm",
        lambda: arms.tell(moved),
    )
    force = np.array([0.0, -0.4 * 500.0 * 0.05, 0.0])
    ros.until(lambda: np.allclose(arms.force(), force), "its force", lambda: arms.tell(moved))
    assert np.allclose(
        vector(arms.wrenches.last.wrench.torque), np.cross(moved[:3, 3], force)
    )  # about the base's origin
    ros.until(lambda: not arms.force().any(), "the end of the force")
    ros.until(lambda: "let go" in arms.child.err + arms.child.out, "the loss")
    arms.targets.messages.clear()
    again = ros.next(
        arms.targets, "a target after that", lambda: arms.tell(make_pose(np.array([9.0, 9.0, 9.0])))
    )
    assert np.allclose(read_pose(again.pose), TIP, atol=1e-9)


def test_when_it_ends_nothing_pulls_at_the_leader(ros):
    arms, start, moved = (
        Arms(ros),
        make_pose(np.array([0.1, 0.2, 0.3])),
        make_pose(np.array([0.1, 0.25, 0.3])),
    )
    ros.next(arms.targets, "a target", lambda: arms.tell(start))
    ros.until(lambda: abs(arms.force()[1]) > 1.0, "a force", lambda: arms.tell(moved))
    arms.child.process.send_signal(2)
    ros.until(lambda: not arms.force().any(), "the end of the force")
    assert arms.child.end() == 0


@pytest.mark.long
def test_a_released_clutch_lets_both_arms_go(ros):
    arms = Arms(ros, button=0)
    joy, start = ros.publisher(Joy, "joy"), make_pose(np.array([0.1, 0.2, 0.3]))
    moved = make_pose(np.array([0.1, 0.25, 0.3]))

    def press(held, pose):
        joy.publish(Joy(buttons=[held]))
        arms.tell(pose)

    ros.next(arms.targets, "a target", lambda: press(1, start))
    ros.until(lambda: abs(arms.force()[1]) > 1.0, "a force", lambda: press(1, moved))
    ros.until(lambda: not arms.force().any(), "its end", lambda: press(0, moved))
    arms.targets.messages.clear()
    count = len(arms.wrenches)
    again = ros.next(arms.targets, "a target after that", lambda: press(1, moved))
    assert np.allclose(read_pose(again.pose), TIP, atol=1e-9)  # nothing jumps
    ros.until(lambda: len(arms.wrenches) > count, "its wrench")
    assert not vector(arms.wrenches.messages[count].wrench.force).any()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"input": "mouse"}, "joy, twist, twist_stamped, pose"),
        ({"device": "wheel"}, "game_controller, spacenav"),
        ({"input": "pose", "device": "spacenav"}, "grip"),
    ],
)
def test_what_makes_no_sense_is_refused_at_the_start(ros, parameters, words):
    child = ros.start("teleop", parameters)
    assert child.end() == 1
    assert words in child.err
