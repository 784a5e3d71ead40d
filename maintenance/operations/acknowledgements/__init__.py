"""What somebody has looked at and found in order."""
