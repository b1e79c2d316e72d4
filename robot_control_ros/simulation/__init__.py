"""Robots simulated in this process: MuJoCo plant, scenes, simulate(), many arms at once."""
