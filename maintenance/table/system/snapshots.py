"""`t$snapshots`: one row for each snapshot."""

import pyarrow as pa

from maintenance.table.system.local_time import local_millis
from maintenance.table.system.system_table import LOCAL_TIMESTAMP, SystemTable, required
from maintenance.table.table import Table


def _rows(table: Table) -> list[tuple[object, ...]]:
    snapshots = table.snapshots.find_many(table.snapshots.list_ids()).values()
    return [
        (
            s.id,
            s.schema_id,
            s.commit_user,
            s.commit_identifier,
            str(s.commit_kind),
            local_millis(s.time_millis),
            s.base_manifest_list,
            s.delta_manifest_list,
            s.changelog_manifest_list,
            s.total_record_count,
            s.delta_record_count,
            s.changelog_record_count,
            s.watermark,
            s.next_row_id,
            s.operation,
            s.writer_version,
        )
        for s in snapshots
    ]


SNAPSHOTS = SystemTable(
    "snapshots",
    pa.schema(
        [
            required("snapshot_id", pa.int64()),
            required("schema_id", pa.int64()),
            required("commit_user", pa.string()),
            required("commit_identifier", pa.int64()),
            required("commit_kind", pa.string()),
            required("commit_time", LOCAL_TIMESTAMP),
            required("base_manifest_list", pa.string()),
            required("delta_manifest_list", pa.string()),
            ("changelog_manifest_list", pa.string()),
            ("total_record_count", pa.int64()),
            ("delta_record_count", pa.int64()),
            ("changelog_record_count", pa.int64()),
            ("watermark", pa.int64()),
            ("next_row_id", pa.int64()),
            ("operation", pa.string()),
        ]
    ),
    _rows,
    (pa.field("writer_version", pa.string()),),
)
