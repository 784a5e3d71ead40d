"""Statements of materialized tables, as real Flink 1.20 with Paimon takes and refuses them, and later ones."""

from pathlib import Path
from typing import Any

import pytest

from maintenance.catalog import SetOption
from maintenance.errors import NotFoundError, OptionError, PaimonError, SchemaError, SqlError
from maintenance.options.materialized import HANDLER_BYTES, HANDLER_DESCRIPTION, Definition, RefreshMode, RefreshStatus
from maintenance.sql import Session


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session({"warehouse": str(tmp_path / "lake")}, dialect="flink")
    session.sql("CREATE TABLE src (id INT, ds STRING, n INT) PARTITIONED BY (ds)")
    session.sql("INSERT INTO src VALUES (1, '2024-01-01', 10), (2, '2024-01-02', 20)")
    return session


def create(
    session: Session, clauses: str = "FRESHNESS = INTERVAL '1' HOUR", query: str = "SELECT ds, n FROM src"
) -> None:
    session.sql(f"CREATE MATERIALIZED TABLE m {clauses} AS {query}")


def definition(session: Session) -> Definition:
    return Definition.of(session.table(("m",)).options, "m")


def rows(session: Session, query: str) -> list[Any]:
    return session.sql(query).to_arrow().to_pylist()


def test_create_fills_the_table_and_stores_the_definition(session: Session) -> None:
    create(
        session,
        "COMMENT 'totals' PARTITIONED BY (ds) WITH ('partition.fields.ds.date-formatter' = 'yyyy-MM-dd')"
        " FRESHNESS = INTERVAL '1' HOUR",
    )
    actual = definition(session)
    assert actual.query == "SELECT ds, n FROM `paimon`.`default`.`src` AS `src`"
    assert (actual.mode, actual.logical_mode, actual.status) == (RefreshMode.FULL, "AUTOMATIC", RefreshStatus.ACTIVATED)
    assert (actual.is_ours, actual.rests_because, actual.date_formatters) == (True, "", {"ds": "yyyy-MM-dd"})
    assert rows(session, "SELECT n FROM m ORDER BY n") == [{"n": 10}, {"n": 20}]
    schemas = session.table(("m",)).schemas
    statuses = [schemas.get(number).options["materialized-table.refresh-status"] for number in schemas.list_ids()]
    assert statuses == ["INITIALIZING", "ACTIVATED"], "as Flink's SQL gateway does"


@pytest.mark.parametrize(
    ("clauses", "mode", "logical"),
    [
        ("FRESHNESS = INTERVAL '29' MINUTE", "CONTINUOUS", "AUTOMATIC"),
        ("FRESHNESS = INTERVAL '30' MINUTE", "FULL", "AUTOMATIC"),
        ("FRESHNESS = INTERVAL '1' DAY REFRESH_MODE = CONTINUOUS", "CONTINUOUS", "CONTINUOUS"),
        ("FRESHNESS = INTERVAL '10' SECOND REFRESH_MODE = FULL", "FULL", "FULL"),
        ("REFRESH_MODE = FULL", "FULL", "FULL"),
        ("", "CONTINUOUS", "AUTOMATIC"),
    ],
)
def test_the_refresh_mode_follows_from_the_freshness_unless_given(
    session: Session, clauses: str, mode: str, logical: str
) -> None:
    create(session, clauses)
    assert (definition(session).mode, definition(session).logical_mode) == (mode, logical)


def test_the_threshold_between_the_modes_can_be_set(session: Session) -> None:
    session.sql("SET 'materialized-table.refresh-mode.freshness-threshold' = '2 h'")
    create(session)
    assert definition(session).mode == RefreshMode.CONTINUOUS


def test_a_primary_key_is_kept_and_rows_can_be_refreshed(session: Session) -> None:
    create(session, "(CONSTRAINT k PRIMARY KEY (id) NOT ENFORCED) FRESHNESS = INTERVAL '1' HOUR", "SELECT * FROM src")
    assert session.table(("m",)).schema.primary_keys == ("id",)
    session.sql("INSERT INTO src VALUES (1, '2024-01-03', 11)")
    session.sql("ALTER MATERIALIZED TABLE m REFRESH")
    assert len(rows(session, "SELECT * FROM m")) == 2


