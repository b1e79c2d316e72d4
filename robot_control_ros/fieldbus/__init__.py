"""Field buses: drivers, the process that a bus runs in, emulated buses, tools
for the command line.
"""
