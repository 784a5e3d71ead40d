"""Dagster's view of the tables: what is configured, the resources, one op per operation, one asset per table."""
