"""Limits of the Franka Research 3 as the robot counts them, and commands that keep them.

Figures: libfranka 0.21.3, include/franka/rate_limiting.h and test/fr3.urdf (Apache-2.0). The robot
checks commands once per millisecond, against the command that it took before.
"""

from __future__ import annotations

import numpy as np

from ...core.types import Array

PERIOD = 0.001  # s between two states of the robot
MARGIN = 1e-3  # what libfranka keeps from each limit, in the limit's unit
TORQUE_RATE = 1000.0 - MARGIN  # N·m/s
MAX_TORQUE = np.array([87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0])  # N·m
# 1 % and 5 % below the robot's limits: it fills in commands that were lost, by figures of its own
ACCELERATION = 9.9  # rad/s², of position commands
JERK = 4750.0  # rad/s³, of position commands
RESERVE = 0.01  # rad/s below the velocity limit, of position commands
FOLLOWING = 50.0  # 1/s, how fast a small gap to the wanted position is closed
LOWER = np.array([-2.7501, -1.7918, -2.9065, -3.0481, -2.8101, 0.54092, -3.0196])  # rad
UPPER = np.array([2.7501, 1.7918, 2.9065, -0.1458, 2.8101, 4.5205, 3.0196])  # rad
MAX_VELOCITY = np.array([2.62, 2.62, 2.62, 2.62, 5.26, 4.18, 5.26])  # rad/s
DECELERATION = np.array([6.0, 2.585, 3.5, 4.0, 17.0, 5.5, 17.0])  # rad/s², to the joint's end
OFFSET = np.array([0.30, 0.20, 0.20, 0.30, 0.35, 0.35, 0.35])  # rad/s
# share of the largest velocity below the limit from which on a joint is braked
BRAKE_ZONE = 0.2
BRAKE = MAX_TORQUE / (BRAKE_ZONE * MAX_VELOCITY)  # N·m·s/rad


def velocity_limits(q: Array) -> tuple[Array, Array]:
    """Lowest and highest velocity (7,) of each joint at angles q (7,) [rad/s].

    They fall to 0 towards the ends: |v| <= min(v_max, max(0, sqrt(2 a (q_end - q)) - offset)).
    """
    to_upper = np.sqrt(np.maximum(2.0 * DECELERATION * (UPPER - q), 0.0)) - OFFSET
    to_lower = np.sqrt(np.maximum(2.0 * DECELERATION * (q - LOWER), 0.0)) - OFFSET
    highest = np.minimum(MAX_VELOCITY, np.maximum(to_upper, 0.0)) - MARGIN
    lowest = -np.minimum(MAX_VELOCITY, np.maximum(to_lower, 0.0)) + MARGIN
    return lowest, highest


def braking_torque(q: Array, v: Array) -> Array:
    """Torque (7,) that brakes joints which are close to their velocity limit [N·m].

    It is a damper of what exceeds the limit less a zone. A damper only takes energy out, so it can
    make nothing unstable. At the limit it is as large as the joint's torque.
    """
    lowest, highest = velocity_limits(q)
    zone = BRAKE_ZONE * MAX_VELOCITY
    above = np.maximum(v - np.maximum(highest - zone, 0.0), 0.0)
    below = np.minimum(v - np.minimum(lowest + zone, 0.0), 0.0)
    torque = -BRAKE * (above + below)
    return np.asarray(np.clip(torque, -MAX_TORQUE, MAX_TORQUE))


def limited_torque(wanted: Array, sent: Array, taken: Array) -> Array:
    """Torque command (7,) that the robot takes [N·m].

    Args:
        wanted: Torque that the law wants, with the brake.
        sent: Torque that was sent last.
        taken: Torque that the robot took last, by its own word: it counts the rate from there.
    """
    step = TORQUE_RATE * PERIOD
    torque = np.clip(wanted, -MAX_TORQUE, MAX_TORQUE)
    torque = np.clip(torque, sent - step, sent + step)
    return np.asarray(np.clip(torque, taken - step, taken + step))


def limited_position(wanted: Array, wanted_velocity: Array, q: Array, v: Array, a: Array) -> Array:
    """Position command (7,) that the robot takes [rad].

    It follows the wanted position within the limits of velocity, acceleration and jerk. A gap g is
    closed at no more than sqrt(ACCELERATION |g|): so it can still be braked, with half of the
    acceleration.

    Args:
        wanted, wanted_velocity: Position that the law wants, and how fast it moves [rad/s].
        q, v, a: Position, velocity and acceleration of the command that the robot took last, by its
            own word.
    """
    # the robot counts at the next position: where the limit falls, it is lower there
    lowest, highest = velocity_limits(q + 2.0 * v * PERIOD)
    lowest = np.minimum(lowest + RESERVE, 0.0)
    highest = np.maximum(highest - RESERVE, 0.0)
    gap = wanted - q
    fastest = np.sqrt(ACCELERATION * np.abs(gap))
    closing = np.clip(FOLLOWING * gap, -fastest, fastest)
    velocity = np.clip(wanted_velocity, lowest, highest) + closing
    change = np.clip((velocity - v) / PERIOD - a, -JERK * PERIOD, JERK * PERIOD)
    # the closer to the velocity limit, the smaller: the acceleration can end in time
    ratio = JERK / ACCELERATION
    most = np.minimum(ratio * (highest - v), ACCELERATION)
    least = np.maximum(ratio * (lowest - v), -ACCELERATION)
    acceleration = np.maximum(np.minimum(a + change, most), least)
    return np.asarray(q + (v + acceleration * PERIOD) * PERIOD)
