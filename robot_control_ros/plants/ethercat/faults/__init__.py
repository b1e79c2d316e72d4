"""The fault table: each fault injected into an emulated bus over the real master, and what the driver did."""
