"""Common parts of the nodes: their run and end, messages, parameters, checks of the system."""
