"""Options of global indexes. Source: Java `CoreOptions`, `SortedIndexOptions`."""

from maintenance.options.option import Option, boolean, names, one_of, positive, string

GLOBAL_INDEX_ENABLED = Option("global-index.enabled", boolean, True)
GLOBAL_INDEX_EXTERNAL_PATH: Option[str | None] = Option("global-index.external-path", string, None)
THROW_ERROR, DROP_PARTITION_INDEX, IGNORE = "throw-error", "drop-partition-index", "ignore"
GLOBAL_INDEX_COLUMN_UPDATE_ACTION = Option(
    "global-index.column-update-action", one_of(THROW_ERROR, DROP_PARTITION_INDEX, IGNORE), THROW_ERROR
)
SORTED_INDEX_RECORDS_PER_RANGE = Option(
    "sorted-index.records-per-range", positive, 10_000_000, ("btree-index.records-per-range",)
)
PK_BTREE_INDEX_COLUMNS: Option[tuple[str, ...]] = Option("pk-btree.index.columns", names, ())
PK_BITMAP_INDEX_COLUMNS: Option[tuple[str, ...]] = Option("pk-bitmap.index.columns", names, ())
