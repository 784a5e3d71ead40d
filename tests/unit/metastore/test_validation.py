"""Definitions of tables that are refused, each with what is wrong."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from maintenance.catalog import Schema, open_catalog
from maintenance.errors import OptionError, PaimonError, SchemaError, UnsupportedError
from maintenance.metastore.schema import FieldSpec
from maintenance.types.data_type import DataField, parse_type
from tests.tables import KEYED, create_table

FIELDS = [("id", "INT NOT NULL"), ("p", "STRING"), ("v", "STRING")]


@pytest.mark.parametrize(
    ("fields", "keys", "partition", "options", "error", "message"),
    [
        ([], (), (), {}, SchemaError, "no column"),
        ([("a", "INT"), ("a", "INT")], (), (), {}, SchemaError, "column 'a' is there twice"),
        ([("_KEY_a", "INT")], (), (), {}, SchemaError, "'_KEY_a' is reserved"),
        ([("_SEQUENCE_NUMBER", "INT")], (), (), {}, SchemaError, "reserved"),
        ([("a", "NUMBER")], (), (), {}, SchemaError, "'NUMBER' is not a data type"),
        ([("a", "ARRAY<BLOB>")], (), (), {}, SchemaError, "BLOB.*column a"),
        ([("a", "ARRAY<ROW<b MAP<INT, BLOB>>>")], (), (), {}, UnsupportedError, "BLOB.*column a.element.b"),
        ([("a", "MAP<INT, ROW<b INT, b INT>>")], (), (), {}, SchemaError, "column 'b' is there twice .*in column a"),
        ([("a", "ROW<b ARRAY<ROW<` ` INT>>>")], (), (), {}, SchemaError, "' ' is blank .*in column a, in column b"),
        ([("a", "MAP<INT>")], (), (), {}, SchemaError, "'MAP<INT>' is not a data type: 1 parts"),
        ([("a", "ARRAY<INT>"), ("b", "INT")], ("a",), (), {}, SchemaError, "primary key column 'a' is ARRAY<INT>"),
        ([("a", "ROW<b INT>"), ("b", "INT")], (), ("a",), {}, SchemaError, "partition key column 'a' is ROW"),
        (
            [("a", "MULTISET<INT>")],
            (),
            (),
            {"bucket": "2", "bucket-key": "a"},
            SchemaError,
            "bucket key column 'a' is MULTISET<INT>",
        ),
        (FIELDS, ("x",), (), {}, SchemaError, "primary key column 'x'"),
        (FIELDS, ("id", "id"), (), {}, SchemaError, "there twice"),
        (FIELDS, ("id",), ("x",), {}, SchemaError, "partition key column 'x'"),
        (FIELDS, ("p",), ("p",), {}, SchemaError, "partition columns only"),
        (FIELDS, ("id",), (), {"bucket": "0"}, OptionError, "'bucket' = '0'"),
        (FIELDS, ("id",), (), {"bucket": "-3"}, OptionError, "'bucket' = '-3'"),
        (FIELDS, (), (), {"bucket": "-1", "bucket-key": "id"}, OptionError, "'bucket-key' is set"),
        (FIELDS, (), (), {"bucket": "2"}, OptionError, "no 'bucket-key'"),
        (FIELDS, (), (), {"bucket": "-2"}, OptionError, "without a primary key"),
        (FIELDS, ("id",), (), {"bucket": "2", "bucket-key": "v"}, OptionError, "'bucket-key' names 'v'"),
        (FIELDS, ("id", "p"), ("p",), {"bucket": "2", "bucket-key": "p"}, OptionError, "'bucket-key' names 'p'"),
        (FIELDS, ("id",), (), {"sequence.field": "x"}, OptionError, "'sequence.field' names 'x'"),
        (FIELDS, ("id",), ("p",), {"sequence.field": "v"}, OptionError, "lacks a partition column"),
        (FIELDS, (), (), {"table-read.sequence-number.enabled": "true"}, OptionError, "without a primary key"),
        (FIELDS, (), (), {"csv.quote-character": ""}, OptionError, "'csv.quote-character' = ''"),
        (FIELDS, (), (), {"changelog-producer": "full-compaction"}, OptionError, "without a primary key"),
        (FIELDS, ("id",), (), {"snapshot.num-retained.min": "0"}, OptionError, "Use 1 or more"),
        (FIELDS, ("id",), (), {"snapshot.num-retained.max": "5"}, OptionError, "min <= max"),
        (FIELDS, ("id",), (), {"file-index.bloom-filter.columns": "x"}, PaimonError, "'?x'?"),
        (FIELDS, ("id",), (), {"file-index.bsi.columns": "v"}, SchemaError, "'bsi' does not take"),
        (FIELDS, ("id",), (), {"target-file-size": "big"}, OptionError, "'target-file-size' = 'big'"),
    ],
)
def test_definitions_that_make_no_table_are_refused(
    tmp_path: Path,
    fields: Sequence[tuple[str, str]],
    keys: Sequence[str],
    partition: Sequence[str],
    options: Mapping[str, str],
    error: type[Exception],
    message: str,
) -> None:
    buckets = {"bucket": "1"} if keys else {}
    with pytest.raises(error, match=message):
        create_table(tmp_path, fields, keys, {**buckets, **options}, partition_keys=partition)


@pytest.mark.parametrize("spec", [("id",), ("id", "INT", "its number", "something else")])
def test_what_is_no_column(spec: tuple[str, ...]) -> None:
    with pytest.raises(SchemaError, match="is not a column"):
        Schema([spec]).table_schema("db.t", 5)


def test_what_a_first_schema_is_like(tmp_path: Path) -> None:
    fields: list[FieldSpec] = [("id", "INT"), ("v", "STRING", "what it is"), DataField(77, "w", parse_type("BIGINT"))]
    schema = Schema(fields, options={"primary-key": "id, v", "bucket": "2"}, comment="of the table")
    first = schema.table_schema("db.t", 5)
    assert [(f.id, f.name, str(f.type), f.description) for f in first.fields] == [
        (0, "id", "INT NOT NULL", None),
        (1, "v", "STRING NOT NULL", "what it is"),
        (2, "w", "BIGINT", None),
    ]
    assert (first.id, first.highest_field_id, first.primary_keys, first.time_millis) == (0, 2, ("id", "v"), 5)
    assert (first.options, first.comment) == ({"bucket": "2"}, "of the table")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, OptionError, "'warehouse' is not set"),
        ({"warehouse": "/x", "metastore": "hive"}, OptionError, "'uri' is not set"),
        ({"warehouse": "/x", "metastore": "nonsense"}, OptionError, "nonsense"),
        ({"warehouse": "/x", "lock.enabled": "true"}, UnsupportedError, r"lock\.enabled"),
        ({"warehouse": "/x", "case-sensitiv": "false"}, OptionError, "Did you mean 'case-sensitive'"),
        ({"warehouse": "/x", "type": "iceberg"}, OptionError, "'type' = 'iceberg'"),
    ],
)
def test_catalogs_that_cannot_be_opened(options: dict[str, str], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        open_catalog(options)


def test_two_creators_at_once(tmp_path: Path) -> None:
    """Publishing the first schema is what decides: the second one is told."""
    table = create_table(tmp_path)
    schemas = table.schemas
    assert not schemas.publish(Schema(KEYED, ["id"], options={"bucket": "9"}).table_schema("db.t", 0))
    assert schemas.get(0).options["bucket"] == "1"
