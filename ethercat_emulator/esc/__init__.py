"""A slave controller (ESC): its registers, and what happens when a master touches them."""
