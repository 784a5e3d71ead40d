"""The only storage access: local paths directly, object stores through fsspec."""
