"""Catalog options."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from maintenance.errors import OptionError
from maintenance.options.option import Option, at_least, boolean, duration, integer, memory_size, one_of, string
from maintenance.spelling import suggestion

WAREHOUSE: Option[str | None] = Option("warehouse", string, None)
METASTORE = Option("metastore", one_of("filesystem", "jdbc", "hive", "rest"), "filesystem")
CASE_SENSITIVE = Option("case-sensitive", boolean, True, ("allow-upper-case",))
CATALOG_OPTIONS_TABLE_ENABLED = Option("catalog-options-table.enabled", boolean, False)
LOCK_ENABLED: Option[bool | None] = Option("lock.enabled", boolean, None)
CACHE_ENABLED = Option("cache-enabled", boolean, True)
CACHE_MANIFEST_SMALL_FILE_MEMORY = Option("cache.manifest.small-file-memory", memory_size, 128 << 20)
CACHE_MANIFEST_SMALL_FILE_THRESHOLD = Option("cache.manifest.small-file-threshold", memory_size, 1 << 20)
CACHE_SNAPSHOT_MAX_NUM_PER_TABLE = Option("cache.snapshot.max-num-per-table", integer, 20)
URI: Option[str | None] = Option("uri", string, None)
CATALOG_KEY = Option("catalog-key", string, "jdbc")
SYNC_ALL_PROPERTIES = Option("sync-all-properties", boolean, True)
CLIENT_POOL_SIZE = Option("client-pool-size", at_least(1), 2)
FORMAT_TABLE_ENABLED = Option("format-table.enabled", boolean, True)
TABLE_TYPE = Option("table.type", one_of("managed", "external"), "managed")
LOCATION_IN_PROPERTIES = Option("location-in-properties", boolean, False)
ALTER_TABLE_CASCADE = Option("alter-table-cascade", boolean, True)
TOKEN: Option[str | None] = Option("token", string, None)
TOKEN_PROVIDER: Option[str | None] = Option("token.provider", string, None)
DATA_TOKEN_ENABLED = Option("data-token.enabled", boolean, False)
LOCK_ACQUIRE_TIMEOUT = Option("lock-acquire-timeout", duration, timedelta(minutes=8))
LOCK_CHECK_MAX_SLEEP = Option("lock-check-max-sleep", duration, timedelta(seconds=8))
LOCK_KEY_MAX_LENGTH = Option("lock-key-max-length", at_least(1), 255)
TYPE = Option("type", one_of("paimon"), "paimon")
NO_PLANS, DELETING_PLANS, ALL_PLANS = "none", "deleting", "all"
# Of this project: the plans that somebody else than their maker has to approve before they are applied.
PLANS_NEED_APPROVAL = Option("plans.need-approval", one_of(NO_PLANS, DELETING_PLANS, ALL_PLANS), NO_PLANS)
TABLE_DEFAULT_PREFIX = "table-default."
FS_PREFIX = "fs."
JDBC_PREFIX = "jdbc."
# Options of Paimon's catalogs, and of the engines that open them, which change nothing here: they tune other caches
# and clients, or name what an engine looks for first.
_ELSEWHERE = frozenset(
    {
        "cache.deletion-vectors.max-num", "cache.expire-after-access", "cache.expire-after-write",
        "cache.expiration-interval", "cache.manifest.max-memory", "cache.manifest.soft-values",
        "cache.partition.max-num", "default-database", "disable-create-table-in-default-db", "file-io.allow-cache",
        "file-io.populate-meta", "local-cache.block-size", "local-cache.dir", "local-cache.enabled",
        "local-cache.max-size", "local-cache.whitelist", "property-version", "resolving-file-io.enabled",
    }
)  # fmt: skip
# Of the Hive and REST catalogs, without a type of their own here.
_OF_OTHER_CATALOGS = frozenset(
    {
        "client-pool-cache.eviction-interval-ms", "client-pool-cache.keys", "hadoop-conf-dir", "hadoop-conf-loader",
        "hadoop-load-default-config", "hive-conf-dir", "http-user-agent", "lock.type", "metastore.client.class",
        "prefix",
    }
)  # fmt: skip
# What begins so is a setting of a store, a driver, a metastore or an engine.
_NAMESPACES = (
    TABLE_DEFAULT_PREFIX, FS_PREFIX, JDBC_PREFIX, "s3.", "s3a.", "oss.", "cosn.", "gs.", "gcs.", "azure.", "abfs.",
    "obs.", "dfs.", "hadoop.", "hive.", "header.", "io.", "dlf.", "rest.", "security.", "metastore.", "flink.",
    "spark.",
)  # fmt: skip


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


def check_names(options: Mapping[str, str]) -> None:
    """Refuse options that no catalog of Paimon has: they would be ignored. Raises: OptionError naming the first."""
    names = {
        name for value in globals().values() if isinstance(value, Option) for name in (value.key, *value.fallbacks)
    }
    names |= _ELSEWHERE | _OF_OTHER_CATALOGS
    for key in options:
        if key not in names and not key.startswith(_NAMESPACES):
            raise OptionError(
                f"'{key}' is not an option of a catalog",
                "catalog options",
                f"Remove it, or correct its name.{suggestion(key, names)}",
            )


def table_defaults(options: Mapping[str, str]) -> dict[str, str]:
    """Table options that new tables get unless they are given: those with the prefix `table-default.`."""
    return {
        key.removeprefix(TABLE_DEFAULT_PREFIX): value
        for key, value in options.items()
        if key.startswith(TABLE_DEFAULT_PREFIX)
    }
