"""The node of a Franka robot."""
