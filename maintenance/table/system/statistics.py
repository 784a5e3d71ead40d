"""`t$statistics`: what ANALYZE found about the snapshot read, or about the last one before it."""

import pyarrow as pa

from maintenance.errors import CorruptFileError
from maintenance.format.metadata.table_statistics import TableStatistics, parse_statistics
from maintenance.table.system.system_table import SystemTable, required
from maintenance.table.table import Table


def statistics_of(table: Table) -> TableStatistics | None:
    """What ANALYZE found; None: nobody ran it. Raises: CorruptFileError: its file is missing or damaged."""
    _, snapshot = table.travelled()
    if snapshot is None or snapshot.statistics is None:
        return None
    path = table.paths.statistics_file(snapshot.statistics)
    try:
        return parse_statistics(table.file_io.read_settled(path), path)
    except FileNotFoundError as error:
        raise CorruptFileError(
            "the statistics that a snapshot names are missing", path, "Run ANALYZE again."
        ) from error


def _rows(table: Table) -> list[tuple[object, ...]]:
    statistics = statistics_of(table)
    if statistics is None:
        return []
    counts = (statistics.merged_record_count, statistics.merged_record_size)
    return [(statistics.snapshot_id, statistics.schema_id, *counts, statistics.columns_json())]


STATISTICS = SystemTable(
    "statistics",
    pa.schema(
        [
            required("snapshot_id", pa.int64()),
            required("schema_id", pa.int64()),
            ("mergedRecordCount", pa.int64()),
            ("mergedRecordSize", pa.int64()),
            ("colstat", pa.string()),
        ]
    ),
    _rows,
)
