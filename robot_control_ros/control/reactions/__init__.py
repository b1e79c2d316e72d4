"""What a loop does by itself: at a contact, at ringing, and where samples come late."""
