"""Statements, one module for each family."""
