"""Robots simulated in this process: MuJoCo plant, scenes, simulate(), the two-link arm, one joint."""
