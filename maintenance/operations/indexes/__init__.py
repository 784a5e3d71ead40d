"""File indexes: built and rebuilt for existing files, proposed, and probed."""
