"""The errors of a Franka robot in words: what happened, and the way out.

Names and meanings are those of `franka::Errors` in libfranka 0.21.3, include/franka/errors.h.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

RECOVER = "call ~/reset_fault, then ~/enable"
SLOWER = "send slower or smoother commands"
MOVE_AWAY = "guide the arm back by hand (Desk, programming mode), or recover and move the other way"


@dataclass(frozen=True)
class ErrorWords:
    """Words about one error.

    Attributes:
        happened: What happened.
        remedy: What to do before the robot is recovered.
    """

    happened: str
    remedy: str


def _desk(happened: str) -> ErrorWords:
    """Words about an error of motions that Desk starts; this package starts none."""
    return ErrorWords(happened, "end the motion in Desk, and leave Desk while this program runs")


def _cartesian(happened: str) -> ErrorWords:
    """Words about an error of Cartesian motions; this package starts none."""
    return ErrorWords(happened, "end the other program that commands Cartesian motions")


_WORDS = {
    "joint_position_limits_violation": ErrorWords("a joint moved past its limit", MOVE_AWAY),
    "cartesian_position_limits_violation": ErrorWords(
        "the robot moved past a virtual wall", "check the walls that are set in Desk"
    ),
    "self_collision_avoidance_violation": ErrorWords(
        "the robot would have collided with itself", MOVE_AWAY
    ),
    "joint_velocity_violation": ErrorWords(
        "a joint was faster than its limit at this position",
        "choose more damping or a smaller max_force; the limit falls towards the joint's ends",
    ),
    "cartesian_velocity_violation": ErrorWords(
        "the tip was faster than its limit", "choose a smaller tip speed or more damping"
    ),
    "force_control_safety_violation": ErrorWords(
        "a safety threshold of force control was exceeded", "check what the arm touches"
    ),
    "joint_reflex": ErrorWords(
        "a collision: the external torque of a joint was above its threshold",
        "free the arm; if nothing touched it, check the payload or raise collision_torque",
    ),
    "cartesian_reflex": ErrorWords(
        "a collision: the external force on the tip was above its threshold",
        "free the arm; if nothing touched it, check the payload or raise collision_force",
    ),
    "max_goal_pose_deviation_violation": _desk("a motion ended too far from its goal"),
    "max_path_pose_deviation_violation": _desk("a motion left its path"),
    "cartesian_velocity_profile_safety_violation": _desk("a motion was faster than its profile"),
    "joint_position_motion_generator_start_pose_invalid": ErrorWords(
        "the first position command was too far from where the arm is", "enable again"
    ),
    "joint_motion_generator_position_limits_violation": ErrorWords(
        "position commands would leave a joint's range", MOVE_AWAY
    ),
    "joint_motion_generator_velocity_limits_violation": ErrorWords(
        "position commands were faster than a joint's limit", SLOWER
    ),
    "joint_motion_generator_velocity_discontinuity": ErrorWords(
        "position commands jumped in velocity", SLOWER
    ),
    "joint_motion_generator_acceleration_discontinuity": ErrorWords(
        "position commands jumped in acceleration", SLOWER
    ),
    "cartesian_position_motion_generator_start_pose_invalid": _cartesian(
        "the first Cartesian command was too far from where the arm is"
    ),
    "cartesian_motion_generator_elbow_limit_violation": _cartesian(
        "Cartesian commands would move the elbow past its limit"
    ),
    "cartesian_motion_generator_velocity_limits_violation": _cartesian(
        "Cartesian commands were too fast"
    ),
    "cartesian_motion_generator_velocity_discontinuity": _cartesian(
        "Cartesian commands jumped in velocity"
    ),
    "cartesian_motion_generator_acceleration_discontinuity": _cartesian(
        "Cartesian commands jumped in acceleration"
    ),
    "cartesian_motion_generator_elbow_sign_inconsistent": _cartesian(
        "the elbow of Cartesian commands is inconsistent"
    ),
    "cartesian_motion_generator_start_elbow_invalid": _cartesian(
        "the first elbow of Cartesian commands was too far from where it is"
    ),
    "cartesian_motion_generator_joint_position_limits_violation": _cartesian(
        "Cartesian commands would leave a joint's range"
    ),
    "cartesian_motion_generator_joint_velocity_limits_violation": _cartesian(
        "Cartesian commands would be faster than a joint's limit"
    ),
    "cartesian_motion_generator_joint_velocity_discontinuity": _cartesian(
        "Cartesian commands would make a joint jump in velocity"
    ),
    "cartesian_motion_generator_joint_acceleration_discontinuity": _cartesian(
        "Cartesian commands would make a joint jump in acceleration"
    ),
    "cartesian_position_motion_generator_invalid_frame": _cartesian(
        "a Cartesian command was no pose"
    ),
    "force_controller_desired_force_tolerance_violation": ErrorWords(
        "the desired force was above a safety threshold", "choose a smaller force"
    ),
    "controller_torque_discontinuity": ErrorWords(
        "the torque command changed faster than 1000 N·m/s",
        "this driver limits the rate, so commands came late: see the way out of lost commands",
    ),
    "start_elbow_sign_inconsistent": _desk("the elbow was inconsistent at the start of a motion"),
    "communication_constraints_violation": ErrorWords(
        "too many commands came late or were lost",
        "use a real-time kernel and realtime_priority, a cable straight to the control unit, and no other load",
    ),
    "power_limit_violation": ErrorWords("the commands need more than the allowed power", SLOWER),
    "joint_p2p_insufficient_torque_for_planning": _desk(
        "the robot is overloaded for a planned motion"
    ),
    "tau_j_range_violation": ErrorWords(
        "a measured joint torque is out of its safe range", "take the load off the arm"
    ),
    "instability_detected": ErrorWords(
        "the robot found that it is unstable", "choose less stiffness and damping"
    ),
    "joint_move_in_wrong_direction": ErrorWords(
        "a joint beyond its limit was guided further out", MOVE_AWAY
    ),
    "cartesian_spline_motion_generator_violation": _desk("a motion would break a joint limit"),
    "joint_via_motion_generator_planning_joint_limit_violation": _desk(
        "a motion would break a joint limit"
    ),
    "base_acceleration_initialization_timeout": ErrorWords(
        "the direction of gravity couldn't be measured",
        "keep the base still, and restart the robot",
    ),
    "base_acceleration_invalid_reading": ErrorWords(
        "the acceleration of the base can't be measured", "restart the robot, then ask its maker"
    ),
}


def error_names() -> tuple[str, ...]:
    """Names of all errors that have words."""
    return tuple(_WORDS)


def describe_errors(names: Iterable[str]) -> str:
    """Text about errors by their names, each with what happened and the way out.

    A name that isn't known is told as it is. Without names the text is empty.
    """
    texts = []
    for name in names:
        words = _WORDS.get(name)
        if words is None:
            texts.append(f"{name}: an error that this version doesn't know; {RECOVER}")
        else:
            texts.append(f"{name}: {words.happened}; {words.remedy}, then {RECOVER}")
    return "; ".join(texts)
