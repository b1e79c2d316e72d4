"""Steps and chirps of force, measured against the ideal."""
