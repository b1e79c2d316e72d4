"""The fault table of the ROS side: each fault injected into real processes, and what became of the
arm.

line: what a network does to messages; arm: the simulated arm that answers commands in lockstep;
judge: steps, speeds and ways; bench: the arm and its nodes together; trial: how a fault is injected
and watched; process_rows and the others: the faults; table: ``python -m evidence faults``.
"""
