"""Robot leads a running robot from Python: a controller over ROS, or a simulation."""
