"""A robot on ros2_control's mock hardware.

ros2 launch robot_control_ros mock.launch.py robot:=ur5 law:=admittance
"""

from robot_control_ros.bringup import SETUPS
from robot_control_ros.bringup.launch_actions import describe


def generate_launch_description():
    """Declare the arguments and start the system; robot_control_ros.bringup decides of what."""
    return describe(SETUPS["mock"])
