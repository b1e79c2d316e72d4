"""One control cycle: loop, safety, bumpless transition, watchdog logic, cycle
times; what a plant is.
"""
