"""The fault table: each fault injected into an emulated bus over the real master, and what the driver did.

    bench       the emulated arm, the bus's process that drives it, and what both tell
    trial       a row; how its fault is injected and watched, and how the arm comes back
    table       all rows, and their trials one after the other
    report      the command line's, and the records as a table in Markdown

``robot_control ethercat faults`` runs it.
"""
