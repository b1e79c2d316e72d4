"""Springs between tip and reference: bounds, axes, and changes that stay passive."""
