"""Where the robot should go: topics of targets, gains along them, and the action of joint trajectories."""
