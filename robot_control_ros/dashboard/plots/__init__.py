"""Curves of the last minute, and their files."""
