"""What columns of statistics rule out: never a file that its own look keeps, and nearly all that this rules out."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.errors import CorruptFileError
from maintenance.format.metadata import manifest
from maintenance.format.metadata.manifest import ManifestColumns, ManifestEntry, decode_manifest, serialize_manifest
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.metadata.simple_stats import EMPTY_STATS, SimpleStats
from maintenance.format.rows.binary_row import serialize_row
from maintenance.predicate.tree import And, Compare, In, Operator, Predicate
from maintenance.scan.pruning import Pruning
from maintenance.scan.statistics_columns import may_match_columns
from maintenance.types.data_type import DataField, parse_type
from tests.unit.commit.entries import add
from tests.unit.predicate.strategies import FIELDS, predicates, values

# Of the second schema a column is wider, one is gone, and one has another place and another name.
_OTHERS = {"number": "BIGINT", "millis": "TIMESTAMP(6)"}
_NEWER = tuple(
    replace(field, name="renamed" if field.name == "big" else field.name, type=parse_type(_OTHERS[field.name]))
    if field.name in _OTHERS
    else field
    for field in reversed(FIELDS)
    if field.name != "tiny"
)
SCHEMAS = {number: TableSchema(number, fields, len(FIELDS)) for number, fields in enumerate((FIELDS, _NEWER))}


def entry(
    number: int, schema: int, fields: Sequence[DataField], rows: Sequence[Sequence[Any]], *, dense: bool
) -> ManifestEntry:
    """A file of a schema with statistics of some fields. `rows`: lowest and highest values, None = unknown."""
    types = [field.type.as_nullable() for field in fields]
    lows, highs = (serialize_row(row, types) for row in rows)
    stats = SimpleStats(lows, highs, (0,) * len(fields))
    made = add(f"file-{number}")
    names = tuple(field.name for field in fields) if dense else None
    return replace(made, file=replace(made.file, schema_id=schema, value_stats=stats, value_stats_cols=names))


@st.composite
def files(draw: st.DrawFn) -> list[ManifestEntry]:
    entries = []
    for number in range(draw(st.integers(1, 8))):
        schema = draw(st.sampled_from([0, 1]))
        fields: Sequence[DataField] = SCHEMAS[schema].fields
        dense = draw(st.booleans())
        if dense:
            fields = draw(st.lists(st.sampled_from(fields), unique_by=lambda field: field.id, max_size=4))
        rows = [[draw(st.none() | values(FIELDS[field.id])) for field in fields] for _ in range(2)]
        entries.append(entry(number, schema, fields, rows, dense=dense))
    bare = draw(st.sampled_from([None, EMPTY_STATS]))
    return entries if bare is None else [*entries, add("bare")]


def columns_of(entries: Sequence[ManifestEntry]) -> ManifestColumns:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest, "_FEW_ENTRIES", 0)
        columns = decode_manifest(serialize_manifest(entries), "memory")
    assert columns.entries is None
    return columns


@given(files(), predicates(), st.sampled_from([0, 1]))
def test_no_file_is_ruled_out_that_may_match(entries: list[ManifestEntry], predicate: Predicate, schema: int) -> None:
    pruning = Pruning(SCHEMAS[schema], SCHEMAS, predicate)
    mask = may_match_columns(columns_of(entries), predicate, SCHEMAS[schema], SCHEMAS)
    kept = [pruning.keeps_values(each.file) for each in entries]
    assert not (np.array(kept) & ~mask).any()


_PLAIN = ("small", "number", "big", "name", "day", "clock", "millis", "micros", "instant")


@given(st.data(), st.sampled_from([field for field in FIELDS if field.name in _PLAIN]))
def test_files_apart_from_the_range_are_ruled_out(data: st.DataObject, field: DataField) -> None:
    low, middle, high = sorted(data.draw(values(field)) for _ in range(3))
    entries = [entry(0, 0, [field], [[middle], [middle]], dense=True)]
    pruning = Pruning(SCHEMAS[0], SCHEMAS, None)
    outside: list[Predicate] = [
        And((Compare(">=", field.name, low), Compare("<=", field.name, low))),
        Compare("=", field.name, high),
        In(field.name, (low,)),
    ]
    # Timestamps are compared by milliseconds.
    unit = 1_000_000 if field.type.is_timestamp else 1
    apart = [low != middle, high != middle, low != middle]
    if field.type.is_timestamp:
        apart = [low // unit != middle // unit, high // unit != middle // unit, low // unit != middle // unit]
    for predicate, is_apart in zip(outside, apart, strict=True):
        mask = may_match_columns(columns_of(entries), predicate, SCHEMAS[0], SCHEMAS)
        exact = replace(pruning, predicate=predicate).keeps_values(entries[0].file)
        assert exact <= mask[0]
        if is_apart and not exact:
            assert not mask[0]


@pytest.mark.parametrize(("op", "left"), [("=", [3]), ("<", [0, 1, 2, 3]), (">=", [*range(3, 9)]), ("!=", [*range(9)])])
def test_of_many_files_few_are_left(op: Operator, left: list[int]) -> None:
    field = FIELDS[3]
    entries = [entry(n, 0, [field], [[n * 10], [n * 10 + 9]], dense=True) for n in range(9)]
    predicate = Compare(op, field.name, 30)
    mask = may_match_columns(columns_of(entries), predicate, SCHEMAS[0], SCHEMAS)
    assert np.flatnonzero(mask).tolist() == left


def test_files_with_statistics_of_columns_that_they_lack_are_left_to_the_look_that_says_so() -> None:
    unknown = DataField(99, "unknown", parse_type("INT"))
    entries = [entry(0, 0, [unknown], [[1], [2]], dense=True)]
    predicate = Compare("=", "number", 3)
    assert may_match_columns(columns_of(entries), predicate, SCHEMAS[0], SCHEMAS).all()
    with pytest.raises(CorruptFileError):
        Pruning(SCHEMAS[0], SCHEMAS, predicate).keeps_values(entries[0].file)
