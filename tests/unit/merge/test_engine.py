"""What an engine says of itself: which columns it needs, what it stores, what it refuses, where newest rows suffice."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest

from maintenance.errors import DataError
from maintenance.format.metadata.schema import TableSchema
from maintenance.merge.engine import MergeEngine, newest_is_the_row
from maintenance.merge.ordered import group_by_key
from maintenance.options.model import TableModel
from maintenance.types.data_type import DataField, parse_type

TYPES = {"k": "INT NOT NULL", "g": "INT", "h": "INT", "a": "INT", "b": "INT", "t": "STRING"}
FIELDS = tuple(DataField(i, name, parse_type(text)) for i, (name, text) in enumerate(TYPES.items()))
SCHEMA = TableSchema(0, FIELDS, len(FIELDS), (), ("k",))
PARTIAL = {"merge-engine": "partial-update"}
GROUPS = {**PARTIAL, "fields.g.sequence-group": "a", "fields.h.sequence-group": "b"}
REMOVING = {**GROUPS, "partial-update.remove-record-on-sequence-group": "h"}
LARGEST = {"merge-engine": "aggregation", "fields.default-aggregate-function": "max"}
NO_RETRACT = {"fields.a.aggregate-function": "max"}
INSERT, BEFORE, AFTER, DELETE = range(4)


def engine(options: Mapping[str, str]) -> MergeEngine:
    return MergeEngine.of(SCHEMA, TableModel(options))


def rows(*records: Mapping[str, object]) -> pa.Table:
    """Records of key 1 with a sequence of group g, later ones with larger numbers."""
    full = [
        {"k": 1, "g": 1, "h": None, "a": None, "b": None, "t": None, "_SEQUENCE_NUMBER": i, "_VALUE_KIND": 0, **record}
        for i, record in enumerate(records)
    ]
    kinds = {"_SEQUENCE_NUMBER": pa.int64(), "_VALUE_KIND": pa.int8(), "_RUN": pa.int32(), "t": pa.string()}
    return pa.table({name: pa.array([row[name] for row in full], kinds.get(name, pa.int32())) for name in full[0]})


@pytest.mark.parametrize(
    ("options", "newest"),
    [
        ({}, True),
        ({"merge-engine": "deduplicate"}, True),
        ({"sequence.field": "g"}, False),
        ({"merge-engine": "first-row"}, False),
        (PARTIAL, False),
        ({"merge-engine": "aggregation"}, False),
    ],
)
def test_where_the_newest_record_is_the_row(options: dict[str, str], newest: bool) -> None:
    assert newest_is_the_row(TableModel(options)) is newest


def test_the_columns_that_merging_needs() -> None:
    assert engine({}).needs(["a"]) == ("k",)
    assert engine({"sequence.field": "g,h"}).needs(["a"]) == ("k", "g", "h")
    assert engine(GROUPS).needs(["a"]) == ("k", "g")
    assert engine(GROUPS).needs(["h"]) == ("k", "h")
    assert engine(GROUPS).needs(["t"]) == ("k",)
    assert engine(REMOVING).needs(["a"]) == ("k", "g", "h")


def test_levels_cover_where_compactions_look_up() -> None:
    looking_up = {"changelog-producer": "lookup"}
    assert not engine({}).levels_cover
    assert engine(looking_up).levels_cover
    assert engine({"deletion-vectors.enabled": "true"}).levels_cover
    assert not engine({**looking_up, "merge-engine": "first-row"}).levels_cover


@pytest.mark.parametrize(
    ("options", "levels", "kept"),
    [({}, [5, 0], 9), ({"merge-engine": "aggregation", "changelog-producer": "lookup"}, [5, 4, 0], 7)],
)
def test_a_record_of_a_deeper_level_is_covered(options: dict[str, str], levels: list[int], kept: int) -> None:
    """By one of a level between it and level 0, where that was merged with it already."""
    functions = {"fields.a.aggregate-function": "sum", **options}
    values = [2, 3, 4][-len(levels) :] if options else [5, 9]
    table = rows(*({"a": value, "_RUN": run} for run, value in enumerate(values)))
    made = engine(functions)
    merged = made.merge(table, group_by_key(table, made.order), np.array(levels))
    assert merged.column("a").to_pylist() == [kept]


@pytest.mark.parametrize(
    ("options", "kinds", "refused"),
    [
        ({}, [DELETE], False),
        ({"merge-engine": "first-row"}, [INSERT, DELETE], True),
        ({"merge-engine": "first-row"}, [INSERT, AFTER], False),
        ({"merge-engine": "first-row", "ignore-delete": "true"}, [DELETE], False),
        (PARTIAL, [INSERT, AFTER], False),
        (PARTIAL, [BEFORE], True),
        (PARTIAL, [DELETE], True),
        ({**PARTIAL, "ignore-delete": "true"}, [DELETE], False),
        ({**PARTIAL, "partial-update.remove-record-on-delete": "true"}, [DELETE], False),
        (GROUPS, [DELETE], False),
        ({**GROUPS, **NO_RETRACT}, [INSERT], False),
        ({**GROUPS, **NO_RETRACT}, [DELETE], True),
        ({**GROUPS, **NO_RETRACT}, [BEFORE], True),
        ({**GROUPS, **NO_RETRACT, "fields.a.ignore-retract": "true"}, [DELETE], False),
        ({**GROUPS, "fields.a.aggregate-function": "sum"}, [DELETE], False),
        ({**REMOVING, **NO_RETRACT}, [DELETE], False),
        ({**REMOVING, **NO_RETRACT}, [BEFORE], True),
        (LARGEST, [INSERT, AFTER], False),
        (LARGEST, [BEFORE], True),
        (LARGEST, [DELETE], True),
        ({**LARGEST, "aggregation.remove-record-on-delete": "true"}, [INSERT, DELETE], False),
        ({**LARGEST, "aggregation.remove-record-on-delete": "true"}, [DELETE, BEFORE], True),
    ],
)
def test_retractions_that_no_merging_could_take(options: dict[str, str], kinds: list[int], refused: bool) -> None:
    table = rows(*({"_VALUE_KIND": kind} for kind in kinds))
    if not refused:
        engine(options).refuse(table)
        return
    with pytest.raises(DataError):
        engine(options).refuse(table)


def test_a_retraction_without_sequence_changes_no_group() -> None:
    """So a function that cannot retract does not mind it; it does once any column of the sequence is there."""
    options = {**PARTIAL, "fields.g,h.sequence-group": "a", **NO_RETRACT}
    engine(options).refuse(rows({"_VALUE_KIND": DELETE, "g": None}))
    engine(options).refuse(rows({"_VALUE_KIND": DELETE, "g": None}, {"_VALUE_KIND": INSERT}))
    for sequence in ({"g": 1}, {"g": None, "h": 1}):
        with pytest.raises(DataError, match="does not support retractions"):
            engine(options).refuse(rows({"_VALUE_KIND": DELETE, **sequence}))
    both = {**GROUPS, "fields.b.aggregate-function": "max"}
    engine(both).refuse(rows({"_VALUE_KIND": DELETE}))


def test_what_writers_store_for_values() -> None:
    """Counts of values; everything else as it is."""
    assert not engine({}).stored
    made = engine({"merge-engine": "aggregation", "fields.a.aggregate-function": "count"})
    assert set(made.stored) == {"a"}
    assert made.stored["a"](pa.chunked_array([[5, None, 0]], pa.int32())).to_pylist() == [1, 0, 1]


def test_a_lone_retraction_is_checked_where_older_records_are_looked_up() -> None:
    table = rows({"_VALUE_KIND": DELETE})
    made = engine({"merge-engine": "first-row"})
    groups = group_by_key(table, made.order)
    assert made.merge(table, groups).num_rows == 1
    with pytest.raises(DataError):
        made.merge(table, groups, lone_too=True)


@pytest.mark.parametrize(
    ("options", "kinds", "number"),
    [
        (PARTIAL, [INSERT, AFTER, INSERT], 2),
        (GROUPS, [INSERT, INSERT, DELETE], 2),
        ({**PARTIAL, "ignore-delete": "true"}, [INSERT, AFTER, DELETE], 1),
        ({**PARTIAL, "ignore-delete": "true"}, [INSERT, DELETE, AFTER, DELETE], 2),
        ({**PARTIAL, "ignore-delete": "true"}, [DELETE, BEFORE], 1),
        ({"merge-engine": "aggregation"}, [INSERT, DELETE, AFTER], 2),
    ],
)
def test_the_row_has_the_number_of_its_newest_record(options: dict[str, str], kinds: list[int], number: int) -> None:
    """Of its newest addition where retractions are ignored, if it has any."""
    table = rows(*({"_VALUE_KIND": kind} for kind in kinds))
    made = engine(options)
    merged = made.merge(table, group_by_key(table, made.order))
    assert merged.column("_SEQUENCE_NUMBER").to_pylist() == [number]
