"""What can be controlled: the protocol, and one module or folder per kind."""
