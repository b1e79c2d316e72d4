"""Recordings of a robot as MCAP files."""
