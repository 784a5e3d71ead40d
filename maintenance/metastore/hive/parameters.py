"""Parameters of a table that the metastore or its clients add, and that are no options of it."""

METASTORE_PARAMETERS = frozenset(
    {
        "EXTERNAL", "table_type", "storage_handler", "comment", "paimon_location", "transient_lastDdlTime", "numFiles",
        "numFilesErasureCoded", "totalSize", "numRows", "rawDataSize", "COLUMN_STATS_ACCURATE", "DO_NOT_UPDATE_STATS",
        "STATS_GENERATED", "last_modified_by", "last_modified_time", "bucketing_version",
    }
)  # fmt: skip
