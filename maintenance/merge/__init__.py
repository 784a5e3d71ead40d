"""Rows of one key become one row. Pure: Arrow in, Arrow out."""
