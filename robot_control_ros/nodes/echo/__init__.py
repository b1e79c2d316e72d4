"""The least that a node can do with a joint state, to measure against."""
