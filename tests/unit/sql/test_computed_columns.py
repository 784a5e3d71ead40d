"""Flink's computed columns and watermarks: kept in options of the schema, computed by queries."""

from pathlib import Path

import pytest

from maintenance.errors import SqlError
from maintenance.sql import Session
from tests.answers import rows


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql(
        "CREATE TABLE t (id INT, double_cost AS cost * 2 COMMENT 'c', cost DECIMAL(10, 2), at TIMESTAMP(3),"
        " four AS double_cost * 2, WATERMARK FOR at AS at - INTERVAL '5' SECOND)"
    )
    session.sql("INSERT INTO t VALUES (1, 2.50, TIMESTAMP '2024-01-01 00:00:00')")
    return session


def test_queries_compute_them_also_under_aliases_and_in_joins(session: Session) -> None:
    actual = session.sql("SELECT * FROM t").to_arrow()
    assert actual.column_names == ["id", "double_cost", "cost", "at", "four"]
    assert rows(session, "SELECT x.four FROM t AS x WHERE x.double_cost = 5") == [(10,)]
    assert rows(session, "SELECT a.id FROM t AS a JOIN t AS b ON a.four = b.four") == [(1,)]


def test_the_audit_log_has_them_last_and_other_system_tables_have_none(session: Session) -> None:
    actual = session.sql("SELECT * FROM t$audit_log").to_arrow()
    assert actual.column_names == ["rowkind", "id", "cost", "at", "double_cost", "four"]
    assert rows(session, "SELECT rowkind, four FROM t$audit_log WHERE double_cost = 5") == [("+I", 10)]
    described = session.sql("DESCRIBE t$audit_log").to_arrow().to_pylist()
    assert [row["name"] for row in described] == actual.column_names
    for name in ("t$binlog", "t$ro"):
        assert "four" not in session.sql(f"SELECT * FROM {name}").to_arrow().column_names


def test_they_are_no_columns_of_the_table(session: Session, tmp_path: Path) -> None:
    assert Session({"warehouse": str(tmp_path)}).sql("SELECT * FROM t").to_arrow().column_names == ["id", "cost", "at"]


def test_options_are_those_of_flink(session: Session) -> None:
    assert session.table(("t",)).schema.options == {
        "schema.1.name": "double_cost",
        "schema.1.expr": "`cost` * 2",
        "schema.1.data-type": "DECIMAL(21, 2)",
        "schema.1.comment": "c",
        "schema.4.name": "four",
        "schema.4.expr": "`double_cost` * 2",
        "schema.4.data-type": "DECIMAL(32, 2)",
        "schema.watermark.0.rowtime": "at",
        "schema.watermark.0.strategy.expr": "`at` - INTERVAL '5' SECOND",
        "schema.watermark.0.strategy.data-type": "TIMESTAMP(3)",
    }


def test_they_are_shown_by_describe_and_show_create_table(session: Session) -> None:
    shown = {row["name"]: row for row in session.sql("DESCRIBE t").to_arrow().to_pylist()}
    assert list(shown) == ["id", "double_cost", "cost", "at", "four"]
    assert shown["double_cost"]["extras"] == "AS `cost` * 2"
    assert shown["at"]["watermark"] == "`at` - INTERVAL '5' SECOND"
    [(text,)] = rows(session, "SHOW CREATE TABLE t")
    session.sql(str(text).replace("`t`", "`u`"))
    assert session.table(("u",)).schema.options == session.table(("t",)).schema.options


def test_show_create_table_shows_the_columns_of_system_tables(session: Session) -> None:
    [(text,)] = rows(session, "SHOW CREATE TABLE t$audit_log")
    assert str(text) == (
        "CREATE TABLE `paimon`.`default`.`t$audit_log` (\n  `rowkind` VARCHAR(2147483647),\n  `id` INT,\n"
        "  `cost` DECIMAL(10, 2),\n  `at` TIMESTAMP(3),\n  `double_cost` AS `cost` * 2 COMMENT 'c',\n"
        "  `four` AS `double_cost` * 2\n)"
    )


