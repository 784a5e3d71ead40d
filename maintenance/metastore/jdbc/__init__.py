"""The JDBC catalog: databases, tables and views are rows of a relational database; definitions stay schema files."""
