"""What `paimonctl` takes and gives: catalogs of tables.yaml, rows as files of each kind, values of each type."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from maintenance.cli.exits import FAILED, REFUSED
from maintenance.cli.main import run
from maintenance.sql import Session

TYPES = "a INT, d DATE, t TIMESTAMP_NTZ, n DECIMAL(10, 2), s STRING, f BOOLEAN"
ROW = "(1, DATE '2024-02-29', TIMESTAMP_NTZ '2024-02-29 12:00:00', 1.50, '007', TRUE)"


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A warehouse with a table `t` of one row and an empty table `u` like it."""
    monkeypatch.delenv("PAIMON_TABLES", raising=False)
    script = f"CREATE TABLE t ({TYPES}); CREATE TABLE u ({TYPES}); INSERT INTO t VALUES {ROW}"
    list(Session({"warehouse": str(tmp_path / "lake")}).execute(script))
    return tmp_path / "lake"


def test_rows_go_out_and_come_in_again(lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = ["--warehouse", str(lake)]
    session = Session({"warehouse": str(lake)})
    expected = session.sql("SELECT * FROM t").to_arrow()
    for end in ("csv", "json", "parquet", "arrow"):
        path = tmp_path / f"rows.{end}"
        assert run([*start, "read", "default.t", "--output", str(path)]) == 0
        assert run([*start, "write", "default.u", str(path)]) == 0, capsys.readouterr().err
        assert session.sql("SELECT * FROM u").to_arrow().to_pylist() == expected.to_pylist(), end
        session.sql("TRUNCATE TABLE u")
    assert list(tmp_path.glob(".rows*")) == []
    assert run([*start, "read", "default.t", "-o", str(tmp_path / "rows.xls")]) == REFUSED
    assert "csv, json, parquet or arrow" in capsys.readouterr().err


def test_files_on_standard_output(lake: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    for output, read in (("parquet", parquet.read_table), ("arrow", feather.read_table)):
        assert run(["--warehouse", str(lake), "--format", output, "read", "default.t", "--columns", "a, s"]) == 0
        rows = read(pa.BufferReader(capfdbinary.readouterr().out))
        assert rows.to_pylist() == [{"a": 1, "s": "007"}]
    two = "SELECT 1 AS a; SELECT 2 AS a"
    assert run(["--warehouse", str(lake), "--format", "arrow", "sql", two]) == REFUSED


def test_values_that_are_not_of_their_type_are_refused(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, content, reported in (
        ("date.csv", "a,d\n1,yesterday\n", "yesterday"),
        ("twice.csv", "a,a\n1,2\n", "two columns 'a'"),
        ("number.json", '{"a": "x"}\n', "number.json"),
        ("bytes.csv", "s\n\ufffd".encode("utf-16"), "bytes.csv"),
    ):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        assert run(["--warehouse", str(lake), "write", "default.u", str(path)]) == REFUSED, name
        assert reported in capsys.readouterr().err
    assert Session({"warehouse": str(lake)}).sql("SELECT * FROM u").to_arrow().num_rows == 0


def test_the_catalog_of_tables_yaml(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tables.yaml"
    path.write_text(f"warehouse: {lake}\ncatalog:\n  case-sensitive: ${{SENSITIVE}}\ntables: []\n")
    monkeypatch.setenv("SENSITIVE", "true")
    assert run(["--tables", str(path), "--json", "tables"]) == 0
    assert [json.loads(line)["table"] for line in capsys.readouterr().out.splitlines()] == ["t", "u"]
    monkeypatch.setenv("PAIMON_TABLES", str(path))
    assert run(["tables", "--json"]) == 0
    assert capsys.readouterr().out.count("default") == 2
    assert run(["--warehouse", str(tmp_path / "other"), "tables", "default"]) == REFUSED, "a warehouse of its own"
    assert run(["--tables", str(path), "--profile", "x", "tables"]) == REFUSED
    monkeypatch.delenv("SENSITIVE")
    capsys.readouterr()
    for content, reported in (
        (path.read_text(), "${SENSITIVE} is not set"),
        ("tables: []", "no 'warehouse'"),
        ("warehouse: [", "line 1"),
        ("- a", "is not a mapping"),
        ("warehouse: /x\ncatalog: 3", "'catalog' is not a mapping"),
    ):
        path.write_text(content)
        assert run(["tables"]) == REFUSED, content
        assert reported in capsys.readouterr().err
    assert run(["--tables", str(tmp_path / "none.yaml"), "tables"]) == REFUSED


def test_a_damaged_table_fails_its_examination(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = ["--warehouse", str(lake), "fsck", "default.t"]
    assert run(start) == 0
    next(lake.glob("default.db/t/bucket-0/*.parquet")).unlink()
    capsys.readouterr()
    assert run([*start, "--json"]) == FAILED
    assert json.loads(capsys.readouterr().out)["kind"] == "missing"
    # What is harmless does not take the place of what is wrong.
    next(lake.glob("default.db/t/snapshot/LATEST")).write_text("no number")
    assert run(start) == FAILED
    assert "missing" in capsys.readouterr().out


def test_more_columns_than_stand_side_by_side_are_lines(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"a_name_of_twenty_{number:03}" for number in range(9)]
    query = "SELECT " + ", ".join(f"{number} AS {name}" for number, name in enumerate(names))
    assert run(["--warehouse", str(lake), "sql", f"{query} UNION ALL {query}"]) == 0
    block = "\n".join(f"{name}  {number}" for number, name in enumerate(names))
    assert capsys.readouterr().out == f"{block}\n\n{block}\n"
