"""Row tracking: a commit gives its new rows their ids, and its changed rows the snapshot's id as sequence number.

New files get consecutive row ids, from the next one that the snapshot before names. What compactions and changes of
rows write holds the ids of its rows itself. Source: metadata section 6, Java `RowTrackingCommitUtils`.
"""

from collections.abc import Sequence
from dataclasses import replace

from maintenance.format.metadata.data_file import FileSource, is_apart_from_rows
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.rows.system_fields import ROW_ID


def with_row_ids(entries: Sequence[ManifestEntry], snapshot_id: int, first: int) -> tuple[list[ManifestEntry], int]:
    """Entries of the delta of a snapshot, and the next row id after it.

    Args: `first`: the next row id before it.
    """
    made, following = [], first
    # Files of blobs and vectors have the rows of the data file in front of them, each column from its first row on.
    start, apart = first, dict[tuple[str, ...] | None, int]()
    for entry in entries:
        if entry.kind == FileKind.ADD and is_apart_from_rows(entry.file):
            entry = _numbered(entry, snapshot_id)
            file = entry.file
            if file.first_row_id is None:
                place = apart.get(file.write_cols, start)
                apart[file.write_cols] = place + file.row_count
                entry = replace(entry, file=replace(file, first_row_id=place))
        elif entry.kind == FileKind.ADD:
            entry = _numbered(entry, snapshot_id)
            file = entry.file
            holds_ids = file.write_cols is not None and ROW_ID.name in file.write_cols
            if file.first_row_id is None and file.file_source == FileSource.APPEND and not holds_ids:
                entry = replace(entry, file=replace(file, first_row_id=following))
            if entry.file.first_row_id is not None:
                start, apart = entry.file.first_row_id, {}
                following = max(following, start + file.row_count)
        made.append(entry)
    return made, following


def _numbered(entry: ManifestEntry, snapshot_id: int) -> ManifestEntry:
    """An entry with sequence numbers. 0 stands for those of the snapshot that is being made."""
    file = entry.file
    if file.min_sequence_number and file.max_sequence_number:
        return entry
    low = file.min_sequence_number or snapshot_id
    return replace(entry, file=replace(file, min_sequence_number=low, max_sequence_number=snapshot_id))
