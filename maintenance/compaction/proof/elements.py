"""Columns whose function collects elements: arrays and maps, hashed without regard to the order of their elements.

The word of a value is the sum of the hashes of its elements, so the word of joined arrays is the sum of their words.
Where elements replace or hide one another, the hashes of what identifies them decide which ones stay.
Elements come in the age of their records; nothing here uses the merge engines.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from maintenance.compaction.proof.records import Groups, ranks
from maintenance.compaction.proof.unit import Expected, Unit, Values
from maintenance.types.lists import elements, lengths, valid
from maintenance.types.row_hash import NULL, column_words, combined, mixed

_U64 = np.uint64
# Of an element whose word is 0 something is left as well.
_ONE = _U64(0x9E3779B97F4A7C15)


def element_words(column: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """The word of each array or map: of what it holds in any order; `NULL` for null. uint64, shape (n,)."""
    if isinstance(column, pa.ChunkedArray):
        parts = [element_words(chunk) for chunk in column.chunks]
        return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, _U64), *parts])
    there = valid(column)
    held = column if there.all() else column.filter(pa.array(there))
    counts = lengths(held)
    sums = _sums(np.repeat(np.arange(len(held)), counts), _hashes(column_words(elements(held))), len(held))
    words = np.full(len(column), NULL)
    words[there] = sums
    return words


def _hashes(words: np.ndarray) -> np.ndarray:
    return mixed(words) + _ONE


def _sums(owners: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """The sum of the values of each owner. `owners`: ascending, below `count`."""
    sums = np.zeros(count, _U64)
    if len(owners):
        starts = np.flatnonzero(np.diff(owners, prepend=-1))
        sums[owners[starts]] = np.add.reduceat(values, starts)
    return sums


@dataclass(frozen=True, slots=True)
class _Held:
    """The elements of all records, by key, oldest first.

    Attributes:
        items: shape (m,): of arrays the elements, of maps the entries.
        owners: the number of each one's key, ascending, shape (m,).
        given: which keys have a value that is not null, shape (k,).
    """

    items: pa.Array
    owners: np.ndarray
    given: np.ndarray

    @classmethod
    def of(cls, unit: Unit, records: Values, groups: Groups) -> "_Held":
        column = records.column(unit.names[0])
        present = groups.only(valid(column))
        # Keys without a value have no place in `present`.
        with_value = groups.any(valid(column))
        held = column.take(pa.array(present.order))
        of_record = np.repeat(np.flatnonzero(with_value), present.counts)
        return cls(elements(held), np.repeat(of_record, lengths(held)), with_value)

    @property
    def keys(self) -> int:
        return len(self.given)

    def expected(self, owners: np.ndarray, words: np.ndarray, proved: np.ndarray | None = None) -> Expected:
        """What holds exactly these elements. `owners`: ascending."""
        return Expected(np.where(self.given, _sums(owners, _hashes(words), self.keys), NULL), proved)

    def pairs(self, words: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Hashes of elements with their keys: the same where both are. `chosen`: numbers of elements."""
        return mixed(combined([self.owners[chosen].astype(_U64), words[chosen]], (0, 1)))


def all_elements(unit: Unit, records: Values, groups: Groups) -> Expected:
    """Everything that any record holds."""
    hashes = records.hashes(unit.name)
    there = hashes != NULL
    sums = np.add.reduceat(np.where(there, hashes, _U64(0))[groups.order], groups.starts)
    return Expected(np.where(groups.any(there), sums, NULL))


def different_elements(unit: Unit, records: Values, groups: Groups) -> Expected:
    """The same, each of several equal elements once."""
    held = _Held.of(unit, records, groups)
    words = column_words(held.items)
    _, first = np.unique(held.pairs(words, np.arange(len(words))), return_index=True)
    first.sort()
    return held.expected(held.owners[first], words[first])


