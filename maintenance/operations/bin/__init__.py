"""The bin of a warehouse: where deleted files wait, so that a deletion can be taken back."""
