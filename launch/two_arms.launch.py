"""Two arms in one world.

ros2 launch robot_control_ros two_arms.launch.py workcell:=two_ur5e law:=impedance
"""

from robot_control_ros.bringup import SETUPS
from robot_control_ros.bringup.launch_actions import describe


def generate_launch_description():
    """Declare the arguments and start the system; robot_control_ros.bringup decides of what."""
    return describe(SETUPS["two_arms"])
