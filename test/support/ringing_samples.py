"""Samples of an arm that rings: joints oscillate by the torque of their motors."""

import numpy as np

RINGING = 10.0  # Hz
SPEED = 0.3  # rad/s
ELBOW = 2


def ringing_sample(kin, time, period, joints=ELBOW, speed=SPEED):
    """Velocities (n,) of an arm at a time [s], and the efforts (n,) that make them.

    Args:
        kin: of the arm at rest.
        time: since it began [s].
        period: of the samples [s]; a torque is the mean of the last one.
        joints: number of the joint that rings, or a slice of them.
        speed: largest one [rad/s].
    """
    turn = 2.0 * np.pi * RINGING
    rate = np.zeros(len(kin.gravity))
    rate[joints] = speed
    acceleration = rate * turn * np.cos(turn * (time - period / 2.0))
    return rate * np.sin(turn * time), kin.gravity + kin.mass.dot(acceleration)
