"""A snapshot and a filter become splits: pruning, and packing files for readers."""
