"""Pages without a robot: a planar arm to drag, and one joint under PID, each with the small
simulation behind it.
"""
