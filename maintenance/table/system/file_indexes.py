"""`t$file_indexes`: one row for each file index of each live data file. Their heads are read, not their bodies.

Source: Java `FileIndexesTable`.
"""

import pyarrow as pa

from maintenance.scan.file_index import read_container
from maintenance.table.system.system_table import SystemTable
from maintenance.table.system.text import braces
from maintenance.table.table import Table


def _rows(table: Table) -> list[tuple[object, ...]]:
    """Raises: CorruptFileError: an index cannot be read."""
    travelled, snapshot = table.travelled()
    rows: list[tuple[object, ...]] = []
    for entry in () if snapshot is None else table.manifests.live_entries(snapshot):
        file = entry.file
        path = table.paths.data_file(entry.partition, entry.bucket, file)
        container = read_container(table.file_io, path, file)
        if container is None:
            continue
        size = len(container.start) if container.path is None else table.file_io.size(container.path)
        partition = braces(entry.partition, travelled.schema.partition_fields)
        of_file = (partition, entry.bucket, path, file.file_size, file.row_count, file.schema_id)
        storage = "EMBEDDED" if container.path is None else "FILE"
        for column, kinds in container.places.items():
            for kind, place in kinds.items():
                length = 0 if place is None else place[1]
                rows.append((*of_file, column, kind, storage, container.path, length, size, place is None))
    return rows


FILE_INDEXES = SystemTable(
    "file_indexes",
    pa.schema(
        [
            ("partition", pa.string()),
            ("bucket", pa.int32()),
            ("file_path", pa.string()),
            ("file_size_in_bytes", pa.int64()),
            ("record_count", pa.int64()),
            ("schema_id", pa.int64()),
            ("column_name", pa.string()),
            ("index_type", pa.string()),
            ("storage_type", pa.string()),
            ("index_file_path", pa.string()),
            ("index_size_in_bytes", pa.int64()),
            ("index_container_size_in_bytes", pa.int64()),
            ("is_empty", pa.bool_()),
        ]
    ),
    _rows,
)
