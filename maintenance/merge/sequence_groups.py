"""Sequence groups of a partial-update table: columns that change together, in an order of their own.

`fields.<s1>,<s2>.sequence-group` = `a,b`: a record whose (s1, s2) is not smaller than the largest one seen so far
*wins* the group: its a and b are taken, nulls too.
Source: seed 002 (sequence group), Java `PartialUpdateMergeFunction`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from maintenance.errors import OptionError
from maintenance.format.metadata.schema import TableSchema
from maintenance.merge.records import Records
from maintenance.merge.sort_words import dense_ranks, sort_words
from maintenance.options import table as table_options
from maintenance.options.model import TableModel

_PREFIX, _SUFFIX = "fields.", ".sequence-group"


@dataclass(frozen=True, slots=True)
class SequenceGroup:
    """One group.

    Attributes:
        order_by: the sequence columns, compared one after the other, nulls smallest.
        members: the columns that change with them.
        removes: a -D that wins this group removes the row (`partial-update.remove-record-on-sequence-group`).
    """

    order_by: tuple[str, ...]
    members: tuple[str, ...]
    removes: bool = False


def sequence_groups(schema: TableSchema, options: TableModel) -> tuple[SequenceGroup, ...]:
    """The groups of a table. Names are not trimmed. Raises: OptionError naming what does not fit."""
    removing = options.sequence_groups_that_remove
    groups: list[SequenceGroup] = []
    for key, value in sorted(options.items()):
        if key.startswith(_PREFIX) and key.endswith(_SUFFIX):
            order_by = tuple(key[len(_PREFIX) : -len(_SUFFIX)].split(","))
            groups.append(SequenceGroup(order_by, tuple(value.split(",")), bool(set(order_by) & set(removing))))
    _check(groups, schema, removing)
    return tuple(groups)


def _check(groups: Sequence[SequenceGroup], schema: TableSchema, removing: Sequence[str]) -> None:
    seen: dict[str, str] = {}
    for group, name in _names(groups):
        option = f"option '{_PREFIX}{','.join(group.order_by)}{_SUFFIX}'"
        if name not in schema.field_names:
            raise OptionError(f"sequence group names '{name}'", option, "Name columns of the table, without blanks.")
        if name in schema.primary_keys:
            raise OptionError(f"sequence group names '{name}'", option, "Leave out columns of the primary key.")
        if name in seen:
            fix = f"Name '{name}' in the option of one group."
            raise OptionError(f"column '{name}' is in two sequence groups", f"{seen[name]} and {option}", fix)
        seen[name] = option
    ordering_columns = {name for group in groups for name in group.order_by}
    for name in removing:
        if name not in ordering_columns:
            raise OptionError(
                f"'{table_options.PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP.key}' names '{name}'",
                "options",
                "Name sequence columns of sequence groups.",
            )


def _names(groups: Sequence[SequenceGroup]) -> Iterator[tuple[SequenceGroup, str]]:
    for group in groups:
        for name in (*group.order_by, *group.members):
            yield group, name


def sequence_ranks(records: Records, group: SequenceGroup) -> np.ndarray:
    """Each record's place in the order of the group's sequences, -1 where all of them are null. int64, shape (n,)."""
    columns = [records.column(name) for name in group.order_by]
    word, *more = words = sort_words(columns)
    # `winners` multiplies ranks by numbers of records.
    small = not more and int(word.max()).bit_length() + len(records.order).bit_length() < 62
    ranks = word.astype(np.int64) if small else dense_ranks(words)
    absent = np.ones(len(ranks), bool)
    for column in columns:
        absent &= column.is_null().to_numpy(zero_copy_only=False)
    return np.asarray(np.where(absent, -1, ranks)[records.order])


def winners(ranks: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """Records whose sequence is not smaller than any one before.

    Args: `ranks`: as of `sequence_ranks`; `begins`: True where a key begins, or starts over. Shapes (n,).
    """
    width = np.int64(int(ranks.max()) + 2)
    # The largest rank so far of each part, at once: later parts have larger numbers altogether.
    part = np.cumsum(begins)
    largest = np.maximum.accumulate(part * width + ranks + 1)
    before = np.empty_like(largest)
    before[0] = 0
    before[1:] = largest[:-1]
    before = np.where(begins, part * width, before)
    return np.asarray((ranks >= 0) & (part * width + ranks + 1 >= before))


def removals(records: Records, groups: Sequence[SequenceGroup]) -> np.ndarray:
    """Records of kind -D that remove their row, which starts over with their values. bool, shape (n,).

    What wins depends on the sequences since the last removal, so the first removal of every key is looked for, then the
    next one of the keys that had one, until there is none.
    """
    removes = np.zeros(len(records.order), bool)
    deletes = records.kinds == 3  # -D
    removing = [sequence_ranks(records, group) for group in groups if group.removes]
    if not removing or not deletes.any():
        return removes
    positions = np.arange(len(records.order))
    begins = np.zeros(len(positions), bool)
    begins[records.starts] = True
    while len(positions):
        wins = np.zeros(len(positions), bool)
        for ranks in removing:
            wins |= winners(ranks[positions], begins)
        candidates = np.flatnonzero(wins & deletes[positions] & ~removes[positions])
        part = np.cumsum(begins) - 1
        parts, first = np.unique(part[candidates], return_index=True)
        removed = candidates[first]
        removes[positions[removed]] = True
        # Only what follows a removal in the same key is looked at again.
        since = np.full(np.count_nonzero(begins), len(positions))
        since[parts] = removed
        follows = np.arange(len(positions)) >= since[part]
        begins = np.zeros(len(positions), bool)
        begins[removed] = True
        positions, begins = positions[follows], begins[follows]
    return removes
