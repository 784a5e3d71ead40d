"""Catalog options."""

from maintenance.options.option import Option, boolean, one_of, string

WAREHOUSE: Option[str | None] = Option("warehouse", string, None)
METASTORE = Option("metastore", one_of("filesystem", "jdbc", "hive", "rest"), "filesystem")
CASE_SENSITIVE = Option("case-sensitive", boolean, True, ("allow-upper-case",))
LOCK_ENABLED: Option[bool | None] = Option("lock.enabled", boolean, None)
TABLE_DEFAULT_PREFIX = "table-default."
FS_PREFIX = "fs."
