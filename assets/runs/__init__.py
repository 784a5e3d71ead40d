"""What every run has: how steps fail, the summary they hand on, its place in the history, its messages."""
