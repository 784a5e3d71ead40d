"""What Dagster shows of a table: its page, numbers, health."""
