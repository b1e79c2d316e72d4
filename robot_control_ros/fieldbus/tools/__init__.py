"""What the command line does with a bus: look, read, write, measure."""
