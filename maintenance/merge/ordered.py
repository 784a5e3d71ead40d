"""Put the records of several sorted runs in order: by key, then user sequence, then sequence number."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from maintenance.merge.sort_words import changes, sort_order, sort_words

RUN_COLUMN = "_RUN"
"""The column that says which run a record comes from; no column of a table."""


@dataclass(frozen=True, slots=True)
class RecordOrder:
    """How the records of a table are ordered. Source: options `sequence.field`, `sequence.field.sort-order`.

    Attributes:
        key: columns of the trimmed primary key.
        sequence_fields: user columns that order the records of one key before the sequence number does.
        descending: the largest user sequence is the oldest; null is the oldest either way.
        sequence_number: the column of the sequence number.
    """

    key: tuple[str, ...]
    sequence_fields: tuple[str, ...] = ()
    descending: bool = False
    sequence_number: str = "_SEQUENCE_NUMBER"


@dataclass(frozen=True, slots=True)
class KeyGroups:
    """Records in order, grouped by key.

    Attributes:
        order: int64, shape (n,): record numbers by key, then age.
        starts: int64, shape (k,): first position in `order` of each key, ascending; 0 first.
    """

    order: np.ndarray
    starts: np.ndarray

    @property
    def newest(self) -> np.ndarray:
        """Record number of the newest record of each key, in key order. Shape (k,)."""
        return np.asarray(self.order[np.append(self.starts[1:], len(self.order)) - 1])


def group_by_key(rows: pa.Table, record_order: RecordOrder, run_column: str | None = None) -> KeyGroups:
    """Order and group records.

    Args: `rows`: n > 0 records, contiguous columns; `run_column`: number of each record's run, older runs first. Most
        often that is the order of age already, else records in order of age sort fastest.
    """
    key = [_column(rows, name) for name in record_order.key]
    key_words = sort_words(key)
    order = sort_order(key_words if run_column is None else sort_words([*key, _column(rows, run_column)]))
    new_key = changes(key_words, order)
    if new_key.all():
        return KeyGroups(order, np.flatnonzero(new_key))
    age_words = _age_words(rows, record_order)
    if not _ascending(age_words, order, new_key):
        order = sort_order([*key_words, *age_words])
    return KeyGroups(order, np.flatnonzero(new_key))


def _column(rows: pa.Table, name: str) -> pa.Array:
    column = rows.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _age_words(rows: pa.Table, record_order: RecordOrder) -> list[np.ndarray]:
    words = []
    for name in record_order.sequence_fields:
        column = _column(rows, name)
        for word in sort_words([column]):
            if record_order.descending:
                # Null is the oldest in both directions: only the other values are turned round.
                valid = column.is_valid().to_numpy(zero_copy_only=False)
                word = np.where(valid, ~word, np.uint64(0))
            words.append(word)
    words.append(sort_words([_column(rows, record_order.sequence_number)])[0])
    return words


def _ascending(words: Sequence[np.ndarray], order: np.ndarray, new_key: np.ndarray) -> bool:
    """Whether the rows of each key are already in order of their words (compared one word after the other)."""
    inside = np.flatnonzero(~new_key)
    before, after = order[inside - 1], order[inside]
    undecided = np.ones(len(inside), bool)
    for word in words:
        left, right = word[before], word[after]
        if (undecided & (left > right)).any():
            return False
        undecided &= left == right
    return True


def without_covered_levels(groups: KeyGroups, levels: np.ndarray) -> KeyGroups:
    """Of each key only the records of level 0 and that of the lowest level above: it covers those of deeper levels.

    So it is where compactions look up the levels below (producer lookup, deletion vectors): they merge it in. Source:
    Java `LookupMergeFunction`.

    Args: `levels`: of each row, shape (n,).
    """
    level = levels[groups.order]
    above = np.where(level > 0, level, np.iinfo(level.dtype).max)
    lowest = np.minimum.reduceat(above, groups.starts)
    counts = np.diff(groups.starts, append=len(level))
    kept = (level <= 0) | (level == np.repeat(lowest, counts))
    if kept.all():
        return groups
    counts = np.add.reduceat(kept.astype(np.int64), groups.starts)
    return KeyGroups(groups.order[kept], np.append(0, np.cumsum(counts)[:-1]))
