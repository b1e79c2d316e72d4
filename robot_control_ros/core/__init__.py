"""Errors, plain data, rotations and poses, gains declared once: what everything speaks.
Needs numpy and numba.
"""
