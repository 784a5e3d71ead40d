"""Aggregate functions: one module each, registered in `registry`."""
