"""The metadata files of one table: their paths, and reading and writing them."""
