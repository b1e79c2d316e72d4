"""Compliant control of robot arms in ROS 2: control laws, models, safety, simulation and nodes, in Python."""

__version__ = "0.1.0"
