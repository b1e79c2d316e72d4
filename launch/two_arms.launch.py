"""The arms of a work cell, each with its nodes in its own namespace.

ros2 launch robot_control_ros two_arms.launch.py workcell:=two_ur5e law:=impedance

Where a node of one arm ends, the other arms go on.
"""

from launch import LaunchDescription
from launch.actions import OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import EqualsSubstitution
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
    return LaunchDescription(
        [*declare_arguments("two_arms"), OpaqueFunction(function=launch_setup)]
    )


def launch_setup(context):
    """Start one simulator of all arms, and the nodes of each arm."""
    values = prepare("two_arms", context)  # refuses what can't run before anything starts

    simulator = Node(
        package="robot_control_ros",
        executable="simulator",
        name="simulator",
        parameters=values.parameters("simulator", "workcell", "rate", "scene", "pacing"),
        output="screen",
        emulate_tty=True,
        condition=IfCondition(EqualsSubstitution(values["profile"], "sim")),
        on_exit=end_all,
    )
    arms = [name for name in values.namespaces if name]
    return [simulator, *(node for arm in arms for node in nodes_of(arm, values))]


def nodes_of(arm, values):
    """Watchdog, controller and page of one arm."""
    watchdog = Node(
        package="robot_control_ros",
        executable="watchdog",
        name="watchdog",
        namespace=arm,
        exec_name=f"{arm}_watchdog",
        parameters=values.parameters(f"{arm}/watchdog", "robot", "profile", "rate", "use_sim_time"),
        remappings=values.remappings(f"{arm}/watchdog"),
        output="screen",
        emulate_tty=True,
        condition=IfCondition(values["watchdog"]),
        on_exit=others_go_on,
    )
    controller = Node(
        package="robot_control_ros",
        executable="controller",
        name="controller",
        namespace=arm,
        exec_name=f"{arm}_controller",
        parameters=values.parameters(
            f"{arm}/controller",
            "robot",
            "profile",
            "rate",
            "law",
            "description",
            "use_sim_time",
            "save_faults",
        ),
        remappings=values.remappings(f"{arm}/controller"),
        output="screen",
        emulate_tty=True,
        on_exit=others_go_on,
    )

    def page():
        return Node(
            package="robot_control_ros",
            executable="dashboard",
            name="dashboard",
            namespace=arm,
            exec_name=f"{arm}_dashboard",
            parameters=values.parameters(f"{arm}/dashboard", "robot", "profile", "port"),
            output="screen",
            emulate_tty=True,
            condition=IfCondition(values["dashboard"]),
            on_exit=restart(page),
        )

    return [watchdog, controller, page()]
