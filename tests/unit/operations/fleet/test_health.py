"""The health of tables in Python, in SQL, and by what a tables.yaml says."""

from datetime import timedelta
from pathlib import Path

import pytest

from maintenance.catalog import open_catalog
from maintenance.errors import NotFoundError, OptionError, UnsupportedError
from maintenance.monitor.health import Rules
from maintenance.operations import health
from maintenance.operations.fleet.health import JudgedBy
from maintenance.project.config import parse_project
from maintenance.project.given import given_by, judged_by
from maintenance.sql import Session
from tests.small_tables import put, small_table


def lake(tmp_path: Path) -> None:
    table = small_table(tmp_path, {"bucket": "1", "num-sorted-run.compaction-trigger": "2", "write-only": "true"})
    for number in range(4):
        put(table, {number: "a"})


def test_what_is_wrong_is_named_for_each_table(tmp_path: Path) -> None:
    lake(tmp_path)
    catalog = open_catalog({"warehouse": str(tmp_path)})
    report = health(catalog)
    (table,) = report.tables
    assert table.table == "db.t"
    assert [judgement.check for judgement in table.wrong] == ["small_files", "nothing_due"]
    assert [text.partition(" ")[0] for text in report.wrong] == ["db.t:", "db.t:"]
    assert report.wrong[1].endswith("Run paimonctl compact db.t.")
    assert (table.level0_files, table.snapshots) == (4, 4)
    stale = health(catalog, table="db.t", max_age=timedelta(0))
    assert {judgement.check for judgement in stale.tables[0].wrong} == {"small_files", "nothing_due", "freshness"}


def test_a_procedure_of_sql_judges(tmp_path: Path) -> None:
    lake(tmp_path)
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    result = session.sql("CALL sys.health()")
    assert len(result.wrong) == 2
    (line,) = result.to_arrow().to_pylist()
    assert (line["database"], line["table"], line["healthy"], line["wrong"]) == (
        "db",
        "t",
        False,
        "small_files, nothing_due",
    )
    checks = {row["check"]: row["healthy"] for row in
              session.sql("CALL sys.health(table => 'db.t')").to_arrow().to_pylist()}  # fmt: skip
    assert (checks["readable"], checks["nothing_due"]) == ("yes", "no")


def test_limits_come_from_tables_yaml(tmp_path: Path) -> None:
    lake(tmp_path)
    file = tmp_path / "tables.yaml"
    limits = "compaction: {trigger: 9}, checks: {max_small_share: 1}, writers: {'*': nightly}"
    file.write_text(f"warehouse: .\npatterns:\n  - {{pattern: db.*, {limits}}}\n")
    by = judged_by(parse_project(file))
    assert not health(open_catalog({"warehouse": str(tmp_path)}), settings=by).wrong
    assert by.rules("db.t").triggers.sorted_runs == 9
    assert by.rules("other.t") == Rules()
    assert dict(by.writers("db.t")) == {"*": "nightly"}
    assert given_by(parse_project(file), "health", "db.t").beside["settings"].history == "_maintenance"


def test_what_cannot_be_judged_is_refused(tmp_path: Path) -> None:
    lake(tmp_path)
    catalog = open_catalog({"warehouse": str(tmp_path)})
    with pytest.raises(NotFoundError, match="does not exist"):
        health(catalog, table="db.none")
    with pytest.raises(UnsupportedError, match="nothing to judge"):
        health(catalog, table="db.t$snapshots")
    with pytest.raises(OptionError, match="Name a table"):
        Session({"warehouse": str(tmp_path)}).sql("CALL sys.health(parts => true)")


def test_a_table_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    lake(tmp_path)
    (tmp_path / "db.db" / "t" / "schema" / "schema-0").write_text("{")
    (table,) = health(open_catalog({"warehouse": str(tmp_path)}), settings=JudgedBy(history="other")).tables
    assert [judgement.check for judgement in table.wrong] == ["readable"]
    assert (table.record, table.bytes) == (None, None)
