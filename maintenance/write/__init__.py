"""Record batches become data files and commit messages."""
