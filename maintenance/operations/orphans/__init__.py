"""Removal of orphan files: files of a table that nothing names any more."""
