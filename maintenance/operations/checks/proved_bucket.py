"""Prove what a compaction, whoever made it, did to one bucket. Runs in a task.

The rows that a merge gives of all files of the bucket are the same before and after it, the levels that readers do not
merge give what a merge of them gives, and what its manifest entries say of the files that it wrote is true. Nothing
here trusts the compaction; what is trusted is the reader that merges.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from maintenance.amounts import number_of
from maintenance.compaction.proof import files as rules
from maintenance.compaction.proof.hashing import Hashing
from maintenance.compaction.proof.observer import WrittenRows
from maintenance.errors import CorruptFileError, DataError, MissingFileError
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.rows.system_fields import SEQUENCE_NUMBER, VALUE_KIND
from maintenance.read.split_read import SplitRead
from maintenance.scan.split import Split
from maintenance.types.integer_order import distinct_integers
from maintenance.types.row_hash import Digest, HashOf, row_hashes, total
from maintenance.types.row_kind import is_retract

EXAMPLES = 10
_ROW = "row"
_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class SameRows:
    """What has to give the same rows. `found`: what it means that it does not; `given`: what is judged."""

    found: str
    due: tuple[Split, ...]
    given: tuple[Split, ...]


@dataclass(frozen=True, slots=True)
class CompactedBucket:
    """One bucket that a compaction has changed.

    Attributes:
        snapshot_id: of the compaction.
        read: of the columns that are compared.
        retracting: files of retractions, whose keys are left out: what a merge in steps makes of them is not what one
            in a single step makes, where an engine does not take one record whole.
        written: the files that it wrote; empty: they are not looked at.
        level_files: those of the levels above 0 that have a new file, by level.
    """

    snapshot_id: int
    partition: bytes
    bucket: int
    read: SplitRead
    same: tuple[SameRows, ...]
    retracting: tuple[Split, ...] = ()
    written: tuple[DataFileMeta, ...] = ()
    level_files: tuple[tuple[DataFileMeta, ...], ...] = ()

    @property
    def bytes(self) -> int:
        """Of the files that are read, each as often as it is."""
        compared = (split for same in self.same for split in (*same.due, *same.given))
        return sum(split.size for split in (*compared, *self.retracting)) + sum(file.file_size for file in self.written)


@dataclass(frozen=True, slots=True)
class BucketProof:
    """The verdict.

    Attributes:
        rows: that were compared, as they were before. keys_left_out: how many keys were not, see `retracting`.
        wrong: sentences; empty: it is proved. examples: rows that differ, as texts.
    """

    snapshot_id: int
    partition: bytes
    bucket: int
    rows: int
    keys_left_out: int = 0
    wrong: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


def prove_bucket(task: CompactedBucket) -> BucketProof:
    """Compare the rows before and after. Raises: what reading raises, but for files that hold no such rows."""
    rows, wrong, examples = 0, list(_wrong_levels(task)), []
    left_out = np.zeros(0, np.uint64)
    try:
        wrong += _wrong_files(task)
        left_out = _retracted_keys(task)
        compared = _Compared(task.read, left_out)
        for same in task.same:
            due, given = (compared.digest(splits) for splits in (same.due, same.given))
            rows = max(rows, due.rows)
            if due != given:
                lost, added = compared.differing(same)
                wrong.append(f"{same.found}: {_counted(lost, 'is', 'are')} lost, {_counted(added, 'is', 'are')} new")
                examples += compared.examples(same, lost, added)
    except (CorruptFileError, DataError, MissingFileError) as error:
        wrong.append(str(error))
    place = (task.snapshot_id, task.partition, task.bucket)
    return BucketProof(*place, rows, len(left_out), tuple(wrong), tuple(examples[:EXAMPLES]))


def _counted(rows: Mapping[int, int], one: str, more: str) -> str:
    count = sum(rows.values())
    return f"{number_of(count, 'row')} {one if count == 1 else more}"


def _wrong_levels(task: CompactedBucket) -> Iterator[str]:
    for files in task.level_files:
        yield from rules.overlaps(files, task.read.schema)


def _wrong_files(task: CompactedBucket) -> Iterator[str]:
    """What is wrong with the files that the compaction wrote."""
    if not task.written:
        return
    schema = task.read.schema
    read = replace(task.read, columns=(SEQUENCE_NUMBER, VALUE_KIND, *schema.fields))
    hashing = Hashing(tuple(field.name for field in read.columns), tuple(schema.trimmed_primary_keys))
    seen = WrittenRows(hashing, ordered=not read.model.clusters_keys, digests=False)
    for file in task.written:
        alone = Split(task.snapshot_id, task.partition, task.bucket, (file,), raw=True)
        for rows in read.tables(alone):
            seen.wrote(file.file_name, rows)
    yield from rules.written_files(task.written, seen, schema)


def _hashes(rows: pa.Table, names: Sequence[str]) -> np.ndarray:
    return row_hashes(rows, {_ROW: HashOf(tuple(names), tuple(range(len(names))))})[_ROW]


def _retracted_keys(task: CompactedBucket) -> np.ndarray:
    """The hashes of keys that retractions took part in, ascending."""
    schema = task.read.schema
    read = replace(task.read, columns=(VALUE_KIND, *schema.key_fields))
    found = [np.zeros(0, np.uint64)]
    for split in task.retracting:
        for rows in read.tables(split):
            retracted = rows.filter(pa.array(is_retract(rows.column(VALUE_KIND.name).to_numpy())))
            found.append(_hashes(retracted, schema.trimmed_primary_keys))
    return distinct_integers(np.concatenate(found))


@dataclass(frozen=True, slots=True)
class _Compared:
    """The rows of splits, without those whose keys are left out. `left_out`: hashes of keys, ascending."""

    read: SplitRead
    left_out: np.ndarray

    def tables(self, splits: Sequence[Split]) -> Iterator[pa.Table]:
        """The rows that count."""
        key = self.read.schema.trimmed_primary_keys
        for split in splits:
            for rows in self.read.tables(split):
                if len(self.left_out):
                    rows = rows.filter(pa.array(~np.isin(_hashes(rows, key), self.left_out)))
                yield rows

    def hashes(self, splits: Sequence[Split]) -> Iterator[np.ndarray]:
        """A hash of each row."""
        for rows in self.tables(splits):
            yield _hashes(rows, rows.column_names)

    def digest(self, splits: Sequence[Split]) -> Digest:
        """Of all rows, in any order."""
        return total(map(Digest.of, self.hashes(splits)))

    def differing(self, same: SameRows) -> tuple[Counter[int], Counter[int]]:
        """By hash how many rows there are more of on the one side, and on the other."""
        due, given = (
            np.unique(np.concatenate([np.zeros(0, np.uint64), *self.hashes(splits)]), return_counts=True)
            for splits in (same.due, same.given)
        )
        every = distinct_integers(np.concatenate([due[0], given[0]]))
        balance = np.zeros(len(every), np.int64)
        balance[np.searchsorted(every, due[0])] += due[1]
        balance[np.searchsorted(every, given[0])] -= given[1]
        lost, added = (
            Counter(dict(zip(every[chosen].tolist(), np.abs(balance[chosen]).tolist(), strict=True)))
            for chosen in (balance > 0, balance < 0)
        )
        return lost, added

    def examples(self, same: SameRows, lost: Counter[int], added: Counter[int]) -> list[str]:
        """Some of the rows that differ, by key: a lost and a new one with the same key are one that has changed."""
        names = self.read.schema.trimmed_primary_keys
        gone, new = (
            {_text(row, names) or str(number): row for number, row in enumerate(self._rows(splits, hashes))}
            for splits, hashes in ((same.due, lost), (same.given, added))
        )
        texts = []
        for key in [*gone, *(key for key in new if key not in gone)][:EXAMPLES]:
            before, after = gone.get(key), new.get(key)
            if before is not None and after is not None and names:
                texts.append(_clipped(f"{_text(before)} became {_text(after)}"))
                continue
            texts += [_clipped(f"{_text(before)} is lost")] if before is not None else []
            texts += [_clipped(f"{_text(after)} is new")] if after is not None else []
        return texts

    def _rows(self, splits: Sequence[Split], hashes: Counter[int]) -> list[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = []
        wanted = np.array(sorted(hashes), np.uint64)
        for rows in self.tables(splits) if hashes else ():
            chosen = rows.filter(pa.array(np.isin(_hashes(rows, rows.column_names), wanted)))
            found += chosen.slice(0, EXAMPLES - len(found)).to_pylist()
            if len(found) >= EXAMPLES:
                break
        return found


def _text(row: Mapping[str, Any], names: Sequence[str] | None = None) -> str:
    return ", ".join(f"{name}={row[name]!r}" for name in (row if names is None else names))


def _clipped(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
