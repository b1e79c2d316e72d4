"""The controller: joint states in, commands out. Run it as ``python -m
robot_control_ros.nodes.controller``.
"""
