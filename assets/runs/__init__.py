"""What every run has: how steps fail, the account they keep, its place in the history, its messages."""
