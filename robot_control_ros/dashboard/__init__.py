"""The page: a robot to watch, drag, push and tune in a browser. The only part that knows viser,
and it knows no ROS.
"""
