"""The numbers of a robot on the page: shown, copied, and typed as goals."""
