"""The page of one joint under PID."""
