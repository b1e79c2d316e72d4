"""Speed of all, as ratios within one run.

report: ``python -m evidence speed``; ticks, simulated, over_dds, bus: the parts; page_load,
mutated_load, two_arms, vector_envs: what a load costs; forty_lines: what a researcher would write.
"""
