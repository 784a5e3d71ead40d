"""What ALTER makes of a schema, against the Java core: the same next schema, or refused by both."""

from dataclasses import replace
from random import Random

import pytest

from maintenance.catalog import Schema
from maintenance.errors import PaimonError, UnsupportedError
from maintenance.format.metadata.schema import TableSchema, parse_schema, serialize_schema
from maintenance.metastore.schema_change import SchemaChange
from maintenance.metastore.schema_evolution import changed_schema
from tests.java.process import JavaProcess
from tests.schema_changes import random_change

_COLUMNS = (
    ("p", "STRING"), ("k", "INT NOT NULL"), ("a", "BIGINT"), ("b", "STRING"), ("c", "DECIMAL(9, 2)"),
    ("r", "ROW<x INT NOT NULL, y ROW<z STRING>>"), ("l", "ARRAY<ROW<u INT>>"), ("m", "MAP<STRING, INT>"),
)  # fmt: skip
_STARTS = {
    "keyed": Schema(
        _COLUMNS, ("p", "k"), ("p",), {"bucket": "2", "sequence.field": "a", "fields.b.ignore-retract": "true"}
    ),
    "append": Schema(_COLUMNS, (), ("p",), {"bucket": "3", "bucket-key": "k,b", "add-column-before-partition": "true"}),
    "careful": Schema(_COLUMNS, (), (), {"disable-explicit-type-casting": "true"}),
    "careless": Schema(_COLUMNS, ("k",), (), {"bucket": "-1", "alter-column-null-to-not-null.disabled": "false"}),
}


@pytest.mark.parametrize("name", _STARTS)
@pytest.mark.parametrize("has_snapshot", [True, False])
def test_the_next_schema_is_javas_or_both_refuse_it(java: JavaProcess, name: str, has_snapshot: bool) -> None:
    start = _STARTS[name].table_schema("db.t", 0)
    random, schema = Random(f"{name}{has_snapshot}"), start
    accepted = 0
    for number in range(250):
        changes = [random_change(random, schema) for _ in range(random.choice((1, 1, 1, 2)))]
        theirs = java.next_schemas([(serialize_schema(schema).decode(), changes)], has_snapshot=has_snapshot)[0]
        ours = _ours(schema, changes, has_snapshot)
        # Java 1.4 keeps a default that is not a value of the new type; later ones refuse it as we do.
        if isinstance(ours, str) and (ours.startswith("unsupported") or "default value" in ours):
            continue
        expected = None if theirs is None else replace(parse_schema(theirs.encode(), "java"), time_millis=0)
        if theirs is None or isinstance(ours, str):
            assert (theirs is None) == isinstance(ours, str), (schema, changes, ours)
            continue
        assert ours == expected, (schema, changes)
        accepted += 1
        schema = start if number % 40 == 39 else ours
    assert accepted > 40


def _ours(schema: TableSchema, changes: list[SchemaChange], has_snapshot: bool) -> TableSchema | str:
    try:
        return changed_schema(schema, changes, "db.t", has_snapshot=has_snapshot, time_millis=0)
    except UnsupportedError as error:
        return f"unsupported {error}"
    except PaimonError as error:
        return str(error)
