"""The simulator: a robot in MuJoCo that speaks as ros2_control does."""
