"""Vectors and blobs, in files of rows and in their own, that we and pypaimon write, change and read."""

from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import Schema
from maintenance.errors import DataError, MissingFileError, NotFoundError, UnsupportedError
from maintenance.format.blob_descriptor import BlobDescriptor, BlobView, parse_descriptor
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from maintenance.operations.rows.merge_clauses import Clause
from maintenance.operations.rows.merge_into import merge_into
from maintenance.read.blobs import read_blob
from tests.pypaimon.process import run_script
from tests.pypaimon.test_read_by_pypaimon import EVOLVING, pypaimon, read_by
from tests.tables import create_table, get_table, live_files, open_warehouse

__all__ = ["pypaimon"]
APART = {"vector.file.format": "parquet", "blob.target-file-size": "100 b"}
VECTOR = pa.list_(pa.float32(), 2)
GALLERY = pa.list_(pa.large_binary())
# Maps of blobs by every kind of key: its type in Paimon and in Arrow, and some keys.
KEYED_BLOBS: dict[str, tuple[str, pa.DataType, list[Any]]] = {
    "text": ("STRING", pa.string(), ["é", ""]),
    "data": ("BYTES", pa.binary(), [b"\xff", b""]),
    "tiny": ("TINYINT", pa.int8(), [-1, 2]),
    "small": ("SMALLINT", pa.int16(), [-300, 2]),
    "number": ("INT", pa.int32(), [-70000, 2]),
    "big": ("BIGINT", pa.int64(), [-(2**40), 2]),
    "flag": ("BOOLEAN", pa.bool_(), [True, False]),
    "short": ("DECIMAL(10, 2)", pa.decimal128(10, 2), [Decimal("-1.25"), Decimal("3.00")]),
    "wide": ("DECIMAL(30, 2)", pa.decimal128(30, 2), [Decimal("-12345678901234567890123.25"), Decimal("3.00")]),
    "day": ("DATE", pa.date32(), [date(1969, 12, 31), date(2024, 2, 29)]),
    "time": ("TIME(3)", pa.time32("ms"), [time(1, 2, 3, 4000), time(0)]),
}


