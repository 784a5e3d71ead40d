"""File indexes: per data file, structures that tell which values its columns cannot hold. Kinds are in `kinds.py`."""
