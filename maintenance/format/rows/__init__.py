"""Serialized rows and keys, and the system columns of data files."""
