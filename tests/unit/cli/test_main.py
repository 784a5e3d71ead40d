"""`paimonctl`: what it prints, and what its exit codes say."""

import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from maintenance.cli.exits import NOTHING_TO_DO, REFUSED
from maintenance.cli.main import cli, run
from maintenance.operation_names import commands
from maintenance.sql import Session
from maintenance.sql.procedures.registry import PROCEDURES


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql("CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED, b STRING) WITH ('bucket' = '1')")
    session.sql("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    return str(tmp_path)


def test_every_procedure_has_a_command_or_is_another_name_of_one() -> None:
    other_names = {
        "copy", "data_evolution_merge_into", "fleet_costs", "fleet_history", "fleet_report", "plan_fleet",
        "rollback_to", "simulate_settings", "table_figures"
    }  # fmt: skip
    assert set(PROCEDURES) - set(commands()) == other_names
    assert set(commands()) <= set(PROCEDURES)


def test_rows_that_match_are_printed_as_json(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--warehouse", warehouse, "--json", "read", "default.t", "--where", "a > 1", "--columns", "b"]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [{"b": "y"}]


def test_a_script_prints_each_result(warehouse: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.sql"
    script.write_text("INSERT INTO t VALUES (3, 'z');\nSELECT COUNT(*) AS n FROM t;")
    assert run(["--warehouse", warehouse, "--format", "csv", "sql", "-f", str(script)]) == 0
    assert capsys.readouterr().out == "n\n3\n"


def test_tables_are_listed_and_shown_in_either_dialect(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    script = "CREATE DATABASE empty; CREATE DATABASE shop; CREATE TABLE shop.o (a INT)"
    list(Session({"warehouse": warehouse}).execute(script))
    for given, expected in (
        ([], [("default", "t"), ("shop", "o")]),
        (["shop"], [("shop", "o")]),
        (["empty"], []),
    ):
        assert run(["--warehouse", warehouse, "--json", "tables", *given]) == 0
        actual = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line]
        assert [(row["database"], row["table"]) for row in actual] == expected
    assert run(["--warehouse", warehouse, "tables", "missing"]) == REFUSED
    for dialect, key in (("spark", "'primary-key' = 'a'"), ("flink", "PRIMARY KEY (`a`) NOT ENFORCED")):
        assert run(["--warehouse", warehouse, "--dialect", dialect, "show", "default.t"]) == 0
        assert key in capsys.readouterr().out


def test_files_are_written_and_read_again(
    warehouse: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns by their names; values as the table's types take them."""
    rows = pa.table({"b": ["p", None], "a": pa.array([1, 9], pa.int64())})
    files = {name: tmp_path / f"rows.{name}" for name in ("parquet", "csv", "json", "arrow")}
    pq.write_table(rows, files["parquet"])
    feather.write_feather(rows, files["arrow"])
    files["csv"].write_text("b,a\np,1\n,9\n")
    files["json"].write_text('{"b": "p", "a": 1}\n{"a": 9}\n')
    for path in files.values():
        Session({"warehouse": warehouse}).sql("DELETE FROM t")
        assert run(["--warehouse", warehouse, "write", "default.t", str(path)]) == 0, path
        assert "2 rows in snapshot" in capsys.readouterr().out
        assert run(["--warehouse", warehouse, "--json", "read", "default.t"]) == 0
        actual = {row["a"]: row["b"] for row in map(json.loads, capsys.readouterr().out.splitlines())}
        assert actual == {1: "p", 9: None}, path
    before = list(tmp_path.glob("default.db/t/snapshot/snapshot-*"))
    for name, content, reported in (
        ("odd.csv", "a,c\n1,x\n", "'c'"),
        ("odd.json", '{"a": "text"}\n', "a"),
        ("odd.txt", "a\n", "csv, json, parquet or arrow"),
        ("cut.parquet", "PAR1", "cut.parquet"),
    ):
        (tmp_path / name).write_text(content)
        assert run(["--warehouse", warehouse, "write", "default.t", str(tmp_path / name)]) == REFUSED, name
        assert reported in capsys.readouterr().err
    assert list(tmp_path.glob("default.db/t/snapshot/snapshot-*")) == before


def test_what_is_wrong_is_refused_with_its_place(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--warehouse", warehouse, "sql", "SELECT c FROM t"]) == REFUSED
    assert "column 'c' does not exist (line 1, column 8)" in capsys.readouterr().err
    assert run(["--warehouse", warehouse, "create-tag", "default.t", "x", "--snapshot-id", "77"]) == REFUSED
    assert run(["tables"]) == REFUSED


def test_an_operation_says_whether_it_did_anything(warehouse: str) -> None:
    expire = ["--warehouse", warehouse, "expire-snapshots", "default.t", "--retain-max", "1", "--retain-min", "1"]
    assert run(expire) == NOTHING_TO_DO
    Session({"warehouse": warehouse}).sql("INSERT INTO t VALUES (3, 'z')")
    assert run([*expire, "--dry-run"]) == 0
    assert run([*expire, "--dry-run"]) == 0
    assert run(expire) == 0
    assert run(expire) == NOTHING_TO_DO


# What takes long to import.
HEAVY = ("pandas", "pyspark", "dagster", "polars", "fastavro", "fsspec", "yaml",
         "duckdb", "sqlglot", "pyarrow.compute", "pyarrow.dataset", "pyarrow.parquet", "maintenance.table.table",
         "maintenance.sql", "maintenance.operations", "maintenance.metastore.rest.catalog")  # fmt: skip


def loaded_by(*arguments: str) -> tuple[set[str], str]:
    """The heavy packages that a command loads, and what it prints."""
    program = (
        "import sys; from maintenance.cli.main import run; code = run(sys.argv[1:]);"
        f"print(*[name for name in {(*HEAVY, 'pyarrow')!r} if name in sys.modules], sep=',');"
        "sys.exit(code)"
    )
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *shown, names = done.stdout.splitlines()
    return set(names.split(",")) - {""}, "\n".join(shown)


def test_commands_load_what_they_need(warehouse: str) -> None:
    loaded, shown = loaded_by("--help")
    assert not loaded
    assert "expire-snapshots" in shown
    loaded, shown = loaded_by("--warehouse", warehouse, "--format", "csv", "tables")
    assert not loaded
    assert "default,t" in shown
    loaded, shown = loaded_by("--warehouse", warehouse, "--format", "csv", "sql", "SELECT a, b FROM t WHERE a = 1")
    assert "1,x" in shown
    assert not loaded & {"pandas", "pyspark", "dagster", "yaml"}


def test_the_help_lists_each_command_once_below_a_heading(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    listed = re.findall(r"^  ([a-z-]+) (?= *[A-Z])", shown.partition("\nTables:\n")[2], re.MULTILINE)
    assert sorted(listed) == cli.list_commands(click.Context(cli))
    assert "Others:" not in shown


def test_pandas_is_found_by_whoever_asks_after_arrow_did() -> None:
    program = (
        "import sys; from maintenance.cli.arrow import load_arrow; load_arrow(); import pyarrow as pa;"
        "rows = pa.table({'a': [1]}); assert 'pandas' not in sys.modules;"
        "import pandas as pd; assert pa.Table.from_pandas(rows.to_pandas()).to_pylist() == [{'a': 1}]"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
