"""Options of global indexes. Source: Java `CoreOptions`, `SortedIndexOptions`."""

from collections.abc import Mapping

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


def key_indexed(options: Mapping[str, str]) -> list[tuple[Option[tuple[str, ...]], str]]:
    """The columns that have an index of each bucket, each with the option that names it."""
    return [
        (option, name) for option in (PK_BTREE_INDEX_COLUMNS, PK_BITMAP_INDEX_COLUMNS) for name in option.of(options)
    ]
