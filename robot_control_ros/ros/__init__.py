"""Common to several nodes: how they run, messages, parameters, checks of the system."""
