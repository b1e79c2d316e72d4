"""A leader arm and a follower arm, tied by a spring over a line with delay; ROS isn't needed."""

from __future__ import annotations

from ...core.spatial import pose_error
from ...core.types import Array
from ...laws.spring.bounded_spring import BoundedSpring
from .hand_input import Clutch


class ArmCoupling:
    """The follower goes where the leader is, and the leader feels the force of the follower's
    spring.

    Law:
        Follower:  x_r = x_l(t - T_1);   its law exerts K (x_r - x_f) + D (v_r - v_f)
        Leader:    w_l = -c K (x_l(t - T_0) - x_f(t - T_2));   its law exerts -B v_l and w_l
        Both displacements count from the grip. With a scale s of displacements x_l stands for s x_l, force and torque
        of the leader are c K (…) and c/s K (…), and its axes are turned into the follower's.
    Closed loop:
        W = T_l / c + T_f + |x_l - x_f|² K / 2 never exceeds what hand and environment gave, if

            B >= c K [T_0 + (D/K + T)² / (4 D/K)],   T = T_1 + T_2:    see :func:`leader_damping`.

        Along each axis, dW/dt less their power is -B/c v_l² - D v_f² + D v_f v_r + K v_f (x_r - x_l) +
        K v_l (x_f(t - T_2) - x_f) + K v_l (x_l - x_l(t - T_0)). A position that is at most T late differs from the
        present one by a window of the velocity no longer than T, so its norm in L2[0, t] is T times that of the
        velocity at most, however the delay changes. Then the integral is a quadratic form of the norms of v_l and v_f,
        and the bound makes it negative. A filter H after the line counts with the largest |(1 - H(jω)) / jω|:
        0.125 s for the trajectory of ~/target_pose. v_r counts with a gain of 1, which a constant delay and H have. A
        bounded spring has the same bound, as its force is Lipschitz with K.
    Frames and units:
        Poses in each arm's base, wrench in the leader's base axes about its tip [N, N·m]; delays
        [s].
    Assumptions:
        The leader's law is a damper, without a spring. K and its bounds are those of the follower's
        law, isotropic in translation and in rotation. The leader isn't led faster than the follower
        may go. Hand and environment are passive.
    Source:
        Proportional coupling with damping under a variable delay: E. Nuño, L. Basañez, R. Ortega,
        M. Spong, Position tracking for non-linear teleoperators with variable time delay, Int. J.
        Robotics Research 28(7), 2009. The bound here is derived above; it has the damper on v_r,
        the filter, and the scales in addition.

    Args:
        axes: Axes (3, 3) of the leader's base in the follower's.
        scale: Displacement s of the follower over that of the leader.
        force_scale: Force c of the leader over that of the follower.
        spring: Spring of the follower's law, with its stiffness K.
    """

    def __init__(
        self, axes: Array, scale: float, force_scale: float, spring: BoundedSpring
    ) -> None:
        self._axes = axes
        self._scale = scale
        self._force_scale = force_scale
        self._spring = spring
        self._wanted = Clutch(axes, scale)
        self._felt = Clutch(axes, scale)

    @property
    def engaged(self) -> bool:
        """True while the arms are tied."""
        return self._wanted.gripped

    def engage(self, leader: Array, follower: Array, reference: Array) -> None:
        """Tie the arms where they are: the reference doesn't jump, and the leader feels nothing
        yet.

        Args:
            leader: Pose (4, 4) of the leader in its base.
            follower: Pose (4, 4) of the follower in its base.
            reference: Reference (4, 4) of the follower in its base.
        """
        self._wanted.grip(leader, reference)
        self._felt.grip(leader, follower)

    def release(self) -> None:
        """Let both arms go."""
        self._wanted.release()

    def target(self, leader: Array) -> Array:
        """Target (4, 4) of the follower for a pose (4, 4) of the leader; only while engaged."""
        return _pose(self._wanted, leader)

    def wrench(self, leader: Array, follower: Array) -> Array:
        """Wrench (6,) that pulls at the leader, for the latest poses (4, 4) of both;
        only while engaged.
        """
        pull = -self._force_scale * self._spring.gradient(
            pose_error(_pose(self._felt, leader), follower)
        )
        pull[3:] /= self._scale
        return (pull.reshape(2, 3) @ self._axes).ravel()


def leader_damping(stiffness: float, delay: float, age: float, damping_time: float) -> float:
    """The least damping of the leader [N·s/m] with which the coupling makes no energy.

    Args:
        stiffness: Stiffness that the hand feels, c K with a scale of 1 [N/m].
        delay: Time T from the leader's motion to the follower's reference and back, with sampling
            and filter [s].
        age: Age T_0 of the leader's pose in its own force [s].
        damping_time: Time D/K of the follower [s].
    """
    return stiffness * (age + (damping_time + delay) ** 2 / (4.0 * damping_time))


def _pose(clutch: Clutch, leader: Array) -> Array:
    pose = clutch.target(leader)
    assert pose is not None
    return pose
