"""Comments that say how a column is stored, and the rules of the options that they set."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from maintenance.catalog import AddColumn, DropColumn, RenameColumn, Schema, open_catalog
from maintenance.errors import OptionError, PaimonError, SchemaError, UnsupportedError
from tests.tables import get_table, open_warehouse

EVOLVING = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}


def test_comments_become_types_and_options_follow_the_columns(tmp_path: Path) -> None:
    catalog = open_warehouse(tmp_path)
    fields = [
        ("id", "INT", "__other"),
        ("b", "BYTES", "__BLOB_FIELD; a photo"),
        ("v", "ARRAY<FLOAT>", " __VECTOR_FIELD;3; of it"),
        ("d", "BINARY(4)", "__BLOB_DESCRIPTOR_FIELD"),
        ("g", "ARRAY<BYTES NOT NULL>", "__BLOB_FIELD; photos"),
    ]
    catalog.create_table("db.t", Schema(fields, options=EVOLVING))
    catalog.alter_table(
        "db.t",
        [
            AddColumn("e", "BYTES", "__BLOB_FIELD"),
            AddColumn("m", "MAP<STRING, BYTES>", "__BLOB_FIELD"),
            AddColumn("w", "ARRAY<INT>", "__VECTOR_FIELD;2"),
        ],
    )
    schema = get_table(tmp_path).schema
    assert [(str(f.type), f.description) for f in schema.fields] == [
        ("INT", "__other"),
        ("BLOB", "a photo"),
        ("VECTOR<FLOAT, 3>", "of it"),
        ("BLOB", None),
        ("ARRAY<BLOB NOT NULL>", "photos"),
        ("BLOB", None),
        ("MAP<STRING, BLOB>", None),
        ("VECTOR<INT, 2>", None),
    ]
    named = {key: text for key, text in schema.options.items() if key not in EVOLVING}
    assert named == {"blob-field": "b,g,e,m", "vector-field": "v,w", "blob-descriptor-field": "d"}
    catalog.alter_table("db.t", [DropColumn("b"), DropColumn("d"), RenameColumn("v", "u")])
    named = {key: text for key, text in get_table(tmp_path).schema.options.items() if key not in EVOLVING}
    assert named == {"blob-field": "g,e,m", "vector-field": "u,w"}


@pytest.mark.parametrize(
    ("data_type", "comment", "error", "match"),
    [
        ("BYTES", "__BLOB_FIELDS", SchemaError, "begins with"),
        ("INT", "__BLOB_FIELD", SchemaError, "Declare it BYTES"),
        ("ARRAY<BYTES>", "__BLOB_VIEW_FIELD", SchemaError, "Declare it BYTES."),
        ("ARRAY<INT>", "__BLOB_FIELD", SchemaError, "ARRAY<BYTES>"),
        ("MAP<DOUBLE, BYTES>", "__BLOB_FIELD", UnsupportedError, "keys of type DOUBLE"),
        ("ARRAY<INT>", "__VECTOR_FIELD", SchemaError, "not the length"),
        ("ARRAY<INT>", "__VECTOR_FIELD;0", SchemaError, "1 to"),
        ("ARRAY<STRING>", "__VECTOR_FIELD;2", SchemaError, "elements"),
        ("INT", "__VECTOR_FIELD;2", SchemaError, "Declare the column as ARRAY"),
    ],
)
def test_comments_that_are_refused(
    tmp_path: Path, data_type: str, comment: str, error: type[PaimonError], match: str
) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    with pytest.raises(error, match=match):
        catalog.create_table("db.t", Schema([("id", "INT"), ("x", data_type, comment)], options=EVOLVING))


@pytest.mark.parametrize(
    ("fields", "options", "error", "match"),
    [
        ([("b", "BLOB")], {"blob-field": "c"}, SchemaError, "'blob-field' names 'c'"),
        ([("b", "BYTES")], {"blob-descriptor-field": "b"}, SchemaError, "names 'b'"),
        ([("b", "BLOB")], {"blob-descriptor-field": "b", "blob-view-field": "b"}, OptionError, "and in"),
        ([("b", "BLOB")], {"blob-view-field": "b", "file.format": "avro"}, UnsupportedError, "avro"),
        ([("v", "ARRAY<INT>")], {"vector-field": "v"}, SchemaError, "no VECTOR column"),
        ([("v", "VECTOR<INT, 2>")], {"vector.file.format": "mosaic"}, UnsupportedError, "vector.file.format"),
        (
            [("v", "VECTOR<INT, 2>")],
            {"vector.file.format": "parquet", "data-evolution.enabled": "false"},
            OptionError,
            "without 'data-evolution.enabled'",
        ),
    ],
)
def test_options_of_what_is_stored_apart(
    tmp_path: Path,
    fields: Sequence[tuple[str, str]],
    options: Mapping[str, str],
    error: type[PaimonError],
    match: str,
) -> None:
    with pytest.raises(error, match=match):
        open_warehouse(tmp_path).create_table("db.t", Schema([("id", "INT"), *fields], options={**EVOLVING, **options}))