def rows_together(limit: int | None, *, in_group: bool = False) -> Callable[[Unit, Values, Groups], Expected]:
    """Rows of arrays one after the other, without nulls, at most this many.

    `in_group`: some come too late, and are put in front; what is cut off is not known then, nor are nulls left out
    where nothing was there before.
    """

    def expect(unit: Unit, records: Values, groups: Groups) -> Expected:
        held = _Held.of(unit, records, groups)
        words = column_words(held.items)
        there = np.flatnonzero(valid(held.items))
        owners = held.owners[there]
        counts = np.bincount(owners, minlength=held.keys)
        proved = None
        if in_group:
            whole = np.bincount(held.owners, minlength=held.keys) == counts
            proved = whole if limit is None else whole & (counts <= limit)
        elif limit is not None:
            place = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
            there = there[place < limit]
        return held.expected(held.owners[there], words[there], proved)

    return expect


@dataclass(frozen=True, slots=True)
class RowKeys:
    """What tells rows of arrays apart.

    Attributes:
        key: numbers of the fields.
        sequence: numbers of fields; a row only replaces one whose sequence is not larger.
        skips_nulls: rows with a null in their key are left out.
        limit: rows that are kept at most; of keys that have more nothing is known.
    """

    key: tuple[int, ...]
    sequence: tuple[int, ...] = ()
    skips_nulls: bool = False
    limit: int | None = None

    def usable(self, items: pa.Array) -> np.ndarray:
        """Numbers of the rows that take part."""
        there = valid(items)
        if self.skips_nulls:
            fields = items.flatten()
            for number in self.key:
                there = there & valid(fields[number])
        return np.flatnonzero(there)

    def words(self, items: pa.Array) -> np.ndarray:
        fields = items.flatten()
        return combined([column_words(fields[number]) for number in self.key], range(len(self.key)))

    def ages(self, items: pa.Array) -> list[np.ndarray]:
        """Numbers that grow with the sequence, the first ones first; null is the smallest."""
        fields, ages = items.flatten(), list[np.ndarray]()
        for number in self.sequence:
            there = valid(fields[number])
            ages += [there, np.where(there, ranks(fields[number]), 0)]
        return ages


def newest_rows(keys: RowKeys) -> Callable[[Unit, Values, Groups], Expected]:
    """Of the rows with one key the newest."""

    def expect(unit: Unit, records: Values, groups: Groups) -> Expected:
        held = _Held.of(unit, records, groups)
        usable = keys.usable(held.items)
        pairs = held.pairs(keys.words(held.items), usable)
        newest = np.sort(usable[_last(pairs, [age[usable] for age in keys.ages(held.items)])])
        owners = held.owners[newest]
        proved = None if keys.limit is None else np.bincount(owners, minlength=held.keys) <= keys.limit
        return held.expected(owners, column_words(held.items)[newest], proved)

    return expect


def newest_fields(keys: RowKeys) -> Callable[[Unit, Values, Groups], Expected]:
    """Of the rows with one key the newest value of each field that is not null."""

    def expect(unit: Unit, records: Values, groups: Groups) -> Expected:
        held = _Held.of(unit, records, groups)
        usable = keys.usable(held.items)
        pairs = held.pairs(keys.words(held.items), usable)
        distinct, first, number = np.unique(pairs, return_index=True, return_inverse=True)
        parts = []
        for column in held.items.flatten():
            words = np.full(len(distinct), NULL)
            there = np.flatnonzero(valid(column)[usable])
            at = there[_last(number[there], [])]
            words[number[at]] = column_words(column)[usable[at]]
            parts.append(words)
        owners = held.owners[usable[first]]
        order = np.argsort(owners, kind="stable")
        rows = mixed(combined(parts, range(len(parts))))
        return held.expected(owners[order], rows[order])

    return expect


def newest_entries(unit: Unit, records: Values, groups: Groups) -> Expected:
    """Of the entries of maps with one key the newest."""
    held = _Held.of(unit, records, groups)
    entries = np.arange(len(held.items))
    newest = np.sort(_last(held.pairs(column_words(held.items.field("key")), entries), []))
    return held.expected(held.owners[newest], column_words(held.items)[newest])


def _last(groups: np.ndarray, ages: Sequence[np.ndarray]) -> np.ndarray:
    """Of each group the number of the one with the largest ages, of these the last one. Shapes (n,)."""
    if not len(groups):
        return np.zeros(0, np.int64)
    order = np.lexsort((np.arange(len(groups)), *reversed(ages), groups))
    ends = np.flatnonzero(np.append(groups[order][1:] != groups[order][:-1], True))
    return np.asarray(order[ends])
