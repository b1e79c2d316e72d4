"""What leads a running robot from Python: one object, with a controller over ROS or a simulation behind it."""
