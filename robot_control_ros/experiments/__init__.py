"""What produces evidence: demonstrations, reproductions, stability limits, fault trials, measurements."""
