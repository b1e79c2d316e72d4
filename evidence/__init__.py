"""What proves the claims of the pages in docs: ``python -m evidence NAME``, in a checkout.

faults: each fault of the ROS side, and what became of the arm; soak: the demonstration for a long time;
speed: how fast it all is, as ratios within one run.
"""
