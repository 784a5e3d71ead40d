"""An operation is one module: Python, SQL, `paimonctl` and Dagster find it by that alone."""

import os
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from maintenance import operations
from maintenance.catalog import Catalog
from maintenance.errors import PaimonError
from maintenance.operation_names import commands, operation_modules
from maintenance.operations.operation import Operation, all_operations
from maintenance.sql import Session
from tests.unit.test_layers import ROOT

COUNT_FILES = '''
"""Count the live files of a table, and leave a mark in its folder."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from maintenance.operations.operation import Operation, Plan, Run, Shown
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import PlannedGroup
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class CountFiles:
    label: Annotated[str, Param("What the mark says.")]
    idle: Annotated[timedelta | None, Param("Not used before this long, e.g. 1 h.")] = None


@dataclass(frozen=True, slots=True)
class CountFilesReport:
    table: str
    files: int
    marked: bool


def plan(_: Run, table: Table, request: CountFiles) -> Plan[CountFiles, CountFilesReport]:
    snapshot = table.latest_snapshot()
    files = 0 if snapshot is None else len(table.manifests.live_entries(snapshot))
    group = PlannedGroup("files", (), 0, 1, f"{files} files are counted")
    return Plan(request, CountFilesReport(table.identifier, files, False), lambda: [group])


def apply(run: Run, table: Table, planned: Plan[CountFiles, CountFilesReport]) -> CountFilesReport:
    table.file_io.overwrite(f"{table.location}/counted", planned.request.label.encode())
    return CountFilesReport(table.identifier, planned.report.files, True)


OPERATION = Operation(
    "count_files",
    "Count the files of a table.",
    CountFiles,
    plan,
    apply,
    shown=lambda report: Shown.one({"files": report.files, "marked": report.marked}),
)

count_files = OPERATION.function("Count the live files of a table.")
'''
# A process of its own: what operations there are is looked for once.
ALL_FACES = """
import sys
from datetime import timedelta
from pathlib import Path

import dagster as dg

import maintenance.operations

folder, warehouse = sys.argv[1:]
maintenance.operations.__path__.append(folder)

import maintenance as pm
from maintenance.cli.main import cli, run
from maintenance.errors import OutdatedPlanError
from maintenance.sql import Session

session = Session({"warehouse": warehouse})
list(session.execute("CREATE TABLE t (a INT); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)"))
table = session.table(("t",))
mark = Path(table.location) / "counted"

# Python
assert maintenance.operations.count_files(table, "x", dry_run=True).files == 2
assert not mark.exists()
assert pm.count_files(table, "Python").marked
assert mark.read_text() == "Python"

# SQL
called = session.sql("CALL sys.count_files(`table` => 'default.t', label => 'SQL', idle => '1 h')")
assert called.to_arrow().to_pylist() == [{"files": 2, "marked": True}]
assert mark.read_text() == "SQL"
plan = session.plan("CALL sys.count_files('default.t', 'planned')")
assert [group.reason for group in plan.groups] == ["2 files are counted"]
assert "count_files" in session.sql("SHOW PROCEDURES").to_arrow().column("procedure_name").to_pylist()
session.apply(plan)
assert mark.read_text() == "planned"
session.sql("INSERT INTO t VALUES (3)")
try:
    session.apply(plan)
    raise SystemExit("a plan of another state was applied")
except OutdatedPlanError:
    pass

# paimonctl
start = ["--warehouse", warehouse, "count-files"]
assert run([*start, "default.t", "command", "--idle", "1 h"]) == 0
assert mark.read_text() == "command"
assert run([*start, "default.t", "later", "--dry-run"]) == 0
assert mark.read_text() == "command"
context = cli.make_context("paimonctl", ["--warehouse", warehouse, "tables"])
assert "Count the files of a table." in cli.get_help(context)

# Dagster
from maintenance.project.config import Project
from paimon_maintenance.definitions import build_definitions

project = Project.model_validate({"warehouse": warehouse, "tables": [{"identifier": "default.t"}]})
job = build_definitions(project).resolve_job_def("count_files")
with dg.instance_for_test() as instance:
    for dry_run in (True, False):
        config = {"table": "default.t", "label": "Dagster", "dry_run": dry_run}
        given = {"ops": {"count_files_of_table": {"config": config}}}
        assert job.execute_in_process(run_config=given, instance=instance).success
        assert (mark.read_text() == "Dagster") != dry_run
"""


@pytest.mark.slow
def test_an_operation_of_one_module_is_found_everywhere(tmp_path: Path) -> None:
    package = tmp_path / "more" / "counting"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "count_files.py").write_text(COUNT_FILES)
    environment = {**os.environ, "PAIMON_TABLES": "", "DAGSTER_HOME": ""}
    command = [sys.executable, "-c", ALL_FACES, str(tmp_path / "more"), str(tmp_path / "lake")]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize(("name", "operation"), all_operations().items())
def test_what_the_text_of_a_module_says_is_what_its_record_has(name: str, operation: Operation) -> None:  # type: ignore[type-arg]
    assert operation.name == name
    spelt = {each.name: each.summary for each in operation.spelt()}
    assert dict(operation_modules()[name].commands) == spelt
    assert {key: text for key, text in spelt.items() if text}.items() <= commands().items()


@pytest.mark.parametrize("operation", all_operations().values(), ids=lambda operation: operation.name)
def test_each_parameter_says_what_it_means(operation: Operation) -> None:  # type: ignore[type-arg]
    for parameter in operation.parameters:
        assert parameter.text.endswith("."), parameter.name
        assert len({*parameter.names}) == len(parameter.names)


@pytest.mark.parametrize(
    "call",
    ["compact('default.t')", "expire_tags(`table` => 'default.t', into_bin => true)", "rollback('default.t', '1')"],
)
def test_a_call_opens_its_table_once(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session({"warehouse": str(tmp_path)})
    list(session.execute("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)"))
    opened: list[str] = []
    open_table = type(session.current()).open_table

    def counted(catalog: Catalog, name: str) -> object:
        opened.append(name)
        return open_table(catalog, name)

    monkeypatch.setattr(type(session.current()), "open_table", counted)
    session.sql(f"CALL sys.{call}")
    assert opened == ["default.t"]


@pytest.mark.parametrize("call", ["compact('default.t')", "compact_database(including_tables => 'default.t')"])
def test_options_that_a_plan_was_made_with_reach_the_work(call: str, tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)})
    options = "'primary-key' = 'a', 'bucket' = '1', 'write-only' = 'true'"
    rows = "INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)"
    list(session.execute(f"CREATE TABLE t (a INT) TBLPROPERTIES ({options}); {rows}"))
    proof = "paimon-maintenance.compaction.proof"
    plan = session.plan(f"CALL sys.{call[:-1]}, options => '{proof}=off', compact_strategy => 'full')")
    assert plan.groups
    assert plan.table_options == {proof: "off"}
    with pytest.raises(PaimonError, match="nonsense"):
        session.apply(replace(plan, table_options={proof: "nonsense"}))
    session.apply(plan)
    assert len(list(Path(session.table(("t",)).location).rglob("snapshot-3"))) == 1


def test_each_operation_has_a_short_path() -> None:
    """As stable as its name: what others import must not change with the packages."""
    for name in operations.__all__:
        short = import_module(f"maintenance.operations.{name}")
        assert getattr(short, name) is getattr(operations, name)
    assert not callable(import_module("maintenance.operations.create_tag"))
    assert callable(operations.create_tag)
