"""Which files to rewrite and the rewrite itself."""
