"""A UR arm.

ros2 launch robot_control_ros ur.launch.py ur_type:=ur5e robot_ip:=192.168.56.101 law:=impedance
"""

from robot_control_ros.bringup import SETUPS
from robot_control_ros.bringup.launch_actions import describe


def generate_launch_description():
    """Declare the arguments and start the system; robot_control_ros.bringup decides of what."""
    return describe(SETUPS["ur"])
