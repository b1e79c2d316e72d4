"""Franka Research 3 by its maker's library: errors in words, limits, payload, driver."""
