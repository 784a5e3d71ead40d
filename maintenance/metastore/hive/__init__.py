"""The Hive catalog: a Hive metastore lists databases, tables and partitions; definitions stay schema files."""
