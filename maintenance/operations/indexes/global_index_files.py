"""Index files of a global index: which rows each covers, and how it is built.

Source: Java `SortedGlobalIndexBuilder`, `GlobalIndexBuilderUtils`.
"""

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from maintenance.format.global_index import bitmap, btree
from maintenance.format.global_index.bitmap import bitmap_file
from maintenance.format.global_index.btree import btree_file
from maintenance.format.metadata.index_manifest import GlobalIndexMeta, IndexManifestEntry
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.rows.system_fields import ROW_ID
from maintenance.read.split_read import SplitRead
from maintenance.scan.data_evolution import row_groups, row_id_range
from maintenance.scan.global_index import covered_rows
from maintenance.scan.split import Split, by_bucket
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataField

_BUILDERS = {btree.NAME: btree_file, bitmap.NAME: bitmap_file}


@dataclass(frozen=True, slots=True)
class GlobalIndexTask:
    """One index file to build.

    Attributes:
        read: of the column and `_ROW_ID`, of all rows, deleted ones included.
        splits: the files with the rows; `rows`: their ids.
    """

    read: SplitRead
    splits: tuple[Split, ...]
    rows: range
    field: DataField
    index_type: str


def build_index_file(task: GlobalIndexTask) -> IndexManifestEntry:
    """Build a file. On an error nothing of it stays."""
    values, ids = _column(task)
    content, meta = _BUILDERS[task.index_type](values, ids - task.rows.start, task.field.type)
    name = f"{task.index_type}-global-index-{uuid.uuid4()}.index"
    folder = task.read.model.global_index_external_path
    entry = IndexManifestEntry(
        FileKind.ADD,
        task.splits[0].partition,
        0,
        task.index_type,
        name,
        len(content),
        len(values),
        external_path=f"{folder.rstrip('/')}/{name}" if folder else None,
        global_index=GlobalIndexMeta(task.rows.start, task.rows.stop - 1, task.field.id, index_meta=meta.serialize()),
    )
    path = task.read.paths.index_file(entry)
    try:
        task.read.file_io.write_bytes(path, content)
    except BaseException:
        task.read.file_io.delete_quietly([path])
        raise
    return entry


def _column(task: GlobalIndexTask) -> tuple[pa.Array, np.ndarray]:
    """The values of all rows of the task, and their ids: int64, shape (n,)."""
    values, ids = [], []
    for split in task.splits:
        for table in task.read.tables(split):
            numbers = table.column(ROW_ID.name).to_numpy()
            inside = (numbers >= task.rows.start) & (numbers < task.rows.stop)
            chosen = table if inside.all() else table.filter(pa.array(inside))
            values += chosen.column(task.field.name).chunks
            ids.append(numbers[inside])
    column = pa.concat_arrays(values) if values else pa.nulls(0, arrow_type(task.field.type))
    return column, np.concatenate(ids) if ids else np.zeros(0, np.int64)


def index_tasks(
    read: SplitRead,
    snapshot_id: int,
    entries: Sequence[ManifestEntry],
    existing: Iterable[IndexManifestEntry],
    field: DataField,
    index_type: str,
    records: int,
) -> Iterator[GlobalIndexTask]:
    """What there is to build for the rows that the index does not cover yet. `records`: rows of a file at most."""
    known = list(existing)
    # Values are indexed as they are stored: what reads put in the place of nulls is not.
    options = {key: text for key, text in read.options.items() if not key.endswith(".default-value")}
    plain = replace(read, columns=(field, ROW_ID), predicate=None, options=options)
    for (partition, bucket), group in by_bucket(entries).items():
        covered = covered_rows(entry.global_index for entry in known if entry.partition == partition)
        run: list[Split] = []
        rows = range(0)
        for files in row_groups([entry.file for entry in group]):
            own = row_id_range(files[0])
            split = Split(snapshot_id, partition, bucket, tuple(files), raw=len(files) == 1)
            for part in _uncovered(own, covered, records):
                if run and (part.start != rows.stop or part.stop - rows.start > records):
                    yield GlobalIndexTask(plain, tuple(run), rows, field, index_type)
                    run = []
                rows = range(rows.start if run else part.start, part.stop)
                if not run or run[-1] is not split:
                    run.append(split)
        if run:
            yield GlobalIndexTask(plain, tuple(run), rows, field, index_type)


def _uncovered(rows: range, covered: BitMap64, records: int) -> Iterator[range]:
    """The ranges of rows that are not covered, in pieces of limited length."""
    missing = BitMap64()
    missing.add_range(rows.start, rows.stop)
    numbers = np.asarray((missing - covered).to_array(), np.int64)
    if not len(numbers):
        return
    cuts = [0, *(np.flatnonzero(np.diff(numbers) != 1) + 1).tolist(), len(numbers)]
    for first, end in zip(cuts[:-1], cuts[1:], strict=True):
        for start in range(first, end, records):
            yield range(int(numbers[start]), int(numbers[min(start + records, end) - 1]) + 1)
