"""What a hand does to what the tip shall do: devices, dead band, held button and clutch."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from robot_control_ros.nodes.teleop.hand_input import DEVICES, Clutch, HeldButton, scale_deflection


def random_pose(rng):
    pose = np.eye(4)
    pose[:3, :3] = Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()
    pose[:3, 3] = rng.normal(size=3)
    return pose


@pytest.mark.parametrize(
    ("axis", "value", "expected"),
    [
        (1, 1.0, (1, 0, 0, 0, 0, 0)),  # left stick forward
        (0, 1.0, (0, 1, 0, 0, 0, 0)),  # left stick to the left
        (5, -1.0, (0, 0, 1, 0, 0, 0)),  # right trigger pressed
        (4, -1.0, (0, 0, -1, 0, 0, 0)),  # left trigger pressed
        (2, 1.0, (0, 0, 0, 0, 0, 1)),  # right stick to the left
        (3, 1.0, (0, 0, 0, 0, 1, 0)),  # right stick forward
    ],
)
def test_a_gamepad_moves_the_tip_as_its_sticks_point(axis, value, expected):
    values = np.zeros(6)
    values[axis] = value
    assert np.array_equal(DEVICES["game_controller"].deflection(values), expected)


def test_a_spacemouse_gives_its_six_axes_and_a_shorter_message_is_zero_there():
    assert np.array_equal(
        DEVICES["spacenav"].deflection([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
        [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
    )
    assert np.array_equal(
        DEVICES["spacenav"].deflection([0.1, 0.2]), [0.1, 0.2, 0.0, 0.0, 0.0, 0.0]
    )


def test_a_deflection_is_scaled_from_the_dead_band_to_its_full_size():
    twist = scale_deflection(np.array([1.0, -2.0, 0.1, 0.55, -0.05, 0.0]), 0.1, 0.2, 0.8)
    assert np.allclose(twist, [0.2, -0.2, 0.0, 0.8 * 0.5, 0.0, 0.0])
    assert not scale_deflection(
        np.array([np.nan, np.inf, -np.inf, 0.0, 0.0, 0.0]), 0.1, 0.2, 0.8
    ).any()


def test_a_button_that_a_message_leaves_out_is_as_before():
    button = HeldButton(1)
    assert [button.update(buttons) for buttons in ([0, 1], [], [1], [0, 0], [])] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert HeldButton(-1).update([])


def test_gripping_does_not_move_the_tip_and_letting_go_ends_it(rng):
    clutch, hand, tip = Clutch(np.eye(3), 2.0), random_pose(rng), random_pose(rng)
    assert clutch.target(hand) is None
    clutch.grip(hand, tip)
    assert np.allclose(clutch.target(hand), tip, atol=1e-12)
    clutch.release()
    assert clutch.target(hand) is None


def test_the_tip_moves_as_the_hand_does_in_the_axes_of_its_frame(rng):
    """Written out: the hand's displacement and rotation, both turned into the base's axes."""
    axes = Rotation.random(random_state=3).as_matrix()
    clutch, hand0, tip0, hand = (
        Clutch(axes, 0.5),
        random_pose(rng),
        random_pose(rng),
        random_pose(rng),
    )
    clutch.grip(hand0, tip0)
    target = clutch.target(hand)
    assert np.allclose(target[:3, 3], tip0[:3, 3] + 0.5 * axes @ (hand[:3, 3] - hand0[:3, 3]))
    turn = hand[:3, :3] @ hand0[:3, :3].T
    assert np.allclose(target[:3, :3], axes @ turn @ axes.T @ tip0[:3, :3], atol=1e-9)
