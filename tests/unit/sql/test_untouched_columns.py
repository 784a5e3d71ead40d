"""Statements leave the values alone that they do not name, of every type: their bits stay the same."""

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from maintenance.catalog import CatalogTable
from maintenance.format.variant.extension import as_stored
from maintenance.format.variant.json_parse import parse_json
from maintenance.sql import Session
from maintenance.types.far_timestamps import FarTimestampType
from maintenance.types.nested import Rebuild, retyped
from tests.tables import create_table, get_table, open_warehouse

NAN = struct.unpack("<d", struct.pack("<Q", 0x7FF8_0000_DEAD_BEEF))[0]
SMALL_NAN = struct.unpack("<f", struct.pack("<I", 0x7FC0_BEEF))[0]
MICROS, LAST_MICROS = 1_704_067_200_123_456, 253_402_300_799_999_999
FAR_MICROS = 9_000_000_000_000_000_000  # of the year 287,168
NS = pa.timestamp("ns")


def far(tz: str | None, *pairs: tuple[int, int] | None) -> pa.Array:
    kind = FarTimestampType(tz)
    parts = [pair and {"micros": pair[0], "nanos": pair[1]} for pair in pairs]
    return pa.ExtensionArray.from_storage(kind, pa.array(parts, kind.storage_type))


def numbers(values: Sequence[int | None], kind: pa.DataType) -> pa.Array:
    return pa.array(values, pa.int64() if kind.bit_width == 64 else pa.int32()).cast(kind)


