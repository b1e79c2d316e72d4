"""The node `teleop`: a gamepad, a SpaceMouse or a tracked hand leads the tip."""
