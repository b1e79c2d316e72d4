"""The command ``robot_control``."""
