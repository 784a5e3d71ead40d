"""`paimonctl report`: what is wrong now with all tables, whose they are, and sizes as people read them."""

import json
import re
from pathlib import Path

import pytest

from maintenance.cli.exits import FAILED
from maintenance.cli.main import run
from maintenance.operations.compaction.compact import compact
from maintenance.project.config import TablePattern
from tests.browser.faulty_fleet import FAULTS, HEALTHY, PROOF, Fleet
from tests.tables import create_table, keyed

TABLES = """\
warehouse: {lake}
patterns:
  - {{pattern: "db.*", owners: ["team:lake"]}}
  - {{pattern: "db.*", without: ["db.healthy"], retention: {{keep_at_least: 1, keep_at_most: 1, time_retained: 1 ms}}}}
tables:
  - {{identifier: db.broken, owners: ["ann@example.com"]}}
  - {{identifier: db.helthy}}
  - {{identifier: db.later, columns: {{v: STRING}}}}
"""


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """A lake on which nothing was ever done: one table is whole, one has lost its snapshot, one hides its rows."""
    lake = tmp_path / "lake"
    create_table(lake, name="db.healthy").write_arrow(keyed({1: "a"}))
    broken = create_table(lake, name="db.broken")
    broken.write_arrow(keyed({1: "a"}))
    Path(broken.paths.snapshot(1)).write_bytes(b"{")
    create_table(lake, options={"merge-engine": "first-row"}, name="db.hidden").write_arrow(keyed({1: "a"}))
    path = tmp_path / "tables.yaml"
    path.write_text(TABLES.format(lake=lake))
    return path


def test_a_table_that_nothing_was_done_to_is_open_with_its_owner(
    tables: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--tables", str(tables), "report"]) == FAILED
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "db.broken (ann@example.com): readable: not valid JSON" in "\n".join(lines)
    assert any(line.startswith("db.hidden (team:lake): rows_visible: 1 committed row in 1 file is") for line in lines)
    assert any("table 'db.helthy' does not exist. Did you mean 'db.healthy'?" in line for line in lines)
    assert not any(line.startswith(("db.healthy", "db.later")) for line in lines)


def test_the_report_of_a_morning_names_each_of_ten_faults_with_its_cause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet = Fleet(tmp_path, "http://127.0.0.1:9/hook")
    fleet.build()
    assert compact(None, fleet.table(PROOF), full=True).failed, "its proof fails, and files stay in its quarantine"
    capsys.readouterr()
    assert run(["--tables", str(fleet.yaml), "report"]) == FAILED
    lines = capsys.readouterr().out.splitlines()
    assert "; 10 open problems now." in lines[0]
    for fault in FAULTS:
        (line,) = [line for line in lines if line.startswith(f"  {fault.table}: {fault.check}: ")]
        assert fault.cause in line
        assert " Next step: " in line
    assert not [line for line in lines if line.startswith(f"  {HEALTHY}: ")]


def test_sizes_of_a_plan_have_units_on_a_terminal_and_are_numbers_for_programs(
    tables: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = ["--tables", str(tables), "compact", "db.hidden", "--compact-strategy", "full", "--dry-run"]
    assert run(plan) == 0
    assert re.search(r"bucket 0 +1 +[0-9,.]+ (bytes|KiB) ", capsys.readouterr().out)
    assert run([*plan, "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[0])
    assert told["bytes"] > 0


def test_a_forecast_goes_by_the_last_entry_about_the_table(tables: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = ["--tables", str(tables), "forecast"]
    assert run([*start, "db.hidden"]) == 0
    shown = capsys.readouterr()
    assert "By retention.keep_at_least = 1 (tables.yaml, line 4)" in shown.err
    assert "0 bytes" in shown.out
    run([*start, "db.healthy"])
    assert "By retention" not in capsys.readouterr().err


def test_an_entry_is_about_the_tables_that_match_it_but_for_its_exceptions() -> None:
    assert TablePattern(pattern="db.*").matches("db.orders")
    assert not TablePattern(pattern="DB.*").matches("db.orders")
    assert not TablePattern(pattern="db.*", without=("db.o*",)).matches("db.orders")
