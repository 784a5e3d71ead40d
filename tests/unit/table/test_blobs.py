"""Rows of BLOB columns: filters on them, and what system tables show of them."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import Catalog, Schema
from maintenance.errors import MissingFileError, UnsupportedError
from maintenance.format.blob_descriptor import BlobDescriptor
from maintenance.sql import Session
from tests.tables import open_warehouse, table_of

OPTIONS = {"bucket": "-1", "row-tracking.enabled": "true", "data-evolution.enabled": "true"}
FIELDS = [("id", "INT"), ("b", "BLOB"), ("many", "ARRAY<BLOB>"), ("named", "MAP<STRING, BLOB>")]


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    catalog = open_warehouse(tmp_path)
    catalog.create_table("db.t", Schema(FIELDS, options=OPTIONS))
    rows: list[dict[str, Any]] = [
        {"id": 1, "b": b"abc", "many": [b"p", b"q"], "named": [("k", b"v")]},
        {"id": 2, "b": None, "many": [], "named": None},
        {"id": 3, "b": b"x", "many": None, "named": []},
        {"id": 4, "b": b"zz", "many": [b"r"], "named": [("l", b"w")]},
    ]
    kind = pa.schema(
        [
            ("id", pa.int32()),
            ("b", pa.large_binary()),
            ("many", pa.list_(pa.large_binary())),
            ("named", pa.map_(pa.string(), pa.large_binary())),
        ]
    )
    for part in (rows[:3], rows[3:]):
        table_of(catalog).write_arrow(pa.Table.from_pylist(part, kind))
    return catalog


CONDITIONS = {
    "b = X'616263'": [1],
    "b <> X'616263'": [3, 4],
    "b > X'61'": [1, 3, 4],
    "b BETWEEN X'61' AND X'7A'": [1, 3],
    "b IN (X'78', X'7A7A')": [3, 4],
    "b NOT IN (X'78')": [1, 4],
    "b <=> NULL": [2],
    "b IS NULL OR b = X'78'": [2, 3],
    "id > 1 AND b < X'7A'": [3],
    "NOT (b = X'78')": [1, 4],
    "many IS NULL": [3],
}


@pytest.mark.parametrize("where", CONDITIONS)
def test_filters_on_blobs_find_the_same_rows_in_reads_and_sql(catalog: Catalog, tmp_path: Path, where: str) -> None:
    table = table_of(catalog)
    assert [row["id"] for row in table.to_arrow(["id"], where=where).to_pylist()] == CONDITIONS[where]
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    rows = session.sql(f"SELECT id FROM db.t WHERE {where} ORDER BY id").to_arrow().to_pylist()
    assert [row["id"] for row in rows] == CONDITIONS[where]


def test_a_filter_sees_what_the_read_shows(catalog: Catalog) -> None:
    table = table_of(catalog)
    options = {"blob-as-descriptor": "true"}
    shown = table.to_arrow(["id", "b"], where="id = 1", options=options).to_pylist()[0]["b"]
    found = table.to_arrow(["id"], where=f"b = X'{shown.hex()}'", options=options)
    assert found.to_pylist() == [{"id": 1}]
    assert not table.to_arrow(["id"], where="b = X'616263'", options=options).num_rows


def test_the_binlog_has_an_array_of_each_column(catalog: Catalog, tmp_path: Path) -> None:
    expected = [
        {"rowkind": "+I", "id": [1], "b": [b"abc"], "many": [[b"p", b"q"]], "named": [[("k", b"v")]]},
        {"rowkind": "+I", "id": [2], "b": [None], "many": [[]], "named": [None]},
        {"rowkind": "+I", "id": [3], "b": [b"x"], "many": [None], "named": [[]]},
        {"rowkind": "+I", "id": [4], "b": [b"zz"], "many": [[b"r"]], "named": [[("l", b"w")]]},
    ]
    assert catalog.get_table("db.t$binlog").to_arrow().to_pylist() == expected
    session = Session({"warehouse": str(tmp_path)})
    assert session.sql("SELECT * FROM db.t$binlog").to_arrow().num_rows == len(expected)
    log = catalog.get_table("db.t$audit_log").to_arrow().to_pylist()
    assert [row["many"] for row in log] == [[b"p", b"q"], [], None, [b"r"]]


MISSING, FAILING = "blob-write-null-on-missing-file", "blob-write-null-on-fetch-failure"


@pytest.mark.parametrize(
    ("uri", "options", "written"),
    [
        ("gone.bin", {MISSING: "true"}, True),
        ("gone.bin", {FAILING: "true"}, False),
        ("gone.bin", {}, False),
        ("s3://elsewhere/gone.bin", {FAILING: "true"}, True),
        ("s3://elsewhere/gone.bin", {MISSING: "true"}, False),
    ],
)
def test_blobs_that_cannot_be_had_are_null_if_the_table_wants_that(
    tmp_path: Path, uri: str, options: dict[str, str], written: bool
) -> None:
    catalog = open_warehouse(tmp_path)
    catalog.create_table("db.t", Schema(FIELDS, options={**OPTIONS, **options}))
    place = uri if "://" in uri else str(tmp_path / uri)
    lost, there = (BlobDescriptor(each, 0, 3).serialize() for each in (place, str(tmp_path / "there.bin")))
    (tmp_path / "there.bin").write_bytes(b"abc")
    rows = pa.table(
        {
            "id": pa.array([1, 2], pa.int32()),
            "b": pa.array([lost, there], pa.large_binary()),
            "many": pa.array([[there, lost], None], pa.list_(pa.large_binary())),
        }
    )
    if not written:
        with pytest.raises((MissingFileError, UnsupportedError)):
            table_of(catalog).write_arrow(rows)
        assert table_of(catalog).latest_snapshot() is None
        return
    table_of(catalog).write_arrow(rows)
    assert table_of(catalog).to_arrow(["b", "many"]).to_pylist() == [
        {"b": None, "many": [b"abc", None]},
        {"b": b"abc", "many": None},
    ]


@pytest.mark.parametrize("kind", ["ARRAY<ARRAY<BLOB>>", "ARRAY<MAP<STRING, BLOB>>", "ROW<a ARRAY<BLOB>>"])
def test_no_column_has_blobs_deeper_inside(tmp_path: Path, kind: str) -> None:
    with pytest.raises(UnsupportedError, match=r"inside another type than a column's ARRAY or MAP"):
        open_warehouse(tmp_path).create_table("db.u", Schema([("id", "INT"), ("b", kind)], options=OPTIONS))


@pytest.mark.parametrize("part", ["CHAR(3)", "BINARY(3)", "VARCHAR(3)", "VARBINARY(3)", "STRING", "BYTES"])
def test_variants_are_cut_into_parts_of_fixed_lengths(tmp_path: Path, part: str) -> None:
    inner = {"type": "ROW", "fields": [{"name": "a", "type": part}]}
    form = json.dumps({"type": "ROW", "fields": [{"name": "v", "type": inner}]})
    catalog = open_warehouse(tmp_path)
    options = {"bucket": "-1", "variant.shreddingSchema": form}
    catalog.create_table("db.v", Schema([("v", "VARIANT")], options=options))
    texts = ['{"a":"xyz"}', '{"a":"longer than three","b":1}', '{"a":""}', '{"a":4}', '{"b":null}']
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql(f"INSERT INTO db.v VALUES {', '.join(f'(PARSE_JSON({text!r}))' for text in texts)}")
    assert [row["v"] for row in catalog.get_table("db.v").to_arrow().to_pylist()] == texts


LENGTHS = {
    "LENGTH": [2, 3, 0, None, 3],
    "CHAR_LENGTH": [2, 3, 0, None, 3],
    "OCTET_LENGTH": [2, 3, 0, None, 6],
    "BIT_LENGTH": [16, 24, 0, None, 48],
}


# Flink has no more than CHAR_LENGTH.
@pytest.mark.parametrize(("function", "dialect"), [*((name, "spark") for name in LENGTHS), ("CHAR_LENGTH", "flink")])
def test_lengths_of_bytes_and_texts(tmp_path: Path, dialect: Any, function: str) -> None:
    fields = [("b", "BINARY(2)"), ("v", "VARBINARY(9)"), ("y", "BYTES"), ("n", "BYTES"), ("s", "STRING")]
    catalog = open_warehouse(tmp_path)
    catalog.create_table("db.t", Schema(fields, options={"bucket": "-1"}))
    rows = pa.table({"b": [b"\x00\xff"], "v": [b"abc"], "y": [b""], "n": pa.array([None], pa.binary()), "s": ["äöü"]})
    table_of(catalog).write_arrow(rows)
    session = Session({"warehouse": str(tmp_path)}, dialect=dialect)
    calls = ", ".join(f"{function}({name}) AS {name}" for name, _ in fields)
    assert list(session.sql(f"SELECT {calls} FROM db.t").to_arrow().to_pylist()[0].values()) == LENGTHS[function]
    found = session.sql(f"SELECT s FROM db.t WHERE {function}(v) = {LENGTHS[function][1]}").to_arrow()
    assert found.to_pylist() == [{"s": "äöü"}]
    assert session.sql(f"SELECT {function}(X'0102') AS n").to_arrow().to_pylist() == [
        {"n": 16 if function == "BIT_LENGTH" else 2}
    ]
