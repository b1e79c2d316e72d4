"""The fault table: each fault injected into an emulated bus over the real master, and what the
driver did.

bus_bench: the emulated arm, and the bus process that drives it; bus_trial: how a fault is injected
and watched, and how the arm comes back; bus_table: all rows, their trials, the command ``python -m
evidence ethercat-faults``.
"""
