"""Prove the changelog of one bucket. Runs in a task, which holds both states and all changes of the bucket.

With producer `input` changes are what came in: merged into the state before, by the table's merge engine, they must
give the state after. Otherwise they must tell the whole story, see `changelog_proof`; whether those of `input` do that
is reported too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.rows.system_fields import SEQUENCE_NUMBER, VALUE_KIND
from maintenance.merge.changelog_proof import Break, broken_keys
from maintenance.merge.engine import MergeEngine
from maintenance.merge.ordered import RecordOrder, group_by_key
from maintenance.read.split_read import SplitRead
from maintenance.scan.split import Split
from maintenance.types.row_kind import RowKind, is_retract

_AT = "_AT"
_SNAPSHOT = "_SNAPSHOT"
EXAMPLES = 10


@dataclass(frozen=True, slots=True)
class BucketChanges:
    """Changelog files of a bucket that one snapshot brought."""

    snapshot_id: int
    files: tuple[DataFileMeta, ...]


@dataclass(frozen=True, slots=True)
class AuditTask:
    """One bucket.

    Attributes:
        read: of all columns, sequence number and kind among them.
        before, after: the files of the states, merged when read.
        changes: in order of the snapshots.
        compared: columns whose values count.
        as_input: the changes are what came in.
        deduplicated: changes in which Paimon sees none are left out of the changelog.
    """

    read: SplitRead
    before: Split
    after: Split
    changes: tuple[BucketChanges, ...]
    compared: tuple[str, ...]
    as_input: bool
    deduplicated: bool = False

    @property
    def bytes(self) -> int:
        """Of the files that are read."""
        changes = sum(file.file_size for some in self.changes for file in some.files)
        return self.before.size + self.after.size + changes

    @property
    def has_changed(self) -> bool:
        """Whether the bucket has changes, or other files or deletion vectors than before."""
        return bool(self.changes) or _content(self.before) != _content(self.after)


def _content(split: Split) -> Mapping[str, object]:
    """By name of a file what it is, and its deletion vector."""
    return {file.file_name: (file, split.deletions.get(file.file_name)) for file in split.files}


@dataclass(frozen=True, slots=True)
class WrongKey:
    """A key that the changes do not explain. `key`: as text; `snapshot_id`: of the wrong change, None = of none."""

    key: str
    what: Break
    kind: str = ""
    snapshot_id: int | None = None


@dataclass(frozen=True, slots=True)
class BucketVerdict:
    """What was found. `keys`, `changes`: how many were looked at; `images`: retractions carry what stood before."""

    keys: int
    changes: int
    wrong: int
    examples: tuple[WrongKey, ...]
    images: bool


def audit_bucket(task: AuditTask) -> BucketVerdict:
    """Compare what the changes make of the state before with the state after."""
    rows, first_of_end = _all_records(task)
    key = tuple(field.name for field in task.read.schema.key_fields)
    if not rows.num_rows:
        return BucketVerdict(0, 0, 0, (), images=True)
    groups = group_by_key(rows, RecordOrder(key, sequence_number=_AT))
    end = np.arange(rows.num_rows) >= first_of_end
    broken = broken_keys(rows, groups, end, task.compared, deduplicated=task.deduplicated)
    changes = int(np.count_nonzero(rows.column(_SNAPSHOT).to_numpy()))
    if task.as_input:
        wrong, examples = _merged_wrongly(task, rows, first_of_end)
        if wrong:
            # A bucket that was emptied numbers its records from the start: then the order in which they came is theirs.
            came = np.arange(rows.num_rows)
            place = rows.column_names.index(SEQUENCE_NUMBER.name)
            renumbered = rows.set_column(place, SEQUENCE_NUMBER.name, pa.array(came))
            wrong, examples = min((wrong, examples), _merged_wrongly(task, renumbered, first_of_end), key=_count)
        return BucketVerdict(len(groups.starts), changes, wrong, examples, images=not broken)
    examples = tuple(_wrong_key(rows, key, row.record, row.what) for row in broken[:EXAMPLES])
    return BucketVerdict(len(groups.starts), changes, len(broken), examples, images=not broken)


def _count(verdict: tuple[int, tuple[WrongKey, ...]]) -> int:
    return verdict[0]


def _all_records(task: AuditTask) -> tuple[pa.Table, int]:
    """The records of all keys as they came, and the number of the first record of the state in the end."""
    parts = [*_tables(task.read, task.before, 0)]
    for changes in task.changes:
        split = Split(changes.snapshot_id, task.before.partition, task.before.bucket, changes.files, raw=True)
        parts.extend(_tables(task.read, split, changes.snapshot_id))
    first_of_end = sum(part.num_rows for part in parts)
    parts.extend(_tables(task.read, task.after, 0))
    if not parts:
        return pa.table({}), 0
    rows = pa.concat_tables(parts).combine_chunks()
    return rows.append_column(_AT, pa.array(np.arange(rows.num_rows))), first_of_end


def _tables(read: SplitRead, split: Split, snapshot_id: int) -> Iterator[pa.Table]:
    for rows in read.tables(split) if split.files else ():
        yield rows.append_column(_SNAPSHOT, pa.repeat(pa.scalar(snapshot_id, pa.int64()), rows.num_rows))


def _merged_wrongly(task: AuditTask, rows: pa.Table, first_of_end: int) -> tuple[int, tuple[WrongKey, ...]]:
    """Number of keys and some of them whose merged records are not what the state in the end has."""
    engine = MergeEngine.of(task.read.schema, task.read.model)
    key = engine.order.key
    names = [SEQUENCE_NUMBER.name, VALUE_KIND.name, *task.read.schema.field_names]
    came, merged = (part.select(names) for part in (rows.slice(0, first_of_end), rows.slice(first_of_end)))
    if came.num_rows:
        came = came.combine_chunks()
        came = engine.merge(came, group_by_key(came, engine.order))
    live = came.filter(pa.array(~is_retract(came.column(VALUE_KIND.name).to_numpy())))
    both = pa.concat_tables([live, merged]).combine_chunks()
    if not both.num_rows:
        return 0, ()
    both = both.append_column(_AT, pa.array(np.arange(both.num_rows)))
    both = both.append_column(_SNAPSHOT, pa.array(np.zeros(both.num_rows, np.int64)))
    groups = group_by_key(both, RecordOrder(key, sequence_number=_AT))
    broken = broken_keys(both, groups, np.arange(both.num_rows) >= live.num_rows, task.compared)
    return len(broken), tuple(_wrong_key(both, key, wrong.record, wrong.what) for wrong in broken[:EXAMPLES])


def _wrong_key(rows: pa.Table, key: Sequence[str], record: int, kind: Break) -> WrongKey:
    snapshot_id = rows.column(_SNAPSHOT)[record].as_py()
    text = _key_text(rows, key, record)
    if not snapshot_id:
        return WrongKey(text, kind)
    return WrongKey(text, kind, RowKind(rows.column(VALUE_KIND.name)[record].as_py()).text, snapshot_id)


def _key_text(rows: pa.Table, key: Sequence[str], record: int) -> str:
    return ", ".join(f"{name}={rows.column(name)[record].as_py()}" for name in key)
