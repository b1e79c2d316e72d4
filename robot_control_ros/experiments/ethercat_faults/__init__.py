"""The fault table: each fault injected into an emulated bus over the real master, and what the driver did.

bench: the emulated arm, and the bus process that drives it; trial: how a fault is injected and watched, and how the arm
comes back; table: all rows, their trials, the command ``robot_control ethercat faults``.
"""
