"""A Franka Research 3 by its maker's library.

ros2 launch robot_control_ros fr3.launch.py ip:=172.16.0.2 law:=impedance

The driver outlives the controller, and stops the robot where that ends. So there is no watchdog.
"""

from launch import LaunchDescription
from launch.actions import OpaqueFunction
from launch.conditions import IfCondition
from launch_ros.actions import Node

from robot_control_ros.bringup.launch_actions import (
    declare_arguments,
    end_all,
    others_go_on,
    prepare,
    restart,
)


def generate_launch_description():
    """Declare the arguments; what starts depends on their values."""
    return LaunchDescription([*declare_arguments("fr3"), OpaqueFunction(function=launch_setup)])


def launch_setup(context):
    """Start the driver, the controller and the page."""
    values = prepare("fr3", context)  # refuses what can't run before anything starts

    driver = Node(
        package="robot_control_ros",
        executable="franka",
        name="franka",
        parameters=values.parameters(
            "franka", "robot", "ip", "realtime_priority", "cpu_affinity", "rate", "in_process"
        ),
        output="screen",
        emulate_tty=True,
        on_exit=end_all,
    )
    controller = Node(
        package="robot_control_ros",
        executable="controller",
        name="controller",
        parameters=values.parameters(
            "controller",
            "robot",
            "profile",
            "rate",
            "law",
            "description",
            "use_sim_time",
            "save_faults",
            "bus",
        ),
        remappings=values.remappings("controller"),
        output="screen",
        emulate_tty=True,
        on_exit=others_go_on,
    )

    def page():
        return Node(
            package="robot_control_ros",
            executable="dashboard",
            name="dashboard",
            parameters=values.parameters("dashboard", "robot", "profile"),
            output="screen",
            emulate_tty=True,
            condition=IfCondition(values["dashboard"]),
            on_exit=restart(page),
        )

    return [driver, controller, page()]
