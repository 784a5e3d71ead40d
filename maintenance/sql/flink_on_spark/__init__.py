"""Flink's dialect where Spark runs the query: what it means there, in the words of Spark."""
