"""Which bucket a row belongs to, one module per bucket mode."""
