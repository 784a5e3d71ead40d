"""The console: pages beside Dagster that show what the lake and Dagster's storage know. It changes nothing."""
