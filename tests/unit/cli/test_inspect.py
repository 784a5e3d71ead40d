"""`paimonctl inspect`: what each kind of file says."""

import json
from pathlib import Path
from typing import Any

import pytest

from maintenance.cli.exits import FAILED, REFUSED
from maintenance.cli.main import run
from maintenance.sql import Session

SCRIPT = """
CREATE TABLE t (id INT, city STRING, dt STRING) PARTITIONED BY (dt)
    TBLPROPERTIES ('deletion-vectors.enabled' = 'true', 'bucket' = '-1', 'file-index.bloom-filter.columns' = 'city',
                   'file-index.in-manifest-threshold' = '1 B');
INSERT INTO t VALUES (1, 'Oslo', 'd1'), (2, 'Rome', 'd1'), (3, 'Lima', 'd1');
DELETE FROM t WHERE id IN (1, 3);
CREATE TABLE k (id INT, n INT) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '-1', 'file.format' = 'orc');
INSERT INTO k VALUES (1, 1), (2, 2);
CREATE TABLE a (id INT) TBLPROPERTIES ('file.format' = 'avro');
INSERT INTO a VALUES (1), (2);
CREATE TABLE r (id INT) TBLPROPERTIES ('file.format' = 'row');
INSERT INTO r VALUES (1), (2);
CALL sys.create_tag('t', 'kept');
"""


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    list(Session({"warehouse": str(folder)}).execute(SCRIPT))
    return folder / "default.db"


@pytest.fixture
def inspect(warehouse: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def found(pattern: str, *arguments: str) -> dict[str, Any]:
        path = sorted(warehouse.glob(pattern))[-1]
        assert run(["--json", "inspect", str(path), *arguments]) == 0
        content: dict[str, Any] = json.loads(capsys.readouterr().out)
        return content

    return found


def test_snapshots_schemas_tags_and_hints_are_shown(inspect: Any) -> None:
    snapshot = inspect("t/snapshot/snapshot-2")
    assert (snapshot["kind"], snapshot["id"]) == ("snapshot", 2)
    schema = inspect("t/schema/schema-0")
    assert [field["name"] for field in schema["entries"]] == ["id", "city", "dt"]
    assert inspect("t/tag/tag-kept")["kind"] == "tag"
    assert inspect("t/snapshot/LATEST")["value"] == 2


def test_manifests_and_their_lists_are_shown(inspect: Any, warehouse: Path) -> None:
    names = {path.name for path in warehouse.glob("t/manifest/manifest-*") if "list" not in path.name}
    listed = [
        entry["file"]
        for path in warehouse.glob("t/manifest/manifest-list-*")
        for entry in inspect(f"t/manifest/{path.name}")["entries"]
    ]
    assert set(listed) == names
    entries = [entry for name in names for entry in inspect(f"t/manifest/{name}")["entries"]]
    (added,) = (entry for entry in entries if entry["kind"] == "ADD")
    assert (added["partition"], added["rows"], added["level"]) == ("d1", 3, 0)
    (index,) = inspect("t/manifest/index-manifest-*")["entries"]
    assert (index["partition"], index["index"], index["data files"]) == ("d1", "DELETION_VECTORS", added["file"])


def test_vectors_hashes_and_file_indexes_are_shown(inspect: Any) -> None:
    vectors = inspect("t/index/index-*")
    assert vectors["kind"] == "deletion vectors"
    assert [(each["deleted rows"], each["first"]) for each in vectors["entries"]] == [(2, "0, 2")]
    hashes = inspect("k/index/index-*")
    assert (hashes["kind"], hashes["hashes"]) == ("hash index", 2)
    indexes = inspect("t/dt=d1/bucket-*/*.index")
    assert [(each["column"], each["index"]) for each in indexes["entries"]] == [("city", "bloom-filter")]


def test_data_files_of_each_format_are_shown_with_rows(inspect: Any) -> None:
    parquet = inspect("t/dt=d1/bucket-*/*.parquet", "--rows", "2")
    assert (parquet["rows"], parquet["columns"]["city"]) == (3, "string")
    assert [row["city"] for row in parquet["entries"]] == ["Oslo", "Rome"]
    orc = inspect("k/bucket-*/*.orc")
    assert (orc["rows"], [row["n"] for row in orc["entries"]]) == (2, [1, 2])
    avro = inspect("a/bucket-*/*.avro")
    assert (avro["rows"], avro["entries"]) == (2, [{"id": 1}, {"id": 2}])
    row = inspect("r/bucket-*/*.row")
    assert (row["rows"], row["blocks"], row["kind"]) == (2, 1, "row data file")


def test_what_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, content, code, reported in (
        ("notes.txt", b"hello", REFUSED, "no kind"),
        ("manifest-1-0", b"hello", FAILED, "manifest-1-0"),
        ("x.parquet", b"hello", FAILED, "x.parquet"),
        ("index-1-0", b"\1hello", FAILED, "cut off"),
    ):
        (tmp_path / name).write_bytes(content)
        assert run(["inspect", str(tmp_path / name)]) == code, name
        assert reported in capsys.readouterr().err
    assert run(["inspect", str(tmp_path / "snapshot-9")]) != 0
    assert "does not exist" in capsys.readouterr().err


def test_people_are_shown_as_many_rows_as_they_want(warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = warehouse.glob("t/dt=d1/bucket-*/*.parquet")
    assert run(["inspect", str(path), "--rows", "1"]) == 0
    shown = capsys.readouterr().out
    assert "parquet data file" in shown
    assert "Oslo" in shown
    assert "Rome" not in shown
