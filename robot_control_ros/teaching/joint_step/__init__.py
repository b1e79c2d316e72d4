"""The step of one joint with an ideal velocity servo: the joint PID's source,
without its simulator.
"""
