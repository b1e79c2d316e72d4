"""Waits until a lifecycle node is active, for launch files."""
