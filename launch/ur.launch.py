"""A UR arm on Universal Robots' driver.

ros2 launch robot_control_ros ur.launch.py ur_type:=ur5e robot_ip:=192.168.56.101 law:=impedance

The driver loads its forward controllers inactive. Where our controller ends, driver and watchdog go on
and keep the arm safe.
"""

from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription, OpaqueFunction, RegisterEventHandler
from launch.conditions import IfCondition
from launch.event_handlers import OnProcessExit
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from robot_control_ros.bringup.launch_actions import (
    after_end,
    after_success,
    declare_arguments,
    others_go_on,
    prepare,
    restart,
)


def generate_launch_description():
    """Declare the arguments; what starts depends on their values."""
    return LaunchDescription([*declare_arguments("ur"), OpaqueFunction(function=launch_setup)])


def launch_setup(context):
    """Start the driver and our controller; when that is active, what carries its commands."""
    values = prepare("ur", context)  # refuses what can't run before anything starts

    driver = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(
            PathJoinSubstitution(
                [FindPackageShare("ur_robot_driver"), "launch/ur_control.launch.py"]
            )
        ),
        launch_arguments=values.launch_arguments(
            "ur_robot_driver",
            "ur_type",
            "robot_ip",
            "use_mock_hardware",
            "headless_mode",
            "tf_prefix",
            "launch_rviz",
            "activate_joint_controller",
            "verify_robot_model",
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
            "forward_follows",
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

    wait_active = Node(  # ends when the controller is active
        package="robot_control_ros",
        executable="wait_active",
        name="wait_active",
        parameters=values.parameters("wait_active", "node"),
        output="screen",
        emulate_tty=True,
    )
    spawn_forward = Node(  # fails where the controller is active already
        package="controller_manager",
        executable="spawner",
        exec_name=f"spawn_{values.forward}",
        arguments=values.arguments(f"spawn_{values.forward}"),
        output="screen",
        emulate_tty=True,
    )
    return [
        driver,
        watchdog,
        controller,
        page(),
        wait_active,
        RegisterEventHandler(
            OnProcessExit(
                target_action=wait_active,
                on_exit=after_success(spawn_forward, failure_ends_all=False),
            )
        ),
        RegisterEventHandler(OnProcessExit(target_action=spawn_forward, on_exit=after_end())),
    ]
