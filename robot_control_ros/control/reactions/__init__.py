"""Reactions of a loop by itself: to a contact, to ringing, and to samples that come late."""
