"""The chain of slaves: frames go in and come back."""