@pytest.mark.parametrize(
    ("clauses", "query", "problem"),
    [
        ("FRESHNESS = INTERVAL '5' HOUR", "SELECT id FROM src", "cannot have the freshness INTERVAL '5' HOUR"),
        ("FRESHNESS = INTERVAL '2' DAY", "SELECT id FROM src", "cannot have the freshness INTERVAL '2' DAY"),
        ("FRESHNESS = INTERVAL '-1' HOUR", "SELECT id FROM src", "'-1' is not a whole number"),
        ("FRESHNESS = INTERVAL '1' MONTH", "SELECT id FROM src", "'MONTH' found where SECOND or MINUTE"),
        ("PARTITIONED BY (zz) FRESHNESS = INTERVAL '1' HOUR", "SELECT id FROM src", "gives no column 'zz'"),
        (
            "PARTITIONED BY (id) WITH ('partition.fields.id.date-formatter' = 'yyyy') FRESHNESS = INTERVAL '1' HOUR",
            "SELECT id FROM src",
            "not for a partition column of type STRING",
        ),
        ("FRESHNESS = INTERVAL '1' HOUR", "SELECT nope FROM src", "column 'nope' does not exist"),
        ("FRESHNESS = INTERVAL '1' HOUR", "SELECT 1 / (n - 10) AS x FROM src", "zero"),
        ("FRESHNESS = INTERVAL '1' HOUR", "SELECT id FROM v", "'v' is a temporary view"),
        ("REFRESH_MODE = SOMETIMES", "SELECT id FROM src", "'SOMETIMES' found where CONTINUOUS or FULL"),
    ],
)
def test_what_cannot_be_created_leaves_no_table(session: Session, clauses: str, query: str, problem: str) -> None:
    session.sql("CREATE TEMPORARY VIEW v AS SELECT id FROM src")
    with pytest.raises(PaimonError, match=problem):
        create(session, clauses, query)
    assert rows(session, "SHOW TABLES") == [{"table name": "src"}]


def test_a_suspended_table_rests_until_it_is_resumed(session: Session) -> None:
    create(session)
    session.sql("ALTER MATERIALIZED TABLE m SUSPEND")
    assert definition(session).rests_because == "its status is SUSPENDED"
    with pytest.raises(SchemaError, match="suspended already"):
        session.sql("ALTER MATERIALIZED TABLE m SUSPEND")
    session.sql("ALTER MATERIALIZED TABLE m REFRESH")
    assert definition(session).status == RefreshStatus.SUSPENDED, "who asks for a refresh does not resume the table"
    with pytest.raises(SqlError, match="options of RESUME"):
        session.sql("ALTER MATERIALIZED TABLE m RESUME WITH ('a' = 'b')")
    session.sql("ALTER MATERIALIZED TABLE m RESUME")
    assert definition(session).rests_because == ""
    with pytest.raises(SchemaError, match="kept fresh from here"):
        session.sql("ALTER MATERIALIZED TABLE m RESUME")
    with pytest.raises(OptionError, match="not a materialized table"):
        session.sql("ALTER MATERIALIZED TABLE src SUSPEND")


def test_a_table_that_flink_refreshes_is_taken_over_once_it_is_suspended_there(session: Session) -> None:
    create(session)
    catalog = session.current()
    job = [SetOption(HANDLER_DESCRIPTION, "job 17"), SetOption(HANDLER_BYTES, "rO0=")]
    catalog.alter_table("default.m", job)
    assert "job 17 refreshes it" in definition(session).rests_because
    for change in ("SUSPEND", "RESUME"):
        with pytest.raises(SchemaError, match=r"another engine.*job 17"):
            session.sql(f"ALTER MATERIALIZED TABLE m {change}")
    catalog.alter_table("default.m", [SetOption("materialized-table.refresh-status", "SUSPENDED")])
    session.sql("ALTER MATERIALIZED TABLE m RESUME")
    assert definition(session).is_ours
    assert HANDLER_BYTES not in session.table(("m",)).options


