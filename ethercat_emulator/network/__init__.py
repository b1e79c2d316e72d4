"""Network interfaces in the place of a cable."""
