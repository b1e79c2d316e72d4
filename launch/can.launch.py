"""Motors on CAN on this package's driver.

ros2 launch robot_control_ros can.launch.py robot:=openarm channel:=can0 law:=impedance

The bus outlives the controller, and stops its motors where that ends. So there is no watchdog.
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
    return LaunchDescription([*declare_arguments("can"), OpaqueFunction(function=launch_setup)])


def launch_setup(context):
    """Start the bus, the controller and the page."""
    values = prepare("can", context)  # refuses what can't run before anything starts

    bus = Node(
        package="robot_control_ros",
        executable="can",
        name="can",
        parameters=values.parameters(
            "can",
            "robot",
            "channel",
            "arm",
            "realtime_priority",
            "cpu_affinity",
            "rate",
            "in_process",
            "bad_cycles",
            "command_timeout",
            "reply_timeout",
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
            "state_timeout",
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

    return [bus, controller, page()]