def test_another_query_may_add_columns(session: Session) -> None:
    create(session)
    session.sql("ALTER MATERIALIZED TABLE m AS SELECT ds, n + 1 AS n, id FROM src")
    assert rows(session, "SELECT * FROM m WHERE n = 10") == [{"ds": "2024-01-01", "n": 10, "id": None}]
    session.sql("ALTER MATERIALIZED TABLE m REFRESH")
    assert rows(session, "SELECT * FROM m WHERE id = 1") == [{"ds": "2024-01-01", "n": 11, "id": 1}]
    with pytest.raises(SqlError, match="Give ds STRING, n INT, id INT first"):
        session.sql("ALTER MATERIALIZED TABLE m AS SELECT ds FROM src")


def test_refresh_of_a_partition(session: Session) -> None:
    create(session, "PARTITIONED BY (ds) FRESHNESS = INTERVAL '1' HOUR")
    session.sql("INSERT INTO src VALUES (3, '2024-01-01', 1), (4, '2024-01-02', 1)")
    session.sql("ALTER MATERIALIZED TABLE m REFRESH PARTITION (ds = '2024-01-02')")
    assert rows(session, "SELECT ds, n FROM m ORDER BY ds, n") == [
        {"ds": "2024-01-01", "n": 10},
        {"ds": "2024-01-02", "n": 1},
        {"ds": "2024-01-02", "n": 20},
    ]
    with pytest.raises(PaimonError, match="'dt' is not a partition column"):
        session.sql("ALTER MATERIALIZED TABLE m REFRESH PARTITION (dt = 'x')")


def test_show_create_makes_the_same_materialized_table_again(session: Session) -> None:
    create(session, "COMMENT 'it''s' PARTITIONED BY (ds) WITH ('bucket' = '-1') FRESHNESS = INTERVAL '1' HOUR")
    assert rows(session, "SHOW MATERIALIZED TABLES") == [{"table name": "m"}]
    assert rows(session, "SHOW MATERIALIZED TABLES LIKE 'x%'") == []
    text = rows(session, "SHOW CREATE MATERIALIZED TABLE m")[0]["result"]
    session.sql("DROP MATERIALIZED TABLE m")
    session.sql(text)
    assert rows(session, "SHOW CREATE MATERIALIZED TABLE m")[0]["result"] == text
    with pytest.raises(SqlError, match="SHOW CREATE MATERIALIZED TABLE shows"):
        session.sql("SHOW CREATE TABLE m")
    with pytest.raises(OptionError, match="not a materialized table"):
        session.sql("SHOW CREATE MATERIALIZED TABLE src")


def test_drop_knows_materialized_tables_from_others_as_flink_does(session: Session) -> None:
    create(session)
    with pytest.raises(NotFoundError, match="'m' is a materialized table"):
        session.sql("DROP TABLE m")
    with pytest.raises(NotFoundError, match="'src' is not a materialized table"):
        session.sql("DROP MATERIALIZED TABLE src")
    session.sql("DROP MATERIALIZED TABLE IF EXISTS src")
    with pytest.raises(NotFoundError, match="'nope' does not exist"):
        session.sql("DROP MATERIALIZED TABLE nope")
    session.sql("DROP MATERIALIZED TABLE m")
    assert rows(session, "SHOW TABLES") == [{"table name": "src"}]


def test_in_sparks_dialect_the_query_keeps_its_meaning(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql("CREATE TABLE t (n INT)")
    session.sql("INSERT INTO t VALUES (7)")
    session.sql("CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' HOUR AS SELECT n / 2 AS half FROM t")
    assert definition(session).dialect == "spark"
    flink = session.in_dialect("flink")
    flink.sql("ALTER MATERIALIZED TABLE m REFRESH")
    assert rows(flink, "SELECT * FROM m") == [{"half": 3.5}], "the query is Spark's, whoever refreshes"
    session.sql("DROP TABLE m")
