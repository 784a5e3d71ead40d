"""Data files of formats that only pypaimon shares with us: what either writes, both read, compacted or not."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from maintenance.catalog import AddColumn, CatalogTable, DropColumn, RenameColumn, SchemaChange, UpdateColumnType
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from tests.java.samples import Values, arrow_of, columns_of, comparable, rows_in, rows_of
from tests.pypaimon.test_columns_apart import VECTOR, both_see, write_by
from tests.pypaimon.test_read_by_pypaimon import _IN_AVRO, EVOLVING, pypaimon, read_by
from tests.tables import create_table, get_table, live_files, open_warehouse

__all__ = ["pypaimon"]
# Each with the values that both keep in it, and options.
FORMATS: dict[str, tuple[Values, dict[str, str]]] = {
    "row": (_IN_AVRO, {"file.block-size": "1 kb"}),
    "vortex": (_IN_AVRO, {}),
    "lance": (_IN_AVRO, {}),
    "mosaic": ({text: values for text, values in _IN_AVRO.items() if text != "TIMESTAMP(0)"}, {}),
}


TABLES = pytest.mark.parametrize(
    ("file_format", "keys"),
    [("row", ()), ("row", ("id",)), ("vortex", ()), ("lance", ("id",)), ("mosaic", ("id",))],
)


def same(table: CatalogTable, pypaimon: Path, warehouse: Path) -> None:
    (theirs,) = read_by([str(warehouse)])
    ours = table.to_arrow()
    assert comparable(rows_in(theirs.cast(ours.schema))) == comparable(rows_in(ours))


@TABLES
def test_every_type_that_either_writes_is_read_by_both(
    pypaimon: Path, tmp_path: Path, file_format: str, keys: tuple[str, ...]
) -> None:
    values, options = FORMATS[file_format]
    columns = columns_of(values)
    options = {"file.format": file_format, "bucket": "1" if keys else "-1", **options}
    table = create_table(tmp_path, columns, keys, options)
    ours, theirs = (rows_of(range(start, start + 14), version, values) for start, version in ((0, 0), (9, 1)))
    table.write_arrow(arrow_of(ours, columns))
    write_by(tmp_path, new=arrow_of(theirs, columns))
    assert {Path(file.file_name).suffix for file in live_files(table)} == {f".{file_format}"}
    expected = {row[1]: row for row in (*ours, *theirs)}.values() if keys else (*ours, *theirs)
    assert comparable(rows_in(table.to_arrow())) == comparable(expected)
    compact(None, get_table(tmp_path), full=True)
    assert comparable(rows_in(table.to_arrow())) == comparable(expected)
    same(table, pypaimon, tmp_path)
    assert fsck(table.file_io, table.location, deep=True).faults == ()


@pytest.mark.parametrize("file_format", FORMATS)
def test_columns_of_the_same_rows(pypaimon: Path, tmp_path: Path, file_format: str) -> None:
    """Row tracking, blobs beside, vectors inside and beside, columns that change, deletions, and compactions."""
    _, options = FORMATS[file_format]
    fields = [("id", "INT"), ("b", "BLOB"), ("v", "VECTOR<FLOAT, 2>"), ("t", "STRING")]
    # Which format holds no vectors has files of another beside it.
    options = options | ({"vector.file.format": "lance"} if file_format == "mosaic" else {})
    options = {"bucket": "-1", "file.format": file_format, **EVOLVING, **options, "deletion-vectors.enabled": "true"}
    table = create_table(tmp_path, fields, (), {**options, "blob.target-file-size": "100 b"})

    def rows(first: int, count: int) -> pa.Table:
        ids = range(first, first + count)
        blobs = pa.array([None if n % 4 == 3 else bytes([n]) * (9 * n) for n in ids], pa.large_binary())
        vectors = pa.array([[float(n), -1.5] for n in ids], VECTOR)
        return pa.table({"id": pa.array(ids, pa.int32()), "b": blobs, "v": vectors, "t": [f"t{n}" for n in ids]})

    table.write_arrow(rows(0, 8))
    write_by(tmp_path, new=rows(8, 5))
    expected: dict[int, list[Any]] = {row["id"]: list(row.values())[1:] for row in rows(0, 13).to_pylist()}
    names = ["id", "b", "v", "t"]
    assert both_see(tmp_path, names) == [(n, *values) for n, values in expected.items()]
    get_table(tmp_path).update({"t": "'new'"}, "id IN (2, 9)")
    changed = pa.table({"_ROW_ID": pa.array([1, 10], pa.int64()), "v": pa.array([[9, 9], [8, 8]], VECTOR)})
    write_by(tmp_path, changed=changed)
    expected[2][2] = expected[9][2] = "new"
    expected[1][1], expected[10][1] = [9.0, 9.0], [8.0, 8.0]
    assert both_see(tmp_path, names) == [(n, *values) for n, values in expected.items()]
    compact(None, get_table(tmp_path), full=True)
    assert both_see(tmp_path, names) == [(n, *values) for n, values in expected.items()]
    get_table(tmp_path).delete("id = 4 OR id = 11")
    del expected[4], expected[11]
    assert both_see(tmp_path, names) == [(n, *values) for n, values in expected.items()]


def test_sidecars_of_both_give_rows_without_the_data_files(pypaimon: Path, tmp_path: Path) -> None:
    """Both write and compact or change them, and find rows in them when the data files are away."""
    options = {"bucket": "-1", **EVOLVING, "data-evolution.row-sidecar.enabled": "true"}
    table = create_table(tmp_path, [("id", "INT"), ("v", "STRING")], (), options)
    ids = pa.array(range(100), pa.int32())
    for number in range(2):
        rows = pa.table({"id": pc.add(ids, 100 * number), "v": [f"v{n}" for n in range(100)]})
        if number:
            write_by(tmp_path, new=rows)
        else:
            table.write_arrow(rows)
    changed = pa.table({"_ROW_ID": pa.array([5, 150], pa.int64()), "v": ["theirs", "theirs, too"]})
    write_by(tmp_path, changed=changed)
    get_table(tmp_path).update({"v": "'ours'"}, "id = 77")
    files = live_files(table)
    assert [len(file.extra_files) for file in files] == [1] * len(files)
    assert len(files) >= 4
    expected = {5: "theirs", 77: "ours", 150: "theirs, too", 199: "v99"}
    folder = Path(table.location.removeprefix("file:")) / "bucket-0"
    for compacted in (False, True):
        if compacted:
            compact(None, get_table(tmp_path), full=True)
        away = [folder / file.file_name for file in live_files(table)]
        for path in away:
            path.rename(tmp_path / path.name)
        found = get_table(tmp_path).to_arrow(where="_ROW_ID IN (5, 77, 150, 199)")
        assert dict(zip(*found.to_pydict().values(), strict=True)) == expected
        (theirs,) = read_by([str(tmp_path)], "id", "v", where="_ROW_ID=5")
        assert theirs.to_pylist() == [{"id": 5, "v": "theirs"}]
        for path in away:
            (tmp_path / path.name).rename(path)
    assert fsck(table.file_io, table.location, deep=True).faults == ()


@TABLES
def test_columns_that_changed_are_read_by_both(
    pypaimon: Path, tmp_path: Path, file_format: str, keys: tuple[str, ...]
) -> None:
    fields = [("id", "INT NOT NULL"), ("a", "STRING"), ("b", "INT")]
    numbers, texts = pa.array([1, 2, 3], pa.int32()), ["x", None, "y"]
    rows = {"id": numbers, "a": texts, "b": numbers}
    changes: list[SchemaChange] = [RenameColumn("a", "z"), AddColumn("n", "DATE"), UpdateColumnType("b", "BIGINT")]
    expected: list[dict[str, Any]] = [{"id": n, "z": text, "b": n, "n": None} for n, text in enumerate(texts, 1)]
    if file_format != "mosaic":  # which has no rows in rows
        fields.append(("c", "ROW<x INT, y STRING>"))
        pair = pa.struct([("x", pa.int32()), ("y", pa.string())])
        rows["c"] = pa.array([{"x": 1, "y": "a"}, None, {"x": None, "y": "b"}], pair)
        changes.append(DropColumn(("c", "x")))
        expected = [{**row, "c": c} for row, c in zip(expected, ({"y": "a"}, None, {"y": "b"}), strict=True)]
    table = create_table(tmp_path, fields, keys, {"bucket": "1" if keys else "-1", "file.format": file_format})
    table.write_arrow(pa.table(rows))
    open_warehouse(tmp_path).alter_table("db.t", changes)
    table = get_table(tmp_path)
    assert table.to_arrow().sort_by("id").to_pylist() == expected
    assert table.to_arrow(where="b = 3", columns=["z"]).to_pylist() == [{"z": "y"}]
    new = pa.table(
        {
            "id": pa.array([9], pa.int32()),
            "z": ["new"],
            "b": pa.array([2**40]),
            "n": pa.array([5], pa.int32()).cast(pa.date32()),
        }
    )
    table.write_arrow(new)
    compact(None, table, full=True)
    assert [row["b"] for row in table.to_arrow().sort_by("id").to_pylist()] == [1, 2, 3, 2**40]
    same(table, pypaimon, tmp_path)
