"""The ROS side of an identification: who sets the law, sends the motion and records it."""
