"""MotionUpdate, as in aic_control_interfaces/msg: packed into poses and numbers."""

from types import SimpleNamespace

from geometry_msgs.msg import Twist, Wrench
from trajectory_msgs.msg import MultiDOFJointTrajectory as MotionUpdate
from trajectory_msgs.msg import MultiDOFJointTrajectoryPoint as Point

NUMBERS = ("target_stiffness", "target_damping", "wrench_feedback_gains_at_tip")


def make(frame_id, mode, *, pose, velocity, wrench, **numbers):
    """The message; pose is a Transform, velocity and wrench are a Twist and a Wrench, numbers
    are those of NUMBERS.
    """
    exerted = Twist(linear=wrench.force, angular=wrench.torque)
    message = MotionUpdate(
        points=[Point(transforms=[pose], velocities=[velocity], accelerations=[exerted])]
    )
    message.header.frame_id = frame_id
    message.joint_names = [str(mode), *(" ".join(map(str, numbers[name])) for name in NUMBERS)]
    return message


def _pose(message):
    transform = message.points[0].transforms[0]
    return SimpleNamespace(position=transform.translation, orientation=transform.rotation)


def _wrench(message):
    twist = message.points[0].accelerations[0]
    return Wrench(force=twist.linear, torque=twist.angular)


def _numbers(index):
    return property(lambda message: list(map(float, message.joint_names[index].split())))


for _index, _name in enumerate(NUMBERS, 1):
    setattr(MotionUpdate, _name, _numbers(_index))
MotionUpdate.pose = property(_pose)
MotionUpdate.velocity = property(lambda message: message.points[0].velocities[0])
MotionUpdate.feedforward_wrench_at_tip = property(_wrench)
MotionUpdate.trajectory_generation_mode = property(
    lambda message: SimpleNamespace(mode=int(message.joint_names[0]))
)
