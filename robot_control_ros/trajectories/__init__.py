"""References over time: where the robot should be, for every time."""

from .circle import Circle
from .jog import Jog
from .joint import JointMove, JointPath
from .minimum_jerk import MinimumJerk, Quintic
from .pursuit import Pursuit
from .trajectory import Hold, Trajectory

__all__ = ["Circle", "Hold", "Jog", "JointMove", "JointPath", "MinimumJerk", "Pursuit", "Quintic", "Trajectory"]
