"""Programs that prove the claims of the pages in docs: ``python -m evidence NAME``, in a checkout.

Among them: reproduce, the laws' sources run again; faults, each fault of the ROS side and what
became of the arm; soak, the demonstration for a long time; speed, ratios within one run. All of
them are in the table PROGRAMS of ``evidence/__main__.py``.
"""
