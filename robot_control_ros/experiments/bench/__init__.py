"""How long things take, as ratios within one run."""
