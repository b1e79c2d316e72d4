"""Imperfections of a simulated arm, its sensors and its line."""
