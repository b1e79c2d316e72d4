"""The fault table of the ROS side: each fault injected into real processes, and what became of the arm.

line: what a network does to messages; arm: the simulated arm that answers commands in lockstep; judge: steps, speeds and
ways; programs: the nodes as processes in a domain of their own; bench: all of these together; trial: how a fault is
injected and watched; rows: the faults; command: ``python -m evidence faults``.
"""
