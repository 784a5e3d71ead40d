"""Options of the Iceberg metadata that is written beside a table's own. Source: Java `IcebergOptions`."""

from maintenance.options.option import Option, at_least, boolean, integer, one_of, string
from maintenance.options.state import CHANGES, Honoured, Refused, only

TABLE_LOCATION, _CATALOG = "table-location", "catalog-location"
_OTHERS = "tables are not registered in other catalogs of Iceberg"


def _version(text: str) -> int:
    if text.strip() not in ("2", "3"):
        raise ValueError("expected 2 or 3")
    return int(text)


STORAGE = Option(
    "metadata.iceberg.storage",
    one_of("disabled", TABLE_LOCATION, "hadoop-catalog", "hive-catalog", "rest-catalog"),
    "disabled",
    state=Honoured(Refused(_OTHERS, only("disabled", TABLE_LOCATION, "hadoop-catalog"), CHANGES)),
)
STORAGE_LOCATION: Option[str | None] = Option(
    "metadata.iceberg.storage-location", one_of(TABLE_LOCATION, _CATALOG), None
)
FORMAT_VERSION = Option("metadata.iceberg.format-version", _version, 2)
COMPACTION_MIN_FILE_NUM = Option("metadata.iceberg.compaction.min.file-num", integer, 10)
COMPACTION_MAX_FILE_NUM = Option("metadata.iceberg.compaction.max.file-num", integer, 50)
DELETE_AFTER_COMMIT = Option("metadata.iceberg.delete-after-commit.enabled", boolean, True)
PREVIOUS_VERSIONS_MAX = Option("metadata.iceberg.previous-versions-max", at_least(0), 0)
MANIFEST_COMPRESSION = Option("metadata.iceberg.manifest-compression", string, "snappy")
MANIFEST_LEGACY_VERSION = Option("metadata.iceberg.manifest-legacy-version", boolean, False)
