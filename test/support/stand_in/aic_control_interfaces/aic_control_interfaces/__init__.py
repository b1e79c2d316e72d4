"""What the tests put in place of Intrinsic's aic_control_interfaces; see
controller_manager_msgs beside it.
"""
