"""Changelog of a compaction: what it changes, key by key.

`after` is a key's merged result, `before` the row before the records that are merged now; a retraction counts as none.
Only keys with new records are considered:

- full-compaction: `before` is the record at the highest level; a key whose only record is there did not change.
- lookup: `before` is the record of the lowest level above 0, whether it is compacted too or was looked up further
  above; a key without a record of level 0 did not change.

| before | after | emitted                                   |
|--------|-------|-------------------------------------------|
| none   | row   | +I after                                  |
| row    | none  | -D before                                 |
| row    | row   | -U before, +U after                       |
| none   | none  | nothing                                   |

Merge engine first-row emits the rows of new keys, as they are. Source: seed 003 (lookup, full-compaction), Java
`LookupChangelogMergeFunctionWrapper`, `FullChangelogMergeFunctionWrapper`, `FirstRowMergeFunctionWrapper`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from maintenance.format.rows.system_fields import VALUE_KIND
from maintenance.merge.ordered import KeyGroups
from maintenance.merge.same_rows import unchanged_values
from maintenance.types.row_kind import RowKind, is_retract


@dataclass(frozen=True, slots=True)
class Before:
    """What stood before, of k keys.

    Attributes:
        records: record number of each key's former row; anything where there was none.
        exists: whether there was one.
        touched: whether something new came for the key.
    """

    records: np.ndarray
    exists: np.ndarray
    touched: np.ndarray


def before_full_compaction(rows: pa.Table, groups: KeyGroups, top: np.ndarray) -> Before:
    """The rows of the highest level. `rows`: records with `_VALUE_KIND`; `top`: of that level, bool, shape (n,)."""
    touched = ~np.logical_and.reduceat(top[groups.order], groups.starts)
    return _before(rows, groups, top, touched)


def before_lookup(rows: pa.Table, groups: KeyGroups, levels: np.ndarray) -> Before:
    """The rows of the lowest level above 0. `rows`: records with `_VALUE_KIND`; `levels`: of each, shape (n,)."""
    ordered = levels[groups.order]
    above = np.where(ordered > 0, ordered, np.iinfo(ordered.dtype).max)
    lowest = np.repeat(np.minimum.reduceat(above, groups.starts), np.diff(groups.starts, append=len(ordered)))
    chosen = np.zeros(len(levels), bool)
    chosen[groups.order] = ordered == lowest
    return _before(rows, groups, chosen, np.logical_or.reduceat(ordered == 0, groups.starts))


def _before(rows: pa.Table, groups: KeyGroups, chosen: np.ndarray, touched: np.ndarray) -> Before:
    """`chosen`: at most one record of each key, which counts unless it is a retraction."""
    usable = (chosen & ~is_retract(rows.column(VALUE_KIND.name).to_numpy()))[groups.order]
    positions = np.where(usable, np.arange(len(usable)), -1)
    newest = np.maximum.reduceat(positions, groups.starts)
    return Before(groups.order[np.maximum(newest, 0)], newest >= 0, touched)


def changelog(
    rows: pa.Table, results: pa.Table, before: Before, *, same_is_no_change: Sequence[str] | None = None
) -> pa.Table:
    """The changelog records of merged keys, in key order, each -U directly before its +U.

    Args:
        rows: the records before the merge.
        results: the merged record of each key, k rows; the changelog has its columns.
        same_is_no_change: columns to compare with `changelog-producer.row-deduplicate`; a pair that is equal in all of
            them is left out. None: every pair is emitted.
    """
    has_after = ~is_retract(results.column(VALUE_KIND.name).to_numpy())
    rows = rows.select(results.column_names)
    pair = before.touched & before.exists & has_after
    if same_is_no_change is not None:
        pair &= ~_same(rows, before.records, results, pair, same_is_no_change)
    inserted = before.touched & ~before.exists & has_after
    deleted = before.touched & before.exists & ~has_after
    olds, news = np.flatnonzero(pair | deleted), np.flatnonzero(pair | inserted)
    return _emit(
        pa.concat_tables([rows.take(pa.array(before.records[olds])), results.take(pa.array(news))]),
        # Two slots for each key keep the order: slot 0 is the record before, slot 1 the record after.
        np.concatenate([2 * olds, 2 * news + 1]),
        np.concatenate(
            [
                np.where(pair[olds], RowKind.UPDATE_BEFORE, RowKind.DELETE),
                np.where(pair[news], RowKind.UPDATE_AFTER, RowKind.INSERT),
            ]
        ).astype(np.int8),
    )


def _same(
    rows: pa.Table, before: np.ndarray, results: pa.Table, pair: np.ndarray, columns: Sequence[str]
) -> np.ndarray:
    """Whether the two records of each pair have values that Paimon takes for the same; False where there is no pair."""
    at = np.flatnonzero(pair)
    same = np.ones(len(at), bool)
    for name in columns:
        same &= unchanged_values(_taken(rows.column(name), before[at]), _taken(results.column(name), at))
    is_same = np.zeros(len(pair), bool)
    is_same[at] = same
    return is_same


def _taken(column: pa.ChunkedArray, positions: np.ndarray) -> pa.Array:
    taken = column.take(pa.array(positions))
    return pa.concat_arrays(taken.chunks) if taken.num_chunks else pa.array([], column.type)


def _emit(records: pa.Table, slots: np.ndarray, kinds: np.ndarray) -> pa.Table:
    """The records at these slots, with these row kinds."""
    order = np.argsort(slots)
    emitted = records.take(pa.array(order))
    at = emitted.schema.get_field_index(VALUE_KIND.name)
    return emitted.set_column(at, emitted.schema.field(at), pa.array(kinds[order], pa.int8()))
