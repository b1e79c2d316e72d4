"""Simulator and controller of one robot: ros2 launch robot_control_ros sim.launch.py robot:=ur5 law:=impedance.

What is started is decided in robot_control_ros.bringup; here it becomes launch_ros nodes.
"""

from launch.actions import DeclareLaunchArgument, EmitEvent, OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchDescription
from robot_control_ros.bringup import SIMULATION_ARGUMENTS, simulation


def nodes(context):
    """The nodes for the arguments as given; each one's end is the end of the whole."""
    given = {argument.name: LaunchConfiguration(argument.name).perform(context) for argument in SIMULATION_ARGUMENTS}
    actions = []
    for spec in simulation(**given):
        node = Node(
            package="robot_control_ros",
            executable=spec.executable,
            name=spec.name,
            parameters=[*spec.parameter_files, dict(spec.parameters)],
            remappings=list(spec.remappings.items()),
            output="screen",
            emulate_tty=True,
        )
        end = EmitEvent(event=Shutdown(reason=f"{spec.name} has ended"))
        actions += [node, RegisterEventHandler(OnProcessExit(target_action=node, on_exit=[end]))]
    return actions


def generate_launch_description():
    """Declare the arguments and start the nodes."""
    arguments = [
        DeclareLaunchArgument(
            argument.name,
            default_value=argument.default,
            description=argument.text,
            choices=list(argument.choices) or None,
        )
        for argument in SIMULATION_ARGUMENTS
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=nodes)])
