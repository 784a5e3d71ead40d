"""Which files of a table with data evolution are put together: neighbours by row id, with all their columns.

Source: Java `DataEvolutionCompactCoordinator`.
"""

from collections.abc import Callable, Collection, Sequence

from maintenance.format.metadata.data_file import DataFileMeta, is_apart_from_rows, is_of_blobs
from maintenance.scan.data_evolution import row_groups, row_id_range


def pack_rows(
    files: Sequence[DataFileMeta],
    with_vectors: Collection[str],
    *,
    target_size: int,
    open_cost: int,
    min_files: int,
    columns_apart: Callable[[Sequence[DataFileMeta]], frozenset[int]],
) -> list[tuple[tuple[DataFileMeta, ...], frozenset[int]]]:
    """Groups of files that become one file each, their row ids without a gap, and the columns that are not in it.

    Rows that have a deletion vector, whose places would change, stay as they are. So do files apart from the rows: the
    new file has the other columns. Rows with files of vectors are not put together with others: pypaimon 2.1 fails to
    read vectors of the same rows that are in several files.

    Args: `with_vectors`: names of files; `open_cost`: bytes that a file weighs at least; `min_files`: from which number
        on files are rewritten; `columns_apart`: the columns, by id, that files of a group have apart from the rows.
    """
    packed: list[tuple[tuple[DataFileMeta, ...], frozenset[int]]] = []
    current: list[DataFileMeta] = []
    weight, end = 0, -1
    apart_so_far = frozenset[int]()

    def close() -> None:
        nonlocal weight
        if len(current) >= min_files:
            packed.append((tuple(current), apart_so_far))
        current.clear()
        weight = 0

    for group in row_groups(files):
        rows = row_id_range(group[0])
        apart = columns_apart(group)
        alone = any(is_apart_from_rows(file) and not is_of_blobs(file) for file in group)
        group = [file for file in group if not is_apart_from_rows(file)]
        stays = any(file.file_name in with_vectors for file in group)
        own = sum(max(file.file_size, open_cost) for file in group)
        if stays or alone or rows.start != end or own > target_size or apart != apart_so_far:
            close()
        apart_so_far = apart
        end = -1 if alone else rows.stop
        if stays:
            continue
        current += group
        weight += own
        if weight > target_size:
            close()
    close()
    return packed
