"""The node of motors on CAN."""
