"""Identification of an arm: a slow motion within bounds, and what it says of line,
sensors, friction and load.
"""
