"""Materialized tables: what defines them, what has changed under them, and how they are refreshed."""