def test_columns_of_system_tables_that_always_have_values(session: Session) -> None:
    shown = session.sql("DESCRIBE t$partitions").to_arrow().to_pylist()
    assert [row["name"] for row in shown if not row["null"]] == [
        "record_count", "file_size_in_bytes", "file_count", "total_buckets", "done",
    ]  # fmt: skip
    [(text,)] = rows(session, "SHOW CREATE TABLE t$options")
    assert "`key` VARCHAR(2147483647) NOT NULL,\n  `value` VARCHAR(2147483647) NOT NULL" in str(text)
    assert rows(session, "SELECT key FROM t$options WHERE key IS NULL") == []


def test_names_of_columns_are_kept_in_quotes(session: Session) -> None:
    session.sql(
        "CREATE TABLE q (a INT, b STRING, r ROW<x INT>, second TIMESTAMP(3), c AS UPPER(b) || 'a b', d AS a + r.x,"
        " e AS CASE WHEN `a` > 1 THEN b END, f AS second + INTERVAL '1' SECOND)"
    )
    assert [value for key, value in session.table(("q",)).schema.options.items() if key.endswith("expr")] == [
        "UPPER(`b`) || 'a b'", "`a` + `r`.`x`", "CASE WHEN `a` > 1 THEN `b` END", "`second` + INTERVAL '1' SECOND",
    ]  # fmt: skip


def test_a_table_is_altered(session: Session) -> None:
    session.sql("ALTER TABLE t ADD (z INT, y AS id + 1 AFTER id)")
    assert session.sql("SELECT * FROM t").to_arrow().column_names == [
        "id", "y", "double_cost", "cost", "at", "four", "z",
    ]  # fmt: skip
    session.sql("ALTER TABLE t MODIFY WATERMARK FOR at AS at - INTERVAL '1' HOUR")
    assert session.table(("t",)).options["schema.watermark.0.strategy.expr"] == "`at` - INTERVAL '1' HOUR"
    with pytest.raises(SqlError, match="the table has a watermark"):
        session.sql("ALTER TABLE t ADD WATERMARK FOR at AS at")
    session.sql("ALTER TABLE t DROP WATERMARK")
    with pytest.raises(SqlError, match="the table has no watermark"):
        session.sql("ALTER TABLE t DROP WATERMARK")


def test_a_watermark_of_no_column(session: Session) -> None:
    with pytest.raises(SqlError, match="Did you mean 'at'") as caught:
        session.sql("CREATE TABLE w (at TIMESTAMP, WATERMARK FOR att AS at)")
    assert caught.value.column == 45
    with pytest.raises(SqlError, match="column 'b' does not exist"):
        session.sql("CREATE TABLE w (a INT, c AS b + 1)")


def test_conditions_on_stored_columns_reach_the_scan(session: Session, tmp_path: Path) -> None:
    session.sql("CREATE TABLE p (id INT, twice AS id * 2, dt STRING) PARTITIONED BY (dt)")
    session.sql("INSERT INTO p VALUES (1, 'x'), (2, 'y')")
    plan = [row[0] for row in rows(session, "EXPLAIN SELECT twice FROM p AS q WHERE q.dt = 'x' AND q.twice > 1")]
    assert plan[3] == "  filter: (dt = 'x')"
    # A partition that the condition leaves out is not read: its file may even be gone.
    for path in (tmp_path / "default.db" / "p" / "dt=y").rglob("*.parquet"):
        path.unlink()
    assert rows(session, "SELECT twice FROM p WHERE dt = 'x'") == [(2,)]
    assert rows(session, "SELECT a.twice FROM p AS a JOIN t ON t.id = a.id WHERE a.dt = 'x'") == [(2,)]


def test_they_are_dropped_unless_another_one_is_made_of_them(session: Session) -> None:
    session.sql("ALTER TABLE t DROP four")
    assert session.sql("SELECT * FROM t").to_arrow().column_names == ["id", "double_cost", "cost", "at"]
    with pytest.raises(SqlError, match="'cost'"):
        session.sql("ALTER TABLE t DROP cost")  # another one is made of it
    session.sql("ALTER TABLE t DROP (double_cost, cost)")
    assert session.sql("SELECT * FROM t").to_arrow().column_names == ["id", "at"]
    assert [key for key in session.table(("t",)).schema.options if "watermark" not in key] == []
    with pytest.raises(SqlError, match="no column 'nope'"):
        session.sql("ALTER TABLE t DROP nope")
    session.sql("ALTER TABLE IF EXISTS missing DROP nope")
