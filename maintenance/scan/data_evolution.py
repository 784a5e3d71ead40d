"""Splits of tables with data evolution: files of the same rows, each with some of the columns, are read together.

Option `data-evolution.enabled`: new or changed columns of existing rows go into further files of the same row ids, and
a read takes each column from the newest file that has it. Source: Java `DataEvolutionSplitGenerator`.
"""

from collections.abc import Callable, Iterator, Sequence

from maintenance.errors import ROLL_BACK, CorruptFileError
from maintenance.format.metadata.data_file import DataFileMeta, is_apart_from_rows
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.scan.split import Split, SplitOptions, by_bucket, pack


def row_id_range(file: DataFileMeta) -> range:
    """The row ids of a file. Raises: CorruptFileError: it has none."""
    if file.first_row_id is None:
        raise CorruptFileError("a file of a table with data evolution has no first row id", file.file_name, ROLL_BACK)
    return range(file.first_row_id, file.first_row_id + file.row_count)


def row_groups(files: Sequence[DataFileMeta]) -> list[list[DataFileMeta]]:
    """Files whose row ids overlap, put together; groups by their row ids, files of a group newest first.

    Files beside the rows, which may have some of them, come last.
    """
    groups: list[list[DataFileMeta]] = []
    end = -1
    for file in sorted(files, key=lambda file: (row_id_range(file).start, -row_id_range(file).stop)):
        rows = row_id_range(file)
        if groups and rows.start < end:
            groups[-1].append(file)
        else:
            groups.append([file])
        end = max(end, rows.stop)
    for group in groups:
        group.sort(key=lambda file: (is_apart_from_rows(file), -file.max_sequence_number))
    return groups


def alone_or_together(entries: Sequence[ManifestEntry], keeps: Callable[[DataFileMeta], bool]) -> list[ManifestEntry]:
    """Entries that may hold matching rows. A file that shares its rows says nothing alone: it has not all columns."""
    kept = []
    for group in by_bucket(entries).values():
        by_name = {entry.file.file_name: entry for entry in group}
        for files in row_groups([entry.file for entry in group]):
            if len(files) > 1 or keeps(files[0]):
                kept += [by_name[file.file_name] for file in files]
    return kept


def data_evolution_splits(snapshot_id: int, entries: Sequence[ManifestEntry], options: SplitOptions) -> Iterator[Split]:
    """Splits by row ids; files of the same rows are never parted. Raw where no rows have more than one file."""
    for (partition, bucket), group in by_bucket(entries).items():
        groups = row_groups([entry.file for entry in group])
        for packed in pack(groups, lambda files: sum(file.file_size for file in files), options):
            files = tuple(file for part in packed for file in part)
            yield Split(snapshot_id, partition, bucket, files, raw=all(len(part) == 1 for part in packed))
