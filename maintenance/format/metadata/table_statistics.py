"""Statistics files of a table, written by ANALYZE. Source: metadata section 10.8, Java `Statistics`, `ColStats`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from maintenance.errors import CorruptFileError
from maintenance.format.json_object import missing_key, parse_object, serialize_object

_COLUMN_KEYS = ("colId", "distinctCount", "min", "max", "nullCount", "avgLen", "maxLen")


@dataclass(frozen=True, slots=True)
class TableStatistics:
    """What ANALYZE found.

    Attributes:
        snapshot_id: the snapshot that was looked at.
        merged_record_count: rows after merging; `merged_record_size`: their bytes. None where not known.
        columns: by name of the column its numbers and texts, under the keys of the file.
    """

    snapshot_id: int
    schema_id: int
    merged_record_count: int | None
    merged_record_size: int | None
    columns: Mapping[str, Mapping[str, Any]]

    def columns_json(self) -> str:
        """The columns' part as Java prints it."""
        return serialize_object(self.columns).decode().replace("{}", "{ }")


def serialize_statistics(statistics: TableStatistics) -> bytes:
    """The file of statistics."""
    form = {
        "snapshotId": statistics.snapshot_id,
        "schemaId": statistics.schema_id,
        "mergedRecordCount": statistics.merged_record_count,
        "mergedRecordSize": statistics.merged_record_size,
        "colStats": dict(statistics.columns),
    }
    return serialize_object({key: value for key, value in form.items() if value is not None})


def parse_statistics(data: bytes, where: str) -> TableStatistics:
    """The statistics of a file. Raises: CorruptFileError."""
    form = parse_object(data, where)
    columns = form.get("colStats") or {}
    if not isinstance(columns, dict) or not all(isinstance(part, dict) for part in columns.values()):
        raise CorruptFileError("colStats is not an object of objects", where, "Run ANALYZE again.")
    try:
        return TableStatistics(
            form["snapshotId"],
            form["schemaId"],
            form.get("mergedRecordCount"),
            form.get("mergedRecordSize"),
            {name: {k: part[k] for k in _COLUMN_KEYS if part.get(k) is not None} for name, part in columns.items()},
        )
    except KeyError as error:
        raise missing_key(error, where) from error
