"""Which files of a table with data evolution are put together: neighbours by row id, with all their columns.

Source: Java `DataEvolutionCompactCoordinator`.
"""

from collections.abc import Collection, Sequence

from maintenance.format.metadata.data_file import DataFileMeta, is_beside_rows
from maintenance.scan.data_evolution import row_groups, row_id_range


def pack_rows(
    files: Sequence[DataFileMeta],
    with_vectors: Collection[str],
    *,
    target_size: int,
    open_cost: int,
    min_files: int,
) -> list[tuple[DataFileMeta, ...]]:
    """Groups of files that become one file each, their row ids without a gap.

    Rows that have a deletion vector, whose places would change, stay as they are, and so do those with files of blobs.

    Args: `with_vectors`: names of files; `open_cost`: bytes that a file weighs at least; `min_files`: from which number
        on files are rewritten.
    """
    packed: list[tuple[DataFileMeta, ...]] = []
    current: list[DataFileMeta] = []
    weight, end = 0, -1

    def close() -> None:
        nonlocal weight
        if len(current) >= min_files:
            packed.append(tuple(current))
        current.clear()
        weight = 0

    for group in row_groups(files):
        rows = row_id_range(group[0])
        stays = any(file.file_name in with_vectors or is_beside_rows(file) for file in group)
        own = sum(max(file.file_size, open_cost) for file in group)
        if stays or rows.start != end or own > target_size:
            close()
        end = rows.stop
        if stays:
            continue
        current += group
        weight += own
        if weight > target_size:
            close()
    close()
    return packed
