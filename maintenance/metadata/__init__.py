"""The metadata files of one table: where they lie, and reading and writing them."""
