"""Measuring programs: how long things take, as ratios within one run. `robot_control bench` runs them."""
