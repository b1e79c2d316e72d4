"""The process that keeps the bus's time, and how other processes speak with it."""