def write_by(warehouse: Path, **rows: pa.Table) -> None:
    """Let pypaimon write `new` rows, or the values of `changed` ones."""
    for name, table in rows.items():
        with pa.OSFile(f"{warehouse}/{name}.arrow", "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    run_script("write_rows.py", warehouse)
    for name in rows:
        (warehouse / f"{name}.arrow").unlink()


def both_see(warehouse: Path, columns: list[str]) -> list[tuple[Any, ...]]:
    """The rows, which we and pypaimon must read alike."""
    table = get_table(warehouse)
    ours = sorted(zip(*(column.to_pylist() for column in table.to_arrow(columns).columns), strict=True))
    (actual,) = read_by([str(warehouse)])
    theirs = sorted(zip(*(actual.column(name).to_pylist() for name in columns), strict=True))
    assert ours == theirs
    assert fsck(table.file_io, table.location, deep=True).faults == ()
    return ours


def rows(first: int, count: int) -> pa.Table:
    ids = range(first, first + count)
    # Arrow's parquet reader, which pypaimon uses, takes no null among lists of a fixed size.
    vectors = [[float(n), -1.5] for n in ids]
    return pa.table({"id": pa.array(ids, pa.int32()), "v": pa.array(vectors, VECTOR), "t": [f"t{n}" for n in ids]})


def expected(count: int) -> dict[int, list[Any]]:
    return {row["id"]: [row["v"], row["t"]] for row in rows(0, count).to_pylist()}


# pypaimon reads Avro files of vectors only where it merges rows.
@pytest.mark.parametrize(("file_format", "keys"), [("parquet", ()), ("parquet", ("id",)), ("avro", ("id",))])
def test_vectors_among_the_rows(pypaimon: Path, tmp_path: Path, file_format: str, keys: tuple[str, ...]) -> None:
    fields = [("id", "INT NOT NULL"), ("v", "VECTOR<FLOAT, 2>"), ("t", "STRING")]
    table = create_table(tmp_path, fields, keys, {"bucket": "1" if keys else "-1", "file.format": file_format})
    table.write_arrow(rows(0, 5))
    write_by(tmp_path, new=rows(5, 4))
    wanted = [(number, *values) for number, values in expected(9).items()]
    assert sorted(tuple(row.values()) for row in get_table(tmp_path).to_arrow().to_pylist()) == wanted
    compact(None, get_table(tmp_path), full=True)
    assert both_see(tmp_path, ["id", "v", "t"]) == wanted


def test_vectors_in_their_own_files(pypaimon: Path, tmp_path: Path) -> None:
    fields = [("id", "INT"), ("v", "VECTOR<FLOAT, 2>"), ("t", "STRING")]
    table = create_table(tmp_path, fields, (), {"bucket": "-1", **EVOLVING, **APART, "target-file-row-num": "4"})
    table.write_arrow(rows(0, 6))
    write_by(tmp_path, new=rows(6, 3))
    wanted = expected(9)
    assert len([file for file in live_files(get_table(tmp_path)) if ".vector.parquet" in file.file_name]) >= 3
    assert both_see(tmp_path, ["id", "v", "t"]) == [(n, *values) for n, values in wanted.items()]
    source = pa.table({"id": pa.array([1, 7], pa.int32()), "v": pa.array([[9, 9], [9, 9]], VECTOR)})
    clauses = [Clause("matched", "update", {"v": "s.v", "t": "'new'"})]
    merge_into(None, get_table(tmp_path), source, "t.id = s.id", clauses)
    wanted[1] = wanted[7] = [[9.0, 9.0], "new"]
    changed = pa.table({"_ROW_ID": pa.array([2, 5], pa.int64()), "v": pa.array([[3, 3], [4, 4]], VECTOR)})
    write_by(tmp_path, changed=changed)
    wanted[2][0], wanted[5][0] = [3.0, 3.0], [4.0, 4.0]
    assert both_see(tmp_path, ["id", "v", "t"]) == [(n, *values) for n, values in wanted.items()]
    compact(None, get_table(tmp_path), full=True)
    # The columns of the same rows become one file, whose vectors stay beside it.
    assert len([file for file in live_files(get_table(tmp_path)) if ".vector." not in file.file_name]) == 3
    assert both_see(tmp_path, ["id", "v", "t"]) == [(n, *values) for n, values in wanted.items()]


def blobs(first: int, count: int) -> pa.Table:
    ids = range(first, first + count)
    values = [None if n % 4 == 3 else bytes([n]) * (10 * n) for n in ids]
    return pa.table({"id": pa.array(ids, pa.int32()), "b": pa.array(values, pa.large_binary()), "t": [*map(str, ids)]})


def test_new_values_of_blobs(pypaimon: Path, tmp_path: Path) -> None:
    table = create_table(tmp_path, [("id", "INT"), ("b", "BLOB"), ("t", "STRING")], (), {**EVOLVING, **APART})
    table.write_arrow(blobs(0, 12))
    wanted = {row["id"]: [row["b"], row["t"]] for row in blobs(0, 12).to_pylist()}
    source = pa.table({"id": pa.array([2, 3, 9], pa.int32()), "b": pa.array([b"ours"] * 3, pa.large_binary())})
    merge_into(None, table, source, "t.id = s.id", [Clause("matched", "update", {"b": "s.b"})])
    for key in (2, 3, 9):
        wanted[key][0] = b"ours"
    assert both_see(tmp_path, ["id", "b", "t"]) == [(n, *values) for n, values in wanted.items()]
    new = pa.array([b"theirs" * 40, None, b""], pa.large_binary())
    write_by(tmp_path, changed=pa.table({"_ROW_ID": pa.array([3, 4, 11], pa.int64()), "b": new}))
    for key, value in zip((3, 4, 11), new.to_pylist(), strict=True):
        wanted[key][0] = value
    assert both_see(tmp_path, ["id", "b", "t"]) == [(n, *values) for n, values in wanted.items()]
    get_table(tmp_path).update({"t": "'new'", "b": "NULL"}, "id = 0")
    wanted[0] = [None, "new"]
    get_table(tmp_path).write_arrow(blobs(12, 2))
    wanted |= {row["id"]: [row["b"], row["t"]] for row in blobs(12, 2).to_pylist()}
    compact(None, get_table(tmp_path), full=True)
    assert both_see(tmp_path, ["id", "b", "t"]) == [(n, *values) for n, values in wanted.items()]


def test_both_write_and_read_descriptors_and_views_of_blobs(pypaimon: Path, tmp_path: Path) -> None:
    """Columns that hold where blobs are, and blobs that are read so."""
    options = {**EVOLVING, "blob-descriptor-field": "d", "blob-view-field": "w"}
    fields = [("id", "INT"), ("b", "BLOB"), ("d", "BLOB"), ("w", "BLOB"), ("t", "STRING")]
    table = create_table(tmp_path, fields, (), options)
    outside = tmp_path / "outside.bin"
    outside.write_bytes(b"0123456789")
    places = [BlobDescriptor(str(outside), 2, 3), None, BlobDescriptor(str(outside), 4, -1)]
    described = pa.array([None if place is None else place.serialize() for place in places], pa.large_binary())
    view = b"\x01" + (0x424C4F4256494557).to_bytes(8, "little") + (4).to_bytes(4, "little") + b"db.u" + bytes(12)
    rows = {
        "id": pa.array(range(3), pa.int32()),
        "b": pa.array([places[0].serialize() if places[0] else b"", b"own", None], pa.large_binary()),
        "d": described,
        "w": pa.array([view, None, view], pa.large_binary()),
        "t": [*"abc"],
    }
    table.write_arrow(pa.table(rows))
    write_by(tmp_path, new=pa.table({**rows, "id": pa.array(range(3, 6), pa.int32())}))
    read = get_table(tmp_path).copy({"blob-view.resolve.enabled": "false"})
    wanted = [(b"234", b"234", view), (b"own", None, None), (None, b"456789", view)] * 2
    names = ["b", "d", "w"]
    assert [tuple(row.values()) for row in read.to_arrow(names).to_pylist()] == wanted
    as_descriptors = read.copy({"blob-as-descriptor": "true"}).to_arrow(["b", "d"])
    assert as_descriptors.column("d").to_pylist() == described.to_pylist() * 2
    stored = [
        None if value is None else parse_descriptor(value, "") for value in as_descriptors.column("b").to_pylist()
    ]
    assert [None if one is None else read_blob(one, table.file_io, str(tmp_path)) for one in stored] == [
        value for value, *_ in wanted
    ]
    read.update({"t": "'new'"}, "id = 1")
    clauses = [Clause("matched", "update", {"d": "s.d"})]
    source = pa.table({"id": pa.array([1], pa.int32()), "d": described.slice(0, 1)})
    merge_into(None, get_table(tmp_path), source, "t.id = s.id", clauses)
    compact(None, get_table(tmp_path), full=True)
    wanted[1] = (b"own", b"234", None)
    after = get_table(tmp_path).copy({"blob-view.resolve.enabled": "false"})
    assert [tuple(row.values()) for row in after.to_arrow(names).to_pylist()] == wanted
    (theirs,) = read_by([str(tmp_path)], "id", "b", "d")
    assert [(row["b"], row["d"]) for row in theirs.sort_by("id").to_pylist()] == [row[:2] for row in wanted]
    with pytest.raises(NotFoundError, match=r"table 'db\.u' does not exist"):
        get_table(tmp_path).to_arrow()
    with pytest.raises(DataError, match="does not say where its blob is"):
        get_table(tmp_path).write_arrow(pa.table({**rows, "d": [b"plain", None, None]}))
    away = BlobDescriptor("s3://bucket/key", 0, 1).serialize()
    get_table(tmp_path).write_arrow(
        pa.table({"id": pa.array([9], pa.int32()), "d": pa.array([away], pa.large_binary())})
    )
    with pytest.raises(UnsupportedError, match="own storage"):
        get_table(tmp_path).to_arrow(["d"], where="id = 9")


def lists(first: int, count: int) -> pa.Table:
    """Lists and maps of blobs: some are null, some empty, some have nulls inside."""
    ids = range(first, first + count)
    galleries = [None if n % 5 == 4 else [None if m == 1 else bytes([n]) * (7 * m) for m in range(n % 4)] for n in ids]
    columns = {"id": pa.array(ids, pa.int32()), "t": [*map(str, ids)], "g": pa.array(galleries, GALLERY)}
    for name, (_, kind, keys) in KEYED_BLOBS.items():
        values = [
            None if n % 5 == 3 else [(key, None if n % 2 else bytes([n]) * 9) for key in keys[: n % 3]] for n in ids
        ]
        columns[name] = pa.array(values, pa.map_(kind, pa.large_binary()))
    return pa.table(columns)


def test_lists_and_maps_of_blobs(pypaimon: Path, tmp_path: Path) -> None:
    keyed = [(name, f"MAP<{key}, BLOB>") for name, (key, *_) in KEYED_BLOBS.items()]
    fields = [("id", "INT"), ("t", "STRING"), ("g", "ARRAY<BLOB>"), *keyed]
    table = create_table(tmp_path, fields, (), {**EVOLVING, **APART, "target-file-row-num": "5"})
    table.write_arrow(lists(0, 12))
    write_by(tmp_path, new=lists(12, 6))
    names = table.schema.field_names
    wanted = {row["id"]: row for row in lists(0, 18).to_pylist()}
    as_rows = [tuple(row[name] for name in names) for row in wanted.values()]
    assert both_see(tmp_path, [*names]) == as_rows
    # Of each column, files of its own.
    apart = {file.write_cols for file in live_files(get_table(tmp_path)) if file.file_name.endswith(".blob")}
    assert apart == {(name,) for name in names if name not in ("id", "t")}

    new = pa.array([[b"ours", None], None], GALLERY)
    source = pa.table({"id": pa.array([2, 13], pa.int32()), "g": new})
    merge_into(None, get_table(tmp_path), source, "t.id = s.id", [Clause("matched", "update", {"g": "s.g"})])
    wanted[2]["g"], wanted[13]["g"] = new.to_pylist()
    get_table(tmp_path).update({"t": "'new'"}, "id = 3")
    wanted[3]["t"] = "new"
    keyed_new = pa.array([[("z", b"theirs")]], pa.map_(pa.string(), pa.large_binary()))
    write_by(tmp_path, changed=pa.table({"_ROW_ID": pa.array([6], pa.int64()), "text": keyed_new}))
    wanted[6]["text"] = keyed_new.to_pylist()[0]
    compact(None, get_table(tmp_path), full=True)
    as_rows = [tuple(row[name] for name in names) for row in wanted.values()]
    assert both_see(tmp_path, [*names]) == as_rows


def test_descriptors_in_lists_of_blobs(tmp_path: Path) -> None:
    fields = [("id", "INT"), ("g", "ARRAY<BLOB>"), ("m", "MAP<INT, BLOB>")]
    table = create_table(tmp_path, fields, (), EVOLVING)
    outside = tmp_path / "outside.bin"
    outside.write_bytes(b"0123456789")
    place = BlobDescriptor(str(outside), 2, 3).serialize()
    pairs = pa.map_(pa.int32(), pa.large_binary())
    table.write_arrow(
        pa.table(
            {
                "id": pa.array([1, 2], pa.int32()),
                "g": pa.array([[place, b"own", None], None], GALLERY),
                "m": pa.array([None, [(1, place), (2, None)]], pairs),
            }
        )
    )
    wanted = [([b"234", b"own", None], None), (None, [(1, b"234"), (2, None)])]
    assert [tuple(row.values()) for row in get_table(tmp_path).to_arrow(["g", "m"]).to_pylist()] == wanted
    described = get_table(tmp_path).copy({"blob-as-descriptor": "true"}).to_arrow(["g", "m"]).to_pylist()

    def blob(text: bytes | None) -> bytes | None:
        return None if text is None else read_blob(parse_descriptor(text, ""), table.file_io, str(tmp_path))

    assert [blob(text) for text in described[0]["g"]] == [b"234", b"own", None]
    assert [(key, blob(text)) for key, text in described[1]["m"]] == [(1, b"234"), (2, None)]
    twice = pa.MapArray.from_arrays([0, 2], pa.array([1, 1], pa.int32()), pa.array([b"a", b"b"], pa.large_binary()))
    with pytest.raises(DataError, match="a key twice"):
        get_table(tmp_path).write_arrow(pa.table({"id": pa.array([3], pa.int32()), "m": twice}))
    assert get_table(tmp_path).to_arrow().num_rows == 2


def test_blobs_of_other_tables(pypaimon: Path, tmp_path: Path) -> None:
    """Columns of references: to blobs of another table, and to references of a third one."""
    fields = [("id", "INT"), ("w", "BLOB"), ("t", "STRING")]
    catalog = open_warehouse(tmp_path)
    catalog.create_table("db.u", Schema(fields[:2], options={**EVOLVING, **APART, "target-file-row-num": "4"}))
    origin = catalog.get_table("db.u")
    blobs = [None if n == 5 else bytes([65 + n]) * (30 * n) for n in range(12)]
    origin.write_arrow(pa.table({"id": pa.array(range(12), pa.int32()), "w": pa.array(blobs, pa.large_binary())}))
    field = origin.schema.field("w").id
    viewing = {**EVOLVING, "blob-view-field": "w"}
    create_table(tmp_path, fields, (), viewing)
    rows = [0, 5, 11, 3, 3]
    views = pa.array([*(BlobView("db.u", field, row).serialize() for row in rows), None], pa.large_binary())
    new = {"id": pa.array(range(6), pa.int32()), "w": views, "t": [*"abcdef"]}
    get_table(tmp_path).write_arrow(pa.table(new))
    write_by(tmp_path, new=pa.table({**new, "id": pa.array(range(6, 12), pa.int32())}))
    wanted = [*(blobs[row] for row in rows), None] * 2
    assert both_see(tmp_path, ["id", "w"]) == [*enumerate(wanted)]
    table = get_table(tmp_path)
    described = table.copy({"blob-as-descriptor": "true"}).to_arrow(["w"]).column("w").to_pylist()
    actual = [None if one is None else parse_descriptor(one, "") for one in described]
    assert [None if one is None else read_blob(one, table.file_io, str(tmp_path)) for one in actual] == wanted
    # What is written again is the reference, and what it leads to may change.
    table.update({"t": "'new'"}, "id = 2")
    newer = pa.table({"id": pa.array([11], pa.int32()), "w": pa.array([b"new"], pa.large_binary())})
    merge_into(None, origin, newer, "t.id = s.id", [Clause("matched", "update", {"w": "s.w"})])
    compact(None, get_table(tmp_path), full=True)
    wanted[2] = wanted[8] = b"new"
    assert both_see(tmp_path, ["id", "w"]) == [*enumerate(wanted)]

    catalog.create_table("db.v", Schema(fields[:2], options=viewing))
    again = [BlobView("db.t", table.schema.field("w").id, row).serialize() for row in (2, 5)]
    catalog.get_table("db.v").write_arrow(
        pa.table({"id": pa.array([1, 2], pa.int32()), "w": pa.array(again, pa.large_binary())})
    )
    assert catalog.get_table("db.v").to_arrow(["w"]).column("w").to_pylist() == [b"new", None]
    circle = [BlobView("db.v", field, 2).serialize(), BlobView("db.u", field, 99).serialize()]
    for number, (reference, error) in enumerate(zip(circle, (DataError, MissingFileError), strict=True)):
        catalog.get_table("db.v").write_arrow(
            pa.table({"id": pa.array([7 + number], pa.int32()), "w": pa.array([reference], pa.large_binary())})
        )
        with pytest.raises(error):
            catalog.get_table("db.v").to_arrow(where=f"id = {7 + number}")
