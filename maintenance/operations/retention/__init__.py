"""What keeps states and files, what would release them, and what another policy would delete."""
