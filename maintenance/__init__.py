"""The engine: reads, writes and maintains Apache Paimon tables. Knows nothing of Dagster."""
