"""References over time: the wanted pose or posture of the robot, for every time."""

from .chunk import JointChunk
from .chunk_stream import ChunkStream, StreamSettings
from .contours import Circle, CircleContour, Contour, ContourMove, Polyline, TimedContour
from .jog import Jog
from .joint import JointBrake, JointPath
from .joint_stream import JointStream
from .online_trajectory import OnlineJointTrajectory, OnlineTrajectory
from .pose_chunk import PoseChunk
from .time_scaling import Chain, QuinticTimeScaling, TimeScaling, Trapezoid
from .tip_stream import TipStream
from .trajectory import Hold, Trajectory, is_moving

__all__ = [
    "Chain",
    "ChunkStream",
    "Circle",
    "CircleContour",
    "Contour",
    "ContourMove",
    "Hold",
    "Jog",
    "JointBrake",
    "JointChunk",
    "JointPath",
    "JointStream",
    "OnlineJointTrajectory",
    "OnlineTrajectory",
    "Polyline",
    "PoseChunk",
    "QuinticTimeScaling",
    "StreamSettings",
    "TimeScaling",
    "TimedContour",
    "TipStream",
    "Trajectory",
    "Trapezoid",
    "is_moving",
]
