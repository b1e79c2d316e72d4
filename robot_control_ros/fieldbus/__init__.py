"""Field buses: the protocol of a driver, the process that each bus runs in, drivers, emulated
buses, tools for the command line.
"""
