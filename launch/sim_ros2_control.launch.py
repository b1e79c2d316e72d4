"""Our simulator behind ros2_control.

ros2 launch robot_control_ros sim_ros2_control.launch.py robot:=ur5
"""

from robot_control_ros.bringup import SETUPS
from robot_control_ros.bringup.launch_actions import describe


def generate_launch_description():
    """Declare the arguments and start the system; robot_control_ros.bringup decides of what."""
    return describe(SETUPS["sim_ros2_control"])
