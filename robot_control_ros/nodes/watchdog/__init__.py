"""The watchdog: the safe output where a controller has died."""
