"""Targets of the robot: their topics, gains along them, and the action of joint trajectories."""
