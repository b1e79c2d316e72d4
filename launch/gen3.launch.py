"""A Kinova Gen3.

ros2 launch robot_control_ros gen3.launch.py robot_ip:=192.168.1.10 law:=admittance
"""

from robot_control_ros.bringup import SETUPS
from robot_control_ros.bringup.launch_actions import describe


def generate_launch_description():
    """Declare the arguments and start the system; robot_control_ros.bringup decides of what."""
    return describe(SETUPS["gen3"])
