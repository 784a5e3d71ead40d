"""Merging records of one key, and the changelog of a full compaction, one record at a time. Records are dicts."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from tests.models.order import Record, age, ordered_key

RETRACT = (1, 3)


def grouped(
    records: Sequence[Record], key: Sequence[str], sequence_fields: Sequence[str], *, descending: bool
) -> list[list[Record]]:
    """The records of each key, oldest first; keys in order."""

    def key_of(record: Record) -> tuple[Any, ...]:
        return ordered_key([record[name] for name in key])

    actual = [list(members) for _, members in groupby(sorted(records, key=key_of), key_of)]
    return [sorted(members, key=lambda r: age(r, sequence_fields, descending=descending)) for members in actual]


def deduplicated(members: Sequence[Record], *, ignore_delete: bool = False) -> Record:
    """The result of one key."""
    kept = [record for record in members if not (ignore_delete and record["_VALUE_KIND"] in RETRACT)]
    return kept[-1] if kept else members[-1]


def changelog(
    members: Sequence[Record], after: Record, same_is_no_change: Sequence[str] = ()
) -> list[tuple[int, Record]]:
    """What a full compaction emits for one key, by the table of the rules. `top`: a record of the highest level."""
    if all(record["top"] for record in members):
        return []
    before = next((r for r in reversed(members) if r["top"] and r["_VALUE_KIND"] not in RETRACT), None)
    row = None if after["_VALUE_KIND"] in RETRACT else after
    if before is None:
        return [] if row is None else [(0, row)]
    if row is None:
        return [(3, before)]
    if same_is_no_change and all(ordered_key([before[name]]) == ordered_key([row[name]]) for name in same_is_no_change):
        return []
    return [(1, before), (2, row)]
