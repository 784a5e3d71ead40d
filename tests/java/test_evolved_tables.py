"""Tables whose columns change while both sides write them: each reads what the other left, also after compaction."""

import tempfile
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from maintenance.catalog import Schema, open_catalog
from maintenance.errors import PaimonError
from maintenance.format.metadata.schema import TableSchema
from maintenance.metastore.schema_change import SchemaChange, UpdateColumnDefaultValue, UpdateColumnType, path_of
from maintenance.metastore.schema_evolution import changed_schema
from maintenance.operations.compaction.compact import compact
from maintenance.predicate.tree import Compare, IsNull, Not, Predicate
from maintenance.types.data_type import DataType
from tests.examples import examples
from tests.java.process import JavaProcess
from tests.java.samples import table_of
from tests.java.test_nested_tables import arrow_of, expected, found
from tests.nested_values import nested_values
from tests.schema_changes import random_change

QUICK = settings(max_examples=examples(3), phases=[Phase.explicit, Phase.reuse, Phase.generate])
_COLUMNS = (
    ("p", "INT NOT NULL"), ("id", "INT NOT NULL"), ("a", "INT"), ("b", "DECIMAL(9, 2)"), ("c", "VARCHAR(6)"),
    ("d", "DATE"), ("r", "ROW<x INT, y STRING>"), ("l", "ARRAY<ROW<u INT>>"), ("m", "MAP<STRING, INT>"),
    ("s", "TIMESTAMP(6)"),
)  # fmt: skip
_LAYOUTS: dict[str, tuple[tuple[str, ...], tuple[str, ...], dict[str, str]]] = {
    "keyed": (("id",), (), {"bucket": "1"}),
    "keyed orc": (("p", "id"), ("p",), {"bucket": "1", "file.format": "orc"}),
    "append": ((), (), {"bucket": "-1", "metadata.stats-mode": "full"}),
    "append avro": ((), ("p",), {"bucket": "-1", "file.format": "avro"}),
}
_TYPES = (
    "BOOLEAN", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9, 2)", "DECIMAL(20, 4)", "CHAR(4)",
    "VARCHAR(6)", "STRING", "BYTES", "DATE", "TIMESTAMP(3)", "TIMESTAMP(6)", "ARRAY<INT>", "ROW<x INT, y STRING>",
    "MAP<STRING, INT>",
)  # fmt: skip
_FLOATS = ("FLOAT", "DOUBLE")


@pytest.mark.parametrize("layout", _LAYOUTS)
def test_each_side_reads_what_the_other_left_while_columns_change(java: JavaProcess, layout: str) -> None:
    @QUICK
    @given(st.data(), st.integers(0, 2**32))
    def histories(data: st.DataObject, seed: int) -> None:
        with tempfile.TemporaryDirectory() as warehouse:
            _History(java, warehouse, _LAYOUTS[layout], data, Random(seed)).run()

    histories()


class _History:
    def __init__(self, java: JavaProcess, warehouse: str, layout: Any, data: st.DataObject, random: Random) -> None:
        self._java, self._warehouse, self._data, self._random = java, warehouse, data, random
        keys, partition, options = layout
        self._catalog = open_catalog({"warehouse": warehouse})
        self._catalog.create_database("db")
        self._catalog.create_table("db.t", Schema(_COLUMNS, keys, partition, {**options, "write-only": "true"}))

    @property
    def _columns(self) -> list[tuple[str, DataType]]:
        return [(field.name, field.type) for field in table_of(self._warehouse).schema.fields]

    def run(self) -> None:
        for _ in range(3):
            self._write()
            for _ in range(self._random.randrange(3)):
                self._alter()
            self._same()
        self._filters()
        if self._random.random() < 0.5:
            compact(None, table_of(self._warehouse), full=True)
        else:
            self._java.compact(self._warehouse, "db.t")
        self._same()
        self._filters()

    def _write(self) -> None:
        columns = self._columns
        rows = [tuple(self._value(*column) for column in columns) for _ in range(self._random.randrange(1, 5))]
        if self._random.random() < 0.5:
            self._java.write(self._warehouse, "db.t", rows)
        else:
            table_of(self._warehouse).write_arrow(arrow_of(rows, columns))

    def _value(self, name: str, data_type: DataType) -> Any:
        fields = {field.name: field.id for field in table_of(self._warehouse).schema.fields}
        if fields[name] < 2:
            return self._random.randrange(2 if fields[name] == 0 else 8)
        value = self._data.draw(nested_values(data_type))
        # ORC has no parts of a millisecond before 1970.
        return abs(value) if data_type.is_timestamp and value is not None else value

    def _alter(self) -> None:
        schema = table_of(self._warehouse).schema
        change = random_change(self._random, schema, _TYPES)
        if not _can_be_compared(schema, change):
            return
        try:
            changed_schema(schema, [change], "db.t", has_snapshot=True, time_millis=0)
        except PaimonError:
            return
        if self._random.random() < 0.5:
            self._java.alter(self._warehouse, "db.t", [change])
        else:
            self._catalog.alter_table("db.t", [change])

    def _same(self) -> None:
        theirs = self._java.rows(self._warehouse, "db.t")
        assert found(table_of(self._warehouse).to_arrow(), self._columns) == expected(theirs, self._columns)

    def _filters(self) -> None:
        table, rows = table_of(self._warehouse), self._java.rows(self._warehouse, "db.t")
        for name, data_type in self._columns:
            if data_type.is_nested or data_type.is_timestamp:
                continue
            at = table.schema.field_names.index(name)
            present = [row[at] for row in rows if row[at] is not None]
            questions = _questions(name, present)
            tested = self._java.tested(self._warehouse, "db.t", name, [condition for condition, _ in questions])
            for (_, predicate), theirs in zip(questions, tested, strict=True):
                plan, read = table.plan([name], predicate)
                ours = [part for split in plan.splits for part in read.tables(split)]
                values = [text for part in ours for text in found(part, [(name, data_type)])]
                assert sorted(values) == expected([(value,) for value in theirs], [(name, data_type)]), predicate


def _questions(name: str, present: Sequence[Any]) -> list[tuple[tuple[Any, ...], Predicate]]:
    asked: list[tuple[tuple[Any, ...], Predicate]] = [
        (("isNull", name), IsNull(name)),
        (("isNotNull", name), Not(IsNull(name))),
    ]
    # Java tells the zeros apart, and finds no NaN equal to another.
    values = [value for value in present if not isinstance(value, float)]
    if values:
        asked.append((("equal", name, values[0]), Compare("=", name, values[0])))
    if values and not isinstance(values[0], bool | bytes):
        asked.append((("greaterThan", name, min(values)), Compare(">", name, min(values))))
    return asked


def _can_be_compared(schema: TableSchema, change: SchemaChange) -> bool:
    """Leaves out casts that fail for some values, and those of which Java 17 and 1.4 make something else."""
    if isinstance(change, UpdateColumnDefaultValue):
        return False
    if not isinstance(change, UpdateColumnType):
        return True
    old = schema.field(path_of(change.column)[0]).type
    if old.is_nested:
        return False
    new = str(change.type)
    if old.is_string or old.is_bytes:
        return new.startswith(("VARCHAR", "CHAR", "STRING")) and old.is_string
    if old.root in _FLOATS:
        return not new.startswith(("DECIMAL", "VARCHAR", "CHAR", "STRING"))
    return not (new.startswith("TIMESTAMP") or (old.is_timestamp and new.startswith("DATE")))
