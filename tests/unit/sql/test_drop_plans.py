"""Plans of DROP TABLE, TRUNCATE TABLE and DROP PARTITION: said first, then done exactly so or refused."""

from pathlib import Path

import pytest

from maintenance.errors import NotFoundError, OutdatedPlanError, SqlError, UnsupportedError
from maintenance.sql import Session
from maintenance.sql.plans import keep_plan


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session({"warehouse": str(tmp_path)})
    session.sql("CREATE TABLE t (id INT, dt STRING) PARTITIONED BY (dt)")
    session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'b')")
    return session


def folder(tmp_path: Path) -> Path:
    return tmp_path / "default.db" / "t"


def test_a_table_is_dropped_as_planned_or_not_at_all(session: Session, tmp_path: Path) -> None:
    session.sql("CALL sys.create_tag('default.t', 'kept')")
    plan = session.plan("DROP TABLE t")
    assert plan.groups[0].reason == "snapshot 1: 3 records, schema 0; tags kept"
    there = {path: path.stat().st_size for path in folder(tmp_path).rglob("*") if path.is_file()}
    assert {name for group in plan.groups for name in group.files} == {
        str(path.relative_to(folder(tmp_path))) for path in there
    }
    assert plan.bytes == sum(there.values())
    plan_id = keep_plan(session, plan)
    session.sql("INSERT INTO t VALUES (4, 'c')")
    with pytest.raises(OutdatedPlanError, match="was snapshot 1: 3 records"):
        session.apply(plan_id)
    assert session.table_exists(("t",))
    session.apply(keep_plan(session, session.plan("DROP TABLE IF EXISTS default.t")))
    assert not folder(tmp_path).exists()
    with pytest.raises(NotFoundError):
        session.apply(plan_id)


def test_a_file_that_no_snapshot_names_counts(session: Session, tmp_path: Path) -> None:
    plan = session.plan("DROP TABLE t")
    (folder(tmp_path) / "dt=b" / "bucket-0" / "data-being-written.parquet").write_bytes(b"1234")
    with pytest.raises(OutdatedPlanError, match="files in dt=b: 1 file new in it"):
        session.apply(plan)


def test_what_has_no_plan(session: Session, tmp_path: Path) -> None:
    assert session.plan("DROP TABLE IF EXISTS missing").groups == ()
    with pytest.raises(NotFoundError):
        session.plan("DROP TABLE missing")
    with pytest.raises(SqlError, match="such statements have no plans"):
        session.plan("ALTER TABLE t RENAME TO u")
    (folder(tmp_path) / "snapshot" / "snapshot-1").write_text("{")
    (folder(tmp_path) / "schema" / "schema-0").write_text("{")
    with pytest.raises(UnsupportedError, match="it cannot be read"):
        session.plan("DROP TABLE t")


def test_a_table_is_emptied_as_planned_or_not_at_all(session: Session) -> None:
    plan = session.plan("TRUNCATE TABLE t PARTITION (dt = 'b')")
    assert [(group.name, len(group.files)) for group in plan.groups] == [("dt=b", 1)]
    session.sql("INSERT INTO t VALUES (5, 'a')")
    session.apply(plan)
    assert rows(session) == [1, 5]
    plan = session.plan("TRUNCATE TABLE t")
    session.sql("INSERT INTO t VALUES (6, 'c')")
    with pytest.raises(OutdatedPlanError, match="dt=c would be deleted, too"):
        session.apply(plan)
    session.apply(session.plan("TRUNCATE TABLE t"))
    assert rows(session) == []
    assert session.plan("TRUNCATE TABLE t").groups == ()


def test_partitions_are_dropped_as_planned(session: Session) -> None:
    plan = session.plan("ALTER TABLE t DROP PARTITION (dt = 'b')")
    assert [group.name for group in plan.groups] == ["dt=b"]
    session.apply(plan)
    assert rows(session) == [1]


def test_a_materialized_table_is_dropped_as_planned(session: Session) -> None:
    session.dialect = "flink"
    session.sql("CREATE MATERIALIZED TABLE m AS SELECT id FROM t")
    with pytest.raises(NotFoundError, match="is a materialized table"):
        session.plan("DROP TABLE m")
    session.apply(session.plan("DROP MATERIALIZED TABLE m"))
    assert not session.table_exists(("m",))


def rows(session: Session) -> list[object]:
    return session.sql("SELECT id FROM t ORDER BY id").to_arrow().column("id").to_pylist()
