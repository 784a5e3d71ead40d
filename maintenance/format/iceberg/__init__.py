"""Files of Apache Iceberg that describe a table of Paimon: bytes from and to records."""
