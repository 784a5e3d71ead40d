"""Where alerts go: one module per kind of target."""
