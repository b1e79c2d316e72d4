"""The node of a field bus: the same for each kind of bus."""
