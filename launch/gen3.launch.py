"""A Kinova Gen3 on ros2_kortex.

ros2 launch robot_control_ros gen3.launch.py robot_ip:=192.168.1.10 law:=admittance

Where our controller ends, driver and watchdog go on and keep the arm safe.
"""

from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription, OpaqueFunction
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from robot_control_ros.bringup.launch_actions import (
    declare_arguments,
    others_go_on,
    prepare,
    restart,
)


def generate_launch_description():
    """Declare the arguments; what starts depends on their values."""
    return LaunchDescription([*declare_arguments("gen3"), OpaqueFunction(function=launch_setup)])


def launch_setup(context):
    """Start the driver with its forward_position_controller, and our controller."""
    values = prepare("gen3", context)  # refuses what can't run before anything starts

    driver = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(
            PathJoinSubstitution([FindPackageShare("kortex_bringup"), "launch/gen3.launch.py"])
        ),
        launch_arguments=values.launch_arguments(
            "kortex_bringup",
            "robot_ip",
            "use_fake_hardware",
            "controllers_file",
            "robot_controller",
            "robot_pos_controller",
            "launch_rviz",
            "prefix",
        ),
        condition=IfCondition(values["driver"]),
    )
    watchdog = Node(
        package="robot_control_ros",
        executable="watchdog",
        name="watchdog",
        parameters=values.parameters(
            "watchdog", "robot", "profile", "prefix", "rate", "use_sim_time"
        ),
        remappings=values.remappings("watchdog"),
        output="screen",
        emulate_tty=True,
        condition=IfCondition(values["watchdog"]),
        on_exit=others_go_on,
    )
    controller = Node(
        package="robot_control_ros",
        executable="controller",
        name="controller",
        parameters=values.parameters(
            "controller",
            "robot",
            "profile",
            "prefix",
            "rate",
            "law",
            "description",
            "use_sim_time",
            "save_faults",
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
            parameters=values.parameters("dashboard", "robot", "profile", "prefix"),
            output="screen",
            emulate_tty=True,
            condition=IfCondition(values["dashboard"]),
            on_exit=restart(page),
        )

    return [driver, watchdog, controller, page()]
