"""The newest record of each key, and which one counts where retractions are ignored."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.format.metadata.schema import TableSchema
from maintenance.merge.deduplicate import deduplicate_ignoring_deletes
from maintenance.merge.engine import MergeEngine
from maintenance.merge.ordered import KeyGroups, group_by_key
from maintenance.options.model import TableModel
from maintenance.types.data_type import DataField, parse_type
from tests.examples import examples
from tests.models.merging import deduplicated, grouped
from tests.models.order import Record
from tests.unit.merge.strategies import records, table_of


def schema_with(options: dict[str, str]) -> TableSchema:
    fields = (
        DataField(0, "k", parse_type("INT NOT NULL")),
        DataField(1, "s", parse_type("STRING NOT NULL")),
        DataField(2, "u1", parse_type("DOUBLE")),
        DataField(3, "u2", parse_type("INT")),
        DataField(4, "v", parse_type("STRING")),
        DataField(5, "n", parse_type("BIGINT")),
    )
    return TableSchema(0, fields, 5, (), ("k", "s"), options)


@settings(max_examples=examples(60))
@given(records(), st.booleans(), st.booleans(), st.booleans())
def test_one_record_for_each_key(rows: list[Record], sequenced: bool, descending: bool, ignore_delete: bool) -> None:
    options = {"sequence.field": "u1, u2"} if sequenced else {}
    options |= {"sequence.field.sort-order": "descending"} if descending else {}
    options |= {"ignore-delete": "true"} if ignore_delete else {}
    engine = MergeEngine.of(schema_with(options), TableModel(options))
    table = table_of(rows)
    merged = engine.merge(table, group_by_key(table, engine.order, "_RUN"))
    sequence = ("u1", "u2") if sequenced else ()
    groups = grouped(rows, ("k", "s"), sequence, descending=descending)
    expected = [deduplicated(members, ignore_delete=ignore_delete)["n"] for members in groups]
    assert merged.column("n").to_pylist() == expected


def test_merging_needs_key_and_sequence() -> None:
    options = {"sequence.field": "u1,u2"}
    assert MergeEngine.of(schema_with(options), TableModel(options)).needs([]) == ("k", "s", "u1", "u2")


def test_the_first_record_of_all_may_be_the_one_that_counts() -> None:
    """Records 0 and 1 are of one key, 2 and 3, retractions both, of another."""
    rows = pa.table({"_VALUE_KIND": pa.array([0, 3, 3, 1], pa.int8())})
    groups = KeyGroups(np.arange(4), np.array([0, 2]))
    assert deduplicate_ignoring_deletes(rows, groups).tolist() == [0, 3]
