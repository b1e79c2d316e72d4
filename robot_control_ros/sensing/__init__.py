"""Sensing: the wrench that a law sees, contacts, ringing, drift, and impossible samples."""
