"""The simulator of this package behind ros2_control.

ros2 launch robot_control_ros sim_ros2_control.launch.py robot:=ur5
"""

from launch import LaunchDescription
from launch.actions import OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch_ros.actions import Node

from robot_control_ros.bringup.launch_actions import (
    after_success,
    declare_arguments,
    end_all,
    others_go_on,
    prepare,
)


def generate_launch_description():
    """Declare the arguments; what starts depends on their values."""
    return LaunchDescription(
        [*declare_arguments("sim_ros2_control"), OpaqueFunction(function=launch_setup)]
    )


def launch_setup(context):
    """Start the simulator, the controller manager, and one of its controllers."""
    values = prepare("sim_ros2_control", context)  # refuses what can't run before anything starts

    controller = values["controller"]
    simulator = Node(
        package="robot_control_ros",
        executable="simulator",
        name="simulator",
        parameters=values.parameters(
            "simulator", "robot", "rate", "scene", "imperfections", "prefix"
        ),
        remappings=values.remappings("simulator"),
        output="screen",
        emulate_tty=True,
        on_exit=end_all,
    )
    robot_state_publisher = Node(
        package="robot_state_publisher",
        executable="robot_state_publisher",
        parameters=values.parameters("robot_state_publisher", "robot_description", "use_sim_time"),
        output="screen",
        emulate_tty=True,
        on_exit=others_go_on,  # all have the description already
    )
    # without a name: it would be that of the controllers' nodes, too, which are in the same process
    controller_manager = Node(
        package="controller_manager",
        executable="ros2_control_node",
        exec_name="controller_manager",
        parameters=values.parameters("controller_manager"),  # the file of the controllers
        remappings=values.remappings("controller_manager"),
        output="screen",
        emulate_tty=True,
        on_exit=end_all,
    )
    spawn_joint_states = Node(
        package="controller_manager",
        executable="spawner",
        exec_name="spawn_joint_state_broadcaster",
        arguments=values.arguments("spawn_joint_state_broadcaster"),
        output="screen",
        emulate_tty=True,
    )
    spawn_controller = Node(
        package="controller_manager",
        executable="spawner",
        exec_name=f"spawn_{controller}",
        arguments=values.arguments(f"spawn_{controller}"),
        output="screen",
        emulate_tty=True,
    )
    return [
        simulator,
        robot_state_publisher,
        controller_manager,
        spawn_joint_states,
        RegisterEventHandler(
            OnProcessExit(target_action=spawn_joint_states, on_exit=after_success(spawn_controller))
        ),
        RegisterEventHandler(
            OnProcessExit(target_action=spawn_controller, on_exit=after_success())
        ),
    ]
