"""Data files of format `row`: rows in blocks of zstd, found by their numbers through an index of the blocks."""
