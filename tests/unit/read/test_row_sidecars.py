"""Row sidecars: written with their data files, read for single rows, kept by compaction, deleted with their files."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import MissingFileError, OptionError
from maintenance.format.data_formats import open_data_file
from maintenance.format.metadata.data_file import DataFileMeta, written_fields
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.indexes.create_global_index import create_global_index
from maintenance.operations.orphans.remove_orphan_files import remove_orphan_files
from maintenance.operations.rows.merge_clauses import Clause
from maintenance.operations.rows.merge_into import merge_into
from tests.tables import create_table, files_on_disk, live, live_files

EVOLVING = {"bucket": "-1", "row-tracking.enabled": "true", "data-evolution.enabled": "true"}
SIDECARS = {**EVOLVING, "data-evolution.row-sidecar.enabled": "true", "compaction.min.file-num": "2"}
FIELDS = [("id", "INT"), ("v", "STRING"), ("n", "ARRAY<INT>")]


def rows(first: int, count: int) -> pa.Table:
    ids = range(first, first + count)
    lists = pa.array([[n, None] if n % 3 else None for n in ids], pa.list_(pa.int32()))
    return pa.table({"id": pa.array(ids, pa.int32()), "v": [f"v{n}" for n in ids], "n": lists})


def path_of(table: CatalogTable, file: DataFileMeta) -> Path:
    (entry,) = (entry for entry in live(table) if entry.file == file)
    return Path(table.paths.data_file(entry.partition, entry.bucket, file).removeprefix("file:"))


def sidecar_of(table: CatalogTable, file: DataFileMeta) -> Path:
    (name,) = file.extra_files
    assert name == f"{file.file_name}.row"
    return path_of(table, file).with_name(name)


def test_every_file_of_rows_has_one_with_the_same_rows(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, (), SIDECARS)
    table.write_arrow(rows(0, 200))
    table.update({"v": "'new'"}, "id = 7")
    first, second = sorted(live_files(table), key=lambda file: file.max_sequence_number)
    assert second.write_cols == ("v",)
    for file in (first, second):
        sidecar = sidecar_of(table, file)
        columns = written_fields(file, table.schema)
        with pa.OSFile(str(sidecar)) as source:
            beside = open_data_file(source, str(sidecar), {}, columns).read(columns)
        with pa.OSFile(str(path_of(table, file))) as source:
            own = open_data_file(source, file.file_name, {}).read(columns)
        assert beside.to_pylist() == own.to_pylist()


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        (FIELDS, {**SIDECARS, "data-evolution.row-sidecar.enabled": "false"}),
        (FIELDS, {"data-evolution.row-sidecar.enabled": "true"}),
        ([("id", "INT"), ("b", "BLOB")], SIDECARS),
    ],
)
def test_files_of_other_tables_have_none(tmp_path: Path, fields: list[Any], options: dict[str, str]) -> None:
    """Tables without data evolution, and writes that keep columns apart, make none, as in Java."""
    table = create_table(tmp_path, fields, (), options)
    values = {"id": pa.array([1], pa.int32()), "v": ["a"], "n": pa.array([[1]], pa.list_(pa.int32())), "b": [b"x"]}
    table.write_arrow(pa.table({name: values[name] for name, _ in fields}))
    assert [file.extra_files for file in live_files(table)] in ([()], [(), ()])


def test_single_rows_are_read_out_of_it(tmp_path: Path) -> None:
    """The data file is away: what is read comes from the sidecar."""
    table = create_table(tmp_path, FIELDS, (), SIDECARS)
    table.write_arrow(rows(0, 200))
    table.write_arrow(rows(200, 200))
    for file in live_files(table):
        path_of(table, file).rename(tmp_path / file.file_name)
    names = ["_ROW_ID", "id", "v", "n"]

    def read(where: str, **options: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = table.copy(options).to_arrow(names, where=where).to_pylist()
        return found

    expected = [{"_ROW_ID": n, **row} for n, row in enumerate(rows(0, 400).to_pylist())]
    assert read("_ROW_ID = 5") == [expected[5]]
    assert read("_ROW_ID IN (5, 199, 200, 1000000) AND id <> 199") == [expected[n] for n in (5, 200)]
    assert read("_ROW_ID >= 195 AND _ROW_ID < 205") == expected[195:205]
    assert read("_ROW_ID > 395 OR _ROW_ID <= 1") == [*expected[:2], *expected[396:]]
    assert read("_ROW_ID < 0 OR _ROW_ID > 400 OR _ROW_ID IS NULL") == []
    assert read("_ROW_ID = 5", **{"data-evolution.row-sidecar.enabled": "false"}) == [expected[5]]
    few = {"data-evolution.row-sidecar.max-selected-rows": "2"}
    rarely = {"data-evolution.row-sidecar.max-selection-ratio": "0.01"}
    for where, limits in (("_ROW_ID <= 2", few), ("_ROW_ID <= 2", rarely), ("_ROW_ID <= 10", {}), ("id = 5", {})):
        with pytest.raises(MissingFileError):
            read(where, **limits)


def test_single_rows_of_files_with_the_same_rows(tmp_path: Path) -> None:
    """Each column out of the sidecar of the newest file that has it; deleted rows stay deleted."""
    table = create_table(tmp_path, FIELDS, (), {**SIDECARS, "deletion-vectors.enabled": "true"})
    table.write_arrow(rows(0, 200))
    table.update({"v": "'new'"}, "id = 7 OR id = 9")
    table.delete("id = 8")
    for file in live_files(table):
        path_of(table, file).rename(tmp_path / file.file_name)
    found = table.to_arrow(where="_ROW_ID >= 6 AND _ROW_ID <= 9").to_pylist()
    expected = rows(6, 4).to_pylist()
    expected[1]["v"] = expected[3]["v"] = "new"
    assert found == [expected[0], expected[1], expected[3]]


def test_single_rows_with_blobs_and_vectors_beside(tmp_path: Path) -> None:
    """Only those values of the files beside the rows are read that are asked for, in whichever file they are."""
    fields = [("id", "INT"), ("b", "BLOB"), ("v", "VECTOR<FLOAT, 2>"), ("t", "STRING")]
    options = {"vector.file.format": "row", "blob.target-file-size": "200 b", "deletion-vectors.enabled": "true"}
    table = create_table(tmp_path, fields, (), {**EVOLVING, **options})
    ids = range(60)
    blobs = [None if n % 5 == 4 else bytes([n]) * n for n in ids]
    vectors = pa.array([[float(n), -1.0] for n in ids], pa.list_(pa.float32(), 2))
    texts = [f"t{n}" for n in ids]
    table.write_arrow(pa.table({"id": pa.array(ids, pa.int32()), "b": blobs, "v": vectors, "t": texts}))
    source = pa.table({"id": pa.array([7], pa.int32()), "b": [b"\xff"]})
    merge_into(None, table, source, "t.id = s.id", [Clause("matched", "update", {"b": "s.b", "t": "'new'"})])
    table.delete("id = 33")
    whole = {row["id"]: row for row in table.to_arrow().to_pylist()}
    assert (whole[7]["b"], len(whole)) == (b"\xff", 59)
    for wanted in ([7], [0, 6, 7, 33, 34, 59], [33], list(ids)):
        found = table.to_arrow(where=f"_ROW_ID IN ({', '.join(map(str, wanted))})").to_pylist()
        assert found == [whole[n] for n in wanted if n in whole]


def test_rows_that_a_global_index_finds(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, (), SIDECARS)
    table.write_arrow(rows(0, 200))
    create_global_index(None, table, "v", "btree")
    (file,) = live_files(table)
    path_of(table, file).rename(tmp_path / "away")
    assert table.to_arrow(where="v = 'v77'").to_pylist() == rows(77, 1).to_pylist()


def test_a_sidecar_that_is_missing_costs_no_rows(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, (), SIDECARS)
    table.write_arrow(rows(0, 200))
    (file,) = live_files(table)
    sidecar = sidecar_of(table, file)
    content = sidecar.read_bytes()
    sidecar.unlink()
    assert table.to_arrow(where="_ROW_ID = 5").to_pylist() == rows(5, 1).to_pylist()
    (fault,) = fsck(table.file_io, table.location).faults
    assert fault.object.endswith(".row")
    other = create_table(tmp_path / "other", FIELDS, (), SIDECARS)
    other.write_arrow(rows(0, 199))
    sidecar.write_bytes(sidecar_of(other, live_files(other)[0]).read_bytes())
    (fault,) = fsck(table.file_io, table.location).faults
    assert "199 rows, its data file 200" in fault.detail
    sidecar.write_bytes(content)
    assert fsck(table.file_io, table.location, deep=True).faults == ()


def test_compaction_keeps_them_and_expiry_deletes_them_with_their_files(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, (), SIDECARS)
    table.write_arrow(rows(0, 100))
    table.update({"v": "'new'"}, "id = 7")
    table.write_arrow(rows(100, 100))
    before = [sidecar_of(table, file) for file in live_files(table)]
    assert len(before) == 3
    compact(None, table, full=True)
    (file,) = live_files(table)
    sidecar = sidecar_of(table, file)
    path_of(table, file).rename(tmp_path / "away")
    assert table.to_arrow(["v"], where="_ROW_ID IN (7, 120)").column(0).to_pylist() == ["new", "v120"]
    (tmp_path / "away").rename(path_of(table, file))
    assert all(path.exists() for path in before)
    expire_snapshots(table, retain_max=1, retain_min=1)
    assert not any(path.exists() for path in before)
    stray = sidecar.with_name("data-stray-0.parquet.row")
    stray.write_bytes(sidecar.read_bytes())
    remove_orphan_files(None, table, now=datetime.now(UTC) + timedelta(days=2))
    assert not stray.exists()
    assert sidecar.exists()
    assert str(sidecar.name) in {Path(name).name for name in files_on_disk(table)}
    assert fsck(table.file_io, table.location, deep=True).faults == ()


@pytest.mark.parametrize(
    ("key", "text"), [("max-selected-rows", "0"), ("max-selection-ratio", "0"), ("max-selection-ratio", "1.1")]
)
def test_limits_out_of_range(tmp_path: Path, key: str, text: str) -> None:
    table = create_table(tmp_path, FIELDS, (), SIDECARS)
    table.write_arrow(rows(0, 2))
    with pytest.raises(OptionError, match=f"row-sidecar.{key}' = '{text}': expected"):
        table.to_arrow(options={f"data-evolution.row-sidecar.{key}": text})
