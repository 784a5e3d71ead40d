"""Changes become a snapshot: conflicts, manifest merging, publishing, retries."""
