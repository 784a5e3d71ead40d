"""The table handle that users hold."""
