"""Materialized tables of this engine in a real Flink: its catalog knows them as such, and reads their rows."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from maintenance.sql import Session
from tests.flink.process import flink_process
from tests.java.process import JavaProcess

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("flink_jars")]

SETUP = """
CREATE DATABASE db;
USE db;
CREATE TABLE visits (ds STRING, page STRING, seconds INT) PARTITIONED BY (ds);
INSERT INTO visits VALUES ('2026-01-01', 'home', 5), ('2026-01-02', 'home', 7), ('2026-01-02', 'cart', 20);
CREATE MATERIALIZED TABLE by_day PARTITIONED BY (ds) FRESHNESS = INTERVAL '2' HOUR REFRESH_MODE = FULL
  AS SELECT ds, SUM(seconds) AS seconds FROM visits GROUP BY ds;
CREATE MATERIALIZED TABLE pages FRESHNESS = INTERVAL '30' SECOND AS SELECT page, seconds FROM visits;
ALTER MATERIALIZED TABLE pages SUSPEND;
"""


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    session = Session({"warehouse": str(folder)}, dialect="flink")
    list(session.execute(SETUP))
    session.sql("ALTER MATERIALIZED TABLE db.by_day REFRESH")
    return folder


@pytest.fixture(scope="module")
def flink(warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaProcess]:
    process = flink_process(warehouse, tmp_path_factory.mktemp("flink"))
    yield process
    process.close()


def test_flink_knows_their_definitions(flink: JavaProcess) -> None:
    known = flink.materialized("db", "by_day")
    query = " ".join(known.pop("query").replace("`", "").split())
    assert query == "SELECT ds, SUM(seconds) AS seconds FROM paimon.db.visits AS visits GROUP BY ds"
    assert known == {"kind": "MATERIALIZED_TABLE", "freshness": "2 HOUR", "mode": "FULL", "status": "ACTIVATED"}
    known = flink.materialized("db", "pages")
    assert (known["freshness"], known["mode"], known["status"]) == ("30 SECOND", "CONTINUOUS", "SUSPENDED")


def test_flink_reads_their_rows(flink: JavaProcess) -> None:
    assert flink.query("SELECT * FROM db.by_day") == [("2026-01-01", 5), ("2026-01-02", 27)]


def test_what_flink_adds_to_the_source_comes_with_the_next_refresh(warehouse: Path, flink: JavaProcess) -> None:
    flink.query("INSERT INTO db.visits VALUES ('2026-01-03', 'home', 1)")
    Session({"warehouse": str(warehouse)}, dialect="flink").sql("ALTER MATERIALIZED TABLE db.by_day REFRESH")
    assert flink.query("SELECT * FROM db.by_day WHERE ds = '2026-01-03'") == [("2026-01-03", 1)]
