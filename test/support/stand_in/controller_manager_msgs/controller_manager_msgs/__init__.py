"""What the tests put in place of controller_manager_msgs where it isn't installed.

Its classes have the real ones' fields, packed into messages that are installed everywhere. So both
ends must be of the tests: the look-alike of the controller manager, and our nodes with this folder
on PYTHONPATH.
"""
