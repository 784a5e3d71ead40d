"""Plans of `paimonctl`: kept by a dry run, carried out exactly or not at all; exit codes on the way."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from maintenance.catalog import open_catalog
from maintenance.cli.exits import NOTHING_TO_DO, REFUSED
from maintenance.cli.main import run
from maintenance.errors import OutdatedPlanError, SqlError
from maintenance.operations.history import HISTORY_DATABASE, SUCCEEDED, HistoryEntry, history_table, write_history
from maintenance.sql import Session
from maintenance.sql.procedures.registry import PROCEDURES
from tests.planned_work import SCRIPT, WORK, arguments_of, prepare


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    list(Session({"warehouse": str(tmp_path)}).execute(SCRIPT))
    return str(tmp_path)


# tests/unit/operations/rows/test_compact_chain_table.py tries it.
OF_CHAIN_TABLES = {"compact-chain-table"}
# They need a catalog with format tables: test_migrate.py and the tests of the Hive catalog try them.
OF_FORMAT_TABLES = {"migrate-database", "migrate-table"}


def test_every_operation_with_plans_is_tried() -> None:
    planned = {name.replace("_", "-") for name, each in PROCEDURES.items() if each.has_plans}
    assert planned == {*WORK, *OF_FORMAT_TABLES, *OF_CHAIN_TABLES}


@pytest.mark.parametrize("command", WORK)
def test_a_dry_run_keeps_a_plan_that_is_carried_out(
    command: str, warehouse: str, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(warehouse, command)
    arguments = arguments_of(warehouse, command)
    start = ["--warehouse", warehouse, command]
    before = sorted(str(path) for path in Path(warehouse).rglob("*") if "_maintenance" not in path.parts)
    capsys.readouterr()
    assert run([*start, *arguments, "--dry-run", "--json"]) == 0
    *groups, kept = map(json.loads, capsys.readouterr().out.splitlines())
    assert groups
    assert all(group["group"] for group in groups)
    after = sorted(str(path) for path in Path(warehouse).rglob("*") if "_maintenance" not in path.parts)
    assert after == before
    assert run([*start, *arguments, "--plan"]) == 0
    printed = capsys.readouterr().out.strip()
    assert len(printed) == len(kept["plan"]) == 16
    assert run([*start, "--apply", printed]) == 0, capsys.readouterr().err
    again = run([*start, "--apply", kept["plan"]])
    assert again in (0, REFUSED, NOTHING_TO_DO)
    assert (command == "remove-orphan-files") == (again == NOTHING_TO_DO), "what is gone is gone"


STATEMENTS = {
    "delete": "DELETE FROM t WHERE a = 1",
    "a condition that a query evaluates": "DELETE FROM t WHERE a % 2 = 1",
    "update": "UPDATE t SET a = 7 WHERE a = 1",
    "a value that a query evaluates": "UPDATE t SET a = a * 7 WHERE a = 1",
    "merge": "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET a = s.b "
    "WHEN NOT MATCHED THEN INSERT (a, p) VALUES (s.b, '20200101')",
    "call": "CALL sys.drop_partition('default.t', 'p=20200101')",
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_is_planned_and_applied_by_the_id(
    statement: str, warehouse: str, capsys: pytest.CaptureFixture[str]
) -> None:
    session = Session({"warehouse": warehouse})
    list(session.execute("CREATE TABLE s (a INT, b INT); INSERT INTO s VALUES (1, 5), (3, 6)"))
    before = session.sql("SELECT a FROM t ORDER BY a").to_arrow().column(0).to_pylist()
    start = ["--warehouse", warehouse]
    capsys.readouterr()
    assert run([*start, "sql", STATEMENTS[statement], "--dry-run", "--json"]) == 0
    *groups, kept = map(json.loads, capsys.readouterr().out.splitlines())
    assert groups
    assert session.sql("SELECT a FROM t ORDER BY a").to_arrow().column(0).to_pylist() == before == [1, 2]
    assert run([*start, "apply", kept["plan"]]) == 0, capsys.readouterr().err
    after = {"delete": [2], "a condition that a query evaluates": [2], "merge": [2, 5, 6], "call": []}
    assert session.sql("SELECT a FROM t ORDER BY a").to_arrow().column(0).to_pylist() == after.get(statement, [2, 7])
    assert run([*start, "apply", kept["plan"]]) == REFUSED


def test_a_merge_whose_source_has_changed_is_refused(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    session = Session({"warehouse": warehouse})
    list(session.execute("CREATE TABLE s (a INT, b INT); INSERT INTO s VALUES (1, 5)"))
    plan = session.plan(STATEMENTS["merge"])
    assert [group.name.partition(" ")[0] for group in plan.groups] == ["p=20200101", "new"]
    session.sql("INSERT INTO t VALUES (9, '20210101')")
    assert session.plan(STATEMENTS["merge"]).groups == plan.groups, "what others write elsewhere does not matter"
    session.sql("UPDATE s SET b = 6 WHERE a = 1")
    with pytest.raises(OutdatedPlanError, match="new rows: was 1 updated; what is written has the digest"):
        session.apply(plan)
    session.sql("UPDATE s SET b = 5 WHERE a = 1")
    rows = session.apply(plan).to_arrow().to_pylist()
    assert (rows[0]["updated_rows"], rows[0]["inserted_rows"]) == (1, 0)
    for text, actual in (("SELECT 1", "have no plans"), ("CALL sys.fsck('default.t')", "has no plan")):
        with pytest.raises(SqlError, match=actual):
            session.plan(text)


def test_a_clone_is_of_the_snapshot_that_was_planned(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path / "here")})
    list(session.execute(SCRIPT))
    (tmp_path / "there").mkdir()
    conf = f"warehouse={tmp_path}/there"
    call = f"CALL sys.clone(database => 'default', `table` => 't', target_catalog_conf => '{conf}')"
    plan = session.plan(call)
    assert [(group.name, len(group.files)) for group in plan.groups] == [("table default.t", 0), ("new files", 2)]
    session.sql("INSERT INTO t VALUES (3, '20200103')")
    (row,) = session.apply(plan).to_arrow().to_pylist()
    assert (row["source_snapshot_id"], row["copied_files"]) == (2, 2)
    with pytest.raises(OutdatedPlanError, match=r"table default\.t: nothing left to do"):
        session.apply(plan)
    session.sql("CALL sys.drop_partition('default.t', 'p=20200101')")
    plan = session.plan(call)
    assert [(group.name, len(group.files)) for group in plan.groups] == [("new files", 1), ("files of the copy", 2)]
    assert session.apply(plan).to_arrow().to_pylist()[0]["leaving_files"] == 2
    secret = call.replace(conf, f"{conf},s3.secret-key=abc")
    with pytest.raises(SqlError, match=r"'s3\.secret-key' of target_catalog_conf is a secret"):
        session.plan(secret)


def test_what_a_plan_refuses(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    start = ["--warehouse", warehouse, "compact"]
    assert run([*start, "default.t", "--options", "target-file-size=64 mb", "--plan"]) == 0
    plan = capsys.readouterr().out.strip()
    stored = json.loads((Path(warehouse) / f"_maintenance/plans/{plan}.json").read_text())
    assert stored["table_options"] == {"target-file-size": "64 mb"}
    for arguments, reported in (
        (["compact", "--apply", "0" * 16], "there is no plan"),
        (["compact", "--apply", "nonsense"], "is not a plan id"),
        (["compact", "default.u", "--apply", plan], "this plan is about compact of default.t"),
        (["compact", "--apply", plan, "--where", "p = '1'"], "'where' does not go with --apply"),
        (["expire-snapshots", "--apply", plan], "this plan is about compact of default.t"),
        (["compact"], "Missing argument"),
    ):
        assert run(["--warehouse", warehouse, *arguments]) == REFUSED, arguments
        assert reported in capsys.readouterr().err
    Session({"warehouse": warehouse}).sql("CALL sys.compact('default.t')")
    capsys.readouterr()
    assert run([*start, "--apply", plan]) == REFUSED
    assert "the table has changed" in capsys.readouterr().err
    assert run([*start, "default.t", "--dry-run"]) == NOTHING_TO_DO
    assert run([*start, "default.t", "--plan"]) == NOTHING_TO_DO


def test_a_place_that_keeps_no_plans_still_has_dry_runs(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    (Path(warehouse) / "_maintenance").write_text("in the way")
    assert run(["--warehouse", warehouse, "compact", "default.t", "--dry-run"]) == 0
    assert "the plan is not kept" in capsys.readouterr().err
    assert run(["--warehouse", warehouse, "compact", "default.t", "--plan"]) not in (0, NOTHING_TO_DO)


def test_lines_of_progress_are_on_standard_error(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--warehouse", warehouse, "compact", "default.t", "--partition", "p=20200101", "--json"]) == 0
    written = capsys.readouterr()
    assert "1 of 1 groups rewritten\n" in written.err
    assert [json.loads(line) for line in written.out.splitlines()] == [{"result": True}]


def test_people_are_told_what_was_done_in_sentences(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    start = ["--warehouse", warehouse]
    assert run([*start, "compact", "default.t", "--plan"]) == 0
    assert run([*start, "apply", capsys.readouterr().out.strip()]) == 0
    assert re.fullmatch(
        r"default\.t: \d+ files? of .+ in \d+ buckets? became \d+ files? of .+\.\n"
        r"The table had \d+ files? before and has \d+ now\.\n",
        capsys.readouterr().out,
    )
    assert run([*start, "compact", "default.t"]) == NOTHING_TO_DO
    assert capsys.readouterr().out == "default.t: there was nothing to do.\n"
    assert run([*start, "create-tag", "default.t", "one"]) == 0
    assert capsys.readouterr().out == "Done.\n"
    assert run([*start, "expire-snapshots", "default.t", "--retain-max", "1", "--retain-min", "1"]) == 0
    assert re.fullmatch(
        r"default\.t: \d+ snapshots? expired, \d+ files? of .+ went with them\.\nSnapshot \d+ remains\.\n",
        capsys.readouterr().out,
    )
    assert run([*start, "delete-tag", "default.t", "one"]) == 0
    assert capsys.readouterr().out.startswith("default.t: 1 tag deleted (one), 1 file of ")


def test_partitions_of_one_folder_are_dropped_as_planned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = Session({"warehouse": str(tmp_path)})
    session.sql("CREATE TABLE t (a INT, p STRING) PARTITIONED BY (p)")
    session.sql("INSERT INTO t VALUES (1, NULL), (2, ''), (3, '__DEFAULT_PARTITION__'), (4, 'O\\'Neil')")
    start = ["--warehouse", str(tmp_path), "drop-partition"]
    name = "p=__DEFAULT_PARTITION__"
    assert run([*start, "default.t", name, "--dry-run"]) not in (0, NOTHING_TO_DO)
    assert "may mean several partitions: p IS NULL or p = '' or" in " ".join(capsys.readouterr().err.split())
    for given, left in (("p=''", [1, 3, 4]), ("p IS NULL", [3, 4]), ("p=O'Neil", [3]), (name, [])):
        assert run([*start, "default.t", given, "--plan"]) == 0
        assert run([*start, "--apply", capsys.readouterr().out.strip()]) == 0
        capsys.readouterr()
        assert sorted(session.sql("SELECT a FROM t").to_arrow()["a"].to_pylist()) == left


def test_a_dry_run_says_how_long_past_runs_took(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    start = ["--warehouse", warehouse, "compact", "default.t", "--compact-strategy", "full"]
    history, catalog = history_table(HISTORY_DATABASE), open_catalog({"warehouse": warehouse})
    for seconds, said in (None, None), (30.0, "By past runs this takes about"):
        if seconds is not None:
            entry = HistoryEntry(datetime.now(UTC), "default.t", "compact", SUCCEEDED, seconds=seconds, input_bytes=1)
            write_history(catalog, history, [entry])
        capsys.readouterr()
        assert run([*start, "--dry-run"]) == 0
        printed = capsys.readouterr().out
        assert (said in printed) if said else ("By past runs" not in printed)
