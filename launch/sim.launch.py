"""A robot in this package's MuJoCo simulator.

ros2 launch robot_control_ros sim.launch.py robot:=ur5 law:=impedance
"""

from launch import LaunchDescription
from launch.actions import OpaqueFunction
from launch.conditions import IfCondition
from launch_ros.actions import Node

from robot_control_ros.bringup.launch_actions import (
    declare_arguments,
    end_all,
    prepare,
    restart,
)


def generate_launch_description():
    """Declare the arguments; what starts depends on their values."""
    return LaunchDescription([*declare_arguments("sim"), OpaqueFunction(function=launch_setup)])


def launch_setup(context):
    """Start the simulator, the watchdog, the controller and the page."""
    values = prepare("sim", context)  # refuses what can't run before anything starts

    namespace = values["namespace"] or None
    simulator = Node(
        package="robot_control_ros",
        executable="simulator",
        name="simulator",
        namespace=namespace,
        exec_name=values.process("simulator"),
        parameters=values.parameters(
            "simulator", "robot", "rate", "scene", "imperfections", "prefix", "pacing"
        ),
        output="screen",
        emulate_tty=True,
        on_exit=end_all,
    )
    watchdog = Node(
        package="robot_control_ros",
        executable="watchdog",
        name="watchdog",
        namespace=namespace,
        exec_name=values.process("watchdog"),
        parameters=values.parameters(
            "watchdog", "robot", "profile", "prefix", "rate", "use_sim_time"
        ),
        remappings=values.remappings("watchdog"),
        output="screen",
        emulate_tty=True,
        condition=IfCondition(values["watchdog"]),
        on_exit=end_all,
    )
    controller = Node(
        package="robot_control_ros",
        executable="controller",
        name="controller",
        namespace=namespace,
        exec_name=values.process("controller"),
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
        on_exit=end_all,
    )

    def page():
        return Node(
            package="robot_control_ros",
            executable="dashboard",
            name="dashboard",
            namespace=namespace,
            exec_name=values.process("dashboard"),
            parameters=values.parameters("dashboard", "robot", "profile", "prefix"),
            output="screen",
            emulate_tty=True,
            condition=IfCondition(values["dashboard"]),
            on_exit=restart(page),
        )

    return [simulator, watchdog, controller, page()]
