"""The page of the planar two-link arm."""
