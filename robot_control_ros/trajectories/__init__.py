"""References over time: where the robot should be, for every time."""

from .circle import Circle
from .contours import CircleContour, Contour, ContourMove, Polyline, PolylineMove, TimedContour
from .jog import Jog
from .joint import JointBrake, JointMove, JointPath
from .minimum_jerk import MinimumJerk, Quintic
from .profiles import Chain, Profile, QuinticProfile, Trapezoid
from .pursuit import JointPursuit, Pursuit
from .trajectory import Hold, Trajectory

__all__ = [
    "Chain",
    "Circle",
    "CircleContour",
    "Contour",
    "ContourMove",
    "Hold",
    "Jog",
    "JointBrake",
    "JointMove",
    "JointPath",
    "JointPursuit",
    "MinimumJerk",
    "Polyline",
    "PolylineMove",
    "Profile",
    "Pursuit",
    "Quintic",
    "QuinticProfile",
    "TimedContour",
    "Trajectory",
    "Trapezoid",
]
