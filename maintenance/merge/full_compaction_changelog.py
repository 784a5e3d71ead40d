"""Changelog of a full compaction: what the compaction changes, key by key, against the highest level.

`before` is the key's record at the highest level, `after` its merged result; a retraction counts as none. A key whose
only record lies at the highest level did not change. Source: seed 003 (full-compaction), Java
`FullChangelogMergeFunctionWrapper`.

| before | after | emitted                                   |
|--------|-------|-------------------------------------------|
| none   | row   | +I after                                  |
| row    | none  | -D before                                 |
| row    | row   | -U before, +U after                       |
| none   | none  | nothing                                   |
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from maintenance.merge.ordered import KeyGroups
from maintenance.merge.same_rows import same_values
from maintenance.types.row_kind import RowKind, is_retract


def full_compaction_changelog(
    rows: pa.Table, groups: KeyGroups, results: pa.Table, top: np.ndarray, *, same_is_no_change: Sequence[str] = ()
) -> pa.Table:
    """The changelog records of merged keys, in key order, each -U directly before its +U.

    Args:
        rows: the records with `_VALUE_KIND`, before the merge.
        groups: their keys.
        results: the merged record of each key, k rows; the changelog has its columns.
        top: True for records of the highest level, shape (n,).
        same_is_no_change: columns to compare with `changelog-producer.row-deduplicate`; a pair that is equal in all of
            them is left out. Empty: every pair is emitted.
    """
    kinds = rows.column("_VALUE_KIND").to_numpy()
    live = ~is_retract(kinds)
    before, has_before = _before(groups, top, live)
    changed = ~np.logical_and.reduceat(top[groups.order], groups.starts)
    has_after = ~is_retract(results.column("_VALUE_KIND").to_numpy())
    rows = rows.select(results.column_names)
    pair = changed & has_before & has_after
    if same_is_no_change:
        pair &= ~_equal(rows, before, results, pair, same_is_no_change)
    inserted = changed & ~has_before & has_after
    deleted = changed & has_before & ~has_after
    olds, news = np.flatnonzero(pair | deleted), np.flatnonzero(pair | inserted)
    return _emit(
        pa.concat_tables([rows.take(pa.array(before[olds])), results.take(pa.array(news))]),
        # Two slots for each key keep the order: slot 0 is the record before, slot 1 the record after.
        np.concatenate([2 * olds, 2 * news + 1]),
        np.concatenate(
            [
                np.where(pair[olds], RowKind.UPDATE_BEFORE, RowKind.DELETE),
                np.where(pair[news], RowKind.UPDATE_AFTER, RowKind.INSERT),
            ]
        ).astype(np.int8),
    )


def _before(groups: KeyGroups, top: np.ndarray, live: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Record number of each key's record at the highest level (0 where there is none), and whether there is one."""
    usable = (top & live)[groups.order]
    positions = np.where(usable, np.arange(len(usable)), -1)
    found = np.maximum.reduceat(positions, groups.starts)
    return groups.order[np.maximum(found, 0)], found >= 0


def _equal(
    rows: pa.Table, before: np.ndarray, results: pa.Table, pair: np.ndarray, columns: Sequence[str]
) -> np.ndarray:
    """Whether the two records of each pair have equal values; False where there is no pair."""
    at = np.flatnonzero(pair)
    same = np.ones(len(at), bool)
    for name in columns:
        left, right = _taken(rows.column(name), before[at]), _taken(results.column(name), at)
        same &= same_values(left, right)
    found = np.zeros(len(pair), bool)
    found[at] = same
    return found


def _taken(column: pa.ChunkedArray, positions: np.ndarray) -> pa.Array:
    taken = column.take(pa.array(positions))
    return pa.concat_arrays(taken.chunks) if taken.num_chunks else pa.array([], column.type)


def _emit(records: pa.Table, slots: np.ndarray, kinds: np.ndarray) -> pa.Table:
    """The records by their slots, with these kinds."""
    order = np.argsort(slots)
    emitted = records.take(pa.array(order))
    at = emitted.schema.get_field_index("_VALUE_KIND")
    return emitted.set_column(at, emitted.schema.field(at), pa.array(kinds[order], pa.int8()))
