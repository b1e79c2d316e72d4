"""Bounds of a law's stiffness, mass and damping, by its rate and its delay."""
