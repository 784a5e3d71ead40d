"""Where alerts go: one module for each kind of target, with its settings and how it sends."""
