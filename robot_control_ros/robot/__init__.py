"""A robot: its configuration and hardware profile, its files, its model, inverse
kinematics, friction.
"""
