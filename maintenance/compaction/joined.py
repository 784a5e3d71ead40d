"""The rows of files that have columns of the same rows, put together: compaction with data evolution.

Row ids stay: the new file has those of the files that it replaces. Source: Java `DataEvolutionNormalCompactTask`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.metadata.paths import TablePaths
from maintenance.read.data_evolution import joined
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.read.split_read import partition_values
from maintenance.scan.data_evolution import row_groups, row_id_range
from maintenance.types.data_type import DataField

_BATCH_ROWS = 1 << 17


def joined_rows(
    read: ReadContext, paths: TablePaths, partition: bytes, bucket: int, inputs: Sequence[DataFileMeta]
) -> Iterator[pa.Table]:
    """All rows of files of a bucket, by row id. `read`: of the columns of the new file."""
    values = partition_values(read.schemas[max(read.schemas)], partition)
    for files in row_groups(inputs):

        def reader(file: DataFileMeta, fields: tuple[DataField, ...]) -> DataFileReader:
            path = paths.data_file(partition, bucket, file)
            return DataFileReader(replace(read, fields=fields), path, file, values)

        yield from joined(files, read, reader, _BATCH_ROWS)


def of_same_rows(file: DataFileMeta, files: Sequence[DataFileMeta]) -> DataFileMeta:
    """A new file as the manifest names it in the place of others."""
    return replace(
        file,
        first_row_id=min(row_id_range(old).start for old in files),
        min_sequence_number=min(old.min_sequence_number for old in files),
        max_sequence_number=max(old.max_sequence_number for old in files),
    )
