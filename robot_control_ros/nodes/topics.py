"""The topics of the nodes, for people; the pages of docs say more of each."""

from __future__ import annotations

from typing import NamedTuple


class Topic(NamedTuple):
    """One topic of one node.

    Attributes:
        node: its default name.
        name: as ROS resolves it; `~` is the node's name, `<…>` depends on robot, profile or scene.
        direction: ``in`` where the node subscribes to it, ``out`` where it publishes it.
        type: of its messages.
        text: what it carries.
    """

    node: str
    name: str
    direction: str
    type: str
    text: str


_EFFORTS = "std_msgs/Float64MultiArray"
_STATES = "sensor_msgs/JointState"
_DIAGNOSTICS = "diagnostic_msgs/DiagnosticArray"
_WRENCH, _POSE, _TWIST = (f"geometry_msgs/{name}Stamped" for name in ("Wrench", "Pose", "Twist"))

TOPICS = (
    Topic("controller", "joint_states", "in", _STATES, "the robot's joints"),
    Topic("controller", "wrench", "in", _WRENCH, "exerted by the environment on the robot"),
    Topic("controller", "robot_description", "in", "std_msgs/String", "read if `description` is `topic`"),
    Topic("controller", "~/target_pose", "in", _POSE, "where the tip shall go"),
    Topic("controller", "~/target_twist", "in", _TWIST, "moves the reference for 0.2 s"),
    Topic("controller", "~/target_wrench", "in", _WRENCH, "that the robot shall exert for 0.5 s"),
    Topic("controller", "~/target_joint", "in", _STATES, "where the joints shall go"),
    Topic("controller", "~/joint_trajectory", "in", "trajectory_msgs/JointTrajectory", "a path for all joints"),
    Topic("controller", "~/tip_trajectory", "in", "trajectory_msgs/MultiDOFJointTrajectory", "poses with times"),
    Topic("controller", "~/target_impedance", "in", "trajectory_msgs/JointTrajectory", "gains along it, by name"),
    Topic("controller", "<controller>/commands", "out", _EFFORTS, "commands of the law's mode"),
    Topic("controller", "<joint_commands>", "out", _STATES, "the same, where the profile names it"),
    Topic("controller", "<running_topic>", "in", "std_msgs/Bool", "whether the robot executes commands"),
    Topic("controller", "watchdog_alive", "in", "std_msgs/Empty", "signs of life of the watchdog"),
    Topic("controller", "~/state", "out", _EFFORTS, "everything, in named blocks"),
    Topic(
        "controller", "~/contact", "out", "diagnostic_msgs/DiagnosticStatus", "what touches the arm, where, how hard"
    ),
    Topic("controller", "~/target_reply", "out", "diagnostic_msgs/DiagnosticStatus", "whether a target was taken"),
    Topic("controller", "~/fault", "out", "std_msgs/String", "why the robot does not follow; empty if it does"),
    Topic("controller", "~/stopped", "out", "std_msgs/Bool", "whether STOP holds it"),
    Topic("controller", "~/identification", "out", "std_msgs/String", "steps of an identification, as JSON"),
    Topic("controller", "~/pose", "out", _POSE, "tip in the base frame"),
    Topic("controller", "~/reference_pose", "out", _POSE, "reference in the base frame"),
    Topic("controller", "~/twist", "out", _TWIST, "of the tip"),
    Topic("controller", "~/tip_wrench", "out", _WRENCH, "at the tip, after tare and filter"),
    Topic("controller", "/diagnostics", "out", _DIAGNOSTICS, "law, rate, deadlines, the last refusal"),
    Topic("simulator", "joint_states", "out", _STATES, "at the robot's rate"),
    Topic("simulator", "force_torque_sensor_broadcaster/wrench", "out", _WRENCH, "by the environment on the robot"),
    Topic("simulator", "/clock", "out", "rosgraph_msgs/Clock", "simulated time"),
    Topic("simulator", "robot_description", "out", "std_msgs/String", "that it simulates"),
    Topic("simulator", "forward_effort_controller/commands", "in", _EFFORTS, "position and velocity likewise"),
    Topic("simulator", "joint_commands", "in", _STATES, "the same by the joints' names"),
    Topic("simulator", "~/push", "in", _WRENCH, "pushes the link `frame_id`"),
    Topic("simulator", "~/contact_wrench", "out", _WRENCH, "of objects, in a scene"),
    Topic("simulator", "~/objects", "out", "visualization_msgs/MarkerArray", "of the scene, and where they are"),
    Topic("simulator", "<gripper_controller>/commands", "in", _EFFORTS, "position and force of the fingers"),
    Topic("simulator", "~/<object>/target", "in", "geometry_msgs/PointStamped", "where an object is pulled"),
    Topic("teleop", "joy", "in", "sensor_msgs/Joy", "of a gamepad or SpaceMouse"),
    Topic("teleop", "twist", "in", "geometry_msgs/Twist", "of a SpaceMouse, from -1 to 1"),
    Topic("teleop", "twist_stamped", "in", _TWIST, "the same in a frame, as for MoveIt Servo"),
    Topic("teleop", "hand_pose", "in", _POSE, "of a tracked hand"),
    Topic("teleop", "<leader>/pose", "in", _POSE, "of an arm that leads"),
    Topic("teleop", "joint_jog", "in", "control_msgs/JointJog", "joint velocities, as for MoveIt Servo"),
    Topic("teleop", "pose_commands", "in", "aic_control_interfaces/MotionUpdate", "as for Intrinsic's aic_controller"),
    Topic("teleop", "<leader>/target_wrench", "out", _WRENCH, "the force of the arm that follows"),
    Topic("teleop", "joy/set_feedback", "out", "sensor_msgs/JoyFeedback", "rumble by the force at the tip"),
    Topic("teleop", "hand_wrench", "out", _WRENCH, "at the tip, scaled, for a device that can show it"),
    Topic("watchdog", "joint_states", "in", _STATES, "tell that the robot runs"),
    Topic("watchdog", "<controller>/commands", "in", _EFFORTS, "of each mode, and out after a takeover"),
    Topic("watchdog", "watchdog_alive", "out", "std_msgs/Empty", "signs of life, 20 a second"),
    Topic("watchdog", "controller/stopped", "in", "std_msgs/Bool", "that silence is meant"),
    Topic("watchdog", "/diagnostics", "out", _DIAGNOSTICS, "whether it watches or has taken over"),
    Topic("ethercat", "joint_states", "out", _STATES, "once per cycle, or at `rate`"),
    Topic("ethercat", "forward_effort_controller/commands", "in", _EFFORTS, "position and velocity likewise"),
    Topic("ethercat", "joint_commands", "in", _STATES, "the same by the joints' names"),
    Topic("ethercat", "/diagnostics", "out", _DIAGNOSTICS, "of the bus, and of each drive"),
)
