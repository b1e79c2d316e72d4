"""JointJog, as in control_msgs/msg."""

from sensor_msgs.msg import JointState

JointJog = JointState


def _field(name):
    return property(
        lambda message: getattr(message, name), lambda message, given: setattr(message, name, given)
    )


JointState.joint_names, JointState.displacements, JointState.velocities = map(
    _field, ("name", "position", "velocity")
)
