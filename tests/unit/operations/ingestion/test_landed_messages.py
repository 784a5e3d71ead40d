"""Landing folders with change messages."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.cli.exits import NOTHING_TO_DO
from maintenance.cli.main import run as paimonctl
from maintenance.errors import DataError, ErrorClass, OptionError, OutdatedPlanError
from maintenance.operations.ingestion.ingest_landed import (
    OPERATION,
    IngestLanded,
    LandingReport,
    ingest_landed,
    plan_ingest,
)
from maintenance.operations.ingestion.landing import LandingFolder
from maintenance.sql import Session


def change(op: str, before: Any, after: Any) -> str:
    return json.dumps({"op": op, "before": before, "after": after})


def row(key: int, value: str | None) -> dict[str, Any]:
    return {"id": key, "v": value}


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    options = {"bucket": "1", "changelog-producer": "input"}
    catalog.create_table("db.t", Schema([("id", "INT"), ("v", "STRING")], ["id"], options=options))
    actual = catalog.get_table("db.t")
    assert isinstance(actual, CatalogTable)
    return actual


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "landing"
    made.mkdir()
    return made


def run(table: CatalogTable, folder: Path, said: list[str] | None = None, **more: Any) -> LandingReport:
    landing = LandingFolder(str(folder), "feed", format="debezium-json", **more)
    progress = (lambda _: None) if said is None else said.append

    def session() -> None:
        raise AssertionError("messages need no Spark")

    return ingest_landed(session, table, landing, progress=progress)


def test_changes_enter_the_table_once_and_in_order(table: CatalogTable, folder: Path) -> None:
    lines = [change("c", None, row(1, "a")), change("c", None, row(2, "b")), change("u", row(1, "a"), row(1, "A"))]
    (folder / "00001-batch-00001.json").write_text("\n".join(lines))
    more = [change("d", row(2, "b"), None), change("u", row(1, "A"), row(3, None))]
    (folder / "00002-batch-00002.json.gz").write_bytes(gzip.compress("\n".join(more).encode()))
    report = run(table, folder)
    assert (report.committed_batches, report.bad_lines, len(report.snapshot_ids)) == (2, 0, 2)
    # The key of a row changed: its old row went, too.
    assert table.to_arrow().to_pylist() == [row(3, None)]
    assert run(table, folder).committed_batches == 0
    (folder / "00004-batch-00002.json").write_text(change("c", None, row(9, "again")))
    (folder / "00003-batch-00003.json").write_text(change("c", None, row(4, "d")))
    report = run(table, folder)
    assert (report.committed_batches, report.repeated_batches) == (1, 1)
    assert table.to_arrow(["id"])["id"].to_pylist() == [3, 4]


def test_a_bad_line_commits_nothing_of_its_file(table: CatalogTable, folder: Path) -> None:
    (folder / "00001-batch-00001.json").write_text(change("c", None, row(1, "a")))
    (folder / "00002-batch-00002.json").write_text(change("c", None, row(2, "b")) + "\n{cut\n")
    with pytest.raises(
        DataError, match=r"1 lines are no changes of the table: line 2, this is not JSON: {cut"
    ) as caught:
        run(table, folder)
    assert caught.value.error_class is ErrorClass.USER
    assert "00002-batch-00002.json" in caught.value.where
    assert table.to_arrow().to_pylist() == [row(1, "a")]


def test_bad_lines_are_set_aside_if_that_is_asked_for(table: CatalogTable, folder: Path) -> None:
    lines = [change("c", None, row(1, "a")), "{cut", change("t", None, None), change("c", None, {"id": "x", "v": "é"})]
    (folder / "00001-batch-00001.json").write_text("\n".join(lines))
    said: list[str] = []
    report = run(table, folder, said, bad_lines="set_aside")
    assert (report.committed_batches, report.bad_lines) == (1, 3)
    assert any("3 lines are no changes of the table" in line for line in said)
    assert table.to_arrow().to_pylist() == [row(1, "a")]
    kept = [json.loads(line) for line in (folder / "_bad" / "00001-batch-00001.json").read_text().splitlines()]
    assert [one["line"] for one in kept] == [2, 3, 4]
    assert [one["text"] for one in kept] == lines[1:]
    assert run(table, folder, bad_lines="set_aside").landed_batches == 1


def test_names_are_those_of_the_format(table: CatalogTable, folder: Path) -> None:
    (folder / "00001-batch-00001.parquet").touch()
    with pytest.raises(DataError, match="not that of a batch of format 'debezium-json'"):
        run(table, folder)
    (folder / "00001-batch-00001.parquet").rename(folder / "00001-batch-00001.json.gz")
    (folder / "00001-batch-00001.json.gz").write_bytes(b"no gzip")
    with pytest.raises(DataError, match="not a gzip file"):
        run(table, folder)


def test_a_plan_names_the_messages(table: CatalogTable, folder: Path) -> None:
    (folder / "00001-batch-00001.json").write_text(
        change("c", None, row(1, "a")) + "\n\n" + change("c", None, row(2, "b"))
    )
    plan = plan_ingest(table.file_io, table, "db.t", IngestLanded(str(folder), "feed", format="debezium-json"))
    assert [group.reason for group in plan.groups] == ["2 messages"]
    report = OPERATION.carry_out(table, plan)
    assert report.row_count == 2


def test_a_call_and_a_command_commit_what_landed(table: CatalogTable, folder: Path) -> None:
    warehouse = Path(table.location).parents[1]
    (folder / "00001-batch-00001.json").write_text(change("c", None, row(1, "a")))
    session = Session({"warehouse": str(warehouse)})
    call = f"CALL sys.ingest_landed('db.t', '{folder}', 'feed', format => 'debezium-json'"
    dry = session.sql(f"{call}, dry_run => true)").to_arrow().to_pylist()
    assert [(line["landed_batches"], line["committed_batches"], line["snapshot_id"]) for line in dry] == [(1, 1, None)]
    plan = session.plan(f"{call})")
    (folder / "00002-batch-00002.json").write_text(change("c", None, row(2, "b")))
    assert session.apply(plan).to_arrow().column("row_count").to_pylist() == [1], "the second is not part of the plan"
    with pytest.raises(OutdatedPlanError, match="batch 2 of delivery 2 comes in its place"):
        session.apply(plan)
    command = ["--warehouse", str(warehouse), "ingest-landed", "db.t", str(folder), "feed", "--format", "debezium-json"]
    assert [paimonctl(command), paimonctl(command)] == [0, NOTHING_TO_DO]
    assert session.sql("SELECT * FROM db.t ORDER BY id").to_arrow().to_pylist() == [row(1, "a"), row(2, "b")]
    with pytest.raises(OptionError, match="no options"):
        session.sql(f"CALL sys.ingest_landed('db.t', '{folder}', 'feed', format_options => 'a=b')")
