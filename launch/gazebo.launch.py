"""A robot in Gazebo.

ros2 launch robot_control_ros gazebo.launch.py robot:=ur5 law:=impedance
"""

from launch import LaunchDescription
from launch.actions import ExecuteProcess, OpaqueFunction, RegisterEventHandler
from launch.conditions import IfCondition
from launch.event_handlers import OnProcessExit
from launch_ros.actions import Node

from robot_control_ros.bringup.launch_actions import (
    after_end,
    after_success,
    declare_arguments,
    end_all,
    in_session,
    others_go_on,
    prepare,
    restart,
)


def generate_launch_description():
    """Declare the arguments; what starts depends on their values."""
    return LaunchDescription([*declare_arguments("gazebo"), OpaqueFunction(function=launch_setup)])


def launch_setup(context):
    """Start Gazebo with the robot in it, then our controller, then what carries its commands."""
    values = prepare("gazebo", context)  # refuses what can't run before anything starts

    program = values.program("gazebo")
    # Without ros_gz_sim's launch file: that has a shell between, which keeps signals to itself.
    gazebo = ExecuteProcess(
        cmd=in_session(program),  # gz sim -r WORLD, with -s where it has no window
        name="gazebo",
        additional_env=dict(program.environment),  # where it looks for plug-ins and models
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
    clock_bridge = Node(
        package="ros_gz_bridge",
        executable="parameter_bridge",
        exec_name="clock_bridge",
        arguments=values.arguments("clock_bridge"),  # /clock, from Gazebo to ROS
        output="screen",
        emulate_tty=True,
        on_exit=end_all,
    )
    create = Node(  # puts the robot into the world
        package="ros_gz_sim",
        executable="create",
        exec_name="create",
        arguments=values.arguments("create"),  # -topic robot_description -name ROBOT
        output="screen",
        emulate_tty=True,
    )
    spawn_joint_states = Node(
        package="controller_manager",
        executable="spawner",
        exec_name="spawn_joint_state_broadcaster",
        arguments=values.arguments("spawn_joint_state_broadcaster"),
        output="screen",
        emulate_tty=True,
    )
    spawn_wrench = Node(  # fails where the hardware has no sensor that ros2_control sees
        package="controller_manager",
        executable="spawner",
        exec_name="spawn_force_torque_sensor_broadcaster",
        arguments=values.arguments("spawn_force_torque_sensor_broadcaster"),
        output="screen",
        emulate_tty=True,
    )
    load_forward = Node(  # loaded, and inactive until our controller is active
        package="controller_manager",
        executable="spawner",
        exec_name=f"load_{values.forward}",
        arguments=values.arguments(f"load_{values.forward}"),
        output="screen",
        emulate_tty=True,
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
            "prefix",
            "rate",
            "law",
            "description",
            "use_sim_time",
            "save_faults",
            "forward_follows",
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
            parameters=values.parameters("dashboard", "robot", "profile", "prefix"),
            output="screen",
            emulate_tty=True,
            condition=IfCondition(values["dashboard"]),
            on_exit=restart(page),
        )

    wait_active = Node(  # ends when the controller is active
        package="robot_control_ros",
        executable="wait_active",
        name="wait_active",
        parameters=values.parameters("wait_active", "node"),
        output="screen",
        emulate_tty=True,
    )
    spawn_forward = Node(
        package="controller_manager",
        executable="spawner",
        exec_name=f"spawn_{values.forward}",
        arguments=values.arguments(f"spawn_{values.forward}"),
        output="screen",
        emulate_tty=True,
    )
    return [
        gazebo,
        robot_state_publisher,
        clock_bridge,
        create,
        RegisterEventHandler(
            OnProcessExit(target_action=create, on_exit=after_success(spawn_joint_states))
        ),
        RegisterEventHandler(
            OnProcessExit(target_action=spawn_joint_states, on_exit=after_success(spawn_wrench))
        ),
        RegisterEventHandler(
            OnProcessExit(target_action=spawn_wrench, on_exit=after_end(load_forward))
        ),
        RegisterEventHandler(
            OnProcessExit(
                target_action=load_forward,
                on_exit=after_success(watchdog, controller, page(), wait_active),
            )
        ),
        RegisterEventHandler(
            OnProcessExit(target_action=wait_active, on_exit=after_success(spawn_forward))
        ),
        RegisterEventHandler(OnProcessExit(target_action=spawn_forward, on_exit=after_success())),
    ]
