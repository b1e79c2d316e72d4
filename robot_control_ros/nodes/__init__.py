"""ROS 2 nodes: thin shells around the loop and the plants. The only folder that imports
rclpy and messages.
"""