NESTED = pa.struct([("t", NS), ("z", pa.timestamp("ns", "UTC")), ("s", pa.string())])
VALUES: Mapping[str, pa.Array] = {
    "BOOLEAN": pa.array([True, None, False]),
    "TINYINT": pa.array([-128, None, 127], pa.int8()),
    "SMALLINT": pa.array([-(2**15), None, 2**15 - 1], pa.int16()),
    "INT": pa.array([-(2**31), None, 2**31 - 1], pa.int32()),
    "BIGINT": pa.array([-(2**63), None, 2**63 - 1], pa.int64()),
    "FLOAT": pa.array(np.array([-0.0, SMALL_NAN, np.inf], np.float32)),
    "DOUBLE": pa.array(np.array([-0.0, NAN, -np.inf])),
    "DECIMAL(38, 18)": pa.array(["-12345678901234567890.123456789012345678", None, "0.1"]).cast(pa.decimal128(38, 18)),
    "CHAR(5)": pa.array(["a  ", None, ""]),
    "VARCHAR(7)": pa.array(["  a\x00 ", None, "'"]),
    "STRING": pa.array(["ñ\n", None, "NULL"]),
    "BINARY(3)": pa.array([b"\x00\xff", None, b""]),
    "VARBINARY(4)": pa.array([b"\xff\x00 ", None, b""]),
    "DATE": numbers([-719_162, None, 2_932_896 + 400_000], pa.date32()),
    "TIME(0)": numbers([86_399_000, None, 0], pa.time32("ms")),
    "TIME(3)": numbers([86_399_999, None, 1], pa.time32("ms")),
    "TIMESTAMP(0)": numbers([-1000, None, 253_402_300_799_000], pa.timestamp("ms")),
    "TIMESTAMP(3)": numbers([-1, None, 253_402_300_799_999], pa.timestamp("ms")),
    "TIMESTAMP(6)": numbers([-1, FAR_MICROS, LAST_MICROS], pa.timestamp("us")),
    "TIMESTAMP(7)": numbers([-100, None, MICROS * 1000 + 100], NS),
    "TIMESTAMP(9)": numbers([-1, None, MICROS * 1000 + 999], NS),
    "TIMESTAMP_LTZ(3)": numbers([-1, None, 253_402_300_799_999], pa.timestamp("ms", "UTC")),
    "TIMESTAMP_LTZ(6)": numbers([-1, None, LAST_MICROS], pa.timestamp("us", "UTC")),
    "TIMESTAMP_LTZ(9)": numbers([-1, None, MICROS * 1000 + 999], pa.timestamp("ns", "UTC")),
    "TIMESTAMP(8)": far(None, (FAR_MICROS, 990), None, (-1, 10)),
    "TIMESTAMP_LTZ(8)": far("UTC", (-62_135_596_800_000_000, 990), None, (LAST_MICROS, 10)),
    "ARRAY<TIMESTAMP(9)>": pa.array([[-1, None], None, []], pa.list_(NS)),
    "MAP<STRING, TIMESTAMP_LTZ(9)>": pa.array(
        [[("k", -1), ("l", None)], None, []], pa.map_(pa.string(), pa.timestamp("ns", "UTC"))
    ),
    "MULTISET<STRING>": pa.array([[("a", 2), ("b", 1)], None, []], pa.map_(pa.string(), pa.int32())),
    "ROW<t TIMESTAMP(9), z TIMESTAMP_LTZ(9), s STRING>": pa.array(
        [{"t": -1, "z": 999, "s": "x"}, None, {"t": None, "z": None, "s": None}], NESTED
    ),
    "ARRAY<ROW<t TIMESTAMP(9), z TIMESTAMP_LTZ(9), s STRING>>": pa.array(
        [[{"t": -1, "z": 999, "s": "x"}, None], None, []], pa.list_(NESTED)
    ),
    "VECTOR<FLOAT, 2>": pa.array([[-0.0, 1.5], None, [0.0, 2.5]], pa.list_(pa.float32(), 2)),
    "VARIANT": parse_json(pa.array(['{"a": [1, 2.50, "x"]}', None, "1e300"])),
}  # fmt: skip
# Of tables with data evolution alone.
BLOBS: Mapping[str, pa.Array] = {
    "BLOB": pa.array([b"\x00\xff", None, b""], pa.large_binary()),
    "ARRAY<BLOB>": pa.array([[b"\xff", b"", None], None, []], pa.list_(pa.large_binary())),
    "MAP<STRING, BLOB>": pa.array([[("k", b"\x00"), ("l", None)], None, []], pa.map_(pa.string(), pa.large_binary())),
}
COLUMNS = tuple((f"c{number}", kind) for number, kind in enumerate(VALUES))
BLOB_COLUMNS = tuple((f"b{number}", kind) for number, kind in enumerate(BLOBS))
FIELDS = (("id", "INT NOT NULL"), ("n", "BIGINT"), *COLUMNS)
EVOLVED = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
VECTORS = {"deletion-vectors.enabled": "true"}
TABLES: Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]] = {
    "append": ((), {}),
    "append with vectors": ((), VECTORS),
    "tracked": ((), {"row-tracking.enabled": "true"}),
    "evolved": ((), EVOLVED),
    "evolved with vectors": ((), {**EVOLVED, **VECTORS}),
    "keyed": (("id",), {}),
    "keyed with vectors": (("id",), {**VECTORS, "write-only": "false"}),
}
# ORC has nanoseconds from 1677 to 2262, but not right before 1970; Avro has none.
FORMATS: Mapping[str, Callable[[str], bool]] = {
    "parquet": lambda kind: True,
    "orc": lambda kind: "(8)" not in kind,
    "avro": lambda kind: not re.search("[(][789][)]", kind),
}


