"""The doctor: what a running system has and lacks."""
