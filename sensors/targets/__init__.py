"""The command that sends a test alert."""
