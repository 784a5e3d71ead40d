"""Spark: the session, tasks on executors, reading tables as DataFrames.

Only the DataFrame API, so Connect works too.
"""
