"""Exit codes, besides 0 for what is done."""

FAILED = 1
REFUSED = 2
NOTHING_TO_DO = 3
