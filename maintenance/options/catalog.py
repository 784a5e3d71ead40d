"""Catalog options."""

from collections.abc import Mapping
from dataclasses import dataclass

from maintenance.options.option import Option, boolean, integer, memory_size, one_of, string

WAREHOUSE: Option[str | None] = Option("warehouse", string, None)
METASTORE = Option("metastore", one_of("filesystem", "jdbc", "hive", "rest"), "filesystem")
CASE_SENSITIVE = Option("case-sensitive", boolean, True, ("allow-upper-case",))
CATALOG_OPTIONS_TABLE_ENABLED = Option("catalog-options-table.enabled", boolean, False)
LOCK_ENABLED: Option[bool | None] = Option("lock.enabled", boolean, None)
CACHE_ENABLED = Option("cache-enabled", boolean, True)
CACHE_MANIFEST_SMALL_FILE_MEMORY = Option("cache.manifest.small-file-memory", memory_size, 128 << 20)
CACHE_MANIFEST_SMALL_FILE_THRESHOLD = Option("cache.manifest.small-file-threshold", memory_size, 1 << 20)
CACHE_SNAPSHOT_MAX_NUM_PER_TABLE = Option("cache.snapshot.max-num-per-table", integer, 20)
TABLE_DEFAULT_PREFIX = "table-default."
FS_PREFIX = "fs."


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """How much metadata a process keeps. `manifest_bytes`: in memory; `max_file_bytes`: larger files are not kept."""

    manifest_bytes: int = 128 << 20
    max_file_bytes: int = 1 << 20
    snapshots_per_table: int = 20

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "CacheSettings":
        if not CACHE_ENABLED.of(options):
            return cls(0, 0, 0)
        return cls(
            CACHE_MANIFEST_SMALL_FILE_MEMORY.of(options),
            CACHE_MANIFEST_SMALL_FILE_THRESHOLD.of(options),
            CACHE_SNAPSHOT_MAX_NUM_PER_TABLE.of(options),
        )
