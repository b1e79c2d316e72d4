"""References over time: where the robot should be, for every time."""

from .contours import Circle, CircleContour, Contour, ContourMove, Polyline, TimedContour
from .jog import Jog
from .joint import JointBrake, JointPath
from .online_trajectory import OnlineJointTrajectory, OnlineTrajectory
from .time_scaling import Chain, QuinticTimeScaling, TimeScaling, Trapezoid
from .trajectory import Hold, Trajectory, is_moving

__all__ = [
    "Chain",
    "Circle",
    "CircleContour",
    "Contour",
    "ContourMove",
    "Hold",
    "Jog",
    "JointBrake",
    "JointPath",
    "OnlineJointTrajectory",
    "OnlineTrajectory",
    "Polyline",
    "QuinticTimeScaling",
    "TimeScaling",
    "TimedContour",
    "Trajectory",
    "Trapezoid",
    "is_moving",
]
