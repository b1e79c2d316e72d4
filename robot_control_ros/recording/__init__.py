"""Records in files: what a robot did, for this package and for every tool that reads MCAP."""
