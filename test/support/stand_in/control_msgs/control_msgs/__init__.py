"""What the tests put in place of control_msgs where it isn't installed; see
controller_manager_msgs beside it.
"""
