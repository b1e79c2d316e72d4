"""The operators of the demonstrations, as nodes."""
