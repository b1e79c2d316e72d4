"""How stiff, how light and how little damped a law may be, by its rate and its delay."""
