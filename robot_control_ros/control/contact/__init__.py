"""What a control loop does about contacts."""