def fields_of(options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return (*FIELDS, *BLOB_COLUMNS) if "data-evolution.enabled" in options else FIELDS


def rows(options: Mapping[str, str], first: int = 0) -> pa.Table:
    ids = pa.array(range(first, first + 3), pa.int32())
    values = {name: {**VALUES, **BLOBS}[kind] for name, kind in fields_of(options)[2:]}
    return pa.table({"id": ids, "n": pa.array([0, 0, 0], pa.int64()), **values})


def names_of(options: Mapping[str, str]) -> list[str]:
    """The columns that are not named by a statement."""
    return [name for name, _ in fields_of(options)[2:]]


def bits(table: pa.Table, names: Sequence[str]) -> dict[str, Any]:
    """The values as numbers that have their bits: NaNs are equal to themselves, and zeros have their sign."""
    stored = as_stored(table.select(names))
    found: dict[str, Any] = {"types": [str(table.schema.field(name).type) for name in names]}
    for name in names:
        column = stored.column(name)
        found[name] = REBUILD.column(column, retyped(column.type, counted)).to_pylist()
    return found


def counted(arrow: pa.DataType) -> pa.DataType | None:
    if pa.types.is_fixed_size_list(arrow):
        return pa.list_(pa.int32())
    is_counted = pa.types.is_temporal(arrow) or pa.types.is_floating(arrow)
    return {32: pa.int32(), 64: pa.int64()}[arrow.bit_width] if is_counted else None


REBUILD = Rebuild(lambda array, kind, _: array.view(kind))


@pytest.fixture(params=TABLES)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> CatalogTable:
    keys, options = TABLES[request.param]
    table = create_table(tmp_path, fields_of(options), keys, options)
    table.write_arrow(rows(options))
    return table


def read_by_spark(stored: pa.Table) -> pa.Table:
    """The rows with the blanks that Spark's dialect fills a CHAR up with."""
    name = next(name for name, kind in COLUMNS if kind == "CHAR(5)")
    return stored.set_column(stored.column_names.index(name), name, pc.utf8_rpad(stored.column(name), 5))


def session_of(tmp_path: Path, dialect: str = "spark") -> Session:
    return Session(open_warehouse(tmp_path), dialect=dialect)  # type: ignore[arg-type]


def sorted_rows(tmp_path: Path, name: str = "db.t") -> pa.Table:
    found = get_table(tmp_path, name).to_arrow()
    return found.take(pa.array(np.argsort(found.column("id").to_numpy(), kind="stable")))


CHANGES = (
    "UPDATE db.t SET n = n + 1 WHERE id >= 0",
    "UPDATE db.t SET n = 1",
    "UPDATE db.t SET n = 1 WHERE LENGTH(CONCAT(id, 'x')) = 2",
    "MERGE INTO db.t AS t USING (SELECT 1 AS i) AS s ON t.id >= s.i - 1 WHEN MATCHED THEN UPDATE SET n = s.i",
    "MERGE INTO db.t t USING (SELECT -1 AS i) s ON t.id = s.i WHEN NOT MATCHED BY SOURCE THEN UPDATE SET n = 1",
)


@pytest.mark.parametrize("statement", CHANGES)
def test_a_change_of_one_column_leaves_the_others(table: CatalogTable, tmp_path: Path, statement: str) -> None:
    names = names_of(table.options)
    before = bits(sorted_rows(tmp_path), names)
    session_of(tmp_path).sql(statement)
    after = sorted_rows(tmp_path)
    assert set(after.column("n").to_pylist()) == {1}
    assert bits(after, names) == before


# Rows of tables with data evolution are deleted by vectors alone.
@pytest.mark.parametrize("table", [name for name in TABLES if name != "evolved"], indirect=True)
def test_a_deletion_leaves_the_other_rows(table: CatalogTable, tmp_path: Path) -> None:
    before = sorted_rows(tmp_path)
    session_of(tmp_path).sql("DELETE FROM db.t WHERE LENGTH(CONCAT(id, 'x')) = 2 AND id + 1 = 2")
    kept = before.filter(pa.array([True, False, True]))
    assert bits(sorted_rows(tmp_path), before.column_names) == bits(kept, before.column_names)


INSERTS = (
    "INSERT INTO db.other SELECT * FROM db.t",
    "INSERT OVERWRITE db.other SELECT * FROM db.t",
    "INSERT INTO db.other SELECT t.* FROM db.t AS t JOIN (SELECT id AS i FROM db.t) AS o ON t.id = o.i",
    "INSERT INTO db.other SELECT * FROM (SELECT * FROM db.t ORDER BY id) AS q WHERE id < 9",
)
CREATED = "CREATE TABLE db.made AS SELECT * FROM db.t"


@pytest.mark.parametrize("dialect", ["spark", "flink"])
@pytest.mark.parametrize(
    ("statement", "kind"), [*product((*INSERTS, CREATED), ["append"]), *product(INSERTS, ["evolved"])]
)
def test_what_is_selected_is_inserted_as_it_is(tmp_path: Path, statement: str, kind: str, dialect: str) -> None:
    _, options = TABLES[kind]
    for name in ("db.t", "db.other"):
        create_table(tmp_path, fields_of(options), (), options, name=name)
    get_table(tmp_path).write_arrow(rows(options))
    session_of(tmp_path, dialect).sql(statement)
    names = ["id", "n", *names_of(options)]
    before, made = sorted_rows(tmp_path), sorted_rows(tmp_path, "db.made" if "db.made" in statement else "db.other")
    # A new table has microseconds where the query had milliseconds of an instant.
    coarse = next(name for name, kind in COLUMNS if kind == "TIMESTAMP_LTZ(3)")
    made = made.set_column(names.index(coarse), coarse, made.column(coarse).cast(before.column(coarse).type))
    assert bits(made, names) == bits(read_by_spark(before) if dialect == "spark" else before, names)


def test_a_merge_takes_the_rows_of_its_source_as_they_are(table: CatalogTable, tmp_path: Path) -> None:
    of_source = EVOLVED if "data-evolution.enabled" in table.options else {}
    source = create_table(tmp_path, fields_of(table.options), (), of_source, name="db.s")
    source.write_arrow(rows(of_source, 2))
    session_of(tmp_path).sql(
        "MERGE INTO db.t AS t USING db.s AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * "
        "WHEN NOT MATCHED THEN INSERT *"
    )
    names = names_of(table.options)
    old, new = (bits(part, names) for part in (rows(of_source).slice(0, 2), read_by_spark(rows(of_source, 2))))
    found = bits(sorted_rows(tmp_path), names)
    expected = {name: old[name] + new[name] for name in names}
    assert {name: found[name] for name in names} == expected


@pytest.mark.parametrize("file_format", FORMATS)
def test_every_format_keeps_digits_and_far_years(tmp_path: Path, file_format: str) -> None:
    names = [name for name, kind in COLUMNS if "TIMESTAMP" in kind and FORMATS[file_format](kind)]
    fields = (("id", "INT NOT NULL"), ("n", "BIGINT"), *((name, kind) for name, kind in COLUMNS if name in names))
    table = create_table(tmp_path, fields, ("id",), {"file.format": file_format})
    table.write_arrow(rows({}).select(["id", "n", *names]).slice(2 if file_format == "orc" else 0))
    before = bits(sorted_rows(tmp_path), names)
    count = len(before[names[0]])
    session_of(tmp_path).sql("UPDATE db.t SET n = n + 1")
    session_of(tmp_path).sql("INSERT INTO db.t SELECT id + 3, n, " + ", ".join(names) + " FROM db.t")
    found = sorted_rows(tmp_path)
    assert bits(found.slice(0, count), names) == bits(found.slice(count), names) == before


def test_a_field_of_a_row_leaves_its_neighbours(tmp_path: Path) -> None:
    kind = "ROW<t TIMESTAMP(9), z TIMESTAMP_LTZ(9), s STRING>"
    table = create_table(tmp_path, (("id", "INT"), ("r", kind)), (), {})
    table.write_arrow(pa.table({"id": pa.array([0, 1, 2], pa.int32()), "r": VALUES[kind]}))
    session_of(tmp_path).sql("UPDATE db.t SET r.s = 'new' WHERE id = 0")
    (found, *_) = as_stored(sorted_rows(tmp_path)).column("r").to_pylist()
    assert (found["t"].value, found["z"].value, found["s"]) == (-1, 999, "new")
