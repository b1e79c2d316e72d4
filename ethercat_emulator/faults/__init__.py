"""What can go wrong on a bus, and what happened there."""
