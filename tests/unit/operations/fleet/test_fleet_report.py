"""What was done, what is wrong and how large tables are: the same in Python, in SQL and in the shell."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from maintenance.catalog import open_catalog
from maintenance.cli.exits import FAILED
from maintenance.cli.main import run
from maintenance.operations import fleet_history, fleet_report, table_figures
from maintenance.operations.history import FAILED as HAS_FAILED
from maintenance.operations.history import HistoryEntry, write_history
from maintenance.sql import Session
from tests.tables import create_table, keyed

WHERE = "_maintenance.history"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    create_table(tmp_path, name="db.t").write_arrow(keyed({1: "a"}))
    now = datetime.now(UTC)
    entries = [
        HistoryEntry(now - timedelta(hours=1), "db.t", "compact", seconds=2.0, files_before=3, files_after=1),
        HistoryEntry(
            now - timedelta(hours=3), "db.t", "expire_tags", HAS_FAILED, details={"found": "the disk is full"}
        ),
        HistoryEntry(now - timedelta(days=3), "db.gone", "compact"),
    ]
    write_history(open_catalog({"warehouse": str(tmp_path)}), WHERE, entries)
    return tmp_path


def test_python_sql_and_the_shell_say_the_same_of_the_past(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deeds = fleet_history(open_catalog({"warehouse": str(lake)}), table="db.t").deeds
    assert [(deed.operation, deed.outcome) for deed in deeds] == [("compact", "succeeded"), ("expire tags", "failed")]
    session = Session({"warehouse": str(lake)}, dialect="flink")
    rows = session.sql("CALL sys.history(`table` => 'db.t')").to_arrow().to_pylist()
    assert run(["--warehouse", str(lake), "history", "db.t", "--json"]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == rows
    assert [(row["operation"], row["files"], row["found"]) for row in rows] == [
        ("compact", [3, 1], ""),
        ("expire tags", [None, None], "the disk is full"),
    ]
    assert session.sql("CALL sys.history(since => '1 min')").to_arrow().num_rows == 0
    assert run(["--warehouse", str(lake), "history", "--since", "1 min"]) == 0
    assert capsys.readouterr().out.startswith(f"{WHERE} has nothing of the last 1 min")


def test_python_sql_and_the_shell_give_the_same_report(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = fleet_report(open_catalog({"warehouse": str(lake)}))
    assert found.summary.startswith("2 operations on 1 table, 1 failure, ")
    (row,) = Session({"warehouse": str(lake)}).sql("CALL sys.report()").to_arrow().to_pylist()
    assert run(["--warehouse", str(lake), "report", "--json"]) == FAILED
    told = json.loads(capsys.readouterr().out)
    moments = ("since", "until")  # each is told a moment after the other
    assert {name: told[name] for name in told if name not in moments} == {
        name: row[name] for name in row if name not in moments
    }
    assert datetime.fromisoformat(told["until"]) - datetime.fromisoformat(told["since"]) == timedelta(days=1)
    assert told["summary"] == found.summary
    assert run(["--warehouse", str(lake), "report", "--since", "2 h"]) == 0
    assert "Failed" not in capsys.readouterr().out


def test_figures_are_the_rows_of_the_long_list(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = table_figures(open_catalog({"warehouse": str(lake)}), database="db").to_pylist()
    assert Session({"warehouse": str(lake)}).sql("CALL sys.table_figures('db')").to_arrow().to_pylist() == rows
    assert run(["--warehouse", str(lake), "tables", "db", "--long", "--json"]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == rows
    assert [(row["table"], row["rows"], row["files"]) for row in rows] == [("t", 1, 1)]
