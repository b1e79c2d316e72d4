"""A CiA 402 drive, and what its motor turns."""
